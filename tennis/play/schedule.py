# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""A match's plan becomes rallies: which there are, in which order, and what is left out."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sized
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from tennis.bench import flavours
from tennis.bench import loads as load_folder
from tennis.bench.registry import can
from tennis.errors import UsageError
from tennis.match.plan import (
    RALLIES_MAX,
    LoadAxis,
    MatchPlan,
    NotPlayed,
    OneRally,
    ScheduledRally,
    Setting,
    first_problem,
    repeated,
)
from tennis.play.match_kernels import MatchKernel
from tennis.play.planning import drill_plan, plan_of
from tennis.rally import command_line as parameters
from tennis.rally import drills
from tennis.rally import priorities as priority_map
from tennis.rally.cycles import balls_for, cycle_words
from tennis.rally.manifest import PROGRAM, THREADED, BottomHalf, Drill, Priorities, TopHalf
from tennis.rally.plan import UNKNOWN, Plan
from tennis.rally.serving import Serving
from tennis.rally.settings import SETTINGS
from tennis.rally.text import plain
from tennis.replicate.rules import replication


def scheduled_rallies(
    plan: MatchPlan, places: Mapping[str, str], beside: Path
) -> tuple[list[ScheduledRally], list[NotPlayed]]:
    """Return the rallies of a plan in the order of playing, and what is left out.

    ``places`` are the kernels of the command line, by the plan's names; folders in the plan are
    relative to ``beside``. Raises UsageError (BenchError where a kernel is not fetched) for names
    that mean nothing, and where nothing is left.
    """
    _check_bench(plan)
    _check_settings(plan)
    plan = _with_programs(plan, beside)
    named = {*plan.kernels, *(rally.kernel for rally in plan.rally)}
    for name in sorted(places.keys() - named):
        raise UsageError(
            f"--kernel {name}=...: the plan has no kernel {name!a}", next_step="use one of its"
        )
    kernels = {name: MatchKernel(plan, name, places.get(name), beside) for name in sorted(named)}
    _check_loads(plan, kernels)
    _check_drills(plan)
    scheduled: list[ScheduledRally] = []
    left: list[NotPlayed] = []
    for combination in (*_combinations(plan, kernels), *_drills(plan, kernels)):
        why = combination.why or _impossible(kernels[combination.kernel], combination)
        if why and combination.single and kernels[combination.kernel].there:
            raise UsageError(f"rally {combination.name}: {why}")
        if why:
            left.append(
                NotPlayed(
                    name=combination.name,
                    kernel=combination.kernel,
                    load=combination.load,
                    priorities=combination.priorities,
                    bottom_half=combination.bottom_half,
                    top_half=combination.top_half,
                    command_line=combination.command_line,
                    setting=combination.setting,
                    drill=combination.drill,
                    why=why,
                )
            )
            _check_count(left)
            continue
        for repetition in range(1, plan.repetitions + 1):
            scheduled.append(_scheduled(plan, kernels[combination.kernel], combination, repetition))
            _check_count(scheduled)
    if twice := repeated(scheduled, "the plan"):
        raise UsageError(twice, next_step="for more boots use repetitions, or another seed")
    if not scheduled:
        whys = "; ".join(dict.fromkeys(f"{entry.name}: {entry.why}" for entry in left))
        raise UsageError(f"nothing is left to play: {plain(whys, 600)}")
    if plan.repetitions >= replication().statistics.boots_min:
        for name, words, enough in short_of_a_cycle(scheduled):
            raise UsageError(
                f"{name} {words}",
                next_step=f"these many boots should decide: give each {enough:,}, or play fewer "
                "boots, which decide nothing",
            )
    if plan.order == "shuffled":
        scheduled.sort(key=lambda planned: _digest(plan.seed, "order", planned.name))
    return scheduled, left


def short_of_a_cycle(scheduled: Iterable[ScheduledRally]) -> Iterator[tuple[str, str, int]]:
    """Yield rallies too short for a cycle of their load: name, what is wrong, how many balls do.

    One of each load and length.
    """
    seen = set()
    for planned in scheduled:
        plan = planned.plan
        instruction_ns = plan.instruction_ns if plan.bench == "virtual" else None
        system = can(plan).system
        served = plan.protocol.model_dump_json(exclude={"seed", "settle_ns"})
        took = (instruction_ns, plan.memory)
        kind = (plan.load, str(plan.load_options), system, took, served, plan.drill)
        if kind in seen:
            continue
        seen.add(kind)
        cycle_ns, enough = cycle_of(plan)
        balls = plan.protocol.balls
        if cycle_ns and balls < enough:
            yield planned.name, cycle_words(plan.load, cycle_ns, balls, enough), enough


def cycle_of(plan: Plan) -> tuple[int, int]:
    """Return a load's cycle (ns; 0: none, or unknown), and how many balls see all of it."""
    system = can(plan).system
    instruction_ns = plan.instruction_ns if plan.bench == "virtual" else None
    load = load_folder.find(plan.load, plan.load_options, system)
    found = load.cycle_ns(instruction_ns, plan.memory)
    return found or 0, balls_for(found or 0, plan.protocol, plan.drill)


def _check_count(rallies: Sized) -> None:
    if len(rallies) > RALLIES_MAX:
        raise UsageError(
            f"the plan has more than {RALLIES_MAX} rallies", next_step="make it smaller"
        )


def _check_bench(plan: MatchPlan) -> None:
    for key in ("target", "port"):
        if plan.bench == "virtual" and getattr(plan, key) is not None:
            raise UsageError(f'{key}: needs bench = "pi": the virtual bench has none')
    if plan.bench == "pi" and plan.target is None:
        raise UsageError(
            "target is missing: a match must boot its target into each kernel, so say which one it "
            "is, as ssh knows it"
        )
    if plan.bench != "virtual" and plan.drill:
        raise UsageError(f'drill: no bench = "{plan.bench}" has drills so far')
    if not plan.rallies and not plan.drill and not plan.rally:
        raise UsageError("rallies = false, and no [[drill]]: nothing is left to play")


def _check_settings(plan: MatchPlan) -> None:
    if plan.settings and (
        plan.command_lines or any(k.command_lines for k in plan.kernels.values())
    ):
        raise UsageError(
            "command_lines: a plan with settings has none",
            next_step="say in each of the settings what its command line is",
        )
    if plan.drill:
        _check_settings_of_drills(plan)


def _with_programs(plan: MatchPlan, beside: Path) -> MatchPlan:
    """Return a plan whose programs can be found from anywhere; they have no halves: UsageError."""
    if plan.program is None and all(one.program is None for one in plan.settings.values()):
        return plan
    # of a plan whose settings all have one, halves would be nobody's
    ways = plan.settings.values()
    if plan.program is not None or (plan.settings and all(one.program for one in ways)):
        parts = {"": plan, **{f"kernels.{name}.": axis for name, axis in plan.kernels.items()}}
        said = [
            f"{where}{key}"
            for where, part in parts.items()
            for key in ("top_halves", "bottom_halves")
            if getattr(part, key)
        ]
        said += [
            f"rally.{number}.{key}"
            for number, one in enumerate(plan.rally)
            for key in ("top_half", "bottom_half")
            if plan.program and getattr(one, key)
        ]
        if said:
            raise UsageError(
                f"{said[0]}: a program answers by itself, and has no halves",
                next_step="leave it out",
            )

    def found(program: str | None) -> str | None:
        return program and str((beside / program).resolve())

    return plan.model_copy(
        update={
            "program": found(plan.program),
            "settings": {
                name: one.model_copy(update={"program": found(one.program)})
                for name, one in plan.settings.items()
            },
        }
    )


def _check_settings_of_drills(plan: MatchPlan) -> None:
    """Raise UsageError for a setting of the plan's that its drills would not be done in."""
    of_all = [
        said
        for part in (plan, *plan.kernels.values())
        for said in part.of_a_match.items()
        if said[0] != "memory"  # a drill is done with that of its kernel
    ]
    # a drill is not done in each of the settings
    of_each = [
        (name, one.of_a_match.get(name, SETTINGS[name].default))
        for one in plan.settings.values()
        for name in ("processors", "memory")
    ]
    for name, value in (*of_all, *of_each):
        if value != SETTINGS[name].default:
            how = "on one" if name == "processors" else "without"
            raise UsageError(
                f"{name}: a drill is done {how}",
                next_step="put the drills into a plan of their own",
            )


def _check_loads(plan: MatchPlan, kernels: Mapping[str, MatchKernel]) -> None:
    """Raise UsageError for a load that is not there, or an option it does not have."""
    wanted = [(name, load.options) for name, load in plan.loads.items()]
    wanted += [(rally.load, rally.load_options) for rally in plan.rally]
    for kernel, axis in plan.kernels.items():
        for name in axis.loads or []:
            if name not in plan.loads:
                raise UsageError(f"kernels.{kernel}.loads: {name} is not among the plan's loads")
    systems = sorted({kernel.system for kernel in kernels.values()})
    for name, options in wanted:
        found = [_not_for(name, options, system) for system in systems]
        if all(found):
            raise UsageError(f"loads: {found[0]}")
    for number, skip in enumerate(plan.skip):
        if skip.kernel is not None and skip.kernel not in plan.kernels:
            raise UsageError(f"skip.{number}.kernel: the plan has no kernel {skip.kernel!a}")
        if skip.load is not None and skip.load not in plan.loads:
            raise UsageError(f"skip.{number}.load: the plan has no load {skip.load!a}")
        if skip.setting is not None and skip.setting not in plan.settings:
            raise UsageError(f"skip.{number}.setting: the plan has no setting {skip.setting!a}")


def _not_for(name: str, options: Mapping[str, int], system: load_folder.System) -> str:
    """Say why there is no such load for a system; empty where there is."""
    try:
        load_folder.find(name, options, system)
    except UsageError as error:
        return str(error)
    return ""


def _check_drills(plan: MatchPlan) -> None:
    """Raise UsageError for a drill with what the plan does not have, or where it cannot be done."""
    for number, drill in enumerate(plan.drill):
        for key, there in (("kernels", plan.kernels), ("loads", plan.loads)):
            for name in getattr(drill, key) or []:
                if name not in there:
                    raise UsageError(f"drill.{number}.{key}: {name} is not among the plan's {key}")
        possible = drills.find(drill.name).contexts
        for context in drill.contexts or []:
            if context not in possible:
                raise UsageError(
                    f"drill.{number}.contexts: the drill {drill.name} cannot be done in {context}",
                    next_step=f"use {' or '.join(possible)}",
                )


@dataclass
class _Combination:
    """A combination; ``why``: why it is not played."""

    kernel: str
    load: str
    priorities: Priorities
    top_half: TopHalf
    bottom_half: BottomHalf
    command_line: str = ""
    single: OneRally | None = None
    setting: str | None = None
    why: str = ""
    drill: Drill | None = None
    repetitions: int = 0  # of a drill's boot

    @property
    def name(self) -> str:
        """Return the name of its rally's folder."""
        if self.drill:
            period = f"{self.drill.period_ns / 1000:g}us"
            parts = [self.kernel, self.load, self.drill.name, self.drill.context, period]
            parts += [parameters.file_name(self.command_line)] if self.command_line else []
            return "-".join(parts)
        return "-".join([*self._but_for_setting, *([self.setting] if self.setting else [])])

    @property
    def drawn_by(self) -> str:
        """Return the name that its seed is computed from: boots of two settings are pairs."""
        return "-".join(self._but_for_setting) if self.setting else self.name

    @property
    def _but_for_setting(self) -> list[str]:
        parts = [self.kernel, self.load, priority_map.file_name(self.priorities), self.bottom_half]
        parts += [self.top_half] if self.top_half in THREADED else []
        if self.setting:  # it has a name, and the command line is in it
            return parts
        parts += [parameters.file_name(self.command_line)] if self.command_line else []
        return parts


def _combinations(plan: MatchPlan, kernels: Mapping[str, MatchKernel]) -> Iterator[_Combination]:
    """Yield what the plan asks for; ``why`` says why it is not played."""
    for name, axis in plan.kernels.items() if plan.rallies else ():
        priorities, top_half, bottom_half = kernels[name].defaults
        wanted_tops = axis.top_halves or plan.top_halves or [top_half]
        wanted_halves = axis.bottom_halves or plan.bottom_halves or [bottom_half]
        for load, wanted_priorities, wanted_top, wanted_half, wanted_line, setting in product(
            axis.loads or plan.loads,
            axis.priorities or plan.priorities or [priorities],
            wanted_tops,
            wanted_halves,
            axis.command_lines or plan.command_lines or [""],
            plan.settings or [None],
        ):
            top, bottom = wanted_top, wanted_half
            if plan.program or (setting and plan.settings[setting].program):
                if (top, bottom) != (wanted_tops[0], wanted_halves[0]):
                    continue  # a program has no halves, so that it is one combination
                top, bottom = PROGRAM, PROGRAM
            line = plan.settings[setting].command_line if setting else wanted_line
            combination = _Combination(name, load, wanted_priorities, top, bottom, line)
            combination.setting = setting
            combination.why = _why_not(plan, combination, kernels)
            yield combination
    for rally in plan.rally:
        priorities, top_half, bottom_half = kernels[rally.kernel].defaults
        combination = _Combination(
            rally.kernel,
            rally.load,
            rally.priorities or priorities,
            PROGRAM if plan.program else rally.top_half or top_half,
            PROGRAM if plan.program else rally.bottom_half or bottom_half,
            rally.command_line,
            rally,
        )
        combination.why = "" if kernels[rally.kernel].there else "no kernel given"
        yield combination


def _drills(plan: MatchPlan, kernels: Mapping[str, MatchKernel]) -> Iterator[_Combination]:
    """Yield the drills that the plan asks for; ``why`` says why one is not done."""
    for axis, name in (
        (drill, name) for drill in plan.drill for name in drill.kernels or plan.kernels
    ):
        kernel = plan.kernels[name]
        for load, line, context, period_us in product(
            axis.loads or kernel.loads or plan.loads,
            axis.command_lines or kernel.command_lines or plan.command_lines or [""],
            axis.contexts or drills.find(axis.name).contexts,
            axis.periods_us,
        ):
            combination = _Combination(name, load, "default", "hard", UNKNOWN, line)
            combination.drill = Drill(
                name=axis.name, context=context, period_ns=round(period_us * 1000)
            )
            combination.repetitions = axis.repetitions
            combination.why = _why_not(plan, combination, kernels)
            yield combination


def _why_not(plan: MatchPlan, combination: _Combination, kernels: Mapping[str, MatchKernel]) -> str:
    """Say why the plan leaves a combination out; empty where it does not.

    Of what is only about answers, such as a bottom half, a drill has none: that skips no drill.
    """
    why = "" if kernels[combination.kernel].there else "no kernel given"
    for skip in plan.skip:
        asked = {
            key: value
            for key, value in skip.model_dump(exclude={"why"}).items()
            if value is not None
        }
        if combination.drill and asked.keys() & {"priorities", "top_half", "bottom_half"}:
            continue
        if all(getattr(combination, key) == value for key, value in asked.items()):
            why = skip.why
    return why


def _impossible(kernel: MatchKernel, combination: _Combination) -> str:  # noqa: PLR0911 (a reason each)
    """Say why a combination cannot be played; empty where it can."""
    if combination.load not in load_folder.names(kernel.system):
        return f"the load {combination.load} is not for {load_folder.CALLED[kernel.system]}"
    if combination.drill:
        which = kernel.flavour or kernel.name
        return "" if kernel.has_drills else f"drills are for Linux so far, not for {which} kernels"
    player = kernel.player
    if player is None:
        return ""
    racquet = flavours.racquet_of(player)
    preset = combination.priorities in priority_map.PRESETS
    if combination.priorities not in racquet.priorities and (preset or not racquet.threads):
        possible = " or ".join(racquet.priorities)
        which = f"priorities {combination.priorities}"
        return f"{which} are not for {player} kernels: {possible} is"
    if combination.bottom_half == PROGRAM:
        return _for_a_program(player, combination)
    if combination.top_half not in racquet.top_halves:
        possible = " or ".join(racquet.top_halves)
        return f"top half {combination.top_half} is not for {player} kernels: {possible} is"
    if combination.bottom_half not in racquet.bottom_halves:
        possible = " or ".join(racquet.bottom_halves)
        which = f"bottom half {combination.bottom_half}"
        return f"{which} is not for {player} kernels: {possible} is"
    try:  # a map names threads, and which there are depends on both halves
        flavours.check(player, combination)
    except UsageError as error:
        return str(error)
    return ""


def _for_a_program(player: flavours.Player, combination: _Combination) -> str:
    """Say why no program can answer in a combination; empty where it can."""
    try:
        flavours.check(player, replace(combination, top_half=PROGRAM, bottom_half=PROGRAM))
    except UsageError as error:
        return str(error)
    return ""


def _scheduled(
    plan: MatchPlan, kernel: MatchKernel, combination: _Combination, repetition: int
) -> ScheduledRally:
    # the first has no number, so that a match can be gone on with for more of them
    name = combination.name + (f"-r{repetition}" if repetition > 1 else "")
    load = plan.loads.get(combination.load, LoadAxis())
    single = combination.single
    options = single.load_options if single else load.options
    balls = (single.balls if single else load.balls) or plan.balls
    drawn_by = combination.drawn_by + (f"-r{repetition}" if repetition > 1 else "")
    seed = _digest(plan.seed, "seed", drawn_by) % 2**32
    setting = plan.settings[combination.setting] if combination.setting else Setting()
    settle_s = single.settle_s if single else load.settle_s
    try:
        if combination.drill:
            made = drill_plan(
                combination.drill,
                combination.repetitions,
                seed,
                kernel=kernel.place or combination.kernel,
                load=combination.load,
                load_options=options,
                command_line=combination.command_line,
                instruction_ns=kernel.instruction_ns,
                memory={**plan.of_a_match, **kernel.axis.of_a_match}.get("memory"),
                operator=plan.operator,
            )
            return ScheduledRally(
                name=name, kernel=combination.kernel, repetition=repetition, plan=made
            )
        # of a combination's own setting, then of its kernel, then of the plan
        said = {**plan.of_a_match, **kernel.axis.of_a_match, **setting.of_a_match}
        halves: dict[str, Any] = {
            "top_half": combination.top_half,
            "bottom_half": combination.bottom_half,
        }
        if combination.bottom_half == PROGRAM:
            said["program"], halves = Path(said["program"]), {}
        made = plan_of(
            bench=plan.bench,
            instrument=plan.instrument,
            port=plan.port,
            target=plan.target,
            kernel=kernel.place or combination.kernel,
            load=combination.load,
            load_options=options,
            **halves,
            priorities=combination.priorities,
            command_line=combination.command_line,
            **said,
            instruction_ns=kernel.instruction_ns,
            **{
                **plan.model_dump(include=set(Serving.model_fields)),
                "balls": balls,
                "seed": seed,
                "settle_s": plan.settle_s if settle_s is None else settle_s,
            },
            operator=plan.operator,
        )
        return ScheduledRally(
            name=name,
            kernel=combination.kernel,
            repetition=repetition,
            plan=made,
            setting=combination.setting,
        )
    except (UsageError, ValidationError) as error:
        reason = first_problem(error) if isinstance(error, ValidationError) else str(error)
        raise UsageError(f"{name}: {reason}") from error


def _digest(seed: int, what: str, name: str) -> int:
    """Return a number that depends on these only: the same on every machine, in every order."""
    return int.from_bytes(hashlib.sha256(f"{seed}/{what}/{name}".encode()).digest()[:8])
