# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""The worst instants of two sides, from one boot of each: no intervals, the same again each time.

A level needs many boots, for the balls of one are drawn. The worst instant of a boot is no draw:
``tennis.play.sections`` finds it among all instants of its time.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tennis.bench.registry import timeless
from tennis.comparison.before_after import Verdict
from tennis.comparison.folders import Cell, Sides, matched, unlike
from tennis.errors import UsageError
from tennis.explain.sections import storage
from tennis.explain.sections.figures import LONGEST_KEPT
from tennis.log import log
from tennis.play.compare_record import SIDES
from tennis.play.comparing import Playing, play_one_pair
from tennis.play.rally import Watch
from tennis.play.repeat import plan_again
from tennis.play.sections import Shot, all_sections, check, play_at, why_not
from tennis.play.sides import Recorded, SideRequest
from tennis.play.worst_search import Play, search
from tennis.rally import Rally
from tennis.rally.folder import BALLS
from tennis.rally.plan import Plan
from tennis.rally.text import plain
from tennis.units import format_count

OPTION = "--worst-instant"


@dataclass(frozen=True)
class WorstInstant:
    """The worst instant of one boot: when, the interrupt latency there, and the code; ns.

    ``played``: a shot was played there; otherwise it is as predicted, for so was each ball that was
    taken like that. ``predicted_ns`` None: nothing was, it is beside what was. ``open_ns``: another
    instant may be that late, and was not played; None: none.
    ``sure_share``: of so much of the time every part of the latency was seen.
    """

    rally: Rally
    at_ns: int
    latency_ns: int
    predicted_ns: int | None
    played: bool
    began_in: str
    ended_in: str
    task: str
    time_ns: int  # of all instants
    open_ns: int | None = None
    shots: int = 0  # that were played to find it
    sure_share: float = 1.0


@dataclass(frozen=True)
class Change:
    """What became of the worst instant, of one kind of rally."""

    cell: str  # empty: there is one kind only
    before: WorstInstant
    after: WorstInstant
    over_ns: int  # later by more is worse

    @property
    def later_ns(self) -> int:
        """Return by how much it became later; below 0: earlier."""
        return self.after.latency_ns - self.before.latency_ns

    @property
    def verdict(self) -> Verdict:
        """Say whether it became later by more than it may; an instant that is open may decide."""
        before_ns = self.before.open_ns or self.before.latency_ns
        after_ns = self.after.open_ns or self.after.latency_ns
        if self.after.latency_ns - before_ns > self.over_ns:
            return "worse"
        return "no worse" if after_ns - self.before.latency_ns <= self.over_ns else "undecided"


@dataclass(frozen=True)
class WorstCompared:
    """Two sides, and what became of their worst instants."""

    sides: Sides
    changes: list[Change]
    # kinds of which both sides are one build: all versions are the same, and so is every ball
    same: list[str] = field(default_factory=list)

    @property
    def verdict(self) -> Verdict:
        """Return worse, if any is; no worse, if all are. One build is no worse than itself."""
        found: set[Verdict] = {one.verdict for one in self.changes}
        if "worse" in found:
            return "worse"
        return "undecided" if "undecided" in found else "no worse"


def compare_worst(
    before: SideRequest, after: SideRequest, out: Path, over_ns: int, playing: Playing
) -> WorstCompared:
    """Play one boot of each side into ``out``, find its worst instant, and compare the two.

    Of a side that was played already the first boot is taken, and what is found of it is kept
    beside it. Raises UsageError for what sections cannot be recorded of, and as ``compare_played``.
    """
    plans: Mapping[str, Mapping[str, Plan]] = {}
    for one in (before, after):
        _refuse_unfit(one)
    if isinstance(before, Recorded) and isinstance(after, Recorded):
        sides = matched(before.cells, after.cells, timeless=timeless())
    else:
        sides, plans = play_one_pair(before, after, out, playing)
    changes, same = [], []
    for cells in sides.cells:
        kind = cells[0].name or cells[1].name
        if one_build(cells[0].rallies[0], cells[1].rallies[0]):
            same.append(kind)
            continue
        was, now = (
            _worst(cell, plans.get(side, {}).get(kind), side, playing)
            for side, cell in zip(SIDES, cells, strict=True)
        )
        changes.append(Change(kind, was, now, over_ns))
    return WorstCompared(sides, changes, same)


def one_build(before: Rally, after: Rally) -> bool:
    """Tell whether two rallies are one: the same versions, settings, seed, and the same balls.

    A Racquet that differs in a comment is the same module to the byte.
    """
    ours, theirs = (one.manifest for one in (before, after))
    return (
        not unlike(before, after)
        and ours.tool.versions == theirs.tool.versions
        and ours.protocol.seed == theirs.protocol.seed
        and ours.files[BALLS] == theirs.files[BALLS]
    )


def _refuse_unfit(side: SideRequest) -> None:
    """Raise UsageError, before anything is played, for what sections cannot be recorded of."""
    if isinstance(side, Recorded):
        for cell in side.cells:
            if cell.rallies and storage.read(cell.rallies[0]) is None:
                check(cell.rallies[0], plan_again(cell.rallies[0]))
        return
    for kind, plan in side.plans.items():
        board = "" if plan.bench == "virtual" else "on a board, nobody sees when interrupts are off"
        if why := board or why_not(plan):
            words = plain(kind or side.words, 60)
            raise UsageError(f"{OPTION}: {words}: {why}", next_step="leave it out")


def _worst(cell: Cell, plan: Plan | None, side: str, playing: Playing) -> WorstInstant:
    """Find the worst instant of a side's boot. ``plan``: it was played just now."""
    rally = cell.rallies[0]

    def again() -> Plan:
        update = {"protocol": rally.manifest.protocol, "versions": {}}
        return (plan or plan_again(rally)).model_copy(update=update)

    with playing.shown(side) as observe:
        watch = Watch(observe, playing.stop)
        sections = storage.read(rally)
        if sections is None:
            log.info(f"{side}: recording what a ball at every instant would have met")
            sections = all_sections(rally, again(), watch)
            if sections.longest.num_rows:
                storage.write(rally, sections)

        def play(instants: Sequence[tuple[int, int | None]]) -> list[Shot]:
            log.info(f"{side}: playing {format_count(len(instants), 'shot')} in one boot")
            return play_at(rally, instants, plan=again(), watch=watch)

        return worst_of(rally, sections, play)


def worst_of(rally: Rally, sections: storage.Sections, play: Play) -> WorstInstant:
    """Return the worst instant of what was recorded.

    An instant is certain if it is sure, and each ball that was taken like that came as predicted.
    If another one may be later, shots decide (``worst_search``): the first instants of all others
    are the proposals.
    """
    certain, doubtful = _by_certainty(sections)
    groups = sections.groups
    unsure = groups.filter(pc.invert(groups.column("sure"))).column("time_ns")
    known = WorstInstant(
        rally=rally,
        at_ns=0,
        latency_ns=0,
        predicted_ns=None,
        played=False,
        began_in="",
        ended_in="",
        task="",
        time_ns=sections.about.time_ns,
        sure_share=1 - (pc.sum(unsure).as_py() or 0) / sections.about.time_ns,
    )
    if certain:
        known = _at(known, certain[0], certain[0]["longest_ns"])
    off_ns = sections.about.worst_ns
    if not doubtful or (certain and doubtful[0]["longest_ns"] + off_ns <= known.latency_ns):
        return known
    rows = {row["first_ns"]: row for row in reversed(doubtful)}
    proposals = [
        {"at_ns": row["first_ns"], "latency_ns": row["longest_ns"], "way": row["way"]}
        for row in doubtful
    ]
    found = search(sections, play, proposals)
    worst, open_ns = found.worst, found.open_ns
    if not certain or worst.measured_ns > known.latency_ns:
        # what is beside a proposal is of the same section
        near = min(rows, key=lambda at_ns: abs(at_ns - worst.at_ns))
        known = replace(
            _at(known, rows[near], worst.measured_ns),
            at_ns=worst.at_ns,
            predicted_ns=worst.predicted_ns,
            played=True,
        )
    is_open = open_ns is not None and open_ns > known.latency_ns
    return replace(known, open_ns=open_ns if is_open else None, shots=len(found.shots))


def _at(one: WorstInstant, row: dict[str, Any], latency_ns: int) -> WorstInstant:
    """Return the worst instant as that of a row of ``sections.groups``."""
    return replace(
        one,
        at_ns=row["first_ns"],
        latency_ns=latency_ns,
        predicted_ns=row["longest_ns"],
        began_in=row["began_in"],
        ended_in=row["ended_in"],
        task=row["task"],
    )


def _by_certainty(sections: storage.Sections) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the latest certain row, if there is one, and the latest others."""
    exact = {(fit.way, fit.where) for fit in sections.about.balls if not fit.worst_ns}
    columns = [sections.groups.column(name).to_pylist() for name in ("sure", "way", "where")]
    certain = pa.array(
        [sure and (way, at) in exact for sure, way, at in zip(*columns, strict=True)]
    )
    order = [("longest_ns", "descending"), ("first_ns", "ascending")]
    both = ((certain, 1), (pc.invert(certain), LONGEST_KEPT))
    known, others = (
        sections.groups.filter(mask).sort_by(order).slice(0, count).to_pylist()
        for mask, count in both
    )
    return known, others
