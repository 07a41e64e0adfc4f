"""A side of a comparison as a user names it: folders of rallies, or rallies to play."""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tennis.bench.kernels import catalogue
from tennis.bench.registry import is_named
from tennis.compare.folders import RECORD, Cell, read_side
from tennis.compare.request import CompareRequest
from tennis.kit.errors import UsageError
from tennis.match.folder import MATCH
from tennis.match.plan import read_plan
from tennis.match.schedule import cycle_of, scheduled_rallies
from tennis.play.planning import drill_plan_for, plan_for
from tennis.rally.folder import MANIFEST
from tennis.rally.manifest import PROGRAM, Drill, DrillContext
from tennis.rally.plan import UNKNOWN, Plan
from tennis.rally.request import RallyRequest
from tennis.rally.serving import Serving
from tennis.rally.settings import SETTINGS, option_of, rows_of
from tennis.rally.text import plain

REPETITIONS = 3000  # of a control loop, at least
# what a side may say, as people write it, and each setting's name
NAMED = {option_of(row.name).removeprefix("--"): row.name for row in rows_of("side")}
HOW = f"a folder of rallies, a plan.toml, a kernel, a Racquet's .c file, or {', '.join(NAMED)}"


@dataclass(frozen=True)
class ToPlay:
    """A side to play: a plan for each kind of rally, and the words that asked for it."""

    words: str
    plans: Mapping[str, Plan]


@dataclass(frozen=True)
class Recorded:
    """A side that was played already."""

    path: Path
    cells: list[Cell]


SideRequest = ToPlay | Recorded


def side_of(
    text: str, common: RallyRequest, serving: Serving, asked: CompareRequest
) -> SideRequest:
    """Read a side: a folder, a plan's file, or words such as ``kernel=rt top-half=explicit``.

    ``common``, ``serving``: what both sides are asked for. Raises UsageError, RallyError.
    """
    path = Path(text)
    if catalogue.is_folder(path) and not _is_tree(path):
        if is_named(text):
            raise UsageError(
                f"{text} is a kernel, and a folder here",
                next_step=f"say kernel={text}, or ./{text}",
            )
        return Recorded(path, read_side(path))
    if path.suffix == ".toml":
        if asked.period_ns is not None:
            raise UsageError(
                f"--period-us: {text} is a plan, which says itself what is played",
                next_step='name one combination a side, as in "program=loop.c"',
            )
        return ToPlay(text, _of_plan(path))
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise UsageError(f"{plain(text, 80)}: a quotation mark is missing") from error
    settings: dict[str, Any] = {}
    for word in words:
        _set(settings, word)
    if not settings:
        raise UsageError("a side is empty", next_step=f"name {HOW}")
    request = RallyRequest.of({**common.explicit, **settings})
    if asked.period_ns is not None:
        plan = _loop(request, asked.period_ns, asked.repetitions or REPETITIONS)
        return ToPlay(text, {"": plan if asked.repetitions else _long_enough(plan)})
    plan = plan_for(request, Serving(balls=serving.balls))
    return ToPlay(text, {"": plan if "balls" in serving.model_fields_set else _long_enough(plan)})


def _loop(request: RallyRequest, period_ns: int, repetitions: int) -> Plan:
    """Return the plan of a control loop: a program's own, or the kit's in the kernel."""
    context: DrillContext = PROGRAM if "program" in request.explicit else "kernel"
    drill = Drill(name="periodic", context=context, period_ns=period_ns)
    return drill_plan_for(drill, repetitions, Serving().seed, request)


def _long_enough(plan: Plan) -> Plan:
    """Return a plan whose boots see a whole cycle of their load."""
    if plan.load == UNKNOWN:  # of a board that nobody named: it is refused as such
        return plan
    _, enough = cycle_of(plan)
    balls = max(plan.protocol.balls, -(-enough // 1000) * 1000)
    return plan.model_copy(update={"protocol": plan.protocol.model_copy(update={"balls": balls})})


def _is_tree(path: Path) -> bool:
    """Tell a kernel's tree from a folder of rallies."""
    ours = (path / name for name in (MANIFEST, MATCH, RECORD))
    return (path / "Makefile").is_file() and not any(map(Path.exists, ours))


def _set(settings: dict[str, Any], word: str) -> None:
    name, separator, value = word.partition("=")
    if not separator:
        name, value = _what(word), word
    if name not in NAMED:
        raise UsageError(f"{plain(word, 80)} names no side", next_step=f"name {HOW}")
    key = NAMED[name]
    if key == "load_options":
        option, separator, number = value.partition("=")
        if not separator or not number.removeprefix("-").isdigit() or len(number) > 18:
            raise UsageError(
                f"{plain(word, 80)}", next_step="write load-option=NAME=NUMBER, as in hold_us=200"
            )
        settings.setdefault("load_options", {})[option] = int(number)
    elif key in settings:
        raise UsageError(f"{plain(word, 80)}: a side has one {name}")
    elif SETTINGS[key].is_number:
        if not value.isdecimal() or len(value) > 4:
            raise UsageError(f"{plain(word, 80)}", next_step=f"write {name}=NUMBER")
        settings[key] = int(value)
    else:
        settings[key] = Path(value) if "a file" in SETTINGS[key].traits else value


def _what(word: str) -> str:
    """Say which setting a word without a name is for; empty: none."""
    if word.endswith(".c"):
        return "racquet"
    if is_named(word) or _is_tree(Path(word)):
        return "kernel"
    return ""


def _of_plan(path: Path) -> dict[str, Plan]:
    plan = read_plan(path)
    rallies, _ = scheduled_rallies(plan, {}, path.parent)
    plans = {one.name: one.plan for one in rallies if one.repetition == 1 and not one.plan.drill}
    if not plans:
        raise UsageError(f"{path} plays drills only: a comparison takes rallies")
    return plans
