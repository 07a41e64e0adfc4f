# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""The latencies of one boot, counted. Balls of a boot depend on each other, boots do not."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

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
