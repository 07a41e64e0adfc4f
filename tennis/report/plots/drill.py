"""A picture of a drill: what the target believed, what happened, and how far apart they are."""

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from tennis.kit.style import BLUE, GREY, VERMILLION
from tennis.kit.units import format_bytes, format_count
from tennis.rally import Rally
from tennis.rally.statistics.drill import SpansByClock, spans_of, summarize_drill
from tennis.rally.text import plain
from tennis.report.plots.one import WIDTH
from tennis.report.plots.picture import Picture, count_axis, house_style, time_axis

BARS = 120


@house_style
def spans(rally: Rally) -> Picture:
    """Draw the histograms of a drill's spans inside and outside, and of their differences."""
    summary, both = summarize_drill(rally), spans_of(rally)
    periodic = summary.span == "period"
    what = "interval" if periodic else "duration"
    inside, outside = both.intervals if periodic else both.durations
    figures = summary.interval_ns if periodic else summary.duration_ns
    picture = Picture(
        WIDTH,
        4.0,
        plain(f"Inside and outside: {summary.label}", 110),
        _words(what, figures) + f" {format_count(summary.overruns, 'overrun')}.",
    )
    count = format_count(summary.repetitions, "repetition")
    overruns = format_count(summary.overruns, "overrun")
    suspect = "  ·  SUSPECT" if summary.suspect else ""
    picture.head(f"{summary.bench} bench: {summary.time_note}  ·  {count}, {overruns}{suspect}")
    left, right = picture.subplots(1, 2, width_ratios=(3, 2))
    if not outside.size:
        left.text(0.5, 0.5, "one repetition only", transform=left.transAxes, ha="center")
        return picture
    seen = [outside] if inside is None else [inside, outside]
    came = np.logical_and.reduce([np.isfinite(one) for one in seen])
    known = np.concatenate([one[came] for one in seen])
    edges = _edges(float(known.min()), float(known.max())) if known.size else _edges(0.0, 1.0)
    style = {"histtype": "step", "bins": edges, "lw": 1.7}
    missed = f", {(~came).sum()} longer than that" if not came.all() else ""
    left.hist(outside[came], color=BLUE, label=f"outside, the instrument{missed}", **style)
    if inside is not None:
        left.hist(
            inside[came], color=VERMILLION, ls="--", label="inside, the target itself", **style
        )
    if periodic:
        left.axvline(summary.period_ns, color=GREY, lw=1, ls=":")
    _finish(left, what)
    left.legend(fontsize=9, loc="upper right")
    apart = np.zeros(0) if inside is None else outside[came] - inside[came]
    if inside is None:
        right.text(0.5, 0.5, "a program tells nothing", transform=right.transAxes, ha="center")
    if apart.size:
        right.hist(apart, bins=_edges(float(apart.min()), float(apart.max())), color=GREY)
    _finish(right, "outside minus inside")
    return picture


def _edges(low: float, high: float) -> NDArray[np.float64]:
    """Return the borders of bars; of one bar if all values are alike."""
    room = max(1.0, (high - low) * 0.02)
    return np.linspace(low - room, high + room, BARS + 1)


def _finish(axes: Axes, what: str) -> None:
    axes.set_title(what)
    count_axis(axes)
    time_axis(axes, "x", log=False)
    axes.set(ylabel="repetitions (log scale)", ylim=(0.7, None))


def _words(what: str, figures: SpansByClock | None) -> str:
    if figures is None:
        return "One repetition only."
    parts = [
        f"{name}: mean {one.said('mean')}, sd {one.said('sd')}, max {one.said('max')}"
        for name, one in (("inside", figures.inside), ("outside", figures.outside))
        if one is not None
    ]
    return f"{what.capitalize()} of a drill, {'; '.join(parts)}."


@house_style
def sizes(rally: Rally) -> Picture | None:
    """Draw how long an allocation took against its size, inside and outside.

    None: the drill allocates nothing.
    """
    summary = summarize_drill(rally)
    if not summary.by_size:
        return None
    first, last = (summary.by_size[find(summary.by_size)] for find in (min, max))
    picture = Picture(
        WIDTH,
        4.2,
        plain(f"Memory over its size: {summary.label}", 110),
        f"Time to allocate: {format_bytes(min(summary.by_size))} in the median "
        f"{first.outside.said('median')}, {format_bytes(max(summary.by_size))} "
        f"{last.outside.said('median')} (outside).",
    )
    count = format_count(summary.repetitions, "repetition")
    picture.head(f"{summary.bench} bench: {summary.time_note}  ·  {count}")
    axes = picture.subplots()
    at = list(summary.by_size)
    for name, color, style in (("outside", BLUE, "-"), ("inside", VERMILLION, "--")):
        some = [getattr(both, name) for both in summary.by_size.values()]
        # a figure among missed ones has no place on the axis
        medians, latest = ([one.median for one in some], [one.max for one in some])
        axes.plot(at, _places(medians), style, color=color, label=f"{name}: median")
        axes.plot(at, _places(latest), "x", color=color, ms=5, label=f"{name}: latest")
    axes.set_xscale("log", base=2)
    axes.set_xticks(at[::2], [format_bytes(size) for size in at[::2]])
    axes.set_xlabel("allocated (log scale)")
    time_axis(axes, "y", log=True)
    axes.legend(fontsize=9, ncols=2)
    return picture


def _places(values: list[int | None]) -> list[float]:
    return [np.nan if value is None else float(value) for value in values]
