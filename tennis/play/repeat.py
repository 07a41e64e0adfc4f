"""A rally of the virtual bench, played again: its plan, and its balls compared one by one.

The same plan and the same versions give the same balls.
"""

import contextlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from tennis.bench.kernels import catalogue, own_module
from tennis.bench.protocol import Session
from tennis.bench.registry import bench_with, benches, is_named, kinds
from tennis.bench.virtual.machine import COMMAND_LINE, SECOND_US, drawn_us
from tennis.bench.virtual.parts import instruments
from tennis.kit import wire
from tennis.kit.digests import sha256_of
from tennis.kit.errors import RallyError, UsageError
from tennis.kit.units import NS_PER_S, format_count, ticks_to_ns
from tennis.play.progress import Progress
from tennis.play.rally import Watch
from tennis.rally import Rally, drills
from tennis.rally.balls import records
from tennis.rally.manifest import OWN, Manifest
from tennis.rally.plan import Plan
from tennis.rally.program import read
from tennis.rally.settings import instrument_of, recorded
from tennis.rally.statistics.balls import ball_table
from tennis.rally.text import plain

NONE = wire.NONE_TICKS  # in place of a rise or a fall that did not come
BALLS_MAX = 10**7  # all of them are held in memory


# what names a kernel among the versions; that of a tree was once its folder
NAMES = frozenset({"kernel", "kernel_name"})
# a kernel's identity, independent of its name
KERNEL = {"kernel_image_sha256": "image", "kernel_config_sha256": "configuration"}


def changes(rally: Rally, versions: dict[str, str]) -> list[str]:
    """Return what differs between the versions here and those that a rally was played with.

    A folder's name does not identify the kernel in it: image and configuration are compared.
    """
    recorded = rally.manifest.tool.versions
    names = {*versions, *recorded} - (NAMES if rally.manifest.tool.names_a_folder else set())
    return sorted(name for name in names if versions.get(name) != recorded.get(name))


def _refuse_another_kernel(rally: Rally, tree: str) -> None:
    """Raise UsageError if a tree is not the one of a rally: two may have the same release."""
    if not catalogue.is_folder(Path(tree)):
        return  # the bench refuses it
    found = catalogue.find(tree)
    here = dict(zip(KERNEL, map(sha256_of, (found.image, found.config)), strict=True))
    recorded = rally.manifest.tool.versions
    # not every rally of Tennis 0.1 says both
    other = [KERNEL[name] for name in KERNEL if recorded.get(name, here[name]) != here[name]]
    if other:
        raise UsageError(
            f"--kernel {tree}: its {' and '.join(other)} ({found.name}) "
            f"{'are' if len(other) > 1 else 'is'} not of the kernel that {rally.path} was played "
            f"on ({plain(rally.manifest.target.release, 60)})",
            next_step="name the tree that it was played on, as it was then",
        )


def _refuse_instrument(rally: Rally, *, any_here: bool) -> None:
    instrument = instrument_of(rally.manifest)
    played = f"{rally.path} was played with the instrument {plain(instrument, 40)}"
    if instrument not in instruments():
        raise UsageError(f"{played}, which no package here brings", next_step="install it")
    if instrument != "builtin" and not any_here:
        raise UsageError(
            f"{played}: only rallies with the built-in instrument can be explained so far",
            next_step=f"play it without --instrument {instrument}",
        )


def plan_again(
    rally: Rally,
    tree: str | None = None,
    racquet: Path | None = None,
    *,
    program: Path | None = None,
    any_instrument: bool = False,
) -> Plan:
    """Return the plan of a sealed rally. Raises UsageError if it cannot be played again.

    ``any_instrument``: also of a rally with another one than the virtual bench's own.

    ``tree`` is the kernel if it has no name, ``racquet`` the source if it was not the kit's
    (by default the file of which this machine built it), ``program`` the program that answered in
    its place. No path in a manifest is ever used: the
    Racquet is built by a tree's own Makefile, which may do anything.
    """
    manifest = rally.manifest
    own = manifest.target.module == OWN
    if own and racquet is None:
        racquet = own_module.source_of(manifest.target.module_sha256 or "")
    if own and racquet is None:
        raise UsageError(
            f"{rally.path} was played with a Racquet of somebody's own, and its file is not here, "
            "or was changed since",
            next_step="name it as it was then: tennis explain (or check) DIR --racquet FILE.c",
        )
    if racquet is not None and not own:
        raise UsageError(
            f"--racquet: {rally.path} was played with the kit's", next_step="leave it out"
        )
    _check_program(rally, program)
    if manifest.bench != "virtual":
        _refuse_what_does_not_repeat(rally)
    _check_drill(rally)
    if manifest.bench == "virtual":
        _refuse_instrument(rally, any_here=any_instrument)
    kernel = manifest.target.kernel
    linux = manifest.bench == "virtual" and bench_with(kernel, "virtual") is None
    if linux and not (manifest.target.command_line or kernel in catalogue.catalogue()):
        raise UsageError(
            f"{rally.path} was played on {plain(kernel, 60)}, which is no Linux, and no bench here "
            "has it",
            next_step="install the package that it was played with",
        )
    if linux and not manifest.target.command_line.startswith(COMMAND_LINE):
        raise UsageError(
            f"{rally.path} was played with other kernel parameters than tennis gives: "
            "it cannot be played again"
        )
    if manifest.tool.names_a_folder or (linux and not is_named(kernel)):
        if tree is None:
            raise UsageError(
                f"{rally.path} was played on a kernel tree, {plain(kernel, 60)}",
                next_step=(
                    "name it with --kernel DIR; use only a tree that you trust: its Makefile is run"
                ),
            )
        kernel = tree
        _refuse_another_kernel(rally, tree)
    elif tree not in {None, kernel}:
        raise UsageError(
            f"--kernel {tree}: {rally.path} was played on {kernel}", next_step="leave it out"
        )
    try:
        return Plan(
            bench=manifest.bench,
            kernel=kernel,
            racquet=str(racquet.resolve()) if racquet else None,
            program=str(program.resolve()) if program else None,
            phase_of_a_second=_phase_of_a_second(manifest),
            protocol=manifest.protocol,
            versions={},
            **recorded(manifest),
        )
    except ValidationError as error:
        raise UsageError(
            f"{rally.path} cannot be played again: {error.errors()[0]['msg']}"
        ) from error


def _check_drill(rally: Rally) -> None:
    """Raise UsageError for a drill that Tennis does not have."""
    drill = rally.manifest.drill
    if drill is not None and not drills.is_here(rally.manifest):
        raise UsageError(f"{rally.path} is the drill {drill.name}, which Tennis does not have")


def _refuse_what_does_not_repeat(rally: Rally) -> None:
    """Raise UsageError for a rally of a bench that is not here, or does not repeat."""
    kind = rally.manifest.bench
    if any(bench.kind == kind and bench.repeats for bench in benches()) and kind != "replay":
        return
    where = f"{rally.path} was played on the bench {plain(kind, 40)}"
    if kind not in kinds():
        raise UsageError(
            f"{where}, which is not here", next_step="install the package that it was played with"
        )
    raise UsageError(
        f"{where}: only the virtual bench gives the same balls again, and nobody recorded what a "
        "real processor did"
    )


def _check_program(rally: Rally, program: Path | None) -> None:
    """Raise UsageError if a program is not the one that answered in a rally."""
    answered = rally.manifest.target.program
    if answered is None and program is not None:
        raise UsageError(f"--program: a Racquet answered in {rally.path}", next_step="leave it out")
    if answered is None:
        return
    if program is None:
        raise UsageError(
            f"{rally.path} was played with a program of somebody's own, {plain(answered.name, 60)}",
            next_step="name it again with --program FILE|DIR (tennis check, tennis explain)",
        )
    brought = read(program)
    if brought.sha256 != answered.sha256:
        raise UsageError(
            f"--program {program}: its SHA-256 is {brought.sha256[:12]}, and that of the program "
            f"in {rally.path} is {answered.sha256[:12]}",
            next_step="name the one that answered there, as it was then",
        )


def _phase_of_a_second(manifest: Manifest) -> bool:
    """Tell whether the load's phase was drawn from a second, as it once was for any cycle.

    A user cannot choose a phase: it is one or the other.
    """
    phase_us = drawn_us(manifest.protocol.seed, SECOND_US)
    return f"tennis.phase_us={phase_us}" in manifest.target.command_line.split()


def balls_of(rally: Rally) -> NDArray[np.int64]:
    """Return served_ns, rise and fall of every ball; int64, shape (balls, 3); NONE: none came.

    Raises UsageError for more balls than memory should hold.
    """
    if rally.balls > BALLS_MAX:
        raise UsageError(f"{rally.path} has {rally.balls} balls: {BALLS_MAX} at most are compared")
    return ball_table(rally, NONE)


Edges = tuple[int | None, int | None]  # rise and fall


def edges_of(ball: Iterable[int]) -> Edges:
    """Return rise and fall of a row of ``balls_of``, or of a frame's record."""
    _, rise, fall = (None if value == NONE else int(value) for value in ball)
    return rise, fall


def replay(  # noqa: PLR0913 (what is played, what it must be, and who looks on)
    session: Session,
    table: NDArray[np.int64],
    last: int,
    watch: Watch,
    unlike: Callable[[str], RallyError],
    *,
    ready: Callable[[], bool] = lambda: True,
) -> int:
    """Play until a ball is decided and ``ready`` says so; compare all balls. Returns how many came.

    The instrument reports a ball within the nanosecond of its fall, before a timer of that moment.
    """
    progress = Progress(planned=last + 1)
    done = False
    with contextlib.closing(session):
        for frame in session.frames():
            if frame is not None and frame.kind == wire.BALLS:
                compare_balls(records(frame.payload), table, progress.balls, unlike)
                progress.add(frame.payload)
            if watch.stop():
                raise KeyboardInterrupt
            watch.observe(progress)
            if progress.balls > last and not done and ready():
                done = True
                session.stop()
    if progress.balls <= last:
        raise unlike(f"it ended after {format_count(progress.balls, 'ball')}")
    return progress.balls


def compare_balls(
    balls: NDArray[Any],
    table: NDArray[np.int64],
    first: int,
    unlike: Callable[[str], RallyError],
    tick_hz: int = NS_PER_S,
) -> None:
    """Raise ``unlike`` for the first of a frame's balls that is not as in ``table``.

    ``table`` is ``balls_of`` the rally, ``first`` the number of the frame's first ball, ``tick_hz``
    the frequency of the instrument's clock.
    """
    came = np.stack([balls[name].astype(np.int64) for name in ("served", "rise", "fall")], axis=1)
    came[:, 0] = ticks_to_ns(came[:, 0], tick_hz)
    known = table[first : first + len(came)]
    # an unfinished rally's last balls may be fewer than the replay's frame holds
    for row in np.flatnonzero((came[: len(known)] != known).any(axis=1))[:1]:
        raise unlike(of_a_ball(first + int(row), known[row], came[row]))


def of_a_ball(number: int, recorded: NDArray[np.int64], came: NDArray[np.int64]) -> str:
    """Say in what a ball differs from that of a rally; both are rows of ``balls_of``."""
    differing_fields = [
        f"{name} {_ticks(then)} in the rally and {_ticks(now)} now"
        for name, then, now in zip(("served_ns", "rise", "fall"), recorded, came, strict=True)
        if then != now
    ]
    return f"ball {number} has {', '.join(differing_fields)}"


def _ticks(value: int) -> str:
    return "missing" if value == NONE else str(value)


def unlike(rally: Rally, text: str, versions: dict[str, str]) -> RallyError:
    """Return the error that says that a replay was not the rally, and what may be the reason."""
    recorded, changed = rally.manifest.tool.versions, changes(rally, versions)
    head = f"{rally.path} does not repeat: {text}"
    if changed:
        differing = "; ".join(
            f"{plain(name, 40)} was {plain(recorded.get(name, 'unknown'), 80)} and is "
            f"{plain(versions.get(name, 'unknown'), 80)}"
            for name in changed[:3]
        )
        more = f" (and {len(changed) - 3} more)" if len(changed) > 3 else ""
        return RallyError(
            f"{head}; versions differ: {differing}{more}. Only the same versions can tell",
            next_step="play it again",
        )
    return RallyError(
        f"{head}, with the same versions: it was altered, or it was played with additions "
        "that it does not record",
        next_step="play it again",
    )
