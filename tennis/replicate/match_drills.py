# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""The drills of a match, a line each: what the target believed, what the instrument saw."""

from dataclasses import dataclass

import numpy as np

from tennis.match.folder import MatchFolder
from tennis.rally import Rally
from tennis.rally.drills import Span, told_of
from tennis.rally.folder import NAMED_OF_DRILL
from tennis.rally.manifest import Drill
from tennis.rally.settings import in_brief
from tennis.rally.statistics.drill import SpansByClock, sides, spans_of


@dataclass(frozen=True)
class _DrillRow:
    """A drill with a kernel under a load: all sound boots."""

    kernel: str
    load: str
    drill: Drill
    command_line: str
    otherwise: str  # the plan's settings of all boots that are not the usual ones, in words
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


def drill_rows(match: MatchFolder) -> list[_DrillRow]:
    """Return a line for each drill of a match that was done; suspect boots are left out."""
    boots: dict[tuple[str, str, str, str], list[Rally]] = {}
    for planned in match.scheduled:
        drill = planned.plan.drill
        rally = match.rally(planned.name) if drill else None
        if drill is None or rally is None or rally.manifest.suspect:
            continue
        if rally.manifest.ended != "complete" or rally.balls < 2:
            continue
        done = f"{drill.name} {drill.context} {drill.period_ns:09d}"
        key = (planned.kernel, done, planned.plan.command_line, planned.plan.load)
        boots.setdefault(key, []).append(rally)
    return [_row(*key, some) for key, some in sorted(boots.items())]


def _row(kernel: str, _: str, command_line: str, load_name: str, rallies: list[Rally]) -> _DrillRow:
    drill = rallies[0].manifest.drill
    assert drill is not None  # noqa: S101 (only drills are given)
    spans = [spans_of(rally) for rally in rallies]
    span = told_of(rallies[0].manifest).span
    periodic = span == "period"
    pairs = [one.intervals if periodic else one.durations for one in spans]
    outside = np.concatenate([pair[1] for pair in pairs])
    # a match's drills are all the kit's own, which tell what they measured
    inside = np.concatenate([pair[0] for pair in pairs if pair[0] is not None])
    limits = [rally.manifest.given_up_ns for rally in rallies if rally.misses]
    given_up_ns = min((limit for limit in limits if limit is not None), default=None)
    return _DrillRow(
        kernel=kernel,
        load=load_name,
        drill=drill,
        command_line=command_line,
        otherwise=", ".join(in_brief(rallies[0].manifest, NAMED_OF_DRILL)),
        boots=len(rallies),
        overruns=sum(one.inside.overruns for one in spans if one.inside),
        span=span,
        sides=sides(inside, outside, drill.period_ns if periodic else None, given_up_ns),
    )
