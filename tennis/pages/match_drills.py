# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""The drills of a match, a line each: what the target believed, what the instrument saw."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from tennis.match.folder import MatchFolder
from tennis.match.plan import ScheduledRally
from tennis.publications.arm import CALLS, CONTEXTS
from tennis.publications.load import load
from tennis.rally import Rally
from tennis.rally.drills import Span, told_of
from tennis.rally.folder import NAMED_OF_DRILL
from tennis.rally.manifest import Drill
from tennis.rally.settings import in_brief
from tennis.stats.drill import SpansByClock, sides, spans_of
from tennis.units import format_us

_TABLES: dict[str, str] = {name: table for table, (name, _, _) in CALLS.items()}
_CONTEXTS: dict[str, str] = {context: column for column, context in CONTEXTS.items()}


@dataclass(frozen=True)
class DrillRow:
    """A drill with a kernel under a load: all sound boots."""

    kernel: str
    load: str
    drill: Drill
    command_line: str
    otherwise: str  # the plan's settings of all boots that are not the usual ones, in words
    published: str  # mean, standard deviation and maximum as the paper has them; or empty
    boots: int
    overruns: int
    span: Span
    sides: SpansByClock

    @property
    def name(self) -> str:
        """Return the drill in a few words."""
        period = f" {self.drill.period_ns / 1000:g} µs" if self.span == "period" else ""
        line = f", {self.command_line}" if self.command_line else ""
        otherwise = f", {self.otherwise}" if self.otherwise else ""
        return f"{self.drill.name}{period}, {self.drill.context}{line}{otherwise}"


def drill_rows(match: MatchFolder) -> list[DrillRow]:
    """Return a line for each drill of a match that was done; suspect boots are left out."""
    boots: dict[tuple[str, str, str, str], list[tuple[ScheduledRally, Rally]]] = {}
    for planned in match.scheduled:
        drill = planned.plan.drill
        rally = match.rally(planned.name) if drill else None
        if drill is None or rally is None or rally.manifest.suspect:
            continue
        if rally.manifest.ended != "complete" or rally.balls < 2:
            continue
        done = f"{drill.name} {drill.context} {drill.period_ns:09d}"
        key = (planned.kernel, done, planned.plan.command_line, planned.plan.load)
        boots.setdefault(key, []).append((planned, rally))
    return [_row(*key, some) for key, some in sorted(boots.items())]


def _row(
    kernel: str, _: str, command_line: str, load_name: str, some: list[tuple[ScheduledRally, Rally]]
) -> DrillRow:
    rallies = [rally for _, rally in some]
    drill = rallies[0].manifest.drill
    assert drill is not None  # noqa: S101 (only drills are given)
    as_published = all(one.is_drill(kernel, load_name, drill) for one, _ in some)
    spans = [spans_of(rally) for rally in rallies]
    span = told_of(rallies[0].manifest).span
    periodic = span == "period"
    pairs = [one.intervals if periodic else one.durations for one in spans]
    outside = np.concatenate([pair[1] for pair in pairs])
    # a match's drills are all the kit's own, which tell what they measured
    inside = np.concatenate([pair[0] for pair in pairs if pair[0] is not None])
    limits = [rally.manifest.given_up_ns for rally in rallies if rally.misses]
    given_up_ns = min((limit for limit in limits if limit is not None), default=None)
    return DrillRow(
        kernel=kernel,
        load=load_name,
        drill=drill,
        command_line=command_line,
        otherwise=", ".join(in_brief(rallies[0].manifest, NAMED_OF_DRILL)),
        published=_published(drill, load_name) if as_published else "",
        boots=len(rallies),
        overruns=sum(one.inside.overruns for one in spans if one.inside),
        span=span,
        sides=sides(inside, outside, drill.period_ns if periodic else None, given_up_ns),
    )


def _published(drill: Drill, load_name: str) -> str:
    """Return the paper's mean, standard deviation and maximum; of one-shot timers."""
    if load_name not in {"idle", "memory"}:
        return ""
    figures = load("arm-2016")
    rows: Iterable[dict[str, object]] = figures.get(_TABLES.get(drill.name, ""), [])
    if drill.name == "periodic":
        rows = (
            row
            for row in figures["periodic"]
            if row["mode"] == "oneshot" and row["period_us"] * 1000 == drill.period_ns
        )
    for row in rows:
        found = row.get(_CONTEXTS.get(drill.context, ""))
        if row["load"] == (load_name == "memory") and isinstance(found, dict):
            return "; ".join(format_us(found[key]) for key in ("mean", "sd", "max"))
    return ""
