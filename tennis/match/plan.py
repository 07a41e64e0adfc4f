"""A match's plan: a TOML file that names kernels, loads, priorities; and the rallies it becomes.

docs/match.md explains the keys; plans/*.toml are examples.
"""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path, PurePath
from typing import Annotated, Any, Literal

from pydantic import (
    Field,
    SerializerFunctionWrapHandler,
    StringConstraints,
    ValidationError,
    field_validator,
    model_serializer,
    model_validator,
)
from pydantic_core import PydanticCustomError

from tennis.kit.errors import UsageError
from tennis.match.settings import (
    AXES,
    AxisSettings,
    CombinedSettings,
    KernelSettings,
    TargetSettings,
)
from tennis.rally import command_line as parameters
from tennis.rally.disk import open_regular
from tennis.rally.edited import EditedError, toml_of
from tennis.rally.inside import REPETITIONS_MAX
from tennis.rally.manifest import (
    TIMELESS,
    BenchKind,
    CommandLine,
    Drill,
    DrillContext,
    DrillName,
    InstructionNs,
    StrictModel,
    Text,
    TopHalf,
)
from tennis.rally.plan import Plan
from tennis.rally.serving import Balls, Serving, Settle
from tennis.rally.settings import OF_KIND, USUAL, InstrumentKind
from tennis.rally.text import plain

SIZE_MAX = 1 << 20  # bytes
RALLIES_MAX = 16_384
NAME = r"^[A-Za-z0-9][A-Za-z0-9._+-]{0,63}$"
Name = Annotated[str, StringConstraints(pattern=NAME)]
LoadOptions = Annotated[dict[Name, int], Field(max_length=64)]


def _distinct(value: Any) -> Any:
    """Refuse a list that is empty, or names one thing twice."""
    if value is not None and not value:
        raise PydanticCustomError("empty", "is empty: name at least one")
    if isinstance(value, list):
        twice = [name for name, count in Counter(map(str, value)).items() if count > 1]
        if twice:
            message = "names {name} twice: for more boots use repetitions"
            raise PydanticCustomError("twice", message, {"name": plain(twice[0], 64)})
    return value


class _Lists(StrictModel):
    """A part of the plan that lists values to combine."""

    @field_validator(
        *AXES, "kernels", "loads", "contexts", "periods_us", mode="before", check_fields=False
    )
    @classmethod
    def _some(cls, value: Any) -> Any:
        return value if value == {} else _distinct(value)  # no list: match.json has it so


class _KernelPlace(KernelSettings):
    """The place of a kernel of the plan, and the loads that keep it busy."""

    tree: Text | None = None  # a name from `tennis kernels`, or a built tree beside the plan
    optional: bool = False  # played only if --with NAME=KERNEL gives it
    loads: list[Name] | None = None


class KernelAxis(AxisSettings, _KernelPlace, _Lists):
    """A kernel of the plan; the plan's own values replace what it leaves out."""


class LoadAxis(StrictModel):
    """A load of the plan."""

    options: LoadOptions = Field(default_factory=dict)
    balls: Balls | None = None
    settle_s: Settle | None = None


class Setting(TargetSettings):
    """The set-up of a target; the plan's own values replace what it leaves out."""

    command_line: CommandLine = ""


class _AnyCell(StrictModel):
    kernel: Name | None = None
    load: Name | None = None


class Skip(CombinedSettings, _AnyCell):
    """Combinations that are not played; all of the keys that are given must fit."""

    setting: Name | None = None
    why: Text = "the plan skips it"


class _Cell(StrictModel):
    """The kernel and the load of a rally."""

    kernel: Name
    load: Name


class OneRally(CombinedSettings, _Cell):
    """A rally besides the combinations."""

    command_line: CommandLine = ""
    load_options: LoadOptions = Field(default_factory=dict)
    balls: Balls | None = None
    settle_s: Settle | None = None

    @property
    def own(self) -> str | None:
        """Return its settings that no combination has, as a part of its name; None: it has none.

        A file or a folder is given by its name.
        """
        said = [f"{name}={PurePath(str(value)).name}" for name, value in self.of_a_match.items()]
        return parameters.file_name(" ".join(said)) or None


class _DrillAxis(_Lists):
    """A drill, with each kernel and load of the plan unless it names its own."""

    name: DrillName
    contexts: list[DrillContext] | None = None  # nothing: all that can do it
    periods_us: list[Annotated[float, Field(ge=10, le=1_000_000, allow_inf_nan=False)]] = Field(
        default_factory=lambda: [1000.0]
    )
    repetitions: Annotated[int, Field(ge=1, le=REPETITIONS_MAX)] = 10_000  # of a boot
    kernels: list[Name] | None = None
    loads: list[Name] | None = None
    command_lines: list[CommandLine] | None = None


class _Played(Serving, KernelSettings, TargetSettings):
    """The settings that all rallies of a plan share, and those that are always combined."""

    title: Text = "A match"
    bench: BenchKind = "virtual"
    target: Text | None = None  # with bench = "pi": what ssh logs in to
    port: Text | None = None  # with bench = "pi": the Brickwall's
    instrument: InstrumentKind | None = None
    operator: Text | None = None
    kernels: dict[Name, KernelAxis] = Field(default_factory=dict)
    loads: dict[Name, LoadAxis] = Field(default_factory=dict)


class MatchPlan(AxisSettings, _Played, _Lists):
    """All of a plan's file; ``balls`` and ``settle_s`` are those of a load that says nothing."""

    # the first is what the others are compared with
    settings: Annotated[dict[Name, Setting], Field(max_length=64)] = Field(default_factory=dict)
    instruction_ns: InstructionNs = 2  # with bench = "virtual"
    repetitions: Annotated[int, Field(ge=1, le=1000)] = 1
    order: Literal["listed", "shuffled"] = "listed"  # shuffled by default, but on the virtual bench
    skip: list[Skip] = Field(default_factory=list)
    rally: list[OneRally] = Field(default_factory=list)
    rallies: bool = True  # false: combinations are played only as drills
    drill: list[_DrillAxis] = Field(default_factory=list, max_length=256)

    @model_validator(mode="before")
    @classmethod
    def _shuffled(cls, value: Any) -> Any:
        """Shuffle on a board: what changes with time must meet all combinations."""
        if isinstance(value, dict) and value.get("bench", "virtual") not in TIMELESS:
            return {"order": "shuffled", **value}
        return value

    @field_validator("kernels", "loads", mode="before")
    @classmethod
    def _listed(cls, value: Any) -> Any:
        """Take a list of names for a table without further words."""
        if value != {}:  # of a plan of single rallies, as match.json has it
            _distinct(value)
        if isinstance(value, list) and all(isinstance(name, str) for name in value):
            return {name: {} for name in value}
        return value


# published figures were measured with all other settings as usual, such as one processor
_NEVER_PUBLISHED = tuple(
    row
    for row in OF_KIND
    if "published or not" not in row.traits and row.name not in {"kernel", "load", *AXES.values()}
)


class _Listed(StrictModel):
    """An entry of a plan's schedule; ``own``: a [[rally]]'s own settings, in its name.

    Such a rally is no boot of the combination without them, for any verdict on a match.
    """

    own: Text | None = None

    @model_serializer(mode="wrap")
    def _written(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        every: dict[str, Any] = write(self)
        return {key: value for key, value in every.items() if (key, value) != ("own", None)}


class ScheduledRally(_Listed):
    """A rally of a match: the folder ``name``, what the plan calls its kernel, and its plan."""

    name: Name
    kernel: Name
    repetition: Annotated[int, Field(ge=1)]
    plan: Plan
    setting: Name | None = None  # of the plan's settings

    def is_one(
        self, kernel: str, load: str, priorities: str, bottom_half: str, top_half: str = "hard"
    ) -> bool:
        """Tell whether it is a rally of this combination."""
        plan = self.plan
        mine = (self.kernel, plan.load, plan.priorities, plan.bottom_half, plan.top_half)
        asked = (kernel, load, priorities, bottom_half, top_half)
        its_own = self.setting is not None or self.own is not None
        if its_own or plan.command_line or mine != asked:
            return False
        return all(row.of(plan) == row.of(USUAL) for row in _NEVER_PUBLISHED)


def repeated(scheduled: Iterable[ScheduledRally], what: str) -> str:
    """Say which two rallies of ``what`` would be one and the same; empty: none.

    They share a name (also one that some file systems take for the same), or the seed of two boots
    of one combination.
    """
    names: dict[str, str] = {}
    boots: dict[tuple[object, ...], str] = {}
    for one in scheduled:
        plan = one.plan
        name = one.name.casefold()
        boot = (plan.kind_of(plan.protocol), plan.protocol.seed)
        if name in names:
            earlier = names[name]
            if earlier == one.name:
                return f"{earlier} is in {what} twice"
            return f"{earlier} and {one.name} of {what} have one name, but for upper and lower case"
        if boot in boots:
            return (
                f"{boots[boot]} and {one.name} of {what} have one seed, {plan.protocol.seed}: they "
                "are one boot, not two"
            )
        names[name] = boots[boot] = one.name
    return ""


class NotPlayed(_Listed):
    """A combination that is left out, and why."""

    name: Text
    kernel: Text
    load: Text
    priorities: Text | None
    bottom_half: Text | None
    top_half: TopHalf | None = None
    command_line: Text = ""
    setting: Name | None = None
    drill: Drill | None = None
    why: Text

    def is_one(
        self, kernel: str, load: str, priorities: str, bottom_half: str, top_half: str = "hard"
    ) -> bool:
        """Tell whether it is this combination; a setting that is None fits any."""
        return (
            (self.kernel, self.load, self.command_line) == (kernel, load, "")
            and self.priorities in {None, priorities}
            and self.bottom_half in {None, bottom_half}
            and self.top_half in {None, top_half}
            and self.drill is None
            and self.setting is None
            and self.own is None
        )


def read_plan(path: Path) -> MatchPlan:
    """Read a plan's file. Raises UsageError, one line that names the key."""
    try:
        with open_regular(path) as file:
            data = file.read(SIZE_MAX + 1)
    except OSError as error:
        why = error.strerror or "it cannot be read"
        raise UsageError(
            f"{path}: {why}", next_step="name the TOML file of a match's plan"
        ) from error
    return parse_plan(data, path)


def parse_plan(data: bytes, path: Path) -> MatchPlan:
    """Read a plan; ``path`` is what errors name. Raises UsageError as ``read_plan``."""
    if len(data) > SIZE_MAX:
        raise UsageError(
            f"{path} is larger than 1 MiB", next_step="name the TOML file of a match's plan"
        )
    try:
        content = toml_of(data)
    except EditedError as error:
        raise UsageError(f"{path} {error}", next_step=error.next_step) from error
    try:
        plan = MatchPlan.model_validate(content)
    except ValidationError as error:
        raise UsageError(f"{path}: {first_problem(error)}") from error
    if not plan.rally:
        for axis in ("kernels", "loads"):
            if not getattr(plan, axis):
                raise UsageError(f"{path}: {axis} is missing", next_step="name at least one")
    return plan


def first_problem(error: ValidationError) -> str:
    """Describe the first error that pydantic found: the key, and what is wrong with it."""
    problem = error.errors()[0]
    where = plain(".".join(str(key) for key in problem["loc"] if key != "[key]"), 120)
    if problem["type"] == "extra_forbidden":
        return f"{where} is not a key of a plan: see docs/match.md"
    if problem["type"] == "string_pattern_mismatch" and problem["ctx"]["pattern"] == NAME:
        return f"{where} is not a name: up to 64 letters, digits, and . _ + - inside"
    given = problem["input"]
    shown = f" (it is {plain(repr(given), 60)})" if isinstance(given, (str, int, float)) else ""
    return f"{where}: {problem['msg'][:1].lower()}{problem['msg'][1:]}{shown}"
