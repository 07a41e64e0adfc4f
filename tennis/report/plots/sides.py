"""The picture of a comparison: every boot of both sides, and how rare late answers are in it."""

from collections.abc import Sequence

import numpy as np
from matplotlib.lines import Line2D

from tennis.kit.style import LATENCIES, ORANGE, SKY
from tennis.kit.units import format_count
from tennis.rally import Rally, Tally
from tennis.rally.statistics import summarize
from tennis.rally.statistics.drill import jitter_ns, spans_of
from tennis.report.picture_words import bench_note, missed_at
from tennis.report.plots.one import (
    WIDTH,
    LineStyle,
    draw_exceedance,
    finish_exceedance,
    nothing,
    tally,
)
from tennis.report.plots.picture import Picture, house_style

BOOTS_MAX = 100  # lines of a side that a picture can hold
STYLES: tuple[LineStyle, ...] = (
    {"color": SKY, "ls": "-", "lw": 1.2, "alpha": 0.75},
    {"color": ORANGE, "ls": (0, (4, 1.5)), "lw": 1.2, "alpha": 0.85},
)


@house_style
def sides(before: Sequence[Rally], after: Sequence[Rally], title: str, words: str) -> Picture:
    """Draw the complementary distribution of each boot, of both sides over each other.

    ``words``: the result, for people who cannot see the picture.
    """
    both = (before[:BOOTS_MAX], after[:BOOTS_MAX])
    drill = before[0].manifest.drill
    picture = Picture(WIDTH, 4.5, title, words)
    counts = sorted({rally.balls for some in both for rally in some})
    balls = f"{counts[0]:,}" if len(counts) == 1 else f"{counts[0]:,} to {counts[-1]:,}"
    note = bench_note([summarize(some[0]) for some in both])
    noun = "rises" if drill else "balls"
    picture.head(f"{note}  ·  {balls} {noun} a boot, a line for each boot")
    # of a control loop, one panel
    panels = picture.subplots(1, 1 if drill else 2, sharey=True, squeeze=False)[0]
    drawn_at = [
        (rally, drill.period_ns if drill else missed_at(summarize(rally)), style)
        for some, style in zip(both, STYLES, strict=True)
        for rally in some
        if rally.balls
    ]
    for axes, name in zip(panels, ["jitter"] if drill else LATENCIES, strict=True):
        axes.set_title("off the nearest end of a period" if drill else f"{name} latency")
        tallies = [_jitter(rally) if drill else tally(rally, name) for rally, _, _ in drawn_at]
        if not any(counted.n for counted in tallies):
            nothing(axes, "no ball was answered")
            continue
        for counted, (_, missed_ns, style) in zip(tallies, drawn_at, strict=True):
            draw_exceedance(axes, counted, missed_ns=missed_ns, **style)
        finish_exceedance(axes, counts[-1], 0, speaks=False)
    if drill:
        panels[0].set(xlabel="off by x", ylabel="share of periods off by more than x")
    else:
        panels[1].set_ylabel("")
    handles = [
        Line2D([], [], label=_label(name, some), color=style["color"], ls=style["ls"], lw=1.8)
        for name, some, style in zip(("before", "after"), both, STYLES, strict=True)
    ]
    picture.legend(handles=handles, loc="outside lower center", ncols=2, handlelength=3.2)
    return picture


def _jitter(rally: Rally) -> Tally:
    """Return the tally of a control loop's jitter, in whole nanoseconds; overruns are missed."""
    drill = rally.manifest.drill
    assert drill is not None  # noqa: S101 (all boots of a page are alike)
    off, overruns = jitter_ns(spans_of(rally).intervals[1], drill.period_ns)
    values, counts = np.unique(np.rint(off).astype(np.int64), return_counts=True)
    return Tally(values, counts, overruns)


def _label(name: str, some: Sequence[Rally]) -> str:
    missed = sum(0 if rally.manifest.drill else rally.misses for rally in some)
    return f"{name}, {format_count(len(some), 'boot')}" + (f" ({missed} missed)" if missed else "")
