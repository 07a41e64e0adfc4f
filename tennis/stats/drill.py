# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""A drill's statistics: what the target believed, what happened, and how far apart they are.

The target's clock and the instrument's begin at different times, so only spans are compared: from
one repetition to the next, and of each repetition. Mean, standard deviation and largest deviation
from the period are the figures of Arm, Bradac and Kaczmarczyk (2016), tables 2 to 16.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tennis.rally import Rally
from tennis.rally.inside import Inside, read_inside
from tennis.units import ticks_to_ns

Spans = NDArray[np.int64]


@dataclass(frozen=True)
class Spread:
    """Figures of some spans; ns. Quantiles are observed values."""

    n: int
    mean: float
    sd: float  # of the sample: divided by n - 1; 0 for a single one
    min: int
    median: int
    p99: int
    max: int
    deviation: int | None  # the largest from the period; None: there is none


@dataclass(frozen=True)
class Sides:
    """The same spans by the target's clock, by the instrument's, and outside minus inside."""

    inside: Spread
    outside: Spread
    difference: Spread


@dataclass(frozen=True)
class DrillSummary:
    """All that is said of a drill."""

    label: str
    bench: str
    time_note: str
    name: str
    context: str
    period_ns: int
    repetitions: int
    suspect: bool
    overruns: int
    page_faults: int
    failures: int
    clock_ns: float
    line_ns: float
    loop_ns: float
    interval_ns: Sides | None  # None: there was one repetition only
    duration_ns: Sides
    by_size: dict[int, Sides]  # of drills that allocate: bytes -> durations; empty: it is none


# as target/drills/allocate.c has them, in turn
SIZES = tuple(64 << step for step in range(15))
ALLOCATES = frozenset({"allocate", "vmalloc"})


def spread(spans: Spans, period_ns: int | None = None) -> Spread:
    """Return the figures of spans; at least one."""
    ordered = np.sort(spans)
    n = ordered.size
    deviation = None
    if period_ns is not None:
        deviation = int(max(abs(ordered[0] - period_ns), abs(ordered[-1] - period_ns)))
    return Spread(
        n=n,
        mean=float(spans.mean()),
        sd=float(spans.std(ddof=1)) if n > 1 else 0.0,
        min=int(ordered[0]),
        median=int(ordered[(n + 1) // 2 - 1]),
        p99=int(ordered[-(-n * 99 // 100) - 1]),
        max=int(ordered[-1]),
        deviation=deviation,
    )


def sides(inside: Spans, outside: Spans, period_ns: int | None = None) -> Sides:
    """Return the figures of the same spans by both clocks."""
    return Sides(spread(inside, period_ns), spread(outside, period_ns), spread(outside - inside))


@dataclass(frozen=True)
class Spanned:
    """A drill's spans in ns, int64: intervals (repetitions - 1,), durations (repetitions,)."""

    inside: Inside
    intervals: tuple[Spans, Spans]  # inside, outside
    durations: tuple[Spans, Spans]


def spans_of(rally: Rally) -> Spanned:
    """Read both sides of a drill. Raises RallyError."""
    inside = read_inside(rally)
    rises, widths = [], []
    for batch in rally.batches(["served_ns", "fall_ticks"]):
        rises.append(batch.column("served_ns").to_numpy())
        widths.append(batch.column("fall_ticks").fill_null(0).to_numpy().astype(np.int64))
    rise = np.concatenate(rises) if rises else np.zeros(0, np.int64)
    width = np.concatenate(widths) if widths else np.zeros(0, np.int64)
    return Spanned(
        inside,
        (inside.since_last_ns[1:].astype(np.int64), np.diff(rise)),
        (inside.duration_ns.astype(np.int64), ticks_to_ns(width, rally.tick_hz)),
    )


def by_size(both: Spanned) -> dict[int, Sides]:
    """Return the durations of each size that came; ascending."""
    inside, outside = both.durations
    turn = np.arange(inside.size) % len(SIZES)
    there = {size: turn == step for step, size in enumerate(SIZES)}
    return {size: sides(inside[w], outside[w]) for size, w in there.items() if w.any()}


def summarize_drill(rally: Rally) -> DrillSummary:
    """Return what is said of a drill. Raises RallyError where it is none, or damaged."""
    both = spans_of(rally)
    manifest, inside = rally.manifest, both.inside
    drill = manifest.drill
    assert drill is not None  # noqa: S101 (spans_of refuses)
    return DrillSummary(
        label=rally.label,
        bench=manifest.bench,
        time_note=manifest.time_note,
        name=drill.name,
        context=drill.context,
        period_ns=drill.period_ns,
        repetitions=rally.balls,
        suspect=manifest.suspect,
        overruns=inside.overruns,
        page_faults=inside.page_faults,
        failures=inside.failures,
        clock_ns=inside.clock_ns,
        line_ns=inside.line_ns,
        loop_ns=inside.loop_ns,
        interval_ns=sides(*both.intervals, drill.period_ns) if rally.balls > 1 else None,
        duration_ns=sides(*both.durations),
        by_size=by_size(both) if drill.name in ALLOCATES else {},
    )
