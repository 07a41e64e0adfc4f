"""Results from pairs of balls: clock, bias of both latencies with honest intervals, contradictions.

An analyser shows an edge at its next sample: late by 0 to 1 sample. Both edges of a latency are
late by the same on average, so the mean error of a difference is zero, with a standard deviation
of at most a sample / sqrt(6), as long as the edges fall evenly on the time between two samples.
If the serves are in step with the samples they do not: that is measured (Kuiper's statistic of
the phases) and widens the intervals by what it can do. Errors that depend on each other (a crystal
that warms up, a beat between two clocks) are met by intervals from blocks of neighbouring balls.
"""

from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from tennis.kit.special_functions import student_quantile
from tennis.rally.captures.edges import Capture
from tennis.report.umpire.agreement.balls import NONE
from tennis.report.umpire.agreement.pairing import JITTER_NS, MAX_STEP, Pairs, Times
from tennis.report.umpire.agreement.result import (
    MAX_CLOCK_PPM,
    NAMED,
    Check,
    ClockFit,
    Difference,
    Interval,
    Kind,
)

CONFIDENCE = 0.95
MAX_BLOCKS = 256
PHASES = 64  # bins
# Kuiper's statistic times sqrt(N) of even phases is below it in 999 of 1000 cases
KUIPER = 2.303
# A difference that needs a reason: no two samples explain it, nor the noise of the edges. Samples
# explain one resolution, and two if the usual difference was in step with them.
FAR, FAR_IN_STEP = 1.25, 2.25
FAR_NOISES = 8.0
# the usual spread of two edges, and of one, between samples: 1.4826 times the median distance
TWO_EDGES, ONE_EDGE = 0.434, 0.371
FEW = 8  # serves that have a line at all


@dataclass(frozen=True)
class Likeness:
    """The likeness of both instruments' latencies."""

    spread_ns: float = 0.0  # usual, of their differences: the largest of both latencies
    related: float = 0.0  # rank correlation in standard errors


def compare(result: Check, capture: Capture, pairs: Pairs, timeout_ns: int) -> Likeness:
    """Write the results of pairs into a check."""
    result.balls = len(pairs.rally)
    seen_ns = (pairs.balls.served * capture.tick_ns).astype(np.float64)
    served_ns = pairs.rally.served_ns.astype(np.float64)
    step = capture.resolution_ns
    uneven = {name: _unevenness(at / step) for name, at in _edges(result, pairs).items()}
    result.unevenness = uneven
    _compare_serves(result, pairs, seen_ns - served_ns, step)
    _compare_misses(result, capture, pairs, timeout_ns)
    ratio = 1.0
    result.clock = _fit_clock(served_ns, seen_ns)
    if result.clock is not None:
        clock = result.clock
        ratio = 1 + clock.ppm * 1e-6
        extra = uneven["ping"] * step / max(clock.seconds, 1e-9) / 1000
        result.clock_ci = _interval(clock.ppm, clock.ppm_error, clock.blocks - 2, extra)
    likeness = Likeness()
    edges_of: dict[Kind, tuple[str, str]] = {
        "interrupt": ("ping", "rise"),
        "scheduling": ("rise", "fall"),
    }
    for kind, edges in edges_of.items():
        share = min(1.0, sum(uneven[edge] for edge in edges))
        found = _compare_latencies(result, kind, _latencies(result, capture, pairs, kind), ratio,
                                   step, share * step)  # fmt: skip
        likeness = Likeness(*map(max, (found.spread_ns, found.related),
                                 (likeness.spread_ns, likeness.related)))  # fmt: skip
    return likeness


def _edges(result: Check, pairs: Pairs) -> dict[str, Times]:
    """Return when the analyser should have seen each kind of edge; nobody serves a drill."""
    found = {"ping": pairs.expected_ns}
    for name, ticks in (("rise", pairs.rally.rise), ("fall", pairs.rally.fall)):
        there = ticks != NONE
        found[name] = pairs.expected_ns[there] + ticks[there] * result.tick_ns
    return found


def _unevenness(samples: Times) -> float:
    """Return how far from even times fall between two samples: 0 (even) to 1 (all the same)."""
    n = samples.size
    if not n:
        return 0.0
    bins = ((samples - np.floor(samples)) * PHASES).astype(int) % PHASES
    counts = np.bincount(bins, minlength=PHASES)
    off = np.cumsum(counts) / n - np.arange(1, PHASES + 1) / PHASES
    spread = float(off.max() - off.min())
    return spread if spread > KUIPER / sqrt(n) + 1 / PHASES else 0.0


def _compare_serves(result: Check, pairs: Pairs, off_ns: Times, resolution_ns: float) -> None:
    """Find the balls that one of both saw served at another moment than the other."""
    step = resolution_ns + result.tick_ns
    for start in range(0, off_ns.size, MAX_STEP):
        # the last ones are few: with some of those before them
        part = slice(max(0, min(start, off_ns.size - MAX_STEP)), start + MAX_STEP)
        off = off_ns[part]
        if off.size < FEW:
            return
        off = _off_their_line(pairs.rally.served_ns[part].astype(np.float64), off)
        limit = FAR * step + _noise_ns(off, ONE_EDGE * resolution_ns, step)
        far = np.flatnonzero(np.abs(off) > limit)
        # not balls, but a clock: an analyser that lost samples
        result.jumped |= far.size > max(FEW, off.size // 8)
        far = far[far >= start - part.start]
        result.off_serves += int(far.size)
        for which in far[:NAMED]:
            # the Brickwall's time minus the analyser's, as all errors
            number = int(pairs.rally.number[part][which])
            result.name(number, f"served {-off[which]:+.0f} ns off")


def _off_their_line(at_ns: Times, off: Times) -> Times:
    """Return how far off the line of most of them points are; few far ones do not bend it."""
    at = (at_ns - at_ns[0]) / 1e9
    half = off.size // 2
    run = at[half : 2 * half] - at[:half]
    left = off
    if (run > 0).all():
        left = left - float(np.median((left[half : 2 * half] - left[:half]) / run)) * at
    left = left - np.median(left)
    near = np.abs(left) <= 3 * 1.4826 * np.median(np.abs(left))
    if near.sum() >= FEW and np.ptp(at[near]) > 0:
        left = left - np.polyval(np.polyfit(at[near], left[near], 1), at)
    return left


def _compare_misses(result: Check, capture: Capture, pairs: Pairs, timeout_ns: int) -> None:
    tick, step = result.tick_ns, capture.resolution_ns
    rally, balls = pairs.rally, pairs.balls
    differ = (rally.fall == NONE) != (balls.fall == NONE)
    # an answer in the last moment, by one clock; a reply between two samples
    ends = np.where(rally.fall != NONE, rally.fall * tick, balls.fall * capture.tick_ns)
    late = np.abs(ends - timeout_ns) <= timeout_ns * MAX_CLOCK_PPM * 1e-6 + 4 * step
    narrow = (rally.fall != NONE) & ((rally.fall - rally.rise) * tick <= 1.5 * step)
    result.unseen = int((differ & ~late & narrow).sum())
    disagree = np.flatnonzero(differ & ~late & ~narrow)
    result.disagree = int(disagree.size)
    for which in disagree[:NAMED]:
        who = "the Brickwall" if rally.fall[which] == NONE else "the analyser"
        result.name(int(rally.number[which]), f"missed by {who} only")


def _latencies(result: Check, capture: Capture, pairs: Pairs, kind: Kind) -> NDArray[np.float64]:
    """Return (Brickwall's ns, analyser's ns, number) of the balls that both have."""
    rally, balls = pairs.rally, pairs.balls
    there = (rally.rise != NONE) & (balls.rise != NONE)
    theirs, mine = rally.rise, balls.rise
    if kind == "scheduling":
        there &= (rally.fall != NONE) & (balls.fall != NONE)
        theirs, mine = rally.fall - rally.rise, balls.fall - balls.rise
    brickwall, analyser = theirs[there] * result.tick_ns, mine[there] * capture.tick_ns
    return np.column_stack([brickwall, analyser, rally.number[there]])


def _compare_latencies(  # noqa: PLR0913, PLR0917 (all that both instruments measured of a latency)
    result: Check, kind: Kind, table: NDArray[np.float64], ratio: float, step: float, extra: float
) -> Likeness:
    brickwall, analyser, numbers = table.T
    d = brickwall - analyser / ratio
    if not d.size:
        return Likeness()
    centre = float(np.median(d))
    steps = step + result.tick_ns
    even = not any(result.unevenness.values())
    limit = (FAR if even else FAR_IN_STEP) * steps + _noise_ns(d - centre, TWO_EDGES * step, steps)
    far = np.abs(d - centre) > limit
    result.off += int(far.sum())
    for which in np.flatnonzero(far)[:NAMED]:
        what = f"{result.kind_words(kind)} {d[which] - centre:+.0f} ns off"
        result.name(int(numbers[which]), what)
    setattr(result, kind, _fit_bias(d[~far], extra))
    result.classes[kind] = _by_size(brickwall[~far], analyser[~far] / ratio)
    spread = 1.4826 * float(np.median(np.abs(d - centre)))
    return Likeness(spread, _related(brickwall, analyser))


def _noise_ns(off: Times, explained: float, steps: float) -> float:
    """Return the noise in differences, from their spread and the part that samples explain.

    If samples hide how noisy the edges are, as much is borne as edges may jitter.
    """
    spread = 1.4826 * float(np.median(np.abs(off)))
    explained *= 1 + 2 / np.sqrt(off.size)  # a spread of few is not exact
    noise = FAR_NOISES * float(np.sqrt(max(0.0, spread**2 - explained**2)))
    return max(noise, min(2 * steps, 6 * JITTER_NS))


def _related(one: Times, other: Times) -> float:
    """Return Spearman's rank correlation in standard errors; 0 if either is always the same."""
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


def _by_size(brickwall_ns: Times, analyser_ns: Times) -> list[tuple[int, float, float]]:
    """Return (balls, analyser's mean, Brickwall's mean) by size, 1-2-5 a decade: table 6.1."""
    edges = np.array([m * 10**e for e in range(2, 10) for m in (1, 2, 5)], np.float64)
    where = np.searchsorted(edges, brickwall_ns)
    counts, brickwall, analyser = (
        np.bincount(where, weights) for weights in (None, brickwall_ns, analyser_ns)
    )
    sums = zip(counts.tolist(), analyser, brickwall, strict=True)
    return [(n, float(a / n), float(b / n)) for n, a, b in sums if n]


def _blocks(values: Times) -> Times:
    """Return sums over blocks of neighbours: at most ``MAX_BLOCKS``."""
    rows = 1
    while values.size > MAX_BLOCKS * rows:
        rows *= 2
    return np.add.reduceat(values, np.arange(0, values.size, rows))


def _fit_clock(brickwall_ns: Times, analyser_ns: Times) -> ClockFit | None:
    """Fit a line through the serves by both clocks; None: there are too few."""
    n = brickwall_ns.size
    if n < 3:
        return None
    x = (brickwall_ns - brickwall_ns[0]) / 1e9
    y = (analyser_ns - analyser_ns[0]) - (brickwall_ns - brickwall_ns[0])
    x, y = x - x.mean(), y - y.mean()
    spread = float((x * x).sum())
    if not spread:
        return None
    slope = float((x * y).sum()) / spread  # ns a second
    left = y - slope * x
    scores = _blocks(x * left)
    blocks = scores.size
    error = sqrt(float((scores**2).sum()) * blocks / max(blocks - 2, 1)) / spread
    return ClockFit(
        ppm=slope / 1000,
        ppm_error=error / 1000,
        blocks=blocks,
        sd_ns=sqrt(float((left**2).sum()) / max(n - 2, 1)),
        seconds=sqrt(12 * spread / n),
    )


def _fit_bias(d: Times, extra_ns: float) -> Difference | None:
    """Return the mean of differences with its interval; None: there are too few."""
    n = d.size
    if n < 3:
        return None
    mean = float(d.mean())
    scores = _blocks(d - mean)
    blocks = scores.size
    error = sqrt(float((scores**2).sum()) * blocks / max(blocks - 1, 1)) / n
    return Difference(n, mean, _interval(mean, error, blocks - 1, extra_ns), float(d.std(ddof=1)))


def _interval(value: float, error: float, freedom: int, extra: float) -> Interval:
    half = float(student_quantile(max(freedom, 1), (1 - CONFIDENCE) / 2)) * error + extra
    return (value - half, value + half)
