# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""What pairs of balls say: clock, bias of both latencies, contradictions. In sums; streaming."""

import numpy as np
from numpy.typing import NDArray

from tennis.umpire.balls import NONE
from tennis.umpire.edges import Capture
from tennis.umpire.fit import Bias, Clock, Phases
from tennis.umpire.pairing import Pairs
from tennis.umpire.pictures import Classes, Points
from tennis.umpire.result import KINDS, MAX_CLOCK_PPM, Check, Kind

FIRST = 1024  # pairs from which it is learned what is usual
FAR = 3.0  # times both resolutions, or
FAR_MADS = 8.0  # times the usual spread: a difference that needs a reason


class Comparison:
    """Takes pairs, a batch at a time, and writes what they say into a check."""

    def __init__(self, result: Check, capture: Capture, timeout_ns: int) -> None:
        self._found = result
        self._capture = capture
        self._timeout_ns = timeout_ns
        self._clock = Clock()
        self._biases: dict[str, Bias] = {}
        self._centre: dict[str, float] = {}
        self._limit: dict[str, float] = {}
        self.spread_ns: dict[str, float] = {}  # usual, of the first differences
        self.related = 0.0  # rank correlation of the first latencies, in standard errors
        self._ratio = 1.0
        self._phases = {name: Phases() for name in ("ping", "rise", "fall")}
        self._waiting: list[Pairs] = []  # until it is known what is usual
        result.points = {kind: Points() for kind in KINDS}
        result.classes = {kind: Classes() for kind in KINDS}

    def take(self, pairs: Pairs, expected_ns: NDArray[np.float64] | None) -> None:
        """Take pairs; ``expected_ns`` is when the analyser should have seen their serves."""
        result = self._found
        result.balls += len(pairs.rally)
        served = pairs.rally.served_ns.astype(np.float64)
        seen = (pairs.balls.served * self._capture.tick_ns).astype(np.float64)
        self._clock.add(served, seen)
        if expected_ns is not None and served.size:
            self._look_at_phases(pairs, expected_ns)
        if self._biases:
            self._compare(pairs)
            return
        self._waiting.append(pairs)
        if result.balls >= FIRST:
            self._learn_usual()

    def _look_at_phases(self, pairs: Pairs, expected: NDArray[np.float64]) -> None:
        step = self._capture.resolution_ns
        tick = self._found.tick_ns
        self._phases["ping"].add(expected / step)
        for name, ticks in (("rise", pairs.rally.rise), ("fall", pairs.rally.fall)):
            there = ticks != NONE
            self._phases[name].add((expected[there] + ticks[there] * tick) / step)

    def _learn_usual(self) -> None:
        """Find out, from the first pairs, around what and how far the differences spread."""
        waiting, self._waiting = self._waiting, []
        line = self._clock.fit()
        ratio = 1 + line.ppm * 1e-6 if line is not None else 1.0
        both = [self._latencies(pairs) for pairs in waiting]
        limit = self._capture.resolution_ns + self._found.tick_ns
        for kind in KINDS:
            table = np.concatenate([np.zeros((0, 3)), *(part[kind] for part in both)])
            d = table[:, 1] - table[:, 2] / ratio
            centre = float(np.median(d)) if d.size else 0.0
            mad = 1.4826 * float(np.median(np.abs(d - centre))) if d.size else 0.0
            self._centre[kind] = centre
            self._limit[kind] = max(FAR * limit, FAR_MADS * mad)
            self.spread_ns[kind] = mad
            self.related = max(self.related, _related(table[:, 1], table[:, 2]))
            self._biases[kind] = Bias(ratio)
        self._ratio = ratio
        for pairs in waiting:
            self._compare(pairs)

    def _latencies(self, pairs: Pairs) -> dict[Kind, NDArray[np.float64]]:
        """Return (analyser's time, Brickwall's ns, analyser's ns) of balls that both have."""
        tick, sample = self._found.tick_ns, self._capture.tick_ns
        rally, balls = pairs.rally, pairs.balls
        rose = (rally.rise != NONE) & (balls.rise != NONE)
        fell = rose & (rally.fall != NONE) & (balls.fall != NONE)
        return {
            "interrupt": np.column_stack(
                [balls.served[rose] * sample, rally.rise[rose] * tick, balls.rise[rose] * sample]
            ),
            "scheduling": np.column_stack(
                [
                    balls.served[fell] * sample,
                    (rally.fall - rally.rise)[fell] * tick,
                    (balls.fall - balls.rise)[fell] * sample,
                ]
            ),
        }

    def _compare(self, pairs: Pairs) -> None:
        result = self._found
        self._compare_misses(pairs)
        off = 0
        for kind, table in self._latencies(pairs).items():
            _, brickwall, analyser = table.T
            corrected = analyser / self._ratio
            d = brickwall - corrected
            far = np.abs(d - self._centre[kind]) > self._limit[kind]
            off += int(far.sum())
            near = ~far
            self._biases[kind].add(brickwall[near], analyser[near])
            result.points[kind].add(np.column_stack([table[:, 0], (brickwall + corrected) / 2, d]))
            result.classes[kind].add(brickwall[near], corrected[near])
        result.off += off

    def _compare_misses(self, pairs: Pairs) -> None:
        tick = self._found.tick_ns
        rally, balls = pairs.rally, pairs.balls
        differ = (rally.fall == NONE) != (balls.fall == NONE)
        if not differ.any():
            return
        # an answer in the last moment, by one clock; a reply between two samples
        ends = np.where(rally.fall != NONE, rally.fall * tick, balls.fall * self._capture.tick_ns)
        slack = self._timeout_ns * MAX_CLOCK_PPM * 1e-6 + 4 * self._capture.resolution_ns
        late = np.abs(ends - self._timeout_ns) <= slack
        width = (rally.fall - rally.rise) * tick
        narrow = (rally.fall != NONE) & (width <= 1.5 * self._capture.resolution_ns)
        self._found.unseen += int((differ & ~late & narrow).sum())
        self._found.disagree += int((differ & ~late & ~narrow).sum())

    def finish(self) -> None:
        """Take it that no more pairs come."""
        if not self._biases and self._waiting:
            self._learn_usual()

    def conclude(self) -> None:
        """Compute what the sums say."""
        self.finish()
        result = self._found
        step = self._capture.resolution_ns
        line = self._clock.fit()
        result.clock = line
        uneven = {name: phases.unevenness for name, phases in self._phases.items()}
        result.unevenness = uneven
        ratio = 1.0
        if line is not None:
            ratio = 1 + line.ppm * 1e-6
            extra = uneven["ping"] * step / max(line.seconds, 1e-9) / 1000
            result.clock_ci = line.interval(extra)
        for kind, edges in (("interrupt", ("ping", "rise")), ("scheduling", ("rise", "fall"))):
            if kind in self._biases:
                share = min(1.0, sum(uneven[edge] for edge in edges))
                setattr(result, kind, self._biases[kind].fit(ratio, share * step))
        result.offset_ns = self._clock.offset_ns


def _related(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    """Return Spearman's rank correlation in standard errors; 0 where either is always the same."""
    if one.size < 3:
        return 0.0
    ranks = []
    for values in (one, other):
        _, which, counts = np.unique(values, return_inverse=True, return_counts=True)
        rank = (np.cumsum(counts) - (counts - 1) / 2)[which]
        ranks.append(rank - rank.mean())
    spread = float(np.sqrt((ranks[0] ** 2).sum() * (ranks[1] ** 2).sum()))
    if not spread:
        return 0.0
    return float((ranks[0] * ranks[1]).sum()) / spread * float(np.sqrt(one.size - 1))
