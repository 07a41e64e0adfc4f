"""A drill's statistics: what the target believed, what happened, and how far apart they are.

The target's clock and the instrument's begin at different times, so only spans are compared: from
one repetition to the next, and of each repetition. Mean, standard deviation and largest deviation
from the period are the figures of Arm, Bradac and Kaczmarczyk (2016), tables 2 to 16.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tennis.kit.units import ticks_to_ns
from tennis.rally import Rally
from tennis.rally.drills import Span, drill_about
from tennis.rally.inside import LONGEST, Inside, read_inside
from tennis.rally.statistics.figures import Figures

Spans = NDArray[np.float64]  # infinite: longer than what the clock, or the instrument, counts


@dataclass(frozen=True)
class _Spread(Figures):
    """Figures of some spans; ns. Quantiles are observed values.

    A span that did not end in time is missed: longer than all others.
    """

    n: int  # all of them
    mean: float | None
    sd: float | None  # of the sample: divided by n - 1; 0 for a single one
    min: int | None
    median: int | None
    p99: int | None
    max: int | None
    deviation: int | None  # the largest from the period; None: it has no period

    @property
    def has_period(self) -> bool:
        """Tell whether there is a period to be off."""
        return self.deviation is not None or "deviation" in self.among_missed


@dataclass(frozen=True)
class SpansByClock:
    """The same spans by the target's clock, by the instrument's, and outside minus inside.

    A user's own program measures nothing by itself: it has the outside only.
    """

    inside: _Spread | None
    outside: _Spread
    difference: _Spread | None


@dataclass(frozen=True)
class DrillSummary:
    """All figures of a drill."""

    label: str
    bench: str
    time_note: str
    name: str
    words: str  # above its figures
    span: Span  # what it is about
    context: str
    period_ns: int
    repetitions: int
    suspect: bool
    overruns: int  # of a program: as the instrument saw them
    page_faults: int | None  # None: nobody counted
    failures: int
    # None: a program, which measured nothing by itself
    clock_ns: float | None
    line_ns: float | None
    loop_ns: float | None
    drift_ns: float | None  # a program's mean period minus the one asked for; None: not known
    interval_ns: SpansByClock | None  # None: there was one repetition only
    duration_ns: SpansByClock
    by_size: dict[int, SpansByClock]  # of drills that allocate: bytes -> durations


def _spread(
    spans: Spans, period_ns: int | None = None, later_than_ns: int | None = None
) -> _Spread:
    """Return the figures of spans; at least one.

    ``later_than_ns``: infinite ones are longer than this; None: unknown.
    """
    ordered = np.sort(spans)
    n = ordered.size
    missed = int(np.isinf(ordered).sum())
    ranks = {"min": 1, "median": (n + 1) // 2, "p99": -(-n * 99 // 100), "max": n}
    found: dict[str, Any] = {
        name: int(ordered[rank - 1]) if rank <= n - missed else None for name, rank in ranks.items()
    }
    found |= {"mean": None, "sd": None, "deviation": None}
    if not missed:
        found["mean"] = float(spans.mean())
        found["sd"] = float(spans.std(ddof=1)) if n > 1 else 0.0
        if period_ns is not None:
            found["deviation"] = max(abs(found[end] - period_ns) for end in ("min", "max"))
    needed = [name for name in found if name != "deviation" or period_ns is not None]
    return _Spread(
        missed=missed,
        later_than_ns=later_than_ns if missed else None,
        among_missed=tuple(name for name in needed if found[name] is None),
        n=n,
        **found,
    )


def sides(
    inside: Spans | None,
    outside: Spans,
    period_ns: int | None = None,
    later_than_ns: int | None = None,
) -> SpansByClock:
    """Return the figures of the same spans by both clocks, or by one; see ``_spread``."""
    if inside is None:
        return SpansByClock(None, _spread(outside, period_ns, later_than_ns), None)
    known = np.isfinite(inside) & np.isfinite(outside)
    return SpansByClock(
        _spread(inside, period_ns, LONGEST - 1),
        _spread(outside, period_ns, later_than_ns),
        _spread(np.subtract(outside, inside, where=known, out=np.full(inside.size, np.inf))),
    )


@dataclass(frozen=True)
class _Spanned:
    """A drill's spans in ns, float64: intervals (repetitions - 1,), durations (repetitions,)."""

    inside: Inside | None  # None: a user's own program did it
    intervals: tuple[Spans | None, Spans]  # inside, outside
    durations: tuple[Spans | None, Spans]


def spans_of(rally: Rally) -> _Spanned:
    """Read both sides of a drill. Raises RallyError."""
    inside = None if rally.manifest.target.program else read_inside(rally)
    rises, widths = [], []
    for batch in rally.batches(["served_ns", "fall_ticks"]):
        rises.append(batch["served_ns"].values)
        widths.append(batch["fall_ticks"].filled(-1))
    rise = np.concatenate(rises) if rises else np.zeros(0, np.int64)
    width = np.concatenate(widths) if widths else np.zeros(0, np.int64)
    outside = np.where(width < 0, np.inf, ticks_to_ns(width, rally.tick_hz))
    return _Spanned(
        inside,
        (_counted(inside.since_last_ns[1:]) if inside else None, np.diff(rise).astype(np.float64)),
        (_counted(inside.duration_ns) if inside else None, outside),
    )


def _periods_in(intervals: Spans, period_ns: int) -> NDArray[np.int64]:
    """Return how many periods each interval took, to the nearest: 1 unless some were left out.

    0 if a repetition came again at once, to catch up. int64, the shape of ``intervals``.
    """
    return np.rint(intervals / period_ns).astype(np.int64)


def _overruns_seen(intervals: Spans, period_ns: int) -> int:
    """Return how many periods passed without a repetition, as the instrument saw it."""
    return int(np.maximum(_periods_in(intervals, period_ns) - 1, 0).sum())


def jitter_ns(intervals: Spans, period_ns: int) -> tuple[Spans, int]:
    """Return how far off the nearest end of a period each rise came after the one before it.

    ns, float64, the shape of ``intervals``; and how many periods were overruns. A rise that makes
    up for one that came late is as early as that.
    """
    periods = np.maximum(_periods_in(intervals, period_ns), 1)
    return np.abs(intervals - periods * period_ns), _overruns_seen(intervals, period_ns)


def drift_ns(intervals: Spans, period_ns: int) -> float | None:
    """Return how much longer than ``period_ns`` a period is in the mean, from first to last rise.

    Only lasting delays count: a late repetition with the next one in time adds nothing. None: no
    period was whole.
    """
    count = int(_periods_in(intervals, period_ns).sum())
    return float(intervals.sum()) / count - period_ns if count else None


def _counted(ns: NDArray[np.uint32]) -> Spans:
    return np.where(ns == LONGEST, np.inf, ns)


def _by_size(
    both: _Spanned, sizes: Sequence[int], later_than_ns: int | None
) -> dict[int, SpansByClock]:
    """Return the durations of each of the sizes that came, in bytes. See ``_spread``."""
    inside, outside = both.durations
    turn = np.arange(outside.size) % max(1, len(sizes))
    there = {size: turn == step for step, size in enumerate(sizes)}
    return {
        size: sides(None if inside is None else inside[w], outside[w], later_than_ns=later_than_ns)
        for size, w in there.items()
        if w.any()
    }


def summarize_drill(rally: Rally) -> DrillSummary:
    """Return the figures of a drill. Raises RallyError if the folder is no drill, or damaged."""
    both = spans_of(rally)
    manifest, inside = rally.manifest, both.inside
    drill, about = manifest.drill, drill_about(manifest)
    assert drill is not None  # noqa: S101 (spans_of refuses)
    between = both.intervals[1]
    measured = inside or manifest.target.program
    return DrillSummary(
        label=rally.label,
        bench=manifest.bench,
        time_note=manifest.time_note,
        name=drill.name,
        words=about.words,
        span=about.span,
        context=drill.context,
        period_ns=drill.period_ns,
        repetitions=rally.balls,
        suspect=manifest.suspect,
        overruns=inside.overruns if inside else _overruns_seen(between, drill.period_ns),
        page_faults=measured.page_faults if measured else None,
        failures=inside.failures if inside else 0,
        clock_ns=inside.clock_ns if inside else None,
        line_ns=inside.line_ns if inside else None,
        loop_ns=inside.loop_ns if inside else None,
        drift_ns=None if inside else drift_ns(between, drill.period_ns),
        interval_ns=sides(*both.intervals, drill.period_ns) if rally.balls > 1 else None,
        duration_ns=sides(*both.durations, later_than_ns=manifest.given_up_ns),
        by_size=_by_size(both, about.sizes_bytes, manifest.given_up_ns),
    )
