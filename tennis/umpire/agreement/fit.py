# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Clock ratio, offset and bias with honest intervals, from sums that never grow.

An analyser shows an edge at its next sample: late by 0 to 1 sample. Both edges of a latency are
late by the same on average, so the mean error of a difference is zero, with a standard deviation
of at most a sample / sqrt(6), as long as the edges fall evenly on the time between two samples.
Where the serves are in step with the samples they do not: that is measured (Kuiper's statistic of
the phases) and widens the intervals by what it can do. Errors that depend on each other (a crystal
that warms up, a beat between two clocks) are met by intervals from blocks of neighbouring balls.
"""

from dataclasses import dataclass, field
from math import sqrt

import numpy as np
from numpy.typing import NDArray

CONFIDENCE = 0.95
MAX_BLOCKS = 256
PHASES = 64  # bins
# Kuiper's statistic times sqrt(N) of even phases is below it in 999 of 1000 cases
KUIPER = 2.303

Values = NDArray[np.float64]
Interval = tuple[float, float]


class Blocks:
    """Sums over blocks of neighbouring rows; two neighbours become one when there are too many."""

    def __init__(self, columns: int) -> None:
        self.rows = 1  # of a block
        self._sums = np.zeros((0, columns + 1))  # the first column counts

    def add(self, table: Values) -> None:
        """Take rows, (n, columns)."""
        table = np.column_stack([np.ones(len(table)), table])
        while len(table):
            filled = int(self._sums[-1, 0]) if len(self._sums) else self.rows
            room = self.rows - filled
            if room > 0:
                self._sums[-1] += table[:room].sum(axis=0)
                table = table[room:]
                continue
            # whole blocks, as many as there is place for
            place = (MAX_BLOCKS - len(self._sums)) * self.rows
            part, table = table[:place], table[place:]
            starts = np.arange(0, len(part), self.rows)
            if starts.size:
                self._sums = np.concatenate([self._sums, np.add.reduceat(part, starts)])
            if len(self._sums) >= MAX_BLOCKS and int(self._sums[-1, 0]) == self.rows:
                self._sums = self._sums[::2] + self._sums[1::2]
                self.rows *= 2

    @property
    def table(self) -> Values:
        """Return the sums: (blocks, 1 + columns)."""
        return self._sums


class ClockLine:
    """The line through (Brickwall's time, analyser's time - Brickwall's time), both in ns."""

    def __init__(self) -> None:
        self._blocks = Blocks(5)  # x, y, xx, xy, yy
        self._origin: tuple[float, float] | None = None

    def add(self, brickwall_ns: Values, analyser_ns: Values) -> None:
        """Take the serves of some pairs."""
        if not brickwall_ns.size:
            return
        if self._origin is None:
            self._origin = (float(brickwall_ns[0]), float(analyser_ns[0]))
        x = (brickwall_ns - self._origin[0]) / 1e9
        y = (analyser_ns - self._origin[1]) - (brickwall_ns - self._origin[0])
        self._blocks.add(np.column_stack([x, y, x * x, x * y, y * y]))

    @property
    def offset_ns(self) -> float | None:
        """Return what the analyser's clock showed when the Brickwall's was 0, about."""
        line = self.fit()
        if line is None or self._origin is None:
            return None
        return self._origin[1] - self._origin[0] * (1 + line.ppm * 1e-6)

    def fit(self) -> "ClockFit | None":
        """Return the line; None where there are too few pairs."""
        table = self._blocks.table
        n, sx, sy, sxx, sxy, syy = table.sum(axis=0) if len(table) else np.zeros(6)
        if n < 3:
            return None
        mean_x, mean_y = sx / n, sy / n
        spread = sxx - sx * mean_x
        if spread <= 0:
            return None
        slope = (sxy - sx * mean_y) / spread  # ns a second
        intercept = mean_y - slope * mean_x
        bn, bx, by, bxx, bxy, _ = table.T
        # sum over each block of (x - mean) times the residual
        scores = (bxy - mean_x * by) - intercept * (bx - mean_x * bn) - slope * (bxx - mean_x * bx)
        blocks = len(table)
        error = sqrt(max((scores**2).sum(), 0) * blocks / max(blocks - 2, 1)) / spread
        left = syy - 2 * intercept * sy - 2 * slope * sxy
        left += n * intercept**2 + 2 * intercept * slope * sx + slope**2 * sxx
        return ClockFit(
            ppm=slope / 1000,
            ppm_error=error / 1000,
            blocks=blocks,
            sd_ns=sqrt(max(left, 0) / max(n - 2, 1)),
            seconds=float(sqrt(12 * spread / n)),
        )


@dataclass(frozen=True)
class ClockFit:
    """How much faster the analyser's clock is than the Brickwall's."""

    ppm: float
    ppm_error: float  # standard error
    blocks: int
    sd_ns: float  # of the serves about the line
    seconds: float  # about how long the pairs are spread

    def interval(self, extra_ppm: float = 0) -> Interval:
        """Return the confidence interval."""
        return _interval(self.ppm, self.ppm_error, self.blocks - 2, extra_ppm)


def _interval(value: float, error: float, freedom: int, extra: float) -> Interval:
    # here, for it takes 0.2 s to import: a rally loads this file, and needs no interval
    from scipy.special import stdtrit  # noqa: PLC0415

    factor = float(stdtrit(max(freedom, 1), (1 + CONFIDENCE) / 2))
    half = factor * error + extra
    return float(value - half), float(value + half)


class Bias:
    """Brickwall - analyser of one latency; balls whose difference is far off are counted apart."""

    def __init__(self, ratio: float) -> None:
        self._ratio = ratio  # a first guess; the sums allow another one later
        self._blocks = Blocks(5)  # difference, analyser, squares and product

    def add(self, brickwall_ns: Values, analyser_ns: Values) -> None:
        """Take latencies."""
        d = brickwall_ns - analyser_ns / self._ratio
        a = analyser_ns
        self._blocks.add(np.column_stack([d, a, d * d, a * d, a * a]))

    def fit(self, ratio: float, extra_ns: float) -> "Difference | None":
        """Return the bias, the analyser's times divided by ``ratio``; None with too few balls."""
        table = self._blocks.table
        if not len(table) or table[:, 0].sum() < 3:
            return None
        change = 1 / self._ratio - 1 / ratio
        n, sd, sa, sdd, sad, saa = table.sum(axis=0)
        mean = (sd + change * sa) / n
        squares = sdd + 2 * change * sad + change**2 * saa
        bn, bd, ba = table.T[:3]
        scores = bd + change * ba - mean * bn
        blocks = len(table)
        error = sqrt((scores**2).sum() * blocks / max(blocks - 1, 1)) / n
        low, high = _interval(mean, error, blocks - 1, extra_ns)
        return Difference(
            balls=int(n),
            bias_ns=float(mean),
            bias_ci_ns=(low, high),
            sd_ns=sqrt(max(squares / n - mean**2, 0) * n / (n - 1)),
        )


@dataclass(frozen=True)
class Difference:
    """How the instruments differ in one latency."""

    balls: int
    bias_ns: float  # Brickwall - analyser, as in table 6.1
    bias_ci_ns: Interval
    sd_ns: float


@dataclass
class Phases:
    """Where between two samples a kind of edge falls."""

    counts: NDArray[np.int64] = field(default_factory=lambda: np.zeros(PHASES, np.int64))

    def add(self, samples: Values) -> None:
        """Take times in samples."""
        bins = ((samples - np.floor(samples)) * PHASES).astype(int) % PHASES
        self.counts += np.bincount(bins, minlength=PHASES)

    @property
    def unevenness(self) -> float:
        """Return how far from even they are, beyond chance: 0 (even) to 1 (all the same)."""
        n = int(self.counts.sum())
        if not n:
            return 0.0
        off = np.cumsum(self.counts) / n - np.arange(1, PHASES + 1) / PHASES
        spread = float(off.max() - off.min())
        return spread if spread > KUIPER / sqrt(n) + 1 / PHASES else 0.0
