# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""From what a person asked for to a plan, and to the bench that plays it."""

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from tennis.bench import flavours
from tennis.bench.configuration import Flavour
from tennis.bench.kernels import catalogue
from tennis.bench.protocol import Access, Bench
from tennis.bench.registry import bench_for
from tennis.bench.replay import ReplayBench
from tennis.bench.sloth import PICO, PICO2, is_sloth
from tennis.errors import UsageError
from tennis.rally.manifest import (
    BenchKind,
    Beneath,
    BottomHalf,
    Drill,
    DrillContext,
    DrillName,
    Priorities,
    Protocol,
    TopHalf,
    Witness,
)
from tennis.rally.plan import UNKNOWN, InstructionNs, InstrumentKind, Plan
from tennis.rally.serving import Serving
from tennis.rally.text import plain, quoted


def replay_of(recording: Path, speed: float, operator: str | None) -> tuple[ReplayBench, Plan]:
    """Return the bench that plays a recorded rally, and the plan of that. Raises TennisError."""
    bench = ReplayBench(recording, speed)
    manifest = bench.recording.manifest
    target, load = manifest.target, manifest.load
    plan = Plan(
        bench="replay",
        kernel=target.kernel,
        load=load.name,
        load_options=dict(load.options),
        top_half=target.top_half,
        bottom_half=target.bottom_half,
        priorities=target.priorities,
        command_line=target.added,
        interrupt_cpu=target.interrupt_cpu,
        load_cpus=load.cpus,
        witness=target.witness,
        protocol=manifest.protocol,
        versions={},
        recording=str(recording.resolve()),
        speed=speed,
        operator=operator,
    )
    return bench, plan


def _to_be_named(plan: Plan) -> dict[str, str]:
    """Return the options without which a rally of this plan does not go on."""
    named = plan.kernel in catalogue.catalogue() or is_sloth(plan.kernel)
    own_tree = plan.bench == "virtual" and not named
    recorded = {
        "--kernel": plan.kernel if own_tree else None,
        "--racquet": plan.racquet,
        "--target": plan.target,
        "--port": plan.port,
    }
    return {option: value for option, value in recorded.items() if value is not None}


def command_again(out: Path, plan: Plan) -> str:
    """Return the command with which the rally ``out`` goes on."""
    options = [f"{option} {shlex.quote(value)}" for option, value in _to_be_named(plan).items()]
    return " ".join([f"tennis resume {quoted(out)}", *options])


def bench_again(  # noqa: PLR0913 (what a user may name)
    out: Path,
    plan: Plan,
    *,
    kernel: str | None = None,
    racquet: Path | None = None,
    port: str | None = None,
    target: str | None = None,
    holder: str | None = None,
) -> Bench:
    """Return the bench on which the rally ``out``, begun with ``plan``, can go on.

    The plan was read from the rally's folder, which may come from somebody else. But a tree's own
    Makefile builds the Racquet, a Racquet of one's own is read, a port is written to, and a target
    is logged in to: what was recorded of these is never used, only held against what the user
    names. Raises UsageError.
    """
    needed = _to_be_named(plan)
    tree = str(Path(kernel).resolve()) if kernel is not None and "--kernel" in needed else kernel
    source = str(racquet.resolve()) if racquet else None
    named = {"--kernel": tree, "--racquet": source, "--target": target, "--port": port}
    if any(named[option] is None for option in needed):
        options = plain(" ".join(f"{option} {value}" for option, value in needed.items()))
        raise UsageError(
            f"{out} was begun with {options}, which is not taken from a folder that may come from "
            f"somebody else: if you trust it, `{command_again(out, plan)}`"
        )
    begun_with = {"--kernel": plan.kernel, "--racquet": plan.racquet, "--target": plan.target}
    for option, value in begun_with.items():
        if named[option] is not None and named[option] != value:
            begun = f"with {option} {value}" if value else f"without {option}"
            raise UsageError(f"{out} was begun {plain(begun)}: `{command_again(out, plan)}`")
    return bench_for(plan, Access(port, target, holder))


def plan_of(  # noqa: PLR0913 (a plan has that many parts, all of them named)
    *,
    bench: BenchKind = "virtual",
    instrument: InstrumentKind | None = None,
    port: str | None = None,
    target: str | None = None,
    kernel: str | None = None,
    load: str | None = None,
    load_options: Mapping[str, int] | None = None,
    top_half: TopHalf | None = None,
    bottom_half: BottomHalf | None = None,
    priorities: Priorities | None = None,
    command_line: str = "",
    interrupt_cpu: int | None = None,
    load_cpus: str | None = None,
    instruction_ns: InstructionNs | None = None,
    racquet: Path | None = None,
    witness: Witness = "none",
    beneath: Beneath = "none",
    operator: str | None = None,
    umpire: bool = False,
    analyser: str | None = None,
    **serving: Any,
) -> Plan:
    """Return a plan. Raises UsageError where what was asked for does not go together.

    ``serving`` are fields of ``Serving``: balls, seed, loop, gaps, times. What nobody said about
    the target is the usual on the virtual bench, and on a managed ``target``, which see to it; it
    is unknown on any other.
    """
    _check_instrument(bench, instrument, port, target, load_options)
    if bench == "virtual":
        kernel = _kernel("mainline" if kernel is None else kernel)
    if racquet is not None:
        top_half, bottom_half = _of_own_racquet(top_half, bottom_half)
    if beneath != "none" and (bench != "virtual" or is_sloth(kernel or "")):
        raise UsageError("--beneath belongs to Linux on --bench virtual")
    top_half, bottom_half, priorities = _answered_from(
        (bench, kernel or "", beneath), target, (top_half, bottom_half, priorities)
    )
    if bench == "virtual" or target is not None:
        load = "idle" if load is None else load
    if instruction_ns is not None and bench != "virtual":
        raise UsageError("--instruction-ns belongs to --bench virtual: only there it can be chosen")
    if racquet is not None and bench != "virtual":
        raise UsageError(
            "--racquet belongs to --bench virtual",
            next_step="on a board, build and load it yourself, and play without --target",
        )
    if witness != "none" and bench != "virtual" and target is None:
        raise UsageError(
            "--witness belongs to --bench virtual, or to --target: without, nobody starts it there"
        )
    for option, asked in (("--interrupt-cpu", interrupt_cpu), ("--load-cpus", load_cpus)):
        if asked is not None and target is None:
            raise UsageError(f"{option} belongs to --target: the virtual bench has one CPU")
    if analyser and (bench == "virtual" or not umpire):
        raise UsageError("--analyser belongs to --umpire on a physical bench")
    protocol = _serving(serving).protocol()
    try:
        return Plan(
            bench=bench,
            instrument=instrument or _usual_instrument(bench, kernel),
            port=port,
            target=target,
            kernel=UNKNOWN if kernel is None else kernel,
            load=UNKNOWN if load is None else load,
            load_options=dict(load_options or {}),
            top_half=top_half or ("hard" if bench == "virtual" or target else UNKNOWN),
            bottom_half=bottom_half or UNKNOWN,
            priorities=UNKNOWN if priorities is None else priorities,
            command_line=command_line,
            interrupt_cpu=interrupt_cpu,
            load_cpus=load_cpus,
            instruction_ns=instruction_ns or 2,
            racquet=str(racquet.resolve()) if racquet else None,
            witness=witness,
            beneath=beneath,
            operator=operator,
            umpire=umpire,
            analyser=analyser,
            versions={},
            protocol=protocol,
        )
    except ValidationError as error:
        first = error.errors()[0]
        option = ".".join(map(str, first["loc"]))
        if option in {"priorities", "command_line", "load_cpus"}:
            given = plain(f"--{option.replace('_', '-')} {first['input']}", 80)
            raise UsageError(f"{given}: {first['msg']}") from error
        raise UsageError(f"{option}: {first['msg']}") from error


def _of_own_racquet(
    top_half: TopHalf | None, bottom_half: BottomHalf | None
) -> tuple[TopHalf, BottomHalf]:
    """Return where a Racquet of one's own answers from: unknown. Raises UsageError."""
    for option, asked in (("--top-half", top_half), ("--bottom-half", bottom_half)):
        if asked is not None:
            raise UsageError(
                f"{option} {asked}: where your own Racquet answers, it says itself",
                next_step="leave it out",
            )
    return UNKNOWN, UNKNOWN


def _serving(asked: Mapping[str, Any]) -> Serving:
    """Check what was asked for about the balls. Raises UsageError, in words of the command line."""
    try:
        return Serving.model_validate(asked)
    except ValidationError as error:
        first = error.errors()[0]
        option, value = f"--{str(first['loc'][0]).replace('_', '-')}", first["input"]
        if first["type"] == "finite_number":
            raise UsageError(f"{option} {value}", next_step="use a number") from error
        if option == "--rate-hz" and isinstance(value, (int, float)) and value <= 0:
            reason = "an open loop serves more than 0 balls a second"
            raise UsageError(f"{option} {value:g}: {reason}") from error
        option_text = plain(f"{option} {value}", 80)
        raise UsageError(f"{option_text}: {first['msg'].removeprefix('Input ')}") from error


def _kernel(asked: str) -> str:
    """Return what names the kernel from anywhere, so that the rally can be resumed from there."""
    if is_sloth(asked):
        return asked
    if asked and asked not in catalogue.catalogue() and catalogue.is_folder(Path(asked)):
        return str(Path(asked).resolve())
    return asked


def _answered_from(
    who: tuple[BenchKind, str, Beneath],
    target: str | None,
    asked: tuple[TopHalf | None, BottomHalf | None, Priorities | None],
) -> tuple[TopHalf | None, BottomHalf | None, Priorities | None]:
    """Return where a target answers from, None where nobody knows. Raises UsageError."""
    bench, kernel, _ = who
    if bench == "pi" and is_sloth(kernel):
        return _on_a_pico(kernel, target, asked)
    if bench == "virtual" or target is not None:
        return asked[0], *_usual(who, asked[1], asked[2])
    return asked


def _usual(
    who: tuple[BenchKind, str, Beneath],
    bottom_half: BottomHalf | None,
    priorities: Priorities | None,
) -> tuple[BottomHalf, Priorities]:
    """Return bottom half and priorities, the kernel's usual ones where nobody said."""
    if bottom_half is not None and priorities is not None:
        return bottom_half, priorities  # without reading a configuration, which is long
    racquet = flavours.racquet_of(_player(*who))
    return bottom_half or racquet.bottom_halves[0], priorities or racquet.priorities[0]


def _on_a_pico(
    kernel: str,
    target: str | None,
    asked: tuple[TopHalf | None, BottomHalf | None, Priorities | None],
) -> tuple[TopHalf, BottomHalf, Priorities]:
    """Return where SLOTH answers from on a second Pico. Raises UsageError."""
    if kernel not in {PICO, PICO2}:
        raise UsageError(
            f"--kernel {kernel} is QEMU's: it runs on no board", next_step=f"use {PICO} or {PICO2}"
        )
    if target is not None:
        raise UsageError(
            f"--target: tennis manages boards with Linux, and {kernel} is a Pico's",
            next_step="leave it out; `tennis kernels uf2` makes what the Pico takes",
        )
    halves = (asked[0] or "hard", asked[1] or "task", asked[2] or "native")
    flavours.check("sloth", *halves)
    return halves


def _player(bench: BenchKind, kernel: str, beneath: Beneath) -> flavours.Player:
    if bench == "pi":
        return _flavour(kernel)
    return "sloth" if is_sloth(kernel) or beneath != "none" else catalogue.flavour_of(kernel)


def _flavour(asked: str | None) -> Flavour:
    """Return the flavour that a board is asked to run; mainline where nobody said."""
    return next((flavour for flavour in flavours.RACQUETS if flavour == asked), "mainline")


def _usual_instrument(bench: BenchKind, kernel: str | None) -> InstrumentKind:
    return "builtin" if bench == "virtual" and kernel != PICO else "pico"


def _check_instrument(
    bench: BenchKind,
    instrument: InstrumentKind | None,
    port: str | None,
    target: str | None,
    load_options: Mapping[str, int] | None,
) -> None:
    if target is not None and not target.strip():  # a shell's variable that is not set
        raise UsageError(
            "--target is empty", next_step="name a target of the inventory, or a host for ssh"
        )
    if bench == "virtual":
        if port is not None:
            raise UsageError("--port belongs to --bench pi: the virtual bench has no port")
        if target is not None:
            raise UsageError("--target belongs to --bench pi: the virtual bench boots its own")
        return
    if instrument == "builtin":
        raise UsageError(
            "--instrument builtin belongs to --bench virtual: a physical bench has a Pico"
        )
    if load_options and target is None:
        raise UsageError(
            "--load-option belongs to --bench virtual, or to --target: without, start it yourself"
        )


# who can do a drill; nothing may wait in an interrupt
CONTEXTS: dict[DrillName, tuple[DrillContext, ...]] = {
    "periodic": ("user", "user-rt", "kernel", "hrtimer"),
    "response": ("kernel",),
    "switch": ("user", "user-rt", "kernel"),
    "semaphore": ("user", "user-rt", "kernel"),
    "mailbox": ("user", "user-rt", "kernel"),
    "priority": ("user", "user-rt", "kernel"),
    "allocate": ("user", "user-rt", "kernel"),
    "vmalloc": ("kernel",),
}
# of a drill's pulse: what a stamp's 32 bits hold
PULSE_MAX_NS = 4_000_000_000


def drill_plan(drill: Drill, repetitions: int, seed: int, **about: Any) -> Plan:
    """Return the plan of a drill. Raises UsageError where it cannot be.

    ``about``: what ``plan_of`` takes of the target: kernel, load, load_options, command_line,
    instruction_ns; of the instrument; and of the bench.
    """
    known = CONTEXTS[drill.name]
    if drill.context not in known:
        raise UsageError(
            f"--context {drill.context}: the drill {drill.name} cannot be done there",
            next_step=f"use {' or '.join(known)}",
        )
    if about.get("bench", "virtual") != "virtual" and about.get("target") is None:
        raise UsageError(
            "--bench pi without --target: nobody would start the drill there",
            next_step="name the board that tennis manages",
        )
    plan = plan_of(**about)
    if drill.name == "response" and plan.instrument == "pico":
        raise UsageError(
            "the drill response takes a wire from the reply line back to the target, which only "
            "the virtual bench's built-in instrument has"
        )
    protocol = Protocol(
        loop="listen",
        balls=repetitions,
        seed=seed,
        gap_min_ns=0,
        gap_max_ns=0,
        pulse_ns=1,
        timeout_ns=PULSE_MAX_NS,
        settle_ns=0,
    )
    unanswered = {"bottom_half": UNKNOWN, "top_half": "hard", "priorities": "default"}
    return plan.model_copy(update={"drill": drill, "protocol": protocol, **unanswered})
