"""The lab's rallies as the marker played them: marks are computed from these.

A student's folder names the lab, the seed, and the lab's settings. The marker plays these rallies,
once for each seed and settings, and keeps them for the class: a group, a copy, and the next run
cost nothing. The student's rallies are compared with them, and are never the source of a number.
"""

import contextlib
import fcntl
import hashlib
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from tennis.bench.protocol import Bench, RunRecord
from tennis.bench.registry import bench_for
from tennis.bench.virtual.bench import VirtualBench
from tennis.bench.virtual.machine import Extras
from tennis.course.checking.budget import Budget, refuse_ended
from tennis.course.checking.module_trial import makers_of, play_watched
from tennis.course.labs import LabRally
from tennis.course.work import Work
from tennis.kit.digests import sha256_of
from tennis.kit.errors import BenchError
from tennis.match.folder import MatchFolder
from tennis.match.plan import MatchPlan, ScheduledRally
from tennis.match.playing import Match
from tennis.match.sweep.folder import Sweep
from tennis.match.sweep.playing import SweepRequest, play_sweep
from tennis.play.check import ball_difference, difference
from tennis.play.planning import drill_plan_for, plan_for
from tennis.play.rally import NothingPlayedError, Watch, play, unobserved
from tennis.play.repeat import unlike
from tennis.rally import Rally, open_folder, part_path
from tennis.rally.disk import writing
from tennis.rally.plan import Plan
from tennis.rally.program import known_by
from tennis.rally.request import RallyRequest
from tennis.rally.text import plain

FOLDER = "played"  # of a class's marks: what the marker played
BALLS_MAX_TIMES = 4  # at most this many times a lab's balls are played for a student
KEY_DIGITS = 24
ON_BOARD = "it cannot be played again"  # a note for rallies that count all the same


def plan_of_rally(
    lab_rally: LabRally, seed: int, *, balls: int | None = None, own: Path | None = None
) -> Plan:
    """Return the plan of a lab's rally with a student's seed. Raises UsageError.

    ``balls``: in place of the lab's; ``own``: the student's file, if the lab asks for one.
    """
    count = lab_rally.balls if balls is None else balls
    if lab_rally.drill is not None:
        request = RallyRequest(
            kernel=lab_rally.kernel, load=lab_rally.load, load_options=lab_rally.load_options
        )
        return drill_plan_for(lab_rally.drill.to_do, count, seed + lab_rally.boot, request)
    return plan_for(lab_rally.request(own), lab_rally.served(seed, count))


def draw_for(plays: "Plays | None", *files: Path) -> int:
    """Return the number from which all is drawn that a check plays some files with; 31 bits.

    With no plays, for a student: one that follows from the files, and is another one after each
    change of them. Raises TennisError.
    """
    return plays.drawn(files) if plays else int(_contents(files)[:8], 16) >> 1


class Plays:
    """The marker's rallies for a class: a folder, in which every play has one place."""

    def __init__(self, folder: Path, work: Work | None = None) -> None:
        """``work``: the hand-in whose own code has a budget; None: all is played to its end."""
        self._folder, self._work = folder, work

    def rally(self, plan: Plan, script: bytes = b"") -> Rally:
        """Return the rally of a plan, played now or before.

        ``script``: what the target's root runs meanwhile. A rally that is suspect is not kept: this
        machine may have been in trouble. Raises TennisError, and Wrong if a student's own code
        took too long.
        """
        bench = bench_for(plan)
        plan = plan.model_copy(update={"versions": bench.versions(plan)})
        key = _key_of(plan)
        with self._place(_digest(key, script.decode()) if script else key) as place:
            if not place.exists() or (plan.racquet and not makers_of(place).exists()):
                _remove(part_path(place))
                _remove(place)
                if script:
                    bench = VirtualBench(Extras(files={"/tennis/after": script}))
                rally = self._played(bench, plan, place)
                if not rally.manifest.suspect:
                    return rally
                trouble = self._folder / f"{place.name}.suspect"
                _remove(trouble)
                place.rename(trouble)
                return open_folder(trouble)
            return open_folder(place)

    def _played(self, bench: Bench, plan: Plan, place: Path) -> Rally:
        """Play a rally; a student's own code within its budget."""

        def played(watch: Watch) -> Rally:
            if plan.racquet:
                return play_watched(plan, place, watch)
            return play(bench, plan, place, watch)

        own = Path(plan.racquet or plan.program or "/")
        if self._work is None or not own.is_relative_to(self._work.folder):
            return played(Watch())
        ended = place.with_name(f"{place.name}.ended")
        refuse_ended(ended)
        budget = Budget(self._folder / f"spent-{_digest(str(self._work.seed), _source_of(plan))}")
        try:
            return played(Watch(budget.observe, budget.stop))
        except NothingPlayedError as error:
            raise BenchError("the play was ended before its first ball") from error
        finally:
            if budget.stop():
                _remove(place)
                _remove(part_path(place))
            budget.close(ended)

    def drawn(self, files: Sequence[Path]) -> int:
        """Return a number that no student knows, drawn once for each content of some files.

        So the marker plays with other settings for each hand-in, and a later run with the same
        ones. Raises TennisError.
        """
        with self._place(f"drawn-{_contents(files)}") as place, writing(self._folder):
            if not place.exists():
                place.write_text(f"{secrets.randbits(31)}\n")
            return int(place.read_text())

    def misplayed(self, plan: Plan) -> str:
        """Describe the faults of a user's Racquet's answers in its play; empty: none.

        Raises TennisError.
        """
        makers = makers_of(self.rally(plan).path)
        return makers.read_text() if makers.exists() else ""  # a suspect play says so itself

    def difference(
        self, rally: Rally, plan: Plan, ours: Rally | None = None, *, only_balls: bool = False
    ) -> str:
        """Return the first difference of a student's rally from the marker's; empty: none.

        ``ours``: the marker's; None: it is played, if it was not yet. If they differ, it is played
        once more before anybody is accused: a machine in trouble ends a play early, and hardly at
        the same ball twice. Raises BenchError if the two plays differ.
        """
        bench = bench_for(plan)
        versions = bench.versions(plan)
        plan = plan.model_copy(update={"versions": versions})
        with self._scratch() as scratch:
            ours = ours or self.rally(plan)
            if only_balls:
                found = ball_difference(rally, ours)
            else:
                found = difference(
                    rally, ours, lambda: bench.circumstances(plan, rally.path), scratch
                )
            if not found:
                return ""
            again = self._played(bench, plan, scratch / "again")
            if trouble := difference(ours, again, _no_record, scratch):
                _remove(ours.path)  # the next run plays it a third time
                raise BenchError(f"two plays of it differ: {trouble}", next_step="try again")
        return plain(str(unlike(rally, found, versions)), 300)

    def match(self, plan: MatchPlan, scheduled: Sequence[ScheduledRally]) -> MatchFolder:
        """Return a match, played now or before. Raises TennisError."""
        versions = [bench_for(one.plan).versions(one.plan) for one in _kinds(scheduled)]
        key = _digest(plan.model_dump_json(), repr(versions))
        with self._place(f"match-{key}") as place:
            done = Match(plan, list(scheduled), []).play(
                place, lambda _: unobserved(), lambda: False
            )
        if done.bad:
            name, why = next(iter(done.bad.items()))
            raise BenchError(f"{name} of the match {plain(why, 200)}", next_step="try again")
        return done.folder

    def sweep(self, request: SweepRequest) -> Sweep:
        """Return a sweep, played now or before. Raises TennisError."""
        bench = bench_for(request.plan)
        versions = bench.versions(request.plan)
        key = _digest(request.plan.model_dump_json(), repr(request.range), repr(versions))
        with self._place(f"sweep-{key}") as place:
            return play_sweep(bench, request, place, lambda _: unobserved(), lambda: False).sweep

    @contextlib.contextmanager
    def _place(self, key: str) -> Iterator[Path]:
        """Yield the place of a play under a lock: if two want it, one plays."""
        with writing(self._folder):
            self._folder.mkdir(parents=True, exist_ok=True)
            lock = os.open(self._folder / f"{key}.lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW)
        with os.fdopen(lock, "rb"):
            try:
                fcntl.flock(lock, fcntl.LOCK_EX)
            except OSError as error:
                raise BenchError(
                    f"{self._folder} cannot be locked ({error.strerror}): its file system has no "
                    "locks",
                    next_step="choose an --out on a local disk",
                ) from error
            yield self._folder / key

    @contextlib.contextmanager
    def _scratch(self) -> Iterator[Path]:
        with writing(self._folder):
            self._folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="again-", dir=self._folder) as folder:
            yield Path(folder)


def _key_of(plan: Plan) -> str:
    """Return the key of a plan with its versions: the same if its balls are the same."""
    where = {"racquet": None, "program": None}
    return _digest(plan.model_copy(update=where).model_dump_json(), _source_of(plan))


def _source_of(plan: Plan) -> str:
    """Return the identity of a plan's own code; empty: it has none."""
    return sha256_of(Path(plan.racquet)) if plan.racquet else known_by(plan.program) or ""


def _contents(files: Sequence[Path]) -> str:
    return _digest(*(sha256_of(path) for path in files))


def _digest(*parts: str) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:KEY_DIGITS]


def _kinds(scheduled: Sequence[ScheduledRally]) -> list[ScheduledRally]:
    """Return one rally of each kind: those that differ in balls and seed have the same versions."""
    kinds = {one.plan.model_dump_json(exclude={"protocol"}): one for one in scheduled}
    return list(kinds.values())


def _no_record() -> RunRecord:
    raise BenchError("a play of this machine did not come to its end", next_step="try again")


def _remove(path: Path) -> None:
    with contextlib.suppress(FileNotFoundError):
        shutil.rmtree(path)
