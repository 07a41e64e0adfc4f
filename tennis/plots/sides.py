# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""The picture of a comparison: every boot of both sides, and how rare late answers are in it."""

from collections.abc import Sequence

from matplotlib.lines import Line2D

from tennis.plots.one import WIDTH, LineStyle, draw_exceedance, finish_exceedance, nothing, tally
from tennis.plots.picture import Picture, bench_note, house_style, missed_at
from tennis.rally import Rally
from tennis.stats import summarize
from tennis.style import LATENCIES, ORANGE, SKY
from tennis.units import format_count

BOOTS_MAX = 100  # lines of a side that a picture can hold
STYLES: tuple[LineStyle, ...] = (
    {"color": SKY, "ls": "-", "lw": 1.2, "alpha": 0.75},
    {"color": ORANGE, "ls": (0, (4, 1.5)), "lw": 1.2, "alpha": 0.85},
)


@house_style
def sides(before: Sequence[Rally], after: Sequence[Rally], title: str, words: str) -> Picture:
    """Draw the complementary distribution of each boot, of both sides over each other.

    ``words`` says what was found: who cannot see the picture reads it.
    """
    both = (before[:BOOTS_MAX], after[:BOOTS_MAX])
    picture = Picture(WIDTH, 4.5, title, words)
    counts = sorted({rally.balls for some in both for rally in some})
    balls = f"{counts[0]:,}" if len(counts) == 1 else f"{counts[0]:,} to {counts[-1]:,}"
    note = bench_note([summarize(some[0]) for some in both])
    picture.head(f"{note}  ·  {balls} balls a boot, a line for each boot")
    panels = picture.subplots(1, 2, sharey=True)
    drawn_at = [
        (rally, missed_at(summarize(rally)), style)
        for some, style in zip(both, STYLES, strict=True)
        for rally in some
        if rally.balls
    ]
    for axes, name in zip(panels, LATENCIES, strict=True):
        axes.set_title(f"{name} latency")
        tallies = [tally(rally, name) for rally, _, _ in drawn_at]
        if not any(counted.n for counted in tallies):
            nothing(axes, "no ball was answered")
            continue
        for counted, (_, missed_ns, style) in zip(tallies, drawn_at, strict=True):
            draw_exceedance(axes, counted, missed_ns=missed_ns, **style)
        finish_exceedance(axes, counts[-1], 0, speaks=False)
    panels[1].set_ylabel("")
    handles = [
        Line2D([], [], label=_label(name, some), color=style["color"], ls=style["ls"], lw=1.8)
        for name, some, style in zip(("before", "after"), both, STYLES, strict=True)
    ]
    picture.legend(handles=handles, loc="outside lower center", ncols=2, handlelength=3.2)
    return picture


def _label(name: str, some: Sequence[Rally]) -> str:
    missed = sum(rally.misses for rally in some)
    return f"{name}, {format_count(len(some), 'boot')}" + (f" ({missed} missed)" if missed else "")
