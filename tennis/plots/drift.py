# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Control charts: a figure of each rally over time, and what was usual."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tennis.plots.one import WIDTH
from tennis.plots.picture import Picture, house_style
from tennis.rally.text import plain
from tennis.stats.control import BASELINE, Chart
from tennis.style import BLUE, GREY, VERMILLION

CHARTS_MAX = 12
ROW = 1.7


@dataclass(frozen=True)
class ChartPicture:
    """A chart to be drawn."""

    title: str
    sentence: str
    unit: str
    weeks: Sequence[str]  # of each observation
    chart: Chart
    logarithm: bool  # the chart is of logarithms of ns


@house_style
def courses(some: Sequence[ChartPicture]) -> Picture:
    """Draw charts, one below the other; ``CHARTS_MAX`` of them at most."""
    shown = list(some)[:CHARTS_MAX]
    picture = Picture(
        WIDTH,
        0.9 + ROW * len(shown),
        "Do benches change?",
        "Control charts over time. " + " ".join(f"{c.title}: {c.sentence}." for c in shown),
    )
    left = len(some) - len(shown)
    more = f"  ·  {left} more are not drawn" if left > 0 else ""
    picture.head(f"grey: the first {BASELINE} rallies, and what is usual since then{more}")
    for axes, course in zip(np.ravel(picture.subplots(len(shown), 1)), shown, strict=True):
        chart = course.chart
        at = np.arange(chart.values.size)
        axes.axvspan(-0.5, BASELINE - 0.5, color=GREY, alpha=0.15, lw=0)
        axes.fill_between(
            at,
            _readable(course, chart.low),
            _readable(course, chart.high),
            color=GREY,
            alpha=0.25,
            lw=0,
        )
        axes.axhline(float(_readable(course, np.array(chart.centre))), color=GREY, lw=0.8)
        axes.plot(at, _readable(course, chart.values), "o", ms=3, color=BLUE, alpha=0.7)
        axes.plot(at, _readable(course, chart.averages), color=VERMILLION if chart.found else BLUE)
        if chart.since is not None:
            axes.axvline(chart.since, color=VERMILLION, ls=":")
        axes.set_title(f"{plain(course.title, 120)}\n{plain(course.sentence, 120)}", fontsize=8.5)
        axes.set_ylabel(course.unit)
        ticks = [n for n, week in enumerate(course.weeks) if n == 0 or course.weeks[n - 1] != week]
        ticks = ticks[:: max(1, len(ticks) // 8)]
        axes.set_xticks(ticks, _short([course.weeks[n] for n in ticks]))
    return picture


def _readable(course: ChartPicture, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a chart's values in the unit of its axis."""
    return np.exp(values) / 1000 if course.logarithm else values * 1e6


def _short(weeks: Sequence[str]) -> list[str]:
    """Return weeks with their year where that is another one."""
    years = ["", *(week[:4] for week in weeks)]
    return [
        week if week[:4] != year else week[5:] for week, year in zip(weeks, years, strict=False)
    ]
