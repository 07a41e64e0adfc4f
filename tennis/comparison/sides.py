# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""One side of a comparison: boots of one kernel, setting and load, for one latency."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tennis.comparison import levels, medians
from tennis.comparison.boots import Boot, Values, levels_without_each
from tennis.comparison.kinds import LevelUpTo, ShareBeyond
from tennis.comparison.loops import Drift
from tennis.comparison.medians import Median
from tennis.comparison.ranks import rank
from tennis.comparison.ratios import TAIL, Ratio, divided, ratio, ratio_of_pairs

# the level that one ball in so many exceeds, the name of a figure, something of late balls, or a
# control loop's drift
What = float | ShareBeyond | LevelUpTo | Drift
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

    def has(self, one_in: float) -> bool:
        """Tell whether each boot has enough balls for a level."""
        return bool(self.boots) and all(levels.has_level(boot, one_in) for boot in self.boots)

    def values(self, what: What) -> list[float]:
        """Return a level, or a figure, of each boot: ns; a share: 0 to 1."""
        if what not in self._values:
            self._values[what] = self._values_of(what)
        return self._values[what]

    @cached_property
    def _values(self) -> dict[What, list[float]]:
        return {}

    def _values_of(self, what: What) -> list[float]:
        if isinstance(what, (ShareBeyond, LevelUpTo, Drift)):
            return [what.of(boot) for boot in self.boots]
        return [levels.level(boot, what) for boot in self.boots]

    def median(self, what: What) -> Median:
        """Return the median boot's value, with its interval: ns; of a share: 0 to 1."""
        return medians.median(self.values(what), rank(len(self.boots), TAIL))

    def without_each(self, one_in: float) -> Values:
        """Return the level of all boots together but one, for each of them: ns, shape (boots,)."""
        return levels_without_each(self.boots, 1 / one_in)

    def odd(self, what: What) -> list[int]:
        """Return the numbers of the boots that are unlike all others; empty: there are none.

        They are a few: where more than a quarter of all boots are such, there are two kinds.
        """
        values = np.array(self.values(what))
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


def compared(of: Side, to: Side, what: What, tail: float = TAIL) -> Ratio:
    """Return the ratio of two sides; as pairs where both have the same seeds."""
    if paired(of, to):
        one, other = (dict(zip(side.seeds, side.values(what), strict=True)) for side in (of, to))
        return ratio_of_pairs(one, other, tail)
    return ratio(of.values(what), to.values(what), tail)


def paired(of: Side, to: Side) -> bool:
    """Tell whether two sides have the same seeds, each once."""
    seeds = set(of.seeds)
    return bool(seeds) and len(seeds) == len(of.seeds) == len(to.seeds) and seeds == set(to.seeds)


def together(of: Side, to: Side, one_in: float) -> list[float]:
    """Return the ratios of all balls of all boots together, but of one boot of each side.

    One boot decides nothing: what holds only with it, or only without it, is one ratio of many.
    """
    ones, others = of.without_each(one_in), to.without_each(one_in)
    return [divided(one, other) for one in ones for other in others]
