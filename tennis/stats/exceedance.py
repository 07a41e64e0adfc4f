# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Worst cases of boots, compared at fixed probabilities of exceedance.

The level that one ball in 1,000 exceeds (the *return level* of 1,000 balls: S. Coles, "An
Introduction to Statistical Modeling of Extreme Values", Springer 2001, section 3.1.3) is the same
however many balls were played; the largest of N balls is not. Balls of one boot depend on each
other, boots do not: so intervals come from drawing whole boots anew (the bootstrap over clusters:
A. C. Davison, D. V. Hinkley, "Bootstrap Methods and their Application", Cambridge 1997, section
3.8). Few boots make plain percentile intervals too narrow; these are expanded by Student's t as T.
Hesterberg has it ("What Teachers Should Know About the Bootstrap", The American Statistician 69,
2015, section 5.3).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, stdtrit

Values = NDArray[np.float64]
DRAWS = 2000
# balls that late, of a boot, are kept in their order, to tell bursts apart
LATE_SHARE = 0.02
APART = 20  # balls between two bursts, at least
_CHUNK = 250  # draws at once: memory


@dataclass(frozen=True)
class Boot:
    """The latencies of one boot: different values (ns, ascending), how often each occurred.

    ``lost`` balls had no answer: they are later than anything.
    """

    values: Values
    counts: NDArray[np.int64]
    lost: int = 0
    late: Values = field(default_factory=lambda: np.zeros(0))  # the latest of the balls, by number
    late_numbers: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))

    @cached_property
    def balls(self) -> int:
        """Return how many balls were played."""
        return int(self.counts.sum()) + self.lost

    @cached_property
    def largest(self) -> float:
        """Return the latest answer, infinite where a ball was lost; nan without balls."""
        if self.lost:
            return np.inf
        return float(self.values[-1]) if self.values.size else np.nan

    @classmethod
    def of(cls, latencies: Values) -> "Boot":
        """Count latencies (ns) in the order of the balls; infinite: no answer."""
        answered = np.isfinite(latencies)
        values, counts = np.unique(latencies[answered], return_counts=True)
        boot = cls(values, counts, int((~answered).sum()))
        numbers = np.flatnonzero((latencies > _own_level(boot, LATE_SHARE)) | ~answered)
        return cls(values, counts, boot.lost, latencies[numbers], numbers)

    def bursts(self, level: float) -> int:
        """Return in how many bursts the balls above a level came, lost ones among them.

        Of a level that more than ``LATE_SHARE`` exceed, only the latest balls are looked at.
        """
        numbers = self.late_numbers[(self.late > level) | np.isinf(self.late)]
        return int((np.diff(numbers) > APART).sum()) + 1 if numbers.size else 0


def equal_weights(boots: Sequence[Boot]) -> NDArray[np.int64]:
    """Return the weights of what was played: shape (1, boots)."""
    return np.ones((1, len(boots)), np.int64)


def drawn(boots: Sequence[Boot], seed: int, draws: int = DRAWS) -> NDArray[np.int64]:
    """Return how often each boot is in each draw of as many boots; shape (draws, boots)."""
    count = len(boots)
    generator = np.random.default_rng(seed)
    return generator.multinomial(count, np.full(count, 1 / count), size=draws)


def return_levels(boots: Sequence[Boot], weights: NDArray[np.int64], share: float) -> Values:
    """Return, for each row of weights, the smallest value that at most ``share`` of balls exceed.

    In ns, infinite where more balls than that were lost. Shape (rows,).
    """
    # the level of any mixture of boots is not below the smallest of their own
    lowest = min(_own_level(boot, share) for boot in boots)
    values = np.unique(np.concatenate([boot.values[boot.values >= lowest] for boot in boots]))
    if not values.size:
        return np.full(len(weights), np.inf)
    above = np.stack([_above(boot, values) for boot in boots]).astype(np.float64)
    balls = np.array([boot.balls for boot in boots], np.float64)
    levels = np.empty(len(weights))
    for first in range(0, len(weights), _CHUNK):
        rows = weights[first : first + _CHUNK].astype(np.float64)
        exceeding = rows @ above  # falls from value to value
        # a hair's breadth: shares such as 0.001 * 3000 are not exact
        allowed = (rows @ balls * share * (1 + 1e-12))[:, None]
        index = (exceeding > allowed).sum(axis=1)
        levels[first : first + _CHUNK] = np.append(values, np.inf)[index]
    return levels


def _own_level(boot: Boot, share: float) -> float:
    exceeding = _above(boot, boot.values)
    index = int((exceeding > boot.balls * share * (1 + 1e-12)).sum())
    return float(boot.values[index]) if index < boot.values.size else np.inf


def _above(boot: Boot, values: Values) -> NDArray[np.int64]:
    """Return how many balls of a boot are above each value."""
    cumulative = np.concatenate([[0], np.cumsum(boot.counts)])
    below = cumulative[np.searchsorted(boot.values, values, "right")]
    return boot.balls - below


def quartile_distances(boots: Sequence[Boot], weights: NDArray[np.int64]) -> Values:
    """Return q3 - q1 (ns) of all balls, for each row of weights; nan where q1 is infinite."""
    with np.errstate(invalid="ignore"):
        return return_levels(boots, weights, 0.25) - return_levels(boots, weights, 0.75)


def medians(boots: Sequence[Boot], weights: NDArray[np.int64]) -> Values:
    """Return the median (ns) of all balls, for each row of weights; infinite where it is lost."""
    return return_levels(boots, weights, 0.5)


def means(boots: Sequence[Boot], weights: NDArray[np.int64]) -> Values:
    """Return the mean (ns) of all balls, for each row of weights; nan where a boot lost one."""
    balls = _balls(boots)
    sums = np.array([np.nan if boot.lost else boot.values @ boot.counts for boot in boots])
    found: Values = (weights @ sums) / (weights @ balls)
    return found


def standard_deviations(boots: Sequence[Boot], weights: NDArray[np.int64]) -> Values:
    """Return the standard deviation (ns) of all balls, for each row of weights.

    Of the sample: divided by n - 1. nan where a boot lost a ball: it has no latency.
    """
    # about the mean of what was played: squares of large, nearly equal numbers would cancel
    about = float(means(boots, equal_weights(boots))[0])
    off = np.array([(boot.values - about) @ boot.counts for boot in boots])
    squares = np.array([(boot.values - about) ** 2 @ boot.counts for boot in boots])
    count = weights @ _balls(boots)
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = weights @ squares - (weights @ off) ** 2 / count
        found: Values = np.sqrt(np.maximum(spread, 0) / (count - 1))
    return found


def _balls(boots: Sequence[Boot]) -> Values:
    return np.array([boot.balls for boot in boots], np.float64)


# by the names that rules use
STATISTICS: dict[str, Callable[[Sequence[Boot], NDArray[np.int64]], Values]] = {
    "quartile distance": quartile_distances,
    "median": medians,
    "mean": means,
    "standard deviation": standard_deviations,
}


def interval(values: Values, boots: int, confidence: float) -> tuple[float, float]:
    """Return the expanded percentile interval of bootstrapped values; nan where one is.

    ``boots``: of the side that has fewest.
    """
    if boots < 2 or np.isnan(values).any():
        return (np.nan, np.nan)
    student = stdtrit(boots - 1, (1 - confidence) / 2) * sqrt(boots / (boots - 1))
    tail = float(ndtr(student))
    ordered = np.sort(values)
    last = ordered.size - 1
    low = ordered[int(np.floor(tail * last))]
    return float(low), float(ordered[last - int(np.floor(tail * last))])


def exceedances(boots: Sequence[Boot], level: float) -> int:
    """Return how many balls are above a level; lost ones are."""
    return sum(int(_above(boot, np.array([level]))[0]) for boot in boots)
