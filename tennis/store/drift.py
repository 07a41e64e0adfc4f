# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Does a bench change over the weeks? A control chart of each bench and each kind of rally.

One observation is one rally: the balls of a boot depend on each other. Suspect rallies are among
them where they are whole, as a loose wire makes rallies suspect.
"""

import datetime
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tennis.errors import RallyError
from tennis.rally import Rally
from tennis.rally.copies import Copies
from tennis.rally.tally import Tally
from tennis.stats.control import BASELINE, Chart, chart
from tennis.stats.intervals import quantile_rank
from tennis.store.question import KIND
from tennis.store.store import Store
from tennis.units import NS_PER_S

MEDIAN, TAIL = Fraction(1, 2), Fraction(999, 1000)
FIGURES = {
    "median": "median interrupt latency",
    "tail": "interrupt latency, 99.9 %",
    "width": "median scheduling latency",
    "lost": "balls lost, strayed or doubled",
}
NEAR = 5  # rallies before the beginning in which its reason may lie
BALLS_MIN = 1000  # of a rally: a thousandth of its balls is one


@dataclass(frozen=True)
class Point:
    """A rally of a chart; nanoseconds, and a share."""

    id: str
    created: datetime.datetime
    week: str
    release: str
    serial: str | None
    balls: int
    figures: dict[str, float]
    above: frozenset[str]  # figures that lie among missed balls: they are above what stands here
    tick_ns: float


@dataclass(frozen=True)
class History:
    """One figure of one bench and one kind of rally, in the order of time."""

    bench: str
    kind: dict[str, str]
    figure: str
    points: list[Point]
    chart: Chart | None  # None: too few rallies; of latencies it is of their logarithms

    @property
    def label(self) -> str:
        """Return the kind of rally in a few words."""
        usual = {"beneath": "none", "processors": "None", "top_half": "hard", "settings": ""}
        words = [
            f"{word} processors" if key == "processors" else word
            for key, word in self.kind.items()
            if word != usual.get(key)
        ]
        return " / ".join(words)

    @property
    def drifted(self) -> bool:
        """Tell whether the figure is away from what was usual."""
        return self.chart is not None and self.chart.outside_now

    @property
    def change(self) -> float | None:
        """Return by which factor a latency changed, by which difference a share."""
        if self.chart is None:
            return None
        moved = float(self.chart.averages[-1]) - self.chart.centre
        return moved if self.figure == "lost" else float(np.exp(moved))

    @property
    def sentence(self) -> str:
        """Return what became of it, in words."""
        if self.chart is None:
            return f"too few rallies: {len(self.points)}, it takes {BASELINE + 1}"
        if self.chart.since is None or self.change is None:
            return "steady"
        begun = self.points[self.chart.since]
        if not self.drifted:
            return f"was off from {begun.week} (rally {begun.id}) on, is usual again"
        if self.figure == "lost":
            said = f"{1e6 * self.change:+,.0f} of a million"
        else:
            least = any(self.figure in point.above for point in self.points[self.chart.since :])
            said = f"{'at least ' if least else ''}{100 * (self.change - 1):+.1f} %"
        return f"drifts since {begun.week} (rally {begun.id}): {said}{self._news}"

    @property
    def _news(self) -> str:
        """Say what else changed about then: where a change begins is known to a few rallies."""
        if self.chart is None or self.chart.since is None or self.chart.found is None:
            return ""
        news = []
        for number in range(max(1, self.chart.since - NEAR), self.chart.found + 1):
            before, after = self.points[number - 1], self.points[number]
            for name in ("release", "serial"):
                old, new = getattr(before, name), getattr(after, name)
                if old != new:
                    news.append(f"{name} {old or 'unknown'} -> {new or 'unknown'} in {after.week}")
        return "".join(f"; {one}" for one in news[:NEAR])


def histories(
    store: Store, rows: pa.Table, say: Callable[[str], None] = lambda _: None
) -> Iterator[History]:
    """Yield each figure of each bench and kind of rally, benches in order.

    Drills, interrupted rallies and those of fewer than 1,000 balls are left out. Rallies that are
    damaged, and copies of another one of the same chart, are left out, and said.
    """
    played = rows.filter(pc.is_null(rows["drill"]))
    played = played.filter(pc.equal(played["ended"], "complete"))
    played = played.filter(pc.greater_equal(played["balls"], BALLS_MIN))
    groups: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for row in played.to_pylist():
        groups.setdefault((bench_of(row), *(str(row[name]) for name in KIND)), []).append(row)
    for (bench, *kind), some in sorted(groups.items()):
        points, boots = [], Copies()
        for row in sorted(some, key=lambda row: (row["created"], row["id"])):
            try:
                store.fetch([row["id"]])
                rally = store.open(row["id"])
                if copied := boots.original_of(rally):
                    say(f"left out: {row['id']} {copied}")
                    continue
                points.append(_point(rally, row))
            except RallyError as error:
                say(f"left out: {error}")
        for figure in FIGURES:
            yield History(
                bench, dict(zip(KIND, kind, strict=True)), figure, points, _chart(points, figure)
            )


def bench_of(row: dict[str, Any]) -> str:
    """Return the bench of a row of the catalogue: the name it was given, else its Brickwall."""
    return str(row["bench_name"] or row["serial"] or row["bench"])


def named_twice(rows: pa.Table) -> list[str]:
    """Return benches whose rallies come from two Brickwalls in turns: one name, two benches."""
    serials: dict[str, list[str]] = {}
    for row in sorted(rows.to_pylist(), key=lambda row: (row["created"], row["id"])):
        if row["serial"] and row["bench_name"]:
            seen = serials.setdefault(row["bench_name"], [])
            if not seen or seen[-1] != row["serial"]:
                seen.append(row["serial"])
    return sorted(bench for bench, seen in serials.items() if len(seen) > len(set(seen)))


def _point(rally: Rally, row: dict[str, Any]) -> Point:
    counts = rally.manifest.counts
    tick_ns = NS_PER_S / rally.tick_hz
    lost = counts.misses + counts.strays + counts.doubles + counts.runts
    found = {
        "median": _quantile(rally.interrupt, MEDIAN),
        "tail": _quantile(rally.interrupt, TAIL),
        "width": _quantile(rally.scheduling, MEDIAN),
    }
    # a chart needs a number: of a missed ball, as late as the latest answer or as it was waited for
    tallies = (rally.interrupt, rally.scheduling)
    latest = max((int(tally.values[-1]) for tally in tallies if tally.n), default=1)
    late_ns = max(latest * tick_ns, rally.manifest.given_up_ns or 0)
    return Point(
        id=row["id"],
        created=row["created"],
        week=row["week"],
        release=row["release"],
        serial=row["serial"],
        balls=rally.balls,
        figures={
            **{name: late_ns if t is None else t * tick_ns for name, t in found.items()},
            "lost": lost / rally.balls,
        },
        above=frozenset(name for name, ticks in found.items() if ticks is None),
        tick_ns=tick_ns,
    )


def _quantile(tally: Tally, level: Fraction) -> int | None:
    """Return the smallest latency that a share of all balls does not exceed: ticks.

    None: it is among the missed balls.
    """
    return tally.at(quantile_rank(tally.balls, level))


def _chart(points: Sequence[Point], figure: str) -> Chart | None:
    values = np.array([point.figures[figure] for point in points])
    if not points or not np.isfinite(values).all():
        return None
    if figure == "lost":
        return chart(values, 1 / min(point.balls for point in points))
    usual = max(float(np.median(values[:BASELINE])), 1.0)
    # a latency is read in ticks; below a tick nothing is known
    return chart(np.log(values.clip(1.0)), max(point.tick_ns for point in points) / usual)
