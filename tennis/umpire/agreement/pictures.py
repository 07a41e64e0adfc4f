# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""What the pictures of a check are drawn from: bounded, whatever the number of balls."""

from dataclasses import dataclass, field
from math import ceil

import numpy as np
from numpy.typing import NDArray

from tennis.umpire.agreement.balls import NONE, Balls

COLUMNS = 800
DIVISIONS = 10  # of the time that an oscilloscope shows
POINTS = 4096
EXTREMES = 128

Values = NDArray[np.float64]


class Persistence:
    """All balls overlaid on one grid of time, as Koeker's oscilloscope did."""

    def __init__(self, window_ns: float, tick_ns: float, resolution_ns: float) -> None:
        # a column is a whole number of samples, or every other column would be empty
        step = max(resolution_ns, window_ns / COLUMNS)
        self.column_ns = resolution_ns * ceil(step / resolution_ns - 1e-9)
        self.columns = max(2, ceil(window_ns / self.column_ns))
        self.window_ns = window_ns  # the last column may go beyond
        self._tick_ns = tick_ns
        self.balls = 0
        self.rises = np.zeros(self.columns + 1, np.int64)  # the last one: beyond the window
        self.falls = np.zeros(self.columns + 1, np.int64)

    def add(self, balls: Balls) -> None:
        """Take balls of the capture."""
        self.balls += len(balls)
        for ticks, counts in ((balls.rise, self.rises), (balls.fall, self.falls)):
            ns = ticks[ticks != NONE] * self._tick_ns
            where = np.minimum((ns / self.column_ns).astype(np.int64), self.columns)
            counts[:] += np.bincount(where, minlength=self.columns + 1)

    @property
    def high(self) -> NDArray[np.int64]:
        """Return how many replies were high at the end of each column."""
        return np.cumsum(self.rises - self.falls)[: self.columns]


@dataclass
class Points:
    """Some of many points (time, mean, difference), evenly spread, and the outermost."""

    every: int = 1
    _seen: int = 0
    _kept: list[Values] = field(default_factory=list)
    _extremes: Values = field(default_factory=lambda: np.zeros((0, 3)))

    def add(self, points: Values) -> None:
        """Take points, (n, 3)."""
        if not len(points):
            return
        skip = -self._seen % self.every
        self._seen += len(points)
        self._kept.append(points[skip :: self.every])
        while sum(map(len, self._kept)) > 2 * POINTS:
            self._kept = [np.concatenate(self._kept)[::2]]
            self.every *= 2
        both = np.concatenate([self._extremes, points])
        order = np.argsort(both[:, 2], kind="stable")
        if len(order) > EXTREMES:
            order = np.concatenate([order[: EXTREMES // 2], order[-EXTREMES // 2 :]])
        self._extremes = both[order]

    @property
    def table(self) -> Values:
        """Return what was kept: (n, 3)."""
        return np.unique(np.concatenate([*self._kept, self._extremes]), axis=0)


class Classes:
    """Latencies by their size, 1-2-5 a decade: a row of table 6.1 each."""

    EDGES = np.array([m * 10**e for e in range(2, 10) for m in (1, 2, 5)], np.float64)

    def __init__(self) -> None:
        self.sums = np.zeros((len(self.EDGES) + 1, 3))  # count, Brickwall, analyser

    def add(self, brickwall_ns: Values, analyser_ns: Values) -> None:
        """Take latencies in ns."""
        where = np.searchsorted(self.EDGES, brickwall_ns)
        size = len(self.sums)
        for column, weights in enumerate((None, brickwall_ns, analyser_ns)):
            self.sums[:, column] += np.bincount(where, weights, minlength=size)

    def rows(self) -> list[tuple[int, float, float]]:
        """Return (balls, analyser's mean, Brickwall's mean) in ns of each class that occurred."""
        return [(int(n), a / n, b / n) for n, b, a in self.sums if n]
