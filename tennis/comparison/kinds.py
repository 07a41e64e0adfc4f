# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Where a level falls between two kinds of balls: the time that parts them.

Of a cell whose balls take 5 us but for 0.1 % that wait 2 ms for a lock, the level of 1 in 1,000 is
5 us in one boot and 2 ms in the next. It says nothing; the share of balls that waited does.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tennis.comparison.boots import Boot, Values
from tennis.comparison.levels import SAME_KIND, from_top, level

BETWEEN_MAX = 0.2  # of the balls beyond a gap's lower end, at most so many lie within it
STRADDLE_MIN = 2  # boots of each kind: one boot decides nothing
NEAR = 10**0.5  # times: odds to be beyond a gap that are so near to a level's make it unsure


@dataclass(frozen=True)
class ShareBeyond:
    """The share of a boot's balls that are later than a time; infinite: that had no answer."""

    threshold_ns: float

    def of(self, boot: Boot) -> float:
        """Return it of a boot: 0 to 1."""
        return self._later(boot) / boot.balls

    def _later(self, boot: Boot) -> int:
        return int(boot.above(np.array([self.threshold_ns]))[0])


@dataclass(frozen=True)
class MedianBeyond(ShareBeyond):
    """The median of a boot's balls that are later than a time."""

    def of(self, boot: Boot) -> float:
        """Return it of a boot: ns; infinite if most were lost, nan if no ball is so late."""
        later = self._later(boot)
        return from_top(boot, (later + 1) // 2) if later else np.nan


@dataclass(frozen=True)
class LevelUpTo:
    """A level of a boot's sooner kind alone: of its balls that are not later than a time."""

    threshold_ns: float
    one_in: float

    def of(self, boot: Boot) -> float:
        """Return it of a boot: ns; nan if no ball is so soon."""
        kept = int(np.searchsorted(boot.values, self.threshold_ns, "right"))
        if not kept:
            return np.nan
        return level(Boot(boot.values[:kept], boot.counts[:kept]), self.one_in)


def between_kinds(of: Sequence[Boot], to: Sequence[Boot], one_in: float) -> float | None:
    """Return what parts two kinds of balls near one level; see :func:`between_kinds_at`."""
    return between_kinds_at(of, to, (one_in,))[one_in]


def between_kinds_at(
    of: Sequence[Boot], to: Sequence[Boot], levels: Sequence[float]
) -> dict[float, float | None]:
    """Return what parts two kinds of balls near each level, in ns; None: no such gap is near it.

    Infinite: the later kind are balls that were not answered. The gap is sought in all balls of
    both sides, each side with the same weight: to swap the sides, or two boots of a pair, changes
    nothing. It is near if on one side the odds of a ball to be beyond it are about those to be
    beyond the level, in the median boot or in all boots together but the one with the most; or if
    two boots have their own level there. Of several, it is the widest. Odds, and not shares: where
    all balls of a side are beyond it, they are of one kind, and no level of theirs is unsure.
    """
    floors = {one_in: _floor(of, to, one_in) for one_in in levels}
    starts, gaps = _gaps(of, to, min(floors.values(), default=0.0))
    every = [np.sort([boot.above(gaps) / boot.balls for boot in side], axis=0) for side in (of, to)]
    found: dict[float, float | None] = {}
    for one_in, floor in floors.items():
        near = np.zeros(gaps.size, bool)
        wanted = 1 / (one_in - 1)
        for shares in every:
            together = _odds(shares[: max(1, len(shares) - 1)].mean(axis=0))
            for odds in (_odds(np.median(shares, axis=0)), together):
                near |= (odds * NEAR >= wanted) & (odds <= NEAR * wanted)
            # or its own level lies beyond it in two boots, though all together have few such balls
            beyond = (shares * one_in >= 1).sum(axis=0)
            near |= (beyond >= STRADDLE_MIN) & (together <= NEAR * wanted)
        near &= starts >= floor
        found[one_in] = float(gaps[near][0]) if near.any() else None
    return found


def is_near(share: float, one_in: float) -> bool:
    """Tell whether the odds of a share of balls are about those of a level."""
    odds, wanted = float(_odds(np.array(share))), 1 / (one_in - 1)
    return wanted / NEAR <= odds <= wanted * NEAR


def _odds(share: Values) -> Values:
    with np.errstate(divide="ignore"):
        odds: Values = share / (1 - share)
    return odds


def _floor(of: Sequence[Boot], to: Sequence[Boot], one_in: float) -> float:
    """Return a time below which no gap is near a level: the search is for late balls only."""
    more = max(1, int(one_in / NEAR / 2))
    found = min(float(np.median([level(boot, more) for boot in side])) for side in (of, to))
    return found * (1 - 1e-9)  # a level between two like balls is rounded


def _gaps(of: Sequence[Boot], to: Sequence[Boot], floor: float) -> tuple[Values, Values]:
    """Return where all gaps above a time begin and their middles, the widest first: (gaps,), ns."""
    sides = [_tails(side, floor) for side in (of, to)]
    values = np.unique(np.concatenate([tail for tail, _ in sides]))
    if not values.size:
        return values, values
    later = np.zeros(values.size)  # share of balls beyond each value
    lost = 0.0
    for side, (tail, counts) in zip((of, to), sides, strict=True):
        balls = sum(boot.balls for boot in side)
        gone = sum(boot.lost for boot in side)
        here = np.bincount(np.searchsorted(values, tail), counts, values.size)
        later += (here.sum() - np.cumsum(here) + gone) / balls / 2
        lost += gone / balls / 2
    # a gap from each value to the last one that most of the balls beyond the first reach
    ends = np.append(values, np.inf)
    reached = np.append(np.concatenate([[1.0], later[:-1]]), lost)  # share from each end on
    wanted = (1 - BETWEEN_MAX) * later
    last = np.searchsorted(-reached, -wanted * (1 - 1e-12), "right") - 1
    end = ends[np.maximum(last, np.arange(values.size))]
    with np.errstate(divide="ignore", invalid="ignore"):
        width = np.where(np.isinf(end), SAME_KIND, end / values)
    wide = (later > 0) & ((width > SAME_KIND) | np.isinf(end))
    start, end, width = values[wide], end[wide], width[wide]
    with np.errstate(invalid="ignore"):  # 0 times infinite is not taken
        middle = np.where(start > 0, np.sqrt(start) * np.sqrt(end), end / 2)
    order = np.argsort(-width, kind="stable")
    return start[order], np.array([_rounded(one) for one in middle[order]], np.float64)


def _tails(side: Sequence[Boot], floor: float) -> tuple[Values, NDArray[np.int64]]:
    """Return the values of all boots above a time, one boot after the other, and how often."""
    starts = [int(np.searchsorted(boot.values, floor)) for boot in side]
    both = list(zip(side, starts, strict=True))
    return (
        np.concatenate([boot.values[start:] for boot, start in both]),
        np.concatenate([boot.counts[start:] for boot, start in both]),
    )


def _rounded(middle: float) -> float:
    """Return a time with two digits: a gap is wide enough for that."""
    return float(f"{middle:.1e}")
