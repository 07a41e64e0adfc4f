"""Pictures of one rally: histogram, complementary distribution, time series."""

from typing import Any, Required, TypedDict, Unpack

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from tennis.kit.style import BLACK, GREY, LATENCIES, PURPLE
from tennis.kit.units import format_count, ticks_to_ns
from tennis.rally import Rally, Tally
from tennis.rally.statistics import Latency, Summary, summarize
from tennis.rally.statistics.intervals import BOUND_FROM
from tennis.report.picture_words import describe, latencies, missed_at, no_latency, note
from tennis.report.plots.picture import (
    ON_LINES,
    Picture,
    count_axis,
    house_style,
    share_axis,
    time_axis,
)

WIDTH = 9.6
BINS = 160
# A maximum that far above the median would squeeze everything else into one bar.
LOG_FROM = 12
SPEAKS = "3/N: the smallest share that N balls can show"


def tally(rally: Rally, name: str) -> Tally:
    """Return the tally of the ``interrupt`` or the ``scheduling`` latency, in nanoseconds."""
    ticks = rally.interrupt if name == "interrupt" else rally.scheduling
    return Tally(ticks_to_ns(ticks.values, rally.tick_hz), ticks.counts, ticks.missed)


def nothing(axes: Axes, why: str) -> None:
    """Say that there is nothing to draw."""
    axes.text(0.5, 0.5, why, transform=axes.transAxes, ha="center", color=GREY)
    axes.set(xticks=[], yticks=[])


def wants_log(latency: Latency) -> bool:
    """Say whether a linear axis would hide the body of the distribution."""
    return bool(latency.n) and (latency.latest or 0) > LOG_FROM * max(latency.median or 0, 1)


def bar_edges(values: NDArray[np.int64], tick_ns: float, *, log: bool) -> NDArray[np.float64]:
    """Return the edges of the bars (ns): evenly wide, and never narrower than a tick."""
    low, high = float(values[0]), float(values[-1])
    if not log:
        step = max(1, int(np.ceil((high - low) / tick_ns / BINS))) * tick_ns
        return np.arange(low - step / 2, high + step, step)
    low, high = max(low, 1.0) / 1.02, max(high, 1.0) * 1.02
    even = np.geomspace(low, high, BINS + 1)
    whole = (np.round(even / tick_ns) + 0.5) * tick_ns
    inner = np.where(np.diff(even, append=np.inf) < 2 * tick_ns, whole, even)
    inner = inner[(inner > low) & (inner < high)]
    return np.unique(np.concatenate([[low], inner, [high]]))


def draw_bars(
    axes: Axes, counted: Tally, name: str, edges: NDArray[np.float64], *, log: bool
) -> None:
    """Draw the bars of a histogram; limits of the axes leave room for the marks."""
    values = np.maximum(counted.values, 1) if log else counted.values
    counts, _ = np.histogram(values, edges, weights=counted.counts)
    axes.stairs(counts, edges, baseline=0.7, fill=True, color=LATENCIES[name], alpha=0.85)
    axes.set_ylim(0.7, max(10, float(counts.max())) * 4)
    room = 1.12 if log else 1.04
    axes.set_xlim(edges[0] / room if log else None, edges[-1] * room if log else None)


def draw_marks(axes: Axes, latency: Latency, *, log: bool, line_share: float = 0.062) -> None:
    """Draw median, 99 % and maximum with their values, and label both axes of a histogram.

    Those among missed balls are at the right edge. ``line_share``: which part of the height a line
    of text takes.
    """
    count_axis(axes)
    time_axis(axes, "x", log=log)
    top = axes.get_xaxis_transform()
    low, high = axes.get_xlim()
    marks = {"median": "median", "99 %": "p99", "max": "max"}
    for index, (label, name) in enumerate(marks.items()):
        found = latency.ns(name)
        value = min(max(found, 1) if log else found, high)
        line = 0.985 - line_share * index
        place = np.log(value / low) / np.log(high / low) if log else (value - low) / (high - low)
        color, missed = BLACK, ""
        if np.isinf(found):
            color = PURPLE
            missed = f" ({format_count(latency.missed, 'ball')})" if name == "max" else ""
        axes.axvline(value, ymax=line - 0.02, color=color, lw=0.8, ls=(0, (3, 2)))
        axes.annotate(
            f"{label} {latency.said(name)}{missed}",
            (value, line - 0.02),
            xycoords=top,
            xytext=(-4 if place > 0.62 else 4, 0),
            textcoords="offset points",
            ha="right" if place > 0.62 else "left",
            va="center",
            bbox=ON_LINES,
            size=8.5,
        )


def name_axis(axes: Axes, *, log: bool) -> None:
    """Label the axis of a histogram."""
    scale = "logarithmic" if log else "linear"
    axes.set_xlabel(f"latency ({scale} scale)", color=GREY, size=8.5)


@house_style
def histogram(rally: Rally) -> Picture:
    """Draw both latencies' histograms as the thesis' figures 7.1 to 7.10: counts on a log axis.

    Times are linear, or logarithmic if the maximum is far above the median.
    """
    summary = summarize(rally)
    title = f"Histogram: {rally.label}"
    picture = Picture(WIDTH, 4.1, title, describe(summary, "Histograms"))
    picture.head(note(summary))
    panels = picture.subplots(1, 2)
    tick_ns = 1e9 / rally.tick_hz
    for axes, (name, latency) in zip(panels, latencies(summary).items(), strict=True):
        axes.set_title(f"{name} latency")
        if latency.n:
            log = wants_log(latency)
            counted = tally(rally, name)
            draw_bars(axes, counted, name, bar_edges(counted.values, tick_ns, log=log), log=log)
            draw_marks(axes, latency, log=log)
            name_axis(axes, log=log)
        else:
            nothing(axes, no_latency(summary))
    panels[0].set_ylabel("balls (log scale)")
    return picture


class LineStyle(TypedDict, total=False):
    """The style of a line, in matplotlib's terms."""

    color: Required[str]
    ls: Any  # a word, or dashes in points
    lw: float
    alpha: float


def draw_exceedance(
    axes: Axes, counted: Tally, *, missed_ns: float, label: str = "", **style: Unpack[LineStyle]
) -> None:
    """Draw the share of balls later than x as steps, down to the last ball.

    If balls were missed, it ends at their share, with an arrow at ``missed_ns``.
    """
    values, later = counted.values, (counted.balls - counted.cumulative) / counted.balls
    # without an answer all balls are later than anything on the axis
    first = values[0] if values.size else missed_ns / 10
    x = np.concatenate([[first], values]).clip(1)
    y = np.concatenate([[1.0], later])
    y[-1] = max(y[-1], 0.5 / counted.balls)  # zero has no place on this axis: below one ball
    kept = _visible_points(np.log(x), np.log(y))
    x, y = x[kept], y[kept]
    if counted.missed:
        end = max(missed_ns, x[-1])
        axes.plot(end, y[-1], ">", color=style["color"], ms=6)
        x, y = np.append(x, end), np.append(y, y[-1])
    axes.plot(x, y, drawstyle="steps-post", label=label, **style)


def _visible_points(
    x: NDArray[np.float64], y: NDArray[np.float64], cells: int = 900
) -> NDArray[np.intp]:
    """Return the indices of the points that differ on a picture: one a cell, and the last."""
    cell_x = (x - x[0]) * (cells / max(x[-1] - x[0], 1e-9))
    cell_y = (y[0] - y) * (cells / max(y[0] - y[-1], 1e-9))
    changed = np.diff(np.floor(cell_x + cell_y), prepend=-1) != 0
    changed[-1] = True
    return np.flatnonzero(changed)


@house_style
def distribution(rally: Rally) -> Picture:
    """Draw the share of balls later than x (1 - F) on logarithmic axes, with the 3/N line."""
    summary = summarize(rally)
    title = f"Complementary distribution: {rally.label}"
    picture = Picture(WIDTH, 4.4, title, describe(summary, "Complementary distributions"))
    picture.head(note(summary))
    axes = picture.subplots()
    drawn_any = False
    for name, latency in latencies(summary).items():
        if not latency.n:
            continue
        drawn_any = True
        label = f"{name} latency, max {latency.said('max')}"
        color = LATENCIES[name]
        missed_ns, counted = missed_at(summary), tally(rally, name)
        draw_exceedance(axes, counted, missed_ns=missed_ns, color=color, label=label)
    if not drawn_any:
        nothing(axes, no_latency(summary))
        return picture
    finish_exceedance(axes, summary.balls, summary.misses, speaks=speaks(summary))
    axes.legend(loc="upper right")
    return picture


def speaks(summary: Summary) -> bool:
    """Say whether a rally bounds rare answers: sound, without misses, and long enough."""
    return not summary.suspect and not summary.misses and summary.balls >= BOUND_FROM


def finish_exceedance(axes: Axes, balls: int, misses: int, *, speaks: bool) -> None:
    """Label the axes; draw the smallest share that N balls show, and the share that never came."""
    axes.margins(x=0.04)
    explained = "latency x"
    axes.set_ylim(0.45 / balls, 1.6)
    share_axis(axes)
    time_axis(axes, "x", log=True)
    if speaks:
        _level(axes, 3 / balls, f"3/N = {3 / balls:.2g}", GREY, right=True)
        explained = f"latency x\n{SPEAKS}"
    if misses:
        _level(axes, misses / balls, f"missed: {misses} of {balls}", PURPLE, right=False)
    axes.set(xlabel=explained, ylabel="share of balls later than x")


def _level(axes: Axes, share: float, label: str, color: str, *, right: bool) -> None:
    """Draw a level; its words are on the right below it, or on the left above it."""
    axes.axhline(share, color=color, lw=1, ls=(0, (4, 3)))
    axes.annotate(
        label,
        (0.995 if right else 0.005, share),
        xycoords=axes.get_yaxis_transform(),
        xytext=(0, -3 if right else 3),
        textcoords="offset points",
        ha="right" if right else "left",
        va="top" if right else "bottom",
        bbox=ON_LINES,
        size=8.5,
        color=color,
    )


class _Envelope:
    """Smallest and largest latency of consecutive balls: a downsampling that keeps extremes."""

    def __init__(self, balls: int, bins: int = 900) -> None:
        self.balls = balls
        self.bins = min(bins, max(balls, 1))
        self.low = np.full(self.bins, np.inf)
        self.high = np.full(self.bins, -np.inf)
        self.served = np.full(self.bins, np.nan)  # ns, of a bin's first ball

    def add(self, first: int, served: NDArray[np.int64], values: NDArray[np.float64]) -> None:
        """Take over balls from number ``first`` on; NaN if there is no latency."""
        if not values.size:
            return
        where = (np.arange(first, first + values.size) * self.bins) // self.balls
        starts = np.flatnonzero(np.diff(where, prepend=-1))
        bins = where[starts]
        fresh = np.isnan(self.served[bins])
        self.served[bins[fresh]] = served[starts[fresh]]
        low = np.fmin.reduceat(np.where(np.isnan(values), np.inf, values), starts)
        high = np.fmax.reduceat(np.where(np.isnan(values), -np.inf, values), starts)
        self.low[bins] = np.minimum(self.low[bins], low)
        self.high[bins] = np.maximum(self.high[bins], high)


def _envelopes(rally: Rally) -> tuple[dict[str, _Envelope], dict[str, NDArray[np.float64]]]:
    """Read the balls once; return both latencies' envelopes, and the times of missing ones (ns)."""
    envelopes = {name: _Envelope(rally.balls) for name in LATENCIES}
    missed = {name: [np.zeros(0)] for name in LATENCIES}
    first = 0
    tick = 1e9 / rally.tick_hz
    for batch in rally.batches(["served_ns", "rise_ticks", "fall_ticks"]):
        served = batch["served_ns"].values
        rise, fall = (batch[f"{edge}_ticks"].filled(np.nan) for edge in ("rise", "fall"))
        for name, ticks in (("interrupt", rise), ("scheduling", fall - rise)):
            envelopes[name].add(first, served, ticks * tick)
            missed[name].append(served[np.isnan(ticks)].astype(np.float64))
        first += len(batch)
    return envelopes, {name: np.concatenate(parts) for name, parts in missed.items()}


@house_style
def series(rally: Rally) -> Picture:
    """Draw both latencies over the time since the first ball; extremes and misses never vanish."""
    summary = summarize(rally)
    picture = Picture(WIDTH, 5.0, f"Time series: {rally.label}", describe(summary, "Time series"))
    picture.head(note(summary))
    panels = picture.subplots(2, 1, sharex=True)
    envelopes, all_missed = _envelopes(rally)
    start = float(np.nanmin(envelopes["interrupt"].served, initial=np.inf))
    for axes, (name, latency) in zip(panels, latencies(summary).items(), strict=True):
        axes.set_title(f"{name} latency")
        envelope, missed = envelopes[name], all_missed[name]
        if latency.n:
            _series(axes, envelope, start, LATENCIES[name], log=wants_log(latency))
        else:
            nothing(axes, no_latency(summary))
        if missed.size:
            kept = missed[np.unique(np.linspace(0, missed.size - 1, 2000).astype(int))]
            y = np.full(kept.size, 0.97)
            where = axes.get_xaxis_transform()
            label = f"{missed.size} missed"
            axes.plot(
                (kept - start) / 1e9, y, "x", color=PURPLE, ms=5, transform=where, label=label
            )
            axes.legend(loc="upper right")
    panels[-1].set_xlabel("time since the first ball (s)")
    return picture


def _series(axes: Axes, envelope: _Envelope, start: float, color: str, *, log: bool) -> None:
    full = np.isfinite(envelope.low)
    x = (envelope.served[full] - start) / 1e9
    low, high = envelope.low[full], envelope.high[full]
    if envelope.bins == envelope.balls:
        axes.plot(x, high, ".", color=color, ms=2.5)
    else:
        # one path from each bin's smallest to its largest, and a dot on the largest of all
        bar_x = np.repeat(x, 3)
        bar_y = np.column_stack([low, high, np.full(low.size, np.nan)]).ravel()
        axes.plot(bar_x, bar_y, color=color, lw=1.1, alpha=0.8, solid_capstyle="butt")
        # a bin whose balls were all alike is a bar of no length
        alike = low == high
        axes.plot(x[alike], high[alike], ".", color=color, ms=1.6, alpha=0.8)
        top_bins = np.argsort(high)[-40:]
        top_bins = top_bins[~alike[top_bins]]
        axes.plot(x[top_bins], high[top_bins], ".", color=color, ms=4)
    bottom, top = max(float(low.min()), 1.0), max(float(high.max()), 1.0)
    if log:
        axes.set_ylim(bottom / 1.5, top * 2)
    else:
        axes.set_ylim(0, top * 1.12)
    time_axis(axes, "y", log=log)
