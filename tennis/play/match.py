# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Play a match: one rally after the other, each freshly booted, and go on whatever happens to one.

What is in the folder is kept. A rally that was sealed stays; one that was killed goes on; one that
was interrupted is set aside and played anew; one that failed is tried again.
"""

import contextlib
import datetime
import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path

from tennis import __version__
from tennis.bench import Bench, PreparingBench
from tennis.errors import BenchError, DiskFullError, RallyError, UsageError
from tennis.listener import say
from tennis.match.folder import MATCH, MatchFolder, Record, another, open_match
from tennis.match.plan import MatchPlan, NotPlayed, ScheduledRally
from tennis.play.planning import bench_of
from tennis.play.rally import NothingPlayedError, Observer, Stop, Watch, play, resume
from tennis.rally import Rally, part_path
from tennis.rally.disk import writing
from tennis.rally.folder import JOURNAL, check_part, finished, remove_part
from tennis.rally.plan import Plan
from tennis.replicate.rules import replication
from tennis.units import NS_PER_S, format_count

LOCK = ".lock"
# Wall time before anything was measured: seconds to build, boot and seal, and balls a second on the
# virtual bench, by load. A guess for --list; while a match is played, what it took so far counts.
BOOT_S = 5.0
REBOOT_S = 60.0
RATE_IDLE = 8_000.0
RATE_BUSY = 600.0


@dataclass(frozen=True)
class Match:
    """What is to be played, and what is left out."""

    plan: MatchPlan
    scheduled: list[ScheduledRally]  # in the order of playing
    not_played: list[NotPlayed]


@dataclass
class Outcome:
    """What became of a match."""

    folder: MatchFolder
    interrupted: bool = False
    played: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    bad: dict[str, str] = field(default_factory=dict)  # rally -> what is wrong with it


def bench_for(plan: MatchPlan) -> Bench:
    """Return the bench of a match. Raises UsageError where it cannot play one."""
    bench = bench_of(plan.bench, plan.port, plan.target)
    if bench.kind != "virtual" and not isinstance(bench, PreparingBench):
        raise UsageError(
            f'bench = "{plan.bench}": a match needs a target that tennis can boot into each kernel',
            next_step="name it, target = ..., as ssh knows it",
        )
    return bench


def estimate_s(plan: Plan) -> float:
    """Guess the wall time of a rally in seconds."""
    protocol = plan.protocol
    if plan.bench == "virtual":
        rate = RATE_IDLE if plan.load == "idle" else RATE_BUSY
        # a guest that is busy takes time for its settling, too: about as for balls 1 ms apart
        settling = protocol.settle_ns / 1e6 / rate
        return BOOT_S + settling + protocol.balls / rate
    return REBOOT_S + protocol.length_ns / NS_PER_S


def play_match(
    match: Match,
    out: Path,
    shown: Callable[[str], AbstractContextManager[Observer]],
    stop: Stop,
) -> Outcome:
    """Play into the folder ``out`` what is not there yet; return what became of all of it.

    A line is said for each rally. Raises UsageError or BenchError before anything is played
    where a rally cannot be, RallyError where ``out`` holds something else or another match,
    DiskFullError where the disk is full: then the same match can be gone on with.
    """
    bench = bench_for(match.plan)
    _check_folder(out)
    scheduled = _with_versions(bench, match.scheduled)
    for line in _foreign_tasks(scheduled):
        say(line)
    with writing(out):
        out.mkdir(parents=True, exist_ok=True)
    with _locked(out):
        record = _begun(bench, match, scheduled, out)
        outcome = Outcome(MatchFolder(out, record))
        clock = _Clock(scheduled)
        player = _Player(bench, out, stop, outcome)
        for number, planned in enumerate(scheduled, 1):
            if stop():
                outcome.interrupted = True
                break
            label = f"{number}/{len(scheduled)}"
            outcome_line = player.see_to(planned, shown(f"{label}{clock.left()}"))
            clock.done(planned, played=planned.name in outcome.played)
            say(f"{label} {planned.name}: {outcome_line}")
            _note(outcome, planned, out)
            if outcome.interrupted:
                break
        outcome.folder = open_match(out)
    return outcome


def _with_versions(bench: Bench, scheduled: list[ScheduledRally]) -> list[ScheduledRally]:
    """Fill in the versions, which also finds out whether each rally can be played.

    A bench that is prepared before each rally only knows then: the rallies' manifests have them.
    """
    if isinstance(bench, PreparingBench):
        return scheduled
    scheduled_again = []
    # asked once for all rallies that differ in balls, seed and settling only: it takes a while
    known: dict[str, dict[str, str]] = {}
    for planned in scheduled:
        kind = planned.plan.model_dump_json(exclude={"protocol"})
        if kind not in known:
            try:
                known[kind] = bench.versions(planned.plan)
            except (UsageError, BenchError) as error:
                raise type(error)(f"{planned.name}: {error}") from error
        plan = planned.plan.model_copy(update={"versions": known[kind]})
        scheduled_again.append(planned.model_copy(update={"plan": plan}))
    return scheduled_again


def _foreign_tasks(scheduled: list[ScheduledRally]) -> Iterator[str]:
    """Say where a load does not load the core that its kernel's rules are about."""
    for kernel, loads in replication().core_tasks.items():
        for load, kinds in loads.items():
            alike = [f for f in scheduled if (f.kernel, f.plan.load) == (kernel, load)]
            tasks = {f.plan.versions.get("load_tasks") for f in alike if f.plan.versions}
            if tasks - set(kinds):
                yield (
                    f"{load} has no tasks of {kernel}'s core here, only tasks of Linux: what was "
                    f"published about it stays not addressed. To address it, build loads/{load} "
                    "with the core's library (docs/loads.md) and play a new match"
                )


def _check_folder(out: Path) -> None:
    if out.exists() and not out.is_dir():
        raise UsageError(f"{out} is no folder", next_step="choose another --out")
    strange = out.exists() and not (out / MATCH).exists()
    if strange and any(path.name != LOCK for path in out.iterdir()):
        raise UsageError(
            f"{out} holds something else than a match", next_step="choose another --out"
        )


@contextlib.contextmanager
def _locked(out: Path) -> Iterator[None]:
    """Keep a second player out of the folder."""
    with writing(out):
        # the folder may come from somebody else: neither through a link, nor wait for a FIFO
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK
        lock = os.open(out / LOCK, flags, 0o644)
    with os.fdopen(lock, "rb"):
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise RallyError(
                f"{out} is being played by another process", next_step="let it finish"
            ) from error
        yield


def _begun(bench: Bench, match: Match, scheduled: list[ScheduledRally], out: Path) -> Record:
    """Write or update ``match.json``; raise RallyError where ``out`` holds another match."""
    troubles: dict[str, str] = {}
    created = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    if (out / MATCH).exists():
        before = Record.read(out)
        _check_same(before, match, scheduled, out)
        troubles, created = before.troubles, before.created
    record = Record(
        schema_version=1,
        bench=bench.kind,
        time_note=bench.time_note,
        created=created,
        tennis=__version__,
        plan=match.plan,
        scheduled=scheduled,
        not_played=match.not_played,
        troubles=troubles,
    )
    record.write(out)
    return record


def _check_same(before: Record, match: Match, scheduled: list[ScheduledRally], out: Path) -> None:
    """Raise RallyError unless what was begun is what is to be played, on the same versions."""
    another_plan = f"{out} was begun with another plan"
    ours, theirs = match.plan.model_dump(), before.plan.model_dump()
    for key, value in ours.items():
        if value != theirs[key]:
            raise RallyError(
                f"{another_plan} (its {key} differs)", next_step="choose another --out"
            )
    now = {planned.name: planned for planned in scheduled}
    for old in before.scheduled:
        new = now.get(old.name)
        if new is None:
            raise RallyError(
                f"{another_plan} ({old.name} is in it)",
                next_step="give the same --kernel, or another --out",
            )
        if _unversioned(old.plan) != _unversioned(new.plan):
            raise RallyError(
                f"{another_plan} ({old.name} differs)", next_step="choose another --out"
            )
        # none: a bench that is prepared
        for name in sorted(old.plan.versions and {*old.plan.versions, *new.plan.versions}):
            was, is_ = old.plan.versions.get(name), new.plan.versions.get(name)
            if was != is_:
                raise RallyError(
                    f"{out} was begun with {name} {was}, now it is {is_}: rallies of one match are "
                    "played with the same versions; choose another --out"
                )


def _unversioned(plan: Plan) -> Plan:
    return plan.model_copy(update={"versions": {}})


@dataclass
class _Player:
    """Sees to it that each rally of a match is there."""

    bench: Bench
    out: Path
    stop: Stop
    outcome: Outcome

    def see_to(self, planned: ScheduledRally, shown: AbstractContextManager[Observer]) -> str:
        """Play a rally unless it is there; say what was done."""
        place = self.out / planned.name
        try:
            rally = finished(place)
        except RallyError as error:
            return f"kept, but it cannot be used: {error}"
        if rally is None:
            return self._try(planned, place, shown)
        difference = another(rally, planned)
        if difference:
            return f"kept, but it is another rally ({difference})"
        if rally.manifest.ended == "interrupted":
            _set_aside(place)
            return self._try(planned, place, shown)
        self.outcome.kept.append(planned.name)
        return f"kept, {_counts(rally)}"

    def _try(
        self, planned: ScheduledRally, place: Path, shown: AbstractContextManager[Observer]
    ) -> str:
        """Play a rally, whatever happens to it."""
        try:
            with shown as observe:
                rally = self._play(planned, place, Watch(observe, self.stop))
        except NothingPlayedError:
            self.outcome.interrupted = True
            return "interrupted before the first ball"
        except DiskFullError as error:
            raise DiskFullError(f"{error}; or go on with the same `tennis match`") from error
        except (BenchError, RallyError, UsageError) as error:
            if self.stop():  # while a resumed rally came back to where it had been
                self.outcome.interrupted = True
                return str(error)
            self._trouble(planned.name, str(error)[:4000])
            return f"FAILED: {error}"
        self._trouble(planned.name, None)
        self.outcome.played.append(planned.name)
        if rally.manifest.ended == "interrupted":
            self.outcome.interrupted = True
            return f"interrupted; sealed {_counts(rally)}"
        return f"played, {_counts(rally)}"

    def _play(self, planned: ScheduledRally, place: Path, watch: Watch) -> Rally:
        """Play a rally, or go on with one that was killed."""
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
            if _unversioned(Plan.read(part)) != _unversioned(planned.plan):
                raise RallyError(
                    f"{part} is the beginning of another rally", next_step="move it away"
                )
            return resume(self.bench, place, watch)
        return play(self.bench, planned.plan, place, watch)

    def _trouble(self, name: str, reason: str | None) -> None:
        """Keep why there is no rally, or forget it."""
        record = self.outcome.folder.record
        before = record.troubles.pop(name, None)
        if reason is not None:
            record.troubles[name] = reason
        if reason != before:
            record.write(self.out)


def _set_aside(place: Path) -> None:
    """Keep a rally that somebody interrupted under another name: it is played anew."""
    number = 1
    while (aside := place.with_name(f"{place.name}.interrupted-{number}")).exists():
        number += 1
    with writing(aside):
        place.rename(aside)


def _note(outcome: Outcome, planned: ScheduledRally, out: Path) -> None:
    """Keep what is wrong with a rally."""
    folder = MatchFolder(out, outcome.folder.record)
    rally = folder.rally(planned.name)
    if rally is None:
        if not outcome.interrupted:
            outcome.bad[planned.name] = folder.trouble(planned.name)
    elif rally.manifest.suspect:
        faults = rally.manifest.faults
        outcome.bad[planned.name] = "suspect" + (f": {faults[0].message}" if faults else "")


def _counts(rally: Rally) -> str:
    suspect = ", SUSPECT" if rally.manifest.suspect else ""
    return f"{format_count(rally.balls, 'ball')}, {rally.misses} missed{suspect}"


class _Clock:
    """Guesses how long a match still takes, from how long it took so far."""

    def __init__(self, scheduled: list[ScheduledRally]) -> None:
        self._left = sum(estimate_s(planned.plan) for planned in scheduled)
        self._guessed = self._took = 0.0
        self._since = time.monotonic()

    def done(self, planned: ScheduledRally, *, played: bool) -> None:
        """Say that a rally is there."""
        now = time.monotonic()
        guess = estimate_s(planned.plan)
        self._left -= guess
        if played:
            self._guessed += guess
            self._took += now - self._since
        self._since = now

    def left(self) -> str:
        """Return the time that is left in words."""
        ratio = self._took / self._guessed if self._guessed else 1.0
        return f", {duration(max(0.0, self._left * ratio))} left"


def duration(seconds: float) -> str:
    """Write a time to wait: ``40 s``, ``12 min``, ``2.5 h``."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} min" if seconds < 90 * 60 else f"{seconds / 3600:.1f} h"
