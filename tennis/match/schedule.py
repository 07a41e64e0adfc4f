"""The rallies of a match's plan, their order, and those that are left out."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sized
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeVar

from pydantic import ValidationError

from tennis.bench import flavours
from tennis.bench import loads as load_folder
from tennis.bench.registry import can, check_kind
from tennis.kit.errors import UsageError
from tennis.match.match_kernels import MatchKernel
from tennis.match.plan import (
    RALLIES_MAX,
    LoadAxis,
    MatchPlan,
    NotPlayed,
    OneRally,
    ScheduledRally,
    Setting,
    Skip,
    first_problem,
    repeated,
)
from tennis.match.settings import AXES, OF_A_MATCH
from tennis.play.planning import drill_plan_for, plan_for
from tennis.rally import command_line as parameters
from tennis.rally import drills
from tennis.rally import priorities as priority_map
from tennis.rally.cycles import balls_for, cycle_words
from tennis.rally.manifest import PROGRAM, THREADED, BottomHalf, Drill, Priorities, TopHalf
from tennis.rally.plan import UNKNOWN, Plan
from tennis.rally.request import RallyRequest, serving_of
from tennis.rally.serving import Serving
from tennis.rally.settings import SETTINGS
from tennis.rally.text import plain
from tennis.report.publications.rules import replication

Part = TypeVar("Part", MatchPlan, Setting, OneRally, Skip)


def scheduled_rallies(
    plan: MatchPlan, places: Mapping[str, str], beside: Path
) -> tuple[list[ScheduledRally], list[NotPlayed]]:
    """Return the rallies of a plan in the order of playing, and those that are left out.

    ``places`` are the kernels of the command line, by the plan's names; folders in the plan are
    relative to ``beside``. Raises UsageError (BenchError if a kernel is not fetched) for names
    that mean nothing, and if nothing is left.
    """
    _check_bench(plan)
    _check_settings(plan)
    plan = _with_programs(plan, beside)
    named = {*plan.kernels, *(rally.kernel for rally in plan.rally)}
    for name in sorted(places.keys() - named):
        raise UsageError(
            f"--with {name}=...: the plan has no kernel {name!a}", next_step="use one of its"
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
            listed = {key: getattr(combination, key) for key in NotPlayed.model_fields}
            left.append(NotPlayed(**{**listed, "why": why}))
            _check_count(left)
            continue
        for repetition in range(1, plan.repetitions + 1):
            scheduled.append(_scheduled(plan, kernels[combination.kernel], combination, repetition))
            _check_count(scheduled)
    if twice := repeated(scheduled, "the plan"):
        raise UsageError(
            twice, next_step="leave one out; for more boots use repetitions, or another seed"
        )
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
    """Yield rallies too short for a cycle of their load: name, reason, and enough balls.

    One of each load and length.
    """
    seen = set()
    for planned in scheduled:
        plan = planned.plan
        system = can(plan).system
        served = plan.protocol.model_dump_json(exclude={"seed", "settle_ns"})
        took = (_instruction_ns(plan), plan.memory)
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
    load = load_folder.find(plan.load, plan.load_options, can(plan).system)
    found = load.cycle_ns(_instruction_ns(plan), plan.memory)
    return found or 0, balls_for(found or 0, plan.protocol, plan.drill)


def _instruction_ns(plan: Plan) -> int | None:
    """Return how long an instruction takes; None: its bench has a time of its own."""
    return plan.instruction_ns if "instruction_ns" in can(plan).takes else None


def _check_count(rallies: Sized) -> None:
    if len(rallies) > RALLIES_MAX:
        raise UsageError(
            f"the plan has more than {RALLIES_MAX} rallies", next_step="make it smaller"
        )


def _check_bench(plan: MatchPlan) -> None:
    check_kind(plan.bench)
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
    # of a plan whose settings all have one, halves would be nobody's
    ways = plan.settings.values()
    parts = {"": plan, **{f"kernels.{name}.": axis for name, axis in plan.kernels.items()}}
    said = [
        f"{where}{key}"
        for where, part in parts.items()
        for key in ("top_halves", "bottom_halves")
        if getattr(part, key) and (plan.program or (ways and all(one.program for one in ways)))
    ]
    said += [
        f"rally.{number}.{half}"
        for number, one in enumerate(plan.rally)
        for half in _HALVES
        if getattr(one, half) and (plan.program or one.program)
    ]
    if said:
        raise UsageError(
            f"{said[0]}: a program answers by itself, and has no halves", next_step="leave it out"
        )

    def found(part: Part) -> Part:
        if part.program is None:
            return part
        return part.model_copy(update={"program": str((beside / part.program).resolve())})

    update = {
        "settings": {name: found(one) for name, one in plan.settings.items()},
        "rally": [found(one) for one in plan.rally],
        "skip": [found(one) for one in plan.skip],
    }
    return found(plan).model_copy(update=update)


def _check_settings_of_drills(plan: MatchPlan) -> None:
    """Raise UsageError for a setting of the plan's that its drills would not be done in."""
    of_all = [
        said
        for part in (plan, *plan.kernels.values())
        for said in part.of_a_match.items()
        if said[0] != "memory"  # a drill is done with that of its kernel
    ]
    # a drill is not done in each of the settings: what it could be done in would be missing
    of_each = [
        said
        for one in plan.settings.values()
        for said in one.of_a_match.items()
        if said[0] == "processors" or "drill" in SETTINGS[said[0]].takers
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
    """Say why there is no such load for a system; empty if there is."""
    try:
        load_folder.find(name, options, system)
    except UsageError as error:
        return str(error)
    return ""


def _check_drills(plan: MatchPlan) -> None:
    """Raise UsageError for a drill with what the plan does not have, or if it cannot be done."""
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


_HALVES = ("top_half", "bottom_half")
_COMBINED = {*AXES.values(), *OF_A_MATCH}
# a drill has no settings that are only about answers
_OF_A_DRILL = {"priorities": "default", "top_half": "hard", "bottom_half": UNKNOWN}


@dataclass
class _Combination:
    """A combination; ``why``: why it is not played."""

    kernel: str
    load: str
    said: dict[str, Any]  # of its settings by itself, for its kernel, for the whole plan
    single: OneRally | None = None
    setting: str | None = None
    why: str = ""
    drill: Drill | None = None
    repetitions: int = 0  # of a drill's boot

    @property
    def priorities(self) -> Priorities:
        """Return with which priorities it is answered."""
        return str(self.said["priorities"])

    @property
    def top_half(self) -> TopHalf:
        """Return its top half."""
        half: TopHalf = self.said["top_half"]
        return half

    @property
    def bottom_half(self) -> BottomHalf:
        """Return its bottom half."""
        half: BottomHalf = self.said["bottom_half"]
        return half

    @property
    def command_line(self) -> str:
        """Return the words added to the kernel's."""
        return str(self.said["command_line"])

    @property
    def own(self) -> str | None:
        """Return its settings that no combination of the plan has; None: it has none."""
        return self.single.own if self.single else None

    def is_with(self, key: str, value: Any) -> bool:
        """Tell whether a key of a [[skip]] fits; an unnamed setting has its default."""
        if key not in _COMBINED:
            return bool(getattr(self, key) == value)
        row = SETTINGS[key]
        is_so = row.of(SimpleNamespace(**{key: self.said.get(key, row.default)}))
        return bool(is_so == row.of(SimpleNamespace(**{key: value})))

    @property
    def name(self) -> str:
        """Return the name of its rally's folder."""
        if self.drill:
            period = f"{self.drill.period_ns / 1000:g}us"
            parts = [self.kernel, self.load, self.drill.name, self.drill.context, period]
            parts += [parameters.file_name(self.command_line)] if self.command_line else []
            return "-".join(parts)
        return "-".join([*self._but_for_setting, *filter(None, (self.setting, self.own))])

    @property
    def drawn_by(self) -> str:
        """Return the name that its seed is computed from: boots of two settings are pairs."""
        return self.name if self.drill else "-".join(self._but_for_setting)

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
        usual = kernels[name].defaults
        wanted = {
            one: getattr(axis, key) or getattr(plan, key) or [usual[one]]
            for key, one in AXES.items()
        }
        for load, *values, setting in product(
            axis.loads or plan.loads, *wanted.values(), plan.settings or [None]
        ):
            of_all = {**plan.of_a_match, **axis.of_a_match}
            said = {**of_all, **dict(zip(wanted, values, strict=True))}
            if setting:
                said |= plan.settings[setting].explicit
            if "program" in said:
                if any(said[half] != wanted[half][0] for half in _HALVES):
                    continue  # a program has no halves, so that it is one combination
                said |= dict.fromkeys(_HALVES, PROGRAM)
            combination = _Combination(name, load, said, setting=setting)
            combination.why = _why_not(plan, combination, kernels)
            yield combination
    for rally in plan.rally:
        kernel = kernels[rally.kernel]
        own = {name: value for name, value in rally.explicit.items() if name in _COMBINED}
        said = {**plan.of_a_match, **kernel.axis.of_a_match, **kernel.defaults, **own}
        if "program" in said:
            said |= dict.fromkeys(_HALVES, PROGRAM)
        combination = _Combination(rally.kernel, rally.load, said, rally)
        combination.why = "" if kernel.there else "no kernel given"
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
            said = {**plan.of_a_match, **kernel.of_a_match, **_OF_A_DRILL, "command_line": line}
            combination = _Combination(name, load, said)
            combination.drill = Drill(
                name=axis.name, context=context, period_ns=round(period_us * 1000)
            )
            combination.repetitions = axis.repetitions
            combination.why = _why_not(plan, combination, kernels)
            yield combination


def _why_not(plan: MatchPlan, combination: _Combination, kernels: Mapping[str, MatchKernel]) -> str:
    """Say why the plan leaves a combination out; empty if it does not.

    A drill has no settings about answers, such as a bottom half: they skip no drill.
    """
    why = "" if kernels[combination.kernel].there else "no kernel given"
    for skip in plan.skip:
        asked = {key: value for key, value in skip.explicit.items() if key != "why"}
        if combination.drill and asked.keys() & _OF_A_DRILL.keys():
            continue
        if all(combination.is_with(key, value) for key, value in asked.items()):
            why = skip.why
    return why


def _impossible(kernel: MatchKernel, combination: _Combination) -> str:  # noqa: PLR0911 (a reason each)
    """Say why a combination cannot be played; empty if it can."""
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
    for name, halves in (("top_half", racquet.top_halves), ("bottom_half", racquet.bottom_halves)):
        half, what = combination.said[name], SETTINGS[name].words
        if half not in {*halves, PROGRAM}:
            return f"{what} {half} is not for {player} kernels: {' or '.join(halves)} is"
    try:  # a map names threads, and which there are depends on both halves
        flavours.check(player, combination)
    except UsageError as error:
        return str(error)
    return ""


# what a rally is asked for, and a plan says once for all of them
_OF_ALL = RallyRequest.model_fields.keys() & MatchPlan.model_fields.keys()
_OF_ALL -= {*AXES, *OF_A_MATCH, "instruction_ns"}


def _scheduled(
    plan: MatchPlan, kernel: MatchKernel, combination: _Combination, repetition: int
) -> ScheduledRally:
    # the first has no number, so that a match can be continued with more of them
    boot = f"-r{repetition}" if repetition > 1 else ""
    name = combination.name + boot
    load = plan.loads.get(combination.load, LoadAxis())
    single = combination.single
    asked = {
        **{key: getattr(plan, key) for key in _OF_ALL},
        **combination.said,
        "kernel": kernel.place or combination.kernel,
        "load": combination.load,
        "load_options": single.load_options if single else load.options,
        "instruction_ns": kernel.instruction_ns,
    }
    seed = _digest(plan.seed, "seed", combination.drawn_by + boot) % 2**32
    of_load = (single or load).model_dump(include={"balls", "settle_s"}, exclude_none=True)
    of_rally = plan.model_dump(include=set(Serving.model_fields)) | of_load | {"seed": seed}
    try:
        if combination.drill:
            # the default instrument always listens to the drills of a match
            asked |= dict.fromkeys(("instrument", *_OF_A_DRILL))
            request = RallyRequest.of(asked)
            made = drill_plan_for(combination.drill, combination.repetitions, seed, request)
        else:
            if combination.bottom_half == PROGRAM:
                asked |= dict.fromkeys(_HALVES)
            made = plan_for(RallyRequest.of(asked), serving_of(of_rally))
        return ScheduledRally(
            name=name,
            kernel=combination.kernel,
            repetition=repetition,
            plan=made,
            setting=combination.setting,
            own=combination.own,
        )
    except (UsageError, ValidationError) as error:
        reason = first_problem(error) if isinstance(error, ValidationError) else str(error)
        raise UsageError(f"{name}: {reason}") from error


def _digest(seed: int, what: str, name: str) -> int:
    """Return a number that depends on these only: the same on every machine, in every order."""
    return int.from_bytes(hashlib.sha256(f"{seed}/{what}/{name}".encode()).digest()[:8])
