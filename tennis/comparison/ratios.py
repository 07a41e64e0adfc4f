# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""The ratio of two sides at one level, with an interval over boots, and what it says.

Boots with the same seed are pairs: they had the same gaps and the same phase of the load. Then the
ratio is the median of the pairs' ratios. Other boots have no partner: then it is the median of the
ratios of all pairs, after J. L. Hodges and E. L. Lehmann ("Estimates of Location Based on Rank
Tests", Annals of Mathematical Statistics 34, 1963).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from tennis.comparison.boots import Values
from tennis.comparison.medians import median
from tennis.comparison.ranks import rank, rank_of_pairs

# beyond each end of an interval, at most; for sides of two forms, Mann and Whitney's may be twice
# that: so at least 95 % lie within
TAIL = 0.0125
MARGIN = 0.10  # sides that differ by less are equivalent, unless somebody asks for less

Relation = Literal["greater", "less", "equivalent", "undecided"]


@dataclass(frozen=True)
class Ratio:
    """One side over another: the estimate, its interval (nan: too few boots), and pairs or not."""

    estimate: float
    low: float
    high: float
    paired: bool

    @property
    def bounded(self) -> bool:
        """Tell whether there is an interval."""
        return not (np.isnan(self.low) or np.isnan(self.high))

    def relation(self, margin: float = MARGIN) -> Relation:
        """Say what the interval shows: one side is greater by more than the margin, or neither is.

        ``margin``: 0.1 stands for 10 %: between 1 / 1.1 and 1.1 both sides are equivalent.
        """
        most = 1 + margin
        if not self.bounded:
            return "undecided"
        if self.low > most:
            return "greater"
        if self.high < 1 / most:
            return "less"
        if self.low >= 1 / most and self.high <= most:
            return "equivalent"
        return "undecided"


def boots_needed(*, paired: bool, tail: float = TAIL) -> int:
    """Return the smallest number of boots of each side, or of pairs, that has an interval."""
    boots = 1
    while not (rank(boots, tail) if paired else rank_of_pairs(boots, boots, tail)):
        boots += 1
    return boots


def ratio(of: Sequence[float], to: Sequence[float], tail: float = TAIL) -> Ratio:
    """Return the ratio of two sides whose boots are no pairs: a value for each boot.

    ``tail``: what may lie beyond each end of the interval; see ``TAIL``.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        every = np.asarray(of, np.float64)[:, None] / np.asarray(to, np.float64)
    return _ratio(every.ravel(), rank_of_pairs(len(of), len(to), tail), paired=False)


def ratio_of_pairs(of: Mapping[int, float], to: Mapping[int, float], tail: float = TAIL) -> Ratio:
    """Return the ratio of two sides that have the same seeds: a value for each seed."""
    every = np.array([divided(of[seed], to[seed]) for seed in sorted(of)])
    return _ratio(every, rank(len(every), tail), paired=True)


def _ratio(every: Values, rank_of_end: int, *, paired: bool) -> Ratio:
    """Return the median ratio. One that is not known (0 / 0) may be anything: it widens both ends.

    As many of them as there are ratios beyond an end: there is no interval.
    """
    known = ~np.isnan(every)
    estimate = median(every[known], 0).estimate
    if (~known).sum() >= rank_of_end:
        return Ratio(estimate, np.nan, np.nan, paired)
    low, high = (median(np.where(known, every, least), rank_of_end) for least in (0.0, np.inf))
    return Ratio(estimate, low.low, high.high, paired)


def divided(one: float, other: float) -> float:
    """Return one / other; infinite over zero, nan if neither is a number."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.float64(one) / np.float64(other))
