"""Pictures of several rallies: who answers when, side by side."""

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from matplotlib.axes import Axes
from matplotlib.legend_handler import HandlerTuple
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator

from tennis.kit.style import BLACK, GREY, KERNELS, LATENCIES, OTHER_KERNELS
from tennis.kit.units import format_count
from tennis.rally import Rally, Tally
from tennis.rally.statistics import Latency, Summary, summarize
from tennis.rally.text import plain
from tennis.report.picture_words import bench_note, latencies, missed_at, names, no_latency
from tennis.report.plots.one import (
    WIDTH,
    LineStyle,
    bar_edges,
    draw_bars,
    draw_exceedance,
    draw_marks,
    finish_exceedance,
    name_axis,
    nothing,
    speaks,
    tally,
    wants_log,
)
from tennis.report.plots.picture import Picture, house_style, time_axis

_NARROW = 5.2  # in: on a page of 360 px, 10 points are 10 px

Dash = str | tuple[int, tuple[float, ...]]
DASHES: tuple[Dash, ...] = (
    "-",
    (0, (5, 2)),
    (0, (1, 1.3)),
    (0, (5, 1.5, 1, 1.5)),
    (0, (8, 2, 1, 2, 1, 2)),
)


def _colors(rallies: Sequence[Rally]) -> list[str]:
    """Return a colour for each rally: one for each kernel."""
    return kernel_colors([rally.manifest.target.system for rally in rallies])


def kernel_colors(kernels: Sequence[str]) -> list[str]:
    """Return a colour for each of some kernels; the same one has the same colour."""
    of = dict(KERNELS)
    for kernel in kernels:
        if kernel not in of:
            of[kernel] = OTHER_KERNELS[(len(of) - len(KERNELS)) % len(OTHER_KERNELS)]
    return [of[kernel] for kernel in kernels]


def _dashes(rallies: Sequence[Rally]) -> list[Dash]:
    """Return a line for each rally: equal for equal load and priorities, if unambiguous."""
    seen: dict[tuple[str, str], int] = {}
    taken: set[tuple[str, int]] = set()
    styles = []
    for rally, color in zip(rallies, _colors(rallies), strict=True):
        conditions = (rally.manifest.load.name, rally.manifest.target.priorities)
        index = seen.setdefault(conditions, len(seen)) % len(DASHES)
        for other in range(len(DASHES)):
            if (color, (index + other) % len(DASHES)) not in taken:
                index = (index + other) % len(DASHES)
                break
        taken.add((color, index))
        styles.append(DASHES[index])
    return styles


def _describe(summaries: Sequence[Summary], labels: Sequence[str], what: str) -> str:
    sentences = [f"{what} of {len(labels)} rallies ({bench_note(summaries)})."]
    for label, summary in zip(labels, summaries, strict=True):
        parts = []
        for name, latency in latencies(summary).items():
            parts.append(
                f"{name} median {latency.said('median')}, 99 % {latency.said('p99')}, "
                f"maximum {latency.said('max')}"
                if latency.n
                else f"no {name} latency"
            )
        extra = f", {summary.misses} missed" if summary.misses else ""
        suspect = ", suspect" if summary.suspect else ""
        count = summary.unfinished or format_count(summary.balls, "ball")
        sentences.append(f"{label}: {'; '.join(parts)}; {count}{extra}{suspect}.")
    return " ".join(sentences)


def _end(summary: Summary, missed: int) -> str:
    """Return the note for a maximum; ``missed``: balls without such a latency."""
    notes = {
        f"({format_count(missed, 'missed ball')})": missed,
        "suspect": summary.suspect,
        "interrupted": summary.ended == "interrupted",
    }
    return "".join(f"  {word}" for word, holds in notes.items() if holds)


def _row(axes: Axes, y: float, summary: Summary, latency: Latency, color: str) -> None:
    """Draw a rally: a line from minimum to maximum, marks at median, 99 % and maximum.

    A figure among missed balls is an arrow to the right, later than all answers.
    """
    if not latency.n:
        axes.text(
            0.02,
            y,
            no_latency(summary),
            transform=axes.get_yaxis_transform(),
            va="center",
            color=GREY,
        )
        return
    most = missed_at(summary)
    low, median, p99, latest = (
        min(latency.ns(name), most) for name in ("min", "median", "p99", "max")
    )
    low = max(low, 1)
    axes.plot([low, latest], [y, y], color=color, lw=1.6, alpha=0.45)
    axes.plot([low, p99], [y, y], color=color, lw=5, alpha=0.55, solid_capstyle="butt")
    axes.plot(median, y, "o", color="white", mec=color, mew=1.8, ms=7)
    axes.plot(p99, y, "|", color=color, ms=13, mew=2.2)
    axes.plot(latest, y, ">" if latency.missed else "D", color=color, ms=6)
    axes.annotate(
        latency.said("max") + _end(summary, latency.missed),
        (latest, y),
        xytext=(7, 0),
        textcoords="offset points",
        va="center",
        size=10.5,
    )


class _Band(HandlerTuple):
    """The sign of the band: its line, and the mark at its end."""

    def create_artists(self, *args: Any, **kwargs: Any) -> list[Line2D]:
        """Return the line and the mark; lengths are in points."""
        del kwargs
        _legend, (line, mark), xdescent, ydescent, width, height, _fontsize, trans = args
        band = Line2D([-xdescent, width], [(height - ydescent) / 2] * 2, transform=trans)
        band.update_from(line)
        band.set_transform(trans)
        end = Line2D([width], [(height - ydescent) / 2], transform=trans)
        end.update_from(mark)
        end.set_transform(trans)
        return [band, end]


@house_style
def overview(rallies: Sequence[Rally]) -> Picture:
    """Draw median, 99 % and maximum of each rally on one logarithmic axis of time.

    The picture is narrow: its words can be read on a telephone.
    """
    summaries = [summarize(rally) for rally in rallies]
    labels = names(rallies)
    picture = Picture(
        _NARROW,
        2.1 + 0.54 * len(rallies),
        "When did the answer come?",
        _describe(summaries, labels, "Median, 99 % and maximum"),
    )
    counts = sorted({summary.balls for summary in summaries})
    many = f"N = {counts[0]:,}"
    many += " each" if len(counts) == 1 else f" to {counts[-1]:,}"
    picture.head(f"{bench_note(summaries)}  ·  {many}")
    panels = picture.subplots(2, 1, sharex=True, sharey=True)
    rows = range(len(rallies))
    low, high = np.inf, 0.0
    for axes, name in zip(panels, LATENCIES, strict=True):
        for y, summary, color in zip(rows, summaries, _colors(rallies), strict=True):
            latency = latencies(summary)[name]
            _row(axes, y, summary, latency, color)
            if latency.n:
                low = min(low, float(max(latency.min or 0, 1)))
                high = max(high, missed_at(summary) if latency.missed else latency.latest or 0.0)
        axes.set_title(f"{name} latency")
        axes.grid(visible=False, axis="y")
        axes.tick_params(axis="y", length=0)
    if high:
        # room on the right for the maximum in words
        span = max(high / low, 2.0)
        length = max(len(_end(summary, summary.misses)) for summary in summaries)
        share = min(0.75, 0.24 + 0.026 * length)  # of the axis, at 6 points a letter
        room = share / (1 - share)
        panels[0].set_xlim(low / span**0.05, high * span**room)
        for axes in panels:
            time_axis(axes, "x", log=True)
            if high / low > 3e4:  # each second decade: the labels are as wide as one
                axes.xaxis.set_major_locator(LogLocator(100))
            axes.tick_params(axis="x", labelsize=10)
            # the room behind the latest answer has words, and no times
            axes.set_xticks([tick for tick in axes.get_xticks() if low <= tick <= 3 * high])
    else:
        for axes in panels:
            axes.set_xticks([])
    for axes in panels:
        axes.set_yticks(list(rows), labels, color=BLACK, size=10.5)
    panels[0].set_ylim(len(rallies) - 0.45, -0.55)
    most = (
        Line2D([], [], color=GREY, lw=5, alpha=0.55, solid_capstyle="butt"),
        Line2D([0.5], [0.5], marker="|", color=GREY, lw=0, ms=13, mew=2.2),
    )
    marks = {
        "median": Line2D([], [], marker="o", color="white", mec=GREY, mew=1.8, ms=7),
        "99 of 100 answers": most,
        "the latest": Line2D([], [], marker="D", color=GREY, lw=0, ms=6),
    }
    picture.legend(
        cast("Any", marks.values()),  # its types know no tuple
        marks,
        loc="outside lower right",
        ncols=3,
        fontsize=10,
        handler_map={tuple: _Band()},
    )
    return picture


@house_style
def comparison(rallies: Sequence[Rally]) -> Picture:
    """Draw the complementary distributions of several rallies over each other."""
    summaries = [summarize(rally) for rally in rallies]
    labels = names(rallies)
    rows = (len(rallies) + 2) // 3
    picture = Picture(
        WIDTH,
        4.3 + 0.2 * rows,
        "How rare are late answers?",
        _describe(summaries, labels, "Complementary distributions"),
    )
    picture.head(bench_note(summaries))
    same = len({summary.balls for summary in summaries}) == 1
    bounded = same and all(map(speaks, summaries))
    panels = picture.subplots(1, 2, sharey=True)
    balls = max(summary.balls for summary in summaries)
    handles = []
    for rally, summary, color, dash, label in zip(
        rallies, summaries, _colors(rallies), _dashes(rallies), labels, strict=True
    ):
        style: LineStyle = {"color": color, "ls": dash}
        missed = f" ({rally.misses} missed)" if rally.misses else ""
        handles.append(Line2D([], [], label=label + missed, lw=1.7, **style))
        for axes, name in zip(panels, LATENCIES, strict=True):
            if rally.balls and any(latencies(one)[name].n for one in summaries):
                missed_ns = missed_at(summary)
                draw_exceedance(axes, tally(rally, name), missed_ns=missed_ns, **style)
    for axes, name in zip(panels, LATENCIES, strict=True):
        axes.set_title(f"{name} latency")
        if not any(latencies(summary)[name].n for summary in summaries):
            nothing(axes, no_latency(max(summaries, key=lambda summary: summary.balls)))
            continue
        finish_exceedance(axes, balls, 0, speaks=bounded)
    panels[1].set_ylabel("")
    picture.legend(handles=handles, loc="outside lower center", ncols=3, handlelength=3.2)
    return picture


@house_style
def histograms(rallies: Sequence[Rally]) -> Picture:
    """Draw the histograms of several rallies below each other: the same axes, the same bars."""
    summaries = [summarize(rally) for rally in rallies]
    labels = names(rallies)
    picture = Picture(
        WIDTH, 1.0 + 1.9 * len(rallies), "Histograms", _describe(summaries, labels, "Histograms")
    )
    picture.head(bench_note(summaries))
    panels = picture.subplots(len(rallies), 2, sharex="col", squeeze=False)
    for column, name in zip(panels.T, LATENCIES, strict=True):
        for axes, summary, label in zip(column, summaries, labels, strict=True):
            axes.set_title(plain(f"{label}{_end(summary, 0)}: {name} latency", 60), size=9.5)
            if not latencies(summary)[name].n:
                why = no_latency(summary)
                axes.text(0.5, 0.5, why, transform=axes.transAxes, ha="center", color=GREY)
        rows = [
            (axes, tally(rally, name), latencies(summary)[name])
            for axes, rally, summary in zip(column, rallies, summaries, strict=True)
            if latencies(summary)[name].n
        ]
        if rows:
            _on_the_same_axes(rows, name, max(1e9 / rally.tick_hz for rally in rallies))
    for axes in panels[:, 0]:
        axes.set_ylabel("balls (log scale)")
    return picture


def _on_the_same_axes(
    rows: Sequence[tuple[Axes, Tally, Latency]], name: str, tick_ns: float
) -> None:
    log = any(wants_log(latency) for _, _, latency in rows)
    ends = [value for _, counted, _ in rows for value in (counted.values[0], counted.values[-1])]
    edges = bar_edges(np.array([min(ends), max(ends)]), tick_ns, log=log)
    for axes, counted, _ in rows:
        draw_bars(axes, counted, name, edges, log=log)
    top = max(axes.get_ylim()[1] for axes, _, _ in rows)
    for axes, _, latency in rows:
        axes.set_ylim(0.7, top)
        draw_marks(axes, latency, log=log, line_share=0.12)
    name_axis(rows[-1][0], log=log)
