"""Explain a late ball: play a rally of the virtual bench again, and look at it.

The same plan and the same versions give the same balls. So the late ones come again, with a
profiler beside the instrument (``tennis.bench.virtual.profiler``). Every ball of the replay is
compared with the rally: the explanation is of the same events, not of similar ones.
"""

import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from tennis.bench.kernels.own_program import OwnProgram
from tennis.bench.registry import can
from tennis.bench.targets.console import Console
from tennis.bench.virtual import elf, lines, symbols
from tennis.bench.virtual import program as program_files
from tennis.bench.virtual.bench import VirtualBench
from tennis.bench.virtual.machine import Extras
from tennis.bench.virtual.parts import Parts
from tennis.bench.virtual.profiler import Profile, Window
from tennis.explain import repetition as repetitions
from tennis.explain import stages
from tennis.explain.explanation import Explanation
from tennis.explain.segments import Names
from tennis.explain.story import Latency, Story
from tennis.explain.telling import tell
from tennis.kit.errors import BenchError, UsageError
from tennis.kit.log import log
from tennis.kit.units import format_count, format_ns, format_round_ns
from tennis.play.rally import Watch
from tennis.play.repeat import NONE, balls_of, changes, edges_of, plan_again, replay, unlike
from tennis.play.shots import first_ball_at
from tennis.rally import Rally
from tennis.rally.drills import Span, drill_about
from tennis.rally.folder import CONSOLE
from tennis.rally.manifest import NO_MODULE
from tennis.rally.opening import open_folder
from tennis.rally.phases import Phase, Symbol
from tennis.rally.plan import Plan
from tennis.rally.settings import STAGES_BALLS_MAX
from tennis.rally.shots import are_shots, noun_of

KERNEL_BEGIN = 0xFFFF_0000_0000_0000  # the first address of its half (arm64)
WORST = 20
WORST_SHOTS = 3  # each is a boot of its own
WORST_MAX = 1000
# how the latest balls are chosen
_SINCE: dict[Span | None, str] = {
    None: "from the ping to the reply's fall, missed ones first",
    "period": "by how long after their period they came",
    "duration": "by how long they took",
}
Result = TypeVar("Result")


def explain(  # noqa: PLR0913 (which balls, in one of three ways)
    path: Path | Rally,
    *,
    ball: int | None = None,
    worst: int | None = None,
    over_ns: int | None = None,
    about: Latency | None = None,
    kernel: str | None = None,
    racquet: Path | None = None,
    program: Path | None = None,
    watch: Watch | None = None,
) -> Explanation:
    """Play a rally or drill again as far as needed, and explain one ball or the latest ones.

    ``ball`` counts from 0; ``worst`` is how many of the latest (default 20, or all that there are;
    3 of a rally of shots, of which each is played in a boot of its own); ``over_ns`` takes all that
    waited longer, and those that were missed. The latest are those with the longest time from the
    ping to the reply's fall, and missed balls before them. ``about``: the latency to find the cause
    of, by default a ball's longer one. ``kernel`` is the built tree of a rally that was played on
    one, ``racquet`` the source of a user's Racquet (by default the file of which this machine built
    it), ``program`` the program that answered in place of a Racquet. A drill has repetitions: a
    periodic one is late by the time from its period's end, another one by its duration.

    Raises UsageError for a wrong request, or a rally that cannot be explained, RallyError if the
    replay's balls are not the rally's, BenchError, and KeyboardInterrupt if ``watch`` stops it.
    """
    rally = path if isinstance(path, Rally) else open_folder(path)
    plan = plan_again(rally, kernel, racquet, program=program)
    _refuse_others(rally, plan)
    if sum(asked is not None for asked in (ball, worst, over_ns)) > 1:
        raise UsageError("--ball, --worst and --over", next_step="use one of them")
    if not rally.balls:
        raise UsageError(f"{rally.path} holds no balls: there is nothing to explain")
    shots, noun = are_shots(plan.protocol), noun_of(rally.manifest)
    if ball is not None and not 0 <= ball < rally.balls:
        raise UsageError(f"--ball {ball}: there are the {noun}s 0 to {rally.balls - 1}")
    if worst is not None and not 1 <= worst <= WORST_MAX:
        raise UsageError(f"--worst {worst}", next_step=f"use 1 to {WORST_MAX}")
    table = balls_of(rally)
    waits = waits_of(rally, table)
    if ball is not None:
        chosen = [ball]
    elif over_ns is not None:
        chosen = _over(rally, waits, over_ns)
    else:
        chosen = latest_balls(waits, worst or (WORST_SHOTS if shots else WORST))
    if chosen and waits[chosen[-1]] <= 0:
        raise UsageError(f"repetition {chosen[-1]} was not late: there is nothing to explain")
    # only a typical repetition shows how much of the time was too much
    typical = int(np.argsort(waits, kind="stable")[rally.balls // 2])
    also = {typical} if _span(rally) == "duration" else set()
    profiled = profile_balls(
        rally, plan, table, {*chosen, *also}, lambda story: story, about=about, watch=watch
    )
    by_ball = {story.ball: story for story in profiled.found}
    stories = [by_ball[number] for number in chosen]
    if also:
        stories = [repetitions.against(story, by_ball[typical]) for story in stories]
    rule = f"{noun} {ball}, as asked for"
    if ball is None:
        these = format_count(len(chosen), f"latest {noun}", f"latest {noun}s")
        over = f"over {format_round_ns(over_ns)}, " if over_ns is not None else ""
        rule = f"the {these} of {rally.balls:,}, {over}{_SINCE[_span(rally)]}"
    return Explanation(rally, rule, stories, profiled.replayed, profiled.changed)


def record_stages(rally: Rally, *, kernel: str | None = None, watch: Watch | None = None) -> None:
    """Write ``stages.parquet`` into the folder of a rally of the virtual bench.

    Raises UsageError, RallyError and BenchError as ``tennis.explain.replayed.explain``.
    """
    refuse_shots(rally, "stages")
    plan = plan_again(rally, kernel)
    if not 0 < rally.balls <= STAGES_BALLS_MAX:
        raise UsageError(
            f"{rally.path} has {rally.balls:,} balls: stages are recorded of 1 to "
            f"{STAGES_BALLS_MAX:,}"
        )
    each = partial(stages.row, with_memory=stages.has_memory(rally))
    profiled = profile_balls(rally, plan, balls_of(rally), range(rally.balls), each, watch=watch)
    stages.write(rally, profiled.found)


@dataclass(frozen=True)
class _Profiled(Generic[Result]):
    """The results of each ball, by ball; the number of replayed balls, and the changed versions."""

    found: list[Result]
    replayed: int
    changed: list[str]


def _program_user(rally: Rally) -> int | None:
    """Return whose processes a program's are that answered alone; None: a Racquet did."""
    target = rally.manifest.target
    alone = target.program is not None and target.module == NO_MODULE
    return program_files.USER if alone else None


def refuse_shots(rally: Rally, what: str) -> None:
    """Raise UsageError for a rally of shots; ``what`` looks at all of its balls."""
    if are_shots(rally.manifest.protocol):
        raise UsageError(
            f"{what}: {rally.path} is a rally of shots, and each would be a boot of its own",
            next_step="play the same with --balls, or explain the latest shots: --worst",
        )


def _refuse_others(rally: Rally, plan: Plan) -> None:
    """Raise UsageError for rallies that are not of Linux alone."""
    if can(plan).system == "sloth":
        raise UsageError(
            f"{rally.path} was played on SLOTH: only balls of Linux can be explained",
            next_step="docs/sloth.md says which tasks wait there",
        )
    if (played := can(plan)) is not VirtualBench.can:
        raise UsageError(
            f"{rally.path} was played on the bench {played.name}, which has no kernel code to "
            "explain",
            next_step="`tennis stats` and `tennis plot` show its balls",
        )
    if plan.beneath != "none":
        raise UsageError(
            f"{rally.path}: SLOTH answered beneath Linux; only answers of Linux can be explained"
        )


def _refuse_another_racquet(rally: Rally, plan: Plan, versions: Mapping[str, str]) -> None:
    """Raise UsageError if a Racquet's file gives another module here than the one that answered."""
    recorded, here = rally.manifest.target.module_sha256, versions.get("racquet_sha256")
    if plan.racquet and here != recorded:
        raise UsageError(
            f"--racquet {plan.racquet}: the module of it has the SHA-256 {str(here)[:12]}, and the "
            f"one in {rally.path} {str(recorded)[:12]}",
            next_step="name the file that it was played with, with the same compiler and headers",
        )


def profile_balls(  # noqa: PLR0913 (a rally, its balls, and their use)
    rally: Rally,
    plan: Plan,
    table: NDArray[np.int64],
    chosen: Iterable[int],
    each: Callable[[Story], Result],
    *,
    about: Latency | None = None,
    watch: Watch | None = None,
) -> _Profiled[Result]:
    """Play a rally again with the profiler, and keep what ``each`` makes of each chosen ball.

    ``plan`` and ``table`` are ``plan_again`` and ``balls_of`` the rally. Raises as ``explain``.
    """
    _refuse_others(rally, plan)  # stages and causes of a comparison come by here, too
    bench = VirtualBench()
    versions = bench.versions(plan)
    _refuse_another_racquet(rally, plan, versions)
    changed = changes(rally, versions)
    parts = bench.parts(plan)
    own = parts.answerer.program
    if own and (why := elf.why_nameless(program_files.executables(own))):
        log.info(f"the functions of {own.brought.name} have no names here: {why}")
    functions = symbols.functions(parts, _facts_of(rally))
    variables = symbols.variables(parts, _facts_of(rally)) if plan.racquet else None
    ordered = sorted(chosen)
    telling = _telling(rally, table, about)
    again = _Again(rally, plan, parts, functions, versions, watch or Watch())
    played, replayed = [], 0
    # balls that follow each other come again in one boot, and each shot in a boot of its own
    shots = are_shots(plan.protocol)
    for numbers in [[number] for number in ordered] if shots else [ordered]:
        came, phases = again.phases(table, numbers)
        replayed += 1 if shots else came
        played += phases
    names = _names(rally, own, [*functions, *again.places], variables, played)
    found = []
    for number, its_phases in zip(ordered, played, strict=True):
        found.append(each(telling(number, its_phases, names)))
    return _Profiled(found, min(replayed, rally.balls), changed)


def _names(
    rally: Rally,
    own: OwnProgram | None,
    functions: Sequence[Symbol],
    variables: Sequence[Symbol] | None,
    played: Iterable[Sequence[Phase]],
) -> Names:
    """Return the names of what ran; of a program that answered alone also its lines."""
    if own is None or _program_user(rally) is None:
        return Names(functions, policies_of(rally), own_racquet=variables)
    files = program_files.executables(own)
    addresses: set[int] = set()
    for phase in (one for phases in played for one in phases):
        addresses.update(phase.nodes["at"].tolist(), phase.segments["pc"].tolist())
        used = phase.nodes["function"]
        addresses.update(functions[i].address for i in set(used[used >= 0].tolist()))
    below = sorted(address for address in addresses if 0 < address < KERNEL_BEGIN)
    return Names(
        functions,
        policies_of(rally),
        of_program=True,
        places=lines.lines(own, below),
        objects=elf.objects(files),
    )


def policies_of(rally: Rally) -> dict[tuple[str, int], str]:
    """Return the policies of a rally's real-time tasks, by name and priority, as in ``FIFO``.

    The profile has each thread's priority: another thread may have the same name.
    """
    tasks = rally.manifest.target.tasks
    return {(t.task, t.priority): t.policy.removeprefix("SCHED_") for t in tasks if t.priority}


@dataclass(frozen=True)
class _Again:
    """A rally that is played again with the profiler."""

    rally: Rally
    plan: Plan
    parts: Parts
    functions: Sequence[Symbol]
    versions: dict[str, str]
    watch: Watch
    places: list[Symbol] = field(default_factory=list)  # lines of Python that were seen

    def phases(
        self, table: NDArray[np.int64], numbers: Sequence[int]
    ) -> tuple[int, list[list[Phase]]]:
        """Play up to the last of some balls; return how many balls came, and the phases of each.

        A shot is the first ball of its boot: ``numbers`` has one then.
        """
        rally, plan = self.rally, self.plan
        windows = [_window(rally, table, number) for number in numbers]
        last, protocol = numbers[-1], plan.protocol
        if are_shots(protocol):
            table, last = table[last : last + 1], 0
            protocol = first_ball_at(rally, plan, int(table[0, 0]))
        if not rally.manifest.drill:
            # the instrument ends QEMU with its last ball, before the profile of that is written
            protocol = protocol.model_copy(update={"balls": protocol.balls + 1})
        with (
            Profile(
                self.parts.qemu, self.functions, windows, plan.processors, self._program()
            ) as profile,
            tempfile.TemporaryDirectory(prefix="tennis-explain-") as scratch,
        ):
            playing = VirtualBench(Extras(plugin=profile.plugin(), protocol=protocol))
            came = replay(
                playing.start(plan, Path(scratch)),
                table,
                last,
                self.watch,
                lambda text: unlike(rally, text, self.versions),
                ready=profile.whole,
            )
            found = list(profile.waits())
            self.places.extend(profile.places)  # of shots: no program plays them
        for number, phases in zip(numbers, found, strict=False):
            if {phase.ball for phase in phases} != {number}:
                raise BenchError(
                    f"the profile holds ball {phases[0].ball} where {number} should be"
                )
        if len(found) < len(numbers):
            raise BenchError(
                f"ball {numbers[len(found)]} came, but its profile did not: is the disk of "
                f"{tempfile.gettempdir()} full?"
            )
        return came, found

    def _program(self) -> tuple[int, bytes] | None:
        """Return whose processes a program that answers alone is, and its Python's layout."""
        user, own = _program_user(self.rally), self.parts.answerer.program
        if user is None or own is None:
            return None
        return user, elf.python_layout(program_files.executables(own))


def _telling(
    rally: Rally, table: NDArray[np.int64], about: Latency | None
) -> Callable[[int, Sequence[Phase], Names], Story]:
    """Return a function that makes a story of a ball's phases, of all processors."""
    home = rally.manifest.target.interrupt_cpu or 0

    def ball(number: int, phases: Sequence[Phase], names: Names) -> Story:
        served_ns, edges = int(table[number, 0]), edges_of(table[number])
        return tell(number, served_ns, edges, phases, names, about=about, home=home)

    span = _span(rally)
    if span is None:
        return ball

    def repetition(number: int, phases: Sequence[Phase], names: Names) -> Story:
        return repetitions.tell(number, phases[0].began, span, phases[0], names)

    return repetition


def _facts_of(rally: Rally) -> dict[str, str]:
    """Return the facts that a rally's target reported."""
    console = rally.file(CONSOLE)
    return Console(console).report().facts if console else {}


def _span(rally: Rally) -> Span | None:
    """Return the part of a drill's repetitions to explain, or None for a rally."""
    if rally.manifest.drill is None:
        return None
    return drill_about(rally.manifest).span


def waits_of(rally: Rally, table: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how long each ball waited, in ns; int64, shape (balls,); NONE: it was missed.

    Of a drill's repetitions: how late they came, or how long they took, one that did not end in
    time as long as was waited for it; 0 or below: not late.
    """
    match _span(rally):
        case "period":
            period_ns = rally.manifest.drill.period_ns if rally.manifest.drill else 0
            waits = np.diff(table[:, 0], prepend=table[0, 0]) - period_ns
        case "duration":
            limit_ns = rally.manifest.protocol.timeout_ns
            waits = np.where(table[:, 2] == NONE, limit_ns, table[:, 2])
        case _:
            waits = table[:, 2]
    return waits.astype(np.int64)


def latest_balls(waits: NDArray[np.int64], count: int) -> list[int]:
    """Return the numbers of the latest balls, the latest first; missed ones count as latest.

    A drill has only its late repetitions, if there are any.
    """
    order = np.argsort(-waits, kind="stable")
    late = int(np.count_nonzero(waits > 0))
    return [int(number) for number in order[: max(1, min(count, late))]]


def _over(rally: Rally, waits: NDArray[np.int64], over_ns: int) -> list[int]:
    """Return the balls that waited longer, the latest first. Raises UsageError."""
    noun = "repetition" if rally.manifest.drill else "ball"
    count = int(np.count_nonzero((waits > over_ns) | (waits == NONE)))
    if not count:
        raise UsageError(
            f"--over {format_round_ns(over_ns)}: the latest {noun} of {rally.path} waited "
            f"{format_ns(max(0, int(waits.max())))}"
        )
    if count > WORST_MAX:
        raise UsageError(
            f"--over {format_round_ns(over_ns)}: {format_count(count, noun)} waited longer",
            next_step=f"use a longer time, or --worst {WORST_MAX}",
        )
    return latest_balls(waits, count)


def _window(rally: Rally, table: NDArray[np.int64], ball: int) -> Window:
    """Return when a ball waited; a missed one until it was given up, or the next was served.

    Of a drill's repetition there is one phase only.
    """
    if span := _span(rally):
        at_ns, wait = int(table[ball, 0]), int(waits_of(rally, table)[ball])
        began, end = (at_ns - wait, at_ns) if span == "period" else (at_ns, at_ns + wait)
        return Window(ball, began, end, end)
    served = int(table[ball, 0])
    rise, fall = edges_of(table[ball])
    end = served + rally.manifest.protocol.timeout_ns
    if ball + 1 < len(table) and not are_shots(rally.manifest.protocol):
        end = min(end, int(table[ball + 1, 0]))
    end = end if fall is None else served + fall
    return Window(ball, served, end if rise is None else served + rise, end)
