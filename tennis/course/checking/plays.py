# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
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

from tennis.bench.protocol import RunRecord
from tennis.bench.registry import bench_for
from tennis.course.checking.module_trial import makers_of, play_watched
from tennis.course.labs import LabRally
from tennis.kit.digests import sha256_of
from tennis.kit.errors import BenchError
from tennis.match.folder import MatchFolder
from tennis.match.plan import MatchPlan, ScheduledRally
from tennis.match.playing import Match, play_match
from tennis.match.sweep.folder import Sweep
from tennis.match.sweep.playing import SweepRequest, play_sweep
from tennis.play.check import ball_difference, difference
from tennis.play.planning import drill_plan_for, plan_for
from tennis.play.rally import Watch, play, unobserved
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


class Plays:
    """The marker's rallies for a class: a folder, in which every play has one place."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def rally(self, plan: Plan) -> Rally:
        """Return the rally of a plan, played now or before. Raises TennisError.

        One that is suspect is not kept: this machine may have been in trouble.
        """
        bench = bench_for(plan)
        plan = plan.model_copy(update={"versions": bench.versions(plan)})
        with self._place(key_of(plan)) as place:
            if not place.exists() or (plan.racquet and not makers_of(place).exists()):
                _remove(part_path(place))
                _remove(place)
                if plan.racquet:
                    rally = play_watched(plan, place)
                else:
                    rally = play(bench, plan, place, Watch())
                if not rally.manifest.suspect:
                    return rally
                trouble = self._folder / f"{place.name}.suspect"
                _remove(trouble)
                place.rename(trouble)
                return open_folder(trouble)
            return open_folder(place)

    def secret_seed(self) -> int:
        """Return a seed that no student knows: a program may have been written for its own balls.

        It is drawn once for a class, and kept. Raises TennisError.
        """
        with self._place("secret-seed") as place, writing(self._folder):
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
        """Say how a student's rally differs from the marker's; empty: in nothing.

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
            again = play(bench, plan, scratch / "again", Watch())
            if trouble := difference(ours, again, _no_record, scratch):
                _remove(ours.path)  # the next run plays it a third time
                raise BenchError(f"two plays of it differ: {trouble}", next_step="try again")
        return plain(str(unlike(rally, found, versions)), 300)

    def match(self, plan: MatchPlan, scheduled: Sequence[ScheduledRally]) -> MatchFolder:
        """Return a match, played now or before. Raises TennisError."""
        versions = [bench_for(one.plan).versions(one.plan) for one in _kinds(scheduled)]
        key = _digest(plan.model_dump_json(), repr(versions))
        with self._place(f"match-{key}") as place:
            done = play_match(
                Match(plan, list(scheduled), []), place, lambda _: unobserved(), lambda: False
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


def key_of(plan: Plan) -> str:
    """Return the key of a plan with its versions: the same if its balls are the same."""
    source = sha256_of(Path(plan.racquet)) if plan.racquet else known_by(plan.program) or ""
    where = {"racquet": None, "program": None}
    return _digest(plan.model_copy(update=where).model_dump_json(), source)


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
