"""The coverage of a rally of shots, with the instants that a search played beside it."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from tennis.kit.style import BLACK, GREY, LATENCIES, PURPLE
from tennis.kit.units import format_count
from tennis.rally import Rally
from tennis.rally import instants as storage
from tennis.rally.shots import are_shots
from tennis.rally.statistics import summarize
from tennis.rally.statistics.balls import edges_ns
from tennis.report.picture_words import describe, latencies, no_latency, note
from tennis.report.plots.one import WIDTH, nothing, wants_log
from tennis.report.plots.picture import Picture, house_style, time_axis

SEARCHED = "#b5651d"
POINTS_MAX = 20_000  # the latest are always drawn


@house_style
def coverage(rally: Rally, searched: NDArray[np.int64] | None = None) -> Picture:
    """Draw the latency of each shot or ball over its instant; misses are at the top.

    ``searched``: instants of a search and their interrupt latencies; ns, shape (instants, 2).
    """
    summary = summarize(rally)
    picture = Picture(WIDTH, 5.2, f"Coverage: {rally.label}", describe(summary, "Instants"))
    picture.head(note(summary))
    panels: Sequence[Axes] = picture.subplots(2, 1, sharex=True)
    served, rise, fall = edges_ns(rally)
    noun = "shots" if are_shots(rally.manifest.protocol) else "balls"
    start = int(served.min(initial=2**62))
    for axes, (name, latency) in zip(panels, latencies(summary).items(), strict=True):
        axes.set_title(f"{name} latency of a ball at this instant")
        if not latency.n:
            nothing(axes, no_latency(summary))
            continue
        log = wants_log(latency)
        values = rise if name == "interrupt" else fall - rise
        there = ~np.isnan(values)
        _points(axes, served[there] - start, values[there], LATENCIES[name], noun)
        if name == "interrupt" and searched is not None:
            at, found = searched[~np.isin(searched[:, 0], served)].T
            label = f"{format_count(len(at), 'instant')} of a search"
            _points(axes, at - start, found.astype(np.float64), SEARCHED, label)
        if not there.all():
            where = axes.get_xaxis_transform()
            lost = (served[~there] - start) / 1e6
            axes.plot(lost, np.full(lost.size, 0.97), "x", color=PURPLE, ms=5, transform=where)
        time_axis(axes, "y", log=log)
        _worst(axes, served[there] - start, values[there], log=log)
        if len(axes.get_legend_handles_labels()[1]) > 1:
            axes.legend(loc="lower right", bbox_to_anchor=(1, 1), ncol=3, fontsize=8.5)
    panels[-1].set_xlabel(f"instant: time since the first of the {noun} (ms)")
    return picture


def _points(
    axes: Axes, at: NDArray[np.int64], values: NDArray[np.float64], color: str, label: str
) -> None:
    order = np.argsort(-values, kind="stable")[:POINTS_MAX]
    size = 3.2 if order.size < 2000 else 1.8
    axes.plot(
        at[order] / 1e6,
        np.maximum(values[order], 1),
        ".",
        ms=size,
        color=color,
        label=label,
        rasterized=order.size > 3000,
    )


def _worst(axes: Axes, at: NDArray[np.int64], values: NDArray[np.float64], *, log: bool) -> None:
    """Mark the latest shot."""
    latest = int(np.argmax(values))
    axes.plot(at[latest] / 1e6, values[latest], "o", ms=8, mfc="none", mec=BLACK, mew=0.9)
    if log:
        low, high = axes.get_ylim()
        axes.set_ylim(low, high * 1.6)
    axes.axhline(values[latest], color=GREY, lw=0.6, ls=(0, (3, 2)))


def with_search(rally: Rally) -> Picture | None:
    """Draw a rally's shots over their instants, and those of a search, if there was one.

    None: its balls are no shots, and nobody searched.
    """
    searched = storage.read(rally)
    if searched is None:
        return coverage(rally) if are_shots(rally.manifest.protocol) else None
    return coverage(rally, searched.rows[:, :2])
