# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""What pairs of balls say: clock, bias of both latencies, contradictions. In sums; streaming."""

import numpy as np
from numpy.typing import NDArray

from tennis.umpire.agreement.balls import NONE
from tennis.umpire.agreement.fit import Bias, ClockLine, Phases
from tennis.umpire.agreement.pairing import JITTER_NS, NAMED, Pairs
from tennis.umpire.agreement.pictures import Classes, Points
from tennis.umpire.agreement.result import KINDS, MAX_CLOCK_PPM, Check, Kind
from tennis.umpire.captures.edges import Capture

FIRST = 1024  # pairs from which it is learned what is usual
# A difference that needs a reason: no two samples explain it, nor the noise of the edges. Samples
# explain one resolution, and two where the usual difference was in step with them.
FAR, FAR_IN_STEP = 1.25, 2.25
FAR_NOISES = 8.0
# the usual spread of two edges, and of one, between samples: 1.4826 times the median distance
TWO_EDGES, ONE_EDGE = 0.434, 0.371
FEW, SURE = 8, 64  # serves that have a line at all, and one that is sure


class BallByBall:
    """Takes pairs, a batch at a time, and writes what they say into a check."""

    def __init__(self, result: Check, capture: Capture, timeout_ns: int) -> None:
        self._found = result
        self._capture = capture
        self._timeout_ns = timeout_ns
        self._clock = ClockLine()
        self._biases: dict[str, Bias] = {}
        self._centre: dict[str, float] = {}
        self._limit: dict[str, float] = {}
        self.spread_ns: dict[str, float] = {}  # usual, of the first differences
        self.related = 0.0  # rank correlation of the first latencies, in standard errors
        self._ratio = 1.0
        self._serves: list[NDArray[np.float64]] = []  # time, difference, number; to be compared
        self._compared = np.zeros((0, 3))  # the last of those that were
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
            self._count_phases(pairs, expected_ns)
        self._serves.append(np.column_stack([served, seen - served, pairs.rally.number]))
        if sum(map(len, self._serves)) >= SURE:
            self._compare_serves()
        if self._biases:
            self._compare(pairs)
            return
        self._waiting.append(pairs)
        if result.balls >= FIRST:
            self._learn_usual()

    def _count_phases(self, pairs: Pairs, expected: NDArray[np.float64]) -> None:
        step = self._capture.resolution_ns
        tick = self._found.tick_ns
        self._phases["ping"].add(expected / step)
        for name, ticks in (("rise", pairs.rally.rise), ("fall", pairs.rally.fall)):
            there = ticks != NONE
            self._phases[name].add((expected[there] + ticks[there] * tick) / step)

    def _compare_serves(self) -> None:
        """Find the balls that one of both saw served at another moment than the other."""
        new = np.concatenate([np.zeros((0, 3)), *self._serves])
        self._serves = []
        # a few more, where these alone have no line
        before = self._compared if len(new) < SURE else np.zeros((0, 3))
        every = np.concatenate([before, new])
        self._compared = new[-SURE:]
        if len(every) < FEW:
            return
        off = _off_their_line(every[:, 0], every[:, 1])
        step = self._capture.resolution_ns + self._found.tick_ns
        limit = FAR * step + _noise_ns(off, ONE_EDGE * self._capture.resolution_ns, step)
        far = np.flatnonzero(np.abs(off) > limit)
        if far.size > max(FEW, off.size // 8):
            # not balls, but a clock: an analyser that lost samples
            self._found.jumped = True
        far = far[far >= len(before)]
        self._found.off_serves += int(far.size)
        for which in far[:NAMED]:
            # the Brickwall's time minus the analyser's, as all errors
            self._found.name(int(every[which, 2]), f"served {-off[which]:+.0f} ns off")

    def _learn_usual(self) -> None:
        """Find out, from the first pairs, around what and how far the differences spread."""
        waiting, self._waiting = self._waiting, []
        line = self._clock.fit()
        ratio = 1 + line.ppm * 1e-6 if line is not None else 1.0
        both = [self._latencies(pairs) for pairs in waiting]
        step = self._capture.resolution_ns
        even = all(phases.counts.any() and not phases.unevenness for phases in self._seen_phases)
        steps = step + self._found.tick_ns
        limit = (FAR if even else FAR_IN_STEP) * steps
        for kind in KINDS:
            table = np.concatenate([np.zeros((0, 4)), *(part[kind] for part in both)])
            d = table[:, 1] - table[:, 2] / ratio
            centre = float(np.median(d)) if d.size else 0.0
            mad = 1.4826 * float(np.median(np.abs(d - centre))) if d.size else 0.0
            self._centre[kind] = centre
            noise = _noise_ns(d - centre, TWO_EDGES * step, steps) if d.size else 0.0
            self._limit[kind] = limit + noise
            self.spread_ns[kind] = mad
            self.related = max(self.related, _related(table[:, 1], table[:, 2]))
            self._biases[kind] = Bias(ratio)
        self._ratio = ratio
        for pairs in waiting:
            self._compare(pairs)

    def _latencies(self, pairs: Pairs) -> dict[Kind, NDArray[np.float64]]:
        """Return (analyser's time, Brickwall's ns, analyser's ns, number) of balls both have."""
        tick, sample = self._found.tick_ns, self._capture.tick_ns
        rally, balls = pairs.rally, pairs.balls
        rose = (rally.rise != NONE) & (balls.rise != NONE)
        fell = rose & (rally.fall != NONE) & (balls.fall != NONE)
        return {
            "interrupt": np.column_stack(
                [
                    balls.served[rose] * sample,
                    rally.rise[rose] * tick,
                    balls.rise[rose] * sample,
                    rally.number[rose],
                ]
            ),
            "scheduling": np.column_stack(
                [
                    balls.served[fell] * sample,
                    (rally.fall - rally.rise)[fell] * tick,
                    (balls.fall - balls.rise)[fell] * sample,
                    rally.number[fell],
                ]
            ),
        }

    def _compare(self, pairs: Pairs) -> None:
        result = self._found
        self._compare_misses(pairs)
        off = 0
        for kind, table in self._latencies(pairs).items():
            _, brickwall, analyser, _ = table.T
            corrected = analyser / self._ratio
            d = brickwall - corrected
            far = np.abs(d - self._centre[kind]) > self._limit[kind]
            off += int(far.sum())
            near = ~far
            for which in np.flatnonzero(far)[:NAMED]:
                what = f"{result.kind_words(kind)} {d[which] - self._centre[kind]:+.0f} ns off"
                result.name(int(table[which, 3]), what)
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
        disagree = np.flatnonzero(differ & ~late & ~narrow)
        self._found.disagree += int(disagree.size)
        for which in disagree[:NAMED]:
            who = "the Brickwall" if rally.fall[which] == NONE else "the analyser"
            self._found.name(int(rally.number[which]), f"missed by {who} only")

    @property
    def _seen_phases(self) -> list[Phases]:
        """Return those of the edges that there are: nobody serves a drill."""
        drill = self._found.rally.manifest.drill
        return [p for name, p in self._phases.items() if p.counts.any() or not drill]

    def finish(self) -> None:
        """Take it that no more pairs come."""
        if self._serves:
            self._compare_serves()
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


def _off_their_line(at_ns: NDArray[np.float64], off: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how far off the line of most of them points are; few far ones do not bend it."""
    order = np.argsort(at_ns, kind="stable")
    at, sorted_off = (at_ns[order] - at_ns[order[0]]) / 1e9, off[order]
    half = off.size // 2
    run = at[half : 2 * half] - at[:half]
    left = sorted_off
    if (run > 0).all():
        left = left - float(np.median((left[half : 2 * half] - left[:half]) / run)) * at
    left = left - np.median(left)
    near = np.abs(left) <= 3 * 1.4826 * np.median(np.abs(left))
    if near.sum() >= FEW and np.ptp(at[near]) > 0:
        left = left - np.polyval(np.polyfit(at[near], left[near], 1), at)
    found = np.empty(off.size)
    found[order] = left
    return found


def _noise_ns(off: NDArray[np.float64], explained: float, steps: float) -> float:
    """Return what noise may add to differences, from their spread and what samples explain of it.

    Where samples hide how noisy the edges are, as much is borne as edges may jitter.
    """
    spread = 1.4826 * float(np.median(np.abs(off)))
    explained *= 1 + 2 / np.sqrt(off.size)  # a spread of few is not exact
    noise = FAR_NOISES * float(np.sqrt(max(0.0, spread**2 - explained**2)))
    return max(noise, min(2 * steps, 6 * JITTER_NS))


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
