"""The latencies of one boot, counted. Balls of a boot depend on each other, boots do not."""

from dataclasses import dataclass
from functools import cached_property
from math import ceil

import numpy as np
from numpy.typing import NDArray

LATER_MIN = 3  # balls of a boot that must be on either side of a level: else it is a guess
SAME_KIND = 2.0  # neighbours that differ by more are balls of two kinds, with nothing between

Values = NDArray[np.float64]


@dataclass(frozen=True)
class Boot:
    """The latencies of one boot: different values (ns, ascending), how often each occurred.

    ``lost`` balls had no answer: they are later than anything. ``latest`` is the number of the
    latest ball, or of the first lost ball if there is one.
    """

    values: Values
    counts: NDArray[np.int64]
    lost: int = 0
    latest: int = 0

    @cached_property
    def balls(self) -> int:
        """Return how many balls were played."""
        return int(self.counts.sum()) + self.lost

    @cached_property
    def reached(self) -> NDArray[np.int64]:
        """Return for each value how many balls are not later; shape (values,)."""
        return np.cumsum(self.counts)

    @cached_property
    def largest(self) -> float:
        """Return the latest answer, infinite if a ball was lost; nan without balls."""
        if self.lost:
            return np.inf
        return float(self.values[-1]) if self.values.size else np.nan

    @classmethod
    def of(cls, latencies: Values) -> "Boot":
        """Count latencies (ns) in the order of the balls; infinite: no answer."""
        answered = np.isfinite(latencies)
        values, counts = np.unique(latencies[answered], return_counts=True)
        latest = int(np.argmax(latencies)) if latencies.size else 0
        return cls(values, counts, int((~answered).sum()), latest)

    def from_time(self, times: Values) -> NDArray[np.int64]:
        """Return how many balls come at each time (ns) or later; lost ones do."""
        reached = np.concatenate([[0], self.reached])
        return self.balls - reached[np.searchsorted(self.values, times, "left")]

    def above(self, values: Values) -> NDArray[np.int64]:
        """Return how many balls are later than each value; lost ones are."""
        reached = np.concatenate([[0], self.reached])
        return self.balls - reached[np.searchsorted(self.values, values, "right")]

    def has_level(self, one_in: float) -> bool:
        """Tell whether a boot has enough balls for a level."""
        return self.balls >= balls_for(one_in)

    def from_top(self, place: int) -> float:
        """Return the ``place``-th latest latency, in ns; infinite if that ball was lost."""
        if place <= self.lost:
            return np.inf
        return float(self.values[np.searchsorted(self.reached, self.balls - place, "right")])

    def level(self, one_in: float) -> float:
        """Return what one ball in ``one_in`` exceeds, in ns; infinite if more were lost.

        It is at the rank whose median is the quantile for any distribution (R. J. Hyndman, Y. Fan,
        "Sample Quantiles in Statistical Packages", The American Statistician 50, 1996, definition
        8), so that half of all boots have a higher one however many balls they have. Between two
        ranks it is interpolated in the logarithm, unless balls of two kinds meet there: then it is
        one of them.
        """
        rank = (self.balls + 1 / 3) / one_in + 1 / 3
        place = max(1, int(rank))
        share = max(0.0, rank - place)
        later, sooner = self.from_top(place), self.from_top(min(place + 1, self.balls))
        if sooner <= 0 or later > SAME_KIND * sooner:
            return later if share < 0.5 else sooner
        if np.isinf(sooner):
            return sooner
        return float(later ** (1 - share) * sooner**share)

    def median(self) -> float:
        """Return the median, ns; infinite if half of the balls were lost."""
        return self.level(2)


def balls_for(one_in: float) -> int:
    """Return how many balls a boot needs for a level."""
    rarer = max(one_in, one_in / (one_in - 1))  # of the balls on either side, those that are fewer
    return ceil(LATER_MIN * rarer * (1 - 1e-9))
