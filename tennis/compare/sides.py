"""One side of a comparison: boots of one kernel, setting and load, for one latency."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tennis.compare.boots import Boot, Values

PER_OCTAVE = 8  # points of a curve, with upper bounds of shares
ODD = 10**0.5  # a boot is odd if it is that many times the median boot, or less than its inverse


@dataclass(frozen=True)
class Side:
    """The boots of one side; ``seeds``, one for each, tell which of two sides are pairs."""

    boots: Sequence[Boot]
    seeds: Sequence[int] = ()

    @cached_property
    def balls(self) -> int:
        """Return how many balls were played."""
        return sum(boot.balls for boot in self.boots)

    @cached_property
    def lengths(self) -> Values:
        """Return how many balls each boot has: (boots,)."""
        return np.array([boot.balls for boot in self.boots], np.float64)

    @cached_property
    def lost(self) -> int:
        """Return how many balls had no answer."""
        return sum(boot.lost for boot in self.boots)

    @cached_property
    def together(self) -> Boot:
        """Return all balls of all boots, as if they were one."""
        every = np.concatenate([boot.values for boot in self.boots])
        counts = np.concatenate([boot.counts for boot in self.boots])
        values, place = np.unique(every, return_inverse=True)
        return Boot(values, np.bincount(place, counts, values.size).astype(np.int64), self.lost)

    def has(self, one_in: float) -> bool:
        """Tell whether each boot has enough balls for a level."""
        return bool(self.boots) and all(boot.has_level(one_in) for boot in self.boots)

    def level(self, one_in: float) -> float:
        """Return the latency that one ball in ``one_in`` exceeds: ns; infinite: more were lost."""
        place = int((self.balls + 1 / 3) / one_in + 1 / 3)
        return self.together.from_top(min(max(1, place), self.balls))

    def values(self, one_in: float) -> list[float]:
        """Return a level of each boot: ns."""
        return [boot.level(one_in) for boot in self.boots]

    def median_boot(self, one_in: float) -> float:
        """Return the median boot's level: ns; the geometric mean of two in the middle."""
        values = sorted(self.values(one_in))
        low, high = values[(len(values) - 1) // 2], values[len(values) // 2]
        return low if low == high else float(np.sqrt(low) * np.sqrt(high))

    def odd(self, one_in: float) -> list[int]:
        """Return the numbers of the boots that are unlike all others; or an empty list.

        They are a few: if more than a quarter of all boots are such, there are two kinds.
        """
        values = np.array(self.values(one_in))
        middle = float(np.median(values))
        with np.errstate(divide="ignore", invalid="ignore"):
            off = ~((values <= ODD * middle) & (values >= middle / ODD))
        few = off.sum() <= max(1, len(values) // 4) and len(values) > 2
        return [int(number) for number in np.flatnonzero(off)] if few else []

    def latest(self, balls: int | None = None) -> list[float]:
        """Return the latest ball of each boot: ns; only of as many boots as have ``balls``."""
        found: list[float] = []
        seen = 0
        for boot in self.boots:
            if balls is not None and seen and seen + boot.balls > balls:
                break
            found.append(boot.largest)
            seen += boot.balls
        return found

    def times(self, per_octave: int = PER_OCTAVE) -> Values:
        """Return the times at which the curve is looked at: ns, ascending; the last is infinite.

        They are at ranks from the latest ball down, as many for each doubling of the rank.
        """
        values = np.concatenate([boot.values for boot in self.boots])
        counts = np.concatenate([boot.counts for boot in self.boots])
        if not values.size:
            return np.array([np.inf])
        order = np.argsort(-values, kind="stable")
        reached = np.cumsum(counts[order])
        total = reached[-1]
        ranks = np.concatenate(
            [
                np.round(2 ** np.arange(0, np.log2(total) + 1e-9, 1 / per_octave)),
                total * np.array([0.75, 0.9, 0.99, 1.0]),
            ]
        )
        places = np.minimum(np.searchsorted(reached, np.unique(ranks)), values.size - 1)
        return np.append(np.unique(values[order][places]), np.inf)

    def at_least(self, times: Values) -> Values:
        """Return how many balls of each boot come at each time or later: (boots, times)."""
        return np.array([boot.from_time(times) for boot in self.boots], np.float64)

    def paired(self, to: "Side") -> bool:
        """Tell whether two sides have the same seeds, each once, in the same order."""
        return (
            bool(self.seeds)
            and len(set(self.seeds)) == len(self.seeds)
            and list(self.seeds) == list(to.seeds)
        )

    def with_partners(self, after: "Side") -> "tuple[Side, Side]":
        """Return the boots that have a partner of their seed, if most of both sides have one.

        Otherwise return both sides unchanged. The choice does not depend on the boots' latencies.
        """
        common = set(self.seeds) & set(after.seeds)
        most = max(len(self.boots), len(after.boots))
        if 2 * len(common) <= most or any(
            len(set(side.seeds)) < len(side.boots) for side in (self, after)
        ):
            return self, after
        one, other = (dict(zip(side.seeds, side.boots, strict=True)) for side in (self, after))
        seeds = [seed for seed in self.seeds if seed in common]
        return Side([one[seed] for seed in seeds], seeds), Side(
            [other[seed] for seed in seeds], seeds
        )
