# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Record when a rally's machine could not answer the ping, and play instants chosen from that.

Two boots: the rally itself, ball by ball the same, which gives the model its constants; and the
same machine for the same time without a ball, which balls do not disturb. In the second every
instant can be played: a ball that is the first of a boot meets what is recorded there.
"""

import contextlib
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tennis import wire
from tennis.bench.kernels import catalogue
from tennis.bench.registry import can
from tennis.bench.virtual import symbols
from tennis.bench.virtual.bench import VirtualBench
from tennis.bench.virtual.machine import Extras
from tennis.bench.virtual.recorder import PREEMPTS, Recorder, base_of
from tennis.errors import BenchError, UsageError
from tennis.explain.phases import Symbol
from tennis.explain.sections import storage
from tennis.explain.sections.calibration import calibrate
from tennis.explain.sections.finding import find, find_of_thread
from tennis.explain.sections.names import Places
from tennis.explain.sections.run import Run, decode
from tennis.explain.sections.switching import find_thread, switching_of
from tennis.explain.sections.thread_calibration import calibrate_thread
from tennis.explain.sections.thread_model import ThreadModel
from tennis.play.explain import facts_of, refuse_others
from tennis.play.progress import Progress
from tennis.play.rally import Watch
from tennis.play.repeat import NONE, balls_of, plan_again, replay, unlike
from tennis.play.shots import first_ball_at, ready_ns, rows, shoot
from tennis.rally import Rally
from tennis.rally.manifest import CORES, Protocol
from tennis.rally.plan import Plan
from tennis.rally.shots import SHOTS, are_shots, span_ns

# all sections of their time are in memory: megabytes for each busy second, and ten times as much
# with what keeps a thread from running
BALLS_MAX, BALLS_OF_A_THREAD_MAX = 20_000, 5_000
LEAD_NS = 500_000_000  # so long before the first ball recording begins, if the target is ready
AFTER_NS = 10_000_000  # so long behind the rally the run without balls goes on
# words of a command line with which interrupts are masked in another way, or vectors are elsewhere
OTHER_WAYS = ("pseudo_nmi", "kpti=")
CALIBRATING = 512  # balls, whose answers the model of a rally of shots is made of: whole frames
IDLE = "idle"  # the load that is none


Range = tuple[int, int]  # from, until; ns


@dataclass(frozen=True)
class Shot:
    """A ball that was played at a chosen instant, the first of its boot; ns."""

    at_ns: int
    predicted_ns: int | None  # None: nothing was
    measured_ns: int

    @property
    def later_ns(self) -> int | None:
        """Return by how much it came later than predicted; below 0: earlier."""
        return None if self.predicted_ns is None else self.measured_ns - self.predicted_ns


def check_plan(plan: Plan) -> None:
    """Raise UsageError, before anything is booted, for a plan of which the model says nothing."""
    why = why_not(plan)
    if plan.racquet is not None:
        why = "its Racquet is your own, and `tennis compare --worst-instant` looks at those"
    if not why and plan.load == IDLE:
        raise UsageError(
            f"--sections: with --load {IDLE} the machine sleeps, and what a ping meets there is "
            "not predicted",
            next_step="play a load, as in --load stress",
        )
    if why:
        raise UsageError(f"--sections: {why}", next_step="leave it out")


def check(rally: Rally, plan: Plan) -> None:
    """Raise UsageError for a rally of which the model says nothing."""
    refuse_others(rally, plan)
    why = why_not(plan)
    if not why and (not rally.balls or rally.misses):
        why = f"{rally.balls:,} balls, {rally.misses:,} of them missed, and none may be"
    if why:
        raise UsageError(
            f"{rally.path}: {why}",
            next_step="`tennis explain` without --sections names what late balls waited for",
        )


def why_not(plan: Plan) -> str:
    """Return why the model says nothing of a plan's balls; "": it does."""
    why, balls = "", plan.protocol.balls
    if plan.drill is not None:
        why = "it is a drill, which has no ping"
    elif can(plan).system == "sloth" or plan.beneath != "none":
        why = "SLOTH answers, and sections are those of Linux"
    elif plan.processors > 1:
        why = f"it has {plan.processors} processors, and sections are those of one"
    elif plan.memory != "none":
        why = "it has a memory profile: sections are predicted by counting instructions"
    elif plan.protocol.loop not in {"closed", SHOTS}:
        why = "an open loop serves balls before their answers"
    elif any(word in plan.command_line for word in OTHER_WAYS):
        why = f"with {plan.command_line} interrupts are masked in another way"
    elif catalogue.flavour_of(plan.kernel) in CORES:
        why = "a second core takes its interrupts before Linux"
    elif balls > (most := BALLS_OF_A_THREAD_MAX if answers_in_thread(plan) else BALLS_MAX):
        of = f" with top half {plan.top_half}" if answers_in_thread(plan) else ""
        why = f"{balls:,} balls, and sections are recorded of {most:,} at most{of}"
    return why


def answers_in_thread(plan: Plan) -> bool:
    """Tell whether a thread answers. Of a Racquet of your own nobody says: its balls tell."""
    return plan.top_half != "hard" and plan.racquet is None


def record(
    rally: Rally, *, kernel: str | None = None, watch: Watch | None = None
) -> storage.Sections:
    """Find a rally's sections, and write them into its folder. Raises as ``find_sections``."""
    found = find_sections(rally, kernel=kernel, watch=watch)
    storage.write(rally, found)
    return found


def find_sections(
    rally: Rally, *, kernel: str | None = None, watch: Watch | None = None
) -> storage.Sections:
    """Return a rally's sections: of two boots, played now. Its folder is not touched.

    Raises UsageError, RallyError and BenchError as ``tennis.play.explain.explain``.
    """
    found = all_sections(rally, plan_again(rally, kernel), watch or Watch())
    if not found.longest.num_rows:
        raise BenchError(
            f"{rally.path}: what this kernel does with its interrupts or its timer is not what the "
            "model knows: no instant can be predicted",
            next_step="`tennis explain` without --sections names what late balls waited for",
        )
    return found


def all_sections(rally: Rally, plan: Plan, watch: Watch) -> storage.Sections:
    """Return a rally's sections, also where no instant is sure: ``longest`` has no row then.

    ``plan`` is ``plan_again`` the rally, or what the caller played it of: its tree and its Racquet
    are trusted.
    """
    check(rally, plan)
    table = balls_of(rally)
    machine = _Machine(rally, plan, table, watch)
    low, high = int(table[0, 0]), machine.end_ns
    if are_shots(plan.protocol):
        low = ready_ns(rally) + plan.protocol.settle_ns
        machine.end_ns = high = low + span_ns(plan.protocol)
        found, table = machine.calibrating()
    else:
        found = machine.rally_again()
    if answers_in_thread(plan):
        return _of_thread(machine, plan, (found, table), (low, high))
    calibration = calibrate(machine.decoded(found), table[:, 0], table[:, 1])
    del found
    without = machine.decoded(machine.without_balls())
    return find(without, calibration, machine.places(), low, high)


def _of_thread(
    machine: "_Machine", plan: Plan, again: tuple[NDArray[Any], NDArray[np.int64]], times: Range
) -> storage.Sections:
    """Return the same, if a thread answers; ``again``: records of balls, and those balls."""
    (records, table), (low, high) = again, times
    del again
    run = machine.decoded(records)
    thread = find_thread(records, run, forced=plan.top_half == "forced")
    if thread is None:
        raise BenchError(
            "no thread of the Racquet's ran: this kernel switches tasks in a way that Tennis does "
            "not know",
            next_step="play it on a kernel of `tennis kernels`",
        )
    preempts = machine.preempts
    switching = switching_of(records, run, thread, preempts=preempts)
    calibration = calibrate_thread(run, switching, table[:, 0], table[:, 1])
    del records, run, switching
    records = machine.without_balls()
    run = machine.decoded(records)
    switching = switching_of(records, run, thread, preempts=preempts)
    del records
    model = ThreadModel(run, switching, calibration.constants)
    return find_of_thread(model, calibration, machine.places(), low, high)


def play_at(
    rally: Rally,
    instants: Sequence[tuple[int, int | None]],
    *,
    kernel: str | None = None,
    plan: Plan | None = None,
    watch: Watch,
) -> list[Shot]:
    """Play a ball at each of some instants: (at_ns, predicted_ns), in the order of the instants.

    All in one boot, each in a child of its own. ``plan`` as for ``all_sections``. Raises UsageError
    for an instant at which the target was not ready, BenchError where a ball did not come.
    """
    plan = plan or plan_again(rally, kernel)
    check(rally, plan)
    return _Machine(rally, plan, balls_of(rally), watch).shots(dict(instants))


class _Machine:
    """A rally's machine, to be booted again and again."""

    def __init__(self, rally: Rally, plan: Plan, table: NDArray[np.int64], watch: Watch) -> None:
        self._rally, self._plan, self._table, self._watch = rally, plan, table, watch
        self._bench = VirtualBench()
        self._parts = self._bench.parts(plan)
        self._symbols: list[Symbol] = symbols.functions(self._parts, facts_of(rally))
        self.end_ns = int(table[-1, 0] + table[-1, 1])

    @property
    def preempts(self) -> bool:
        """Tell whether this kernel preempts itself."""
        return any(one.name == PREEMPTS and one.module is None for one in self._symbols)

    def places(self) -> Places:
        """Return the names of places in this kernel."""
        return Places(self._symbols, base_of(self._symbols))

    def decoded(self, records: NDArray[Any]) -> Run:
        """Return what a run's records say."""
        return decode(records, self._plan.instruction_ns)

    def rally_again(self) -> NDArray[Any]:
        """Return the records of the rally with its balls, each of them the rally's."""
        versions = self._bench.versions(self._plan)
        # the instrument ends QEMU with its last ball, before all of it is written
        protocol = self._plan.protocol.model_copy(update={"balls": self._plan.protocol.balls + 1})
        with self._recorder() as recorder, self._folder() as scratch:
            replay(
                self._playing(protocol, scratch, recorder),
                self._table,
                self._rally.balls - 1,
                self._watch,
                lambda text: unlike(self._rally, text, versions),
                ready=lambda: recorder.recorded_until_ns() > self.end_ns,
            )
            return recorder.records()

    def calibrating(self) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """Play balls that follow each other on the machine of shots; return records and balls.

        Raises BenchError where one is missed.
        """
        update = {"loop": "closed", "balls": 2 * CALIBRATING}  # the last one would end QEMU
        protocol = self._plan.protocol.model_copy(update=update)
        found: list[NDArray[np.int64]] = []
        progress = Progress(planned=CALIBRATING)
        with self._recorder() as recorder, self._folder() as scratch:
            with contextlib.closing(self._playing(protocol, scratch, recorder)) as session:
                for frame in session.frames():
                    if self._watch.stop():
                        raise KeyboardInterrupt
                    self._watch.observe(progress)
                    if frame is not None and frame.kind == wire.BALLS:
                        progress.add(frame.payload)
                        found.append(rows(frame.payload))
                    if progress.balls >= CALIBRATING and recorder.recorded_until_ns() > int(
                        found[-1][:, 0].max() + found[-1][:, 2].max()
                    ):
                        session.stop()
                        break
            table = np.concatenate([*found, np.zeros((0, 3), np.int64)])
            if len(table) < CALIBRATING or (table[:, 2] == NONE).any():
                raise BenchError(
                    f"of {len(table):,} balls that calibrate the model not all were answered",
                    next_step="play the shots with a longer --timeout-ms",
                )
            return recorder.records(), table

    def without_balls(self) -> NDArray[Any]:
        """Return the records of the same machine up to the rally's end, with no ball before."""
        until_ns = self.end_ns + AFTER_NS
        with self._recorder() as recorder, self._folder() as scratch:
            session = self._playing(
                first_ball_at(self._rally, self._plan, until_ns + AFTER_NS), scratch, recorder
            )
            with contextlib.closing(session):
                for _ in session.frames():
                    if self._watch.stop():
                        raise KeyboardInterrupt
                    self._watch.observe(Progress(planned=1))
                    if recorder.recorded_until_ns() > until_ns:
                        session.stop()
                        break
            if recorder.recorded_until_ns() <= self.end_ns:
                raise BenchError(
                    "the run without balls ended before its time",
                    next_step="`tennis check` tells whether the rally repeats here",
                )
            return recorder.records()

    def shots(self, predicted: Mapping[int, int | None]) -> list[Shot]:
        """Play one ball at each instant. Raises BenchError if none comes then."""
        every = sorted(predicted)
        balls = shoot(self._rally, self._plan, every, self._watch)
        rises = balls[:, 1].tolist()
        return [Shot(at, predicted[at], rise) for at, rise in zip(every, rises, strict=True)]

    def _recorder(self) -> Recorder:
        ready = next((e["at_ns"] for e in self._rally.events if e["what"] == "ready"), None)
        from_ns = max(int(self._table[0, 0]) - LEAD_NS, int(ready or 0))
        threads = answers_in_thread(self._plan)
        return Recorder(self._parts, self._symbols, from_ns, threads=threads)

    @staticmethod
    def _folder() -> "tempfile.TemporaryDirectory[str]":
        return tempfile.TemporaryDirectory(prefix="tennis-sections-")

    def _playing(self, protocol: Protocol, scratch: str, recorder: Recorder | None) -> Any:
        plugin = recorder.plugin() if recorder else None
        extras = Extras(plugin=plugin, protocol=protocol)
        return VirtualBench(extras).start(self._plan, Path(scratch))
