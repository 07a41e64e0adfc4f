"""Provide a rally of a match: keep it, continue it, or play it."""

import os
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tennis.bench.protocol import Bench, PreparingBench
from tennis.kit.errors import BenchError, DiskFullError, RallyError, UsageError
from tennis.kit.units import format_count
from tennis.match.folder import another
from tennis.match.plan import ScheduledRally
from tennis.play.rally import NothingPlayedError, Observer, Stop, Watch, play, resume
from tennis.rally import Rally, part_path
from tennis.rally.folder import JOURNAL
from tennis.rally.in_play import can_go_on, check_part, remove_part
from tennis.rally.plan import Plan
from tennis.rally.sealing import finished, set_aside
from tennis.rally.text import plain


@dataclass(frozen=True)
class RallyOutcome:
    """The outcome of a rally."""

    words: str  # in words
    state: Literal["played", "kept", "unusable", "failed", "interrupted"]
    trouble: str = ""  # why it failed


@dataclass
class Player:
    """Sees to rallies, one at a time."""

    bench: Bench
    out: Path
    stop: Stop

    def play(
        self, planned: ScheduledRally, progress: AbstractContextManager[Observer]
    ) -> RallyOutcome:
        """Play a rally unless it is there. Raises DiskFullError."""
        place = self.out / planned.name
        return outcome_there(planned, place) or self._try(planned, place, progress)

    def _try(
        self, planned: ScheduledRally, place: Path, progress: AbstractContextManager[Observer]
    ) -> RallyOutcome:
        """Play a rally; return its failure as an outcome."""
        try:
            with progress as observe:
                rally = self._play(planned, place, Watch(observe, self.stop))
        except NothingPlayedError:
            return RallyOutcome("interrupted before the first ball", "interrupted")
        except DiskFullError as error:
            raise DiskFullError(f"{error}; or continue with the same command") from error
        except (BenchError, RallyError, UsageError) as error:
            if self.stop():  # while a resumed rally returned to its position
                return RallyOutcome(str(error), "interrupted")
            return RallyOutcome(f"FAILED: {error}", "failed", str(error)[:4000])
        if rally.manifest.ended == "interrupted":
            return RallyOutcome(f"interrupted; sealed {_counts(rally)}", "interrupted")
        return RallyOutcome(f"played, {_counts(rally)}", "played")

    def _play(self, planned: ScheduledRally, place: Path, watch: Watch) -> Rally:
        """Play a rally, or continue one that was killed."""
        part = part_path(place)
        begun = os.path.lexists(part)
        if begun:
            check_part(part)
            journal = part / JOURNAL
            if not journal.exists() or not journal.stat().st_size:
                remove_part(part)  # killed before anything was kept
                begun = False
        if isinstance(self.bench, PreparingBench):
            self.bench.prepare(planned.plan, self.stop)
        if begun:
            if unversioned(Plan.read(part)) != unversioned(planned.plan):
                raise RallyError(
                    f"{part} is the beginning of another rally", next_step="move it away"
                )
            return resume(self.bench, place, watch)
        return play(self.bench, planned.plan, place, watch)


def outcome_there(planned: ScheduledRally, place: Path) -> RallyOutcome | None:
    """Return the outcome of a rally that is there; None if it must be played or continued."""
    try:
        rally = finished(place)
    except RallyError as error:
        return RallyOutcome(f"kept, but it cannot be used: {error}", "unusable")
    if rally is None:
        return None
    difference = another(rally, planned)
    if difference:
        return RallyOutcome(f"kept, but it is another rally ({difference})", "unusable")
    if rally.manifest.ended == "interrupted":
        if not can_go_on(rally):
            set_aside(place, place)
        return None
    return RallyOutcome(f"kept, {_counts(rally)}", "kept")


def check_versions(old: Plan, new: Plan, out: Path, needs: str) -> None:
    """Raise RallyError unless a plan is of the same versions as the one that ``out`` began with."""
    for name in sorted({*old.versions, *new.versions}):
        was, now = old.versions.get(name), new.versions.get(name)
        if was != now:
            raise RallyError(
                f"{out} was begun with {plain(name, 40)} {plain(str(was), 80)}, now it is "
                f"{plain(str(now), 80)}: {needs}",
                next_step="choose another --out",
            )


def unversioned(plan: Plan) -> Plan:
    """Return a plan without the versions on which it is played."""
    return plan.model_copy(update={"versions": {}})


def _counts(rally: Rally) -> str:
    suspect = ", SUSPECT" if rally.manifest.suspect else ""
    if rally.manifest.drill:
        return f"{format_count(rally.balls, 'repetition')}{suspect}"
    return f"{format_count(rally.balls, 'ball')}, {rally.misses} missed{suspect}"
