"""From what a person asked for to a plan, and to the bench that plays it."""

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tennis.bench import registry
from tennis.bench.kernels import catalogue
from tennis.bench.protocol import Access, Bench
from tennis.bench.replay import ReplayBench
from tennis.kit.errors import UsageError
from tennis.rally import drills
from tennis.rally.manifest import PROGRAM, BenchKind, Drill, Protocol
from tennis.rally.plan import UNKNOWN, Plan
from tennis.rally.program import RACQUET
from tennis.rally.program import read as read_program
from tennis.rally.request import RallyRequest, checked
from tennis.rally.serving import Serving
from tennis.rally.settings import (
    SETTINGS,
    STAGES_BALLS_MAX,
    Instants,
    Recordings,
    option_of,
    recorded,
)
from tennis.rally.text import plain, quoted


def replay_of(recording: Path, speed: float) -> tuple[ReplayBench, Plan]:
    """Return the bench that plays a recorded rally, and the plan of that. Raises TennisError."""
    bench = ReplayBench(recording, speed)
    manifest = bench.recording.manifest
    plan = Plan(
        bench="replay",
        kernel=manifest.target.kernel,
        protocol=manifest.protocol,
        versions={},
        recording=str(recording.resolve()),
        speed=speed,
        **recorded(manifest),
    )
    return bench, plan


def _to_be_named(plan: Plan) -> dict[str, str]:
    """Return the options without which a rally of this plan does not go on."""
    known = plan.bench != "virtual" or registry.is_named(plan.kernel)
    begun_with = {
        option_of(name): getattr(plan, name)
        for name, row in SETTINGS.items()
        if "never from a folder" in row.traits and not (name == "kernel" and known)
    }
    return {option: value for option, value in begun_with.items() if value is not None}


def command_again(out: Path, plan: Plan) -> str:
    """Return the command that continues the rally ``out``."""
    options = [f"{option} {shlex.quote(value)}" for option, value in _to_be_named(plan).items()]
    return " ".join([f"tennis resume {quoted(out)}", *options])


def bench_again(  # noqa: PLR0913 (what a user may name)
    out: Path,
    plan: Plan,
    *,
    kernel: str | None = None,
    racquet: Path | None = None,
    program: Path | None = None,
    port: str | None = None,
    target: str | None = None,
) -> Bench:
    """Return the bench on which the rally ``out``, begun with ``plan``, can continue.

    The plan was read from the rally's folder, which may come from somebody else. But a tree's own
    Makefile builds the Racquet, a user's Racquet or program is read, a port is written to, a target
    is logged in to: recorded values of these are never used, only compared with those that the user
    names. Raises UsageError.
    """
    needed = _to_be_named(plan)
    tree = str(Path(kernel).resolve()) if kernel is not None and "--kernel" in needed else kernel
    source = str(racquet.resolve()) if racquet else None
    brought = str(program.resolve()) if program else None
    named = {"--kernel": tree, "--racquet": source, "--program": brought}
    named |= {"--target": target, "--port": port}
    if any(named[option] is None for option in needed):
        options = plain(" ".join(f"{option} {value}" for option, value in needed.items()))
        raise UsageError(
            f"{out} was begun with {options}, which is not taken from a folder that may come from "
            f"somebody else: if you trust it, `{command_again(out, plan)}`"
        )
    begun_with = {"--kernel": plan.kernel, "--racquet": plan.racquet, "--program": plan.program}
    begun_with |= {"--target": plan.target}
    for option, value in begun_with.items():
        if named[option] is not None and named[option] != value:
            begun = f"with {option} {value}" if value else f"without {option}"
            raise UsageError(f"{out} was begun {plain(begun)}: `{command_again(out, plan)}`")
    return registry.bench_for(plan, Access(port, target))


def plan_for(request: RallyRequest, serving: Serving) -> Plan:
    """Return a plan. Raises UsageError for contradictory settings.

    A setting that nobody asked for is the usual one on the virtual bench, and on a managed
    ``target``. It is unknown on any other target.
    """
    explicit = request.explicit
    target = explicit.get("target")
    if target is not None and not target.strip():  # a shell's variable that is not set
        raise UsageError(
            "--target is empty", next_step="name a target of the inventory, or a host for ssh"
        )
    if explicit.get("analyser") and not explicit.get("umpire"):
        raise UsageError("--analyser needs --umpire on a physical bench")
    if "racquet" in explicit and "program" not in explicit:  # both are refused
        explicit |= _of_own_racquet(explicit)
    if "program" in explicit:
        explicit |= _of_program(explicit)
    shots = explicit.get("shots")
    if shots is not None and explicit.get("umpire"):
        raise UsageError("--umpire: the edges of shots are on no wire", next_step="leave it out")
    if explicit.get("stages") and serving.balls > STAGES_BALLS_MAX:
        raise UsageError(
            f"--stages records 1 to {STAGES_BALLS_MAX:,} balls, not {serving.balls:,}",
            next_step="play fewer, or leave it out",
        )
    plan = _explicit_plan(explicit, serving.protocol(shots))
    return registry.completed(plan, explicit)


def _explicit_plan(explicit: Mapping[str, Any], protocol: Protocol) -> Plan:
    """Return a plan in which a setting that nobody asked for is unknown. Raises UsageError."""
    kernel = explicit.get("kernel", _usual_kernel(explicit["bench"]))
    of_others = {*Recordings.model_fields, *Instants.model_fields}
    settings = {name: value for name, value in explicit.items() if name not in of_others}
    for name in ("racquet", "program"):
        settings[name] = str(explicit[name].resolve()) if name in explicit else None
    settings["kernel"] = _kernel(kernel) if explicit["bench"] == "virtual" else kernel
    unknown = {"load": UNKNOWN, "bottom_half": UNKNOWN, "priorities": UNKNOWN}
    return checked(Plan, {**unknown, **settings, "protocol": protocol})


def _usual_kernel(bench: BenchKind) -> str:
    """Return the kernel if nobody named one: unknown, unless the bench has only one."""
    if bench == "virtual":
        return "mainline"
    own = registry.kernels_of(bench) if bench != "pi" else []
    return own[0] if len(own) == 1 else UNKNOWN


def _of_own_racquet(explicit: Mapping[str, Any]) -> dict[str, str]:
    """Return the halves of a user's own Racquet: unknown. Raises UsageError."""
    for option in ("top_half", "bottom_half"):
        if option in explicit:
            raise UsageError(
                f"--{option.replace('_', '-')} {explicit[option]}: where your own Racquet answers, "
                "it says itself",
                next_step="leave it out",
            )
    return {"top_half": UNKNOWN, "bottom_half": UNKNOWN}


def _of_program(explicit: Mapping[str, Any]) -> dict[str, str]:
    """Return the halves of a program: it has none of its own. Raises UsageError."""
    for option in ("top_half", "bottom_half"):
        if option in explicit:
            raise UsageError(
                f"--{option.replace('_', '-')} {explicit[option]}: a program answers by itself, "
                "and has no halves",
                next_step="leave it out",
            )
    if read_program(explicit["program"]).about.way == RACQUET:
        if explicit.get("priorities", "default") != "default":
            raise UsageError(
                f"--priorities {explicit['priorities']}: a program on /dev/racquet takes its own",
                next_step="leave it out; its program.toml may say priority",
            )
        return {"top_half": "hard", "bottom_half": "user"}
    return {"top_half": PROGRAM, "bottom_half": PROGRAM}


def _kernel(requested: str) -> str:
    """Return the kernel's name or absolute path, so that any folder can resume the rally."""
    if requested and not registry.is_named(requested) and catalogue.is_folder(Path(requested)):
        return str(Path(requested).resolve())
    return requested


# of a drill's pulse: what a stamp's 32 bits hold
PULSE_MAX_NS = 4_000_000_000


def drill_plan_for(drill: Drill, repetitions: int, seed: int, request: RallyRequest) -> Plan:
    """Return the plan of a drill. Raises UsageError if it cannot be."""
    known = drills.find(drill.name)
    by_program = "program" in request.explicit
    if by_program and PROGRAM not in known.about.contexts:
        of_programs = (one.name for one in drills.every() if PROGRAM in one.about.contexts)
        raise UsageError(
            f"--program: the drill {drill.name} is done by code of its own, and a program does "
            f"{' or '.join(of_programs)}",
            next_step="leave one of them out",
        )
    if by_program != (drill.context == PROGRAM):
        raise UsageError(
            f"--context {drill.context}: a program of your own says itself what it is",
            next_step="leave it out" if by_program else "name one with --program",
        )
    if not by_program and drill.context not in known.contexts:
        raise UsageError(
            f"--context {drill.context}: the drill {drill.name} cannot be done there",
            next_step=f"use {' or '.join(known.contexts)}",
        )
    plan = plan_for(request, Serving())
    registry.refuse(plan, {"drill": drill})
    if known.about.loops_back and plan.instrument == "pico":
        raise UsageError(
            f"the drill {drill.name} takes a wire from the reply line back to the target, which "
            "only the virtual bench's built-in instrument has"
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
    if by_program:
        if plan.bottom_half != PROGRAM:
            raise UsageError(
                "--program: its program.toml says that it is behind the Racquet, which serves no "
                "drill",
                next_step='leave way = "racquet" out',
            )
        unanswered = {}
    return plan.model_copy(update={"drill": drill, "protocol": protocol, **unanswered})
