"""The table of settings: a field for each setting of a rally, with its row.

Plans, match plans, labs, the sides of a comparison, remedies and options are made from it, and the
table of docs/how-it-is-built.md. It also says whether two rallies are of one kind. ``Protocol`` and
``Serving`` describe how balls are served; a protocol is compared here, too.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePath
from types import UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Literal,
    NamedTuple,
    Optional,
    TypeVar,
    Union,
    get_args,
    get_origin,
)

from pydantic import BaseModel, Field, ValidationInfo, create_model, field_validator
from pydantic.fields import FieldInfo
from pydantic_core import PydanticCustomError

from tennis.kit.units import format_count
from tennis.rally.manifest import (
    IN_BAND,
    OWN,
    PROGRAM,
    TIMELESS,
    Beneath,
    BottomHalf,
    CommandLine,
    Cpu,
    CpuList,
    Drill,
    InstructionNs,
    Manifest,
    MemoryProfile,
    Priorities,
    Processors,
    Protocol,
    Stage,
    StrictModel,
    Target,
    Text,
    TopHalf,
    Witness,
)
from tennis.rally.program import identity, known_by
from tennis.rally.serving import Serving
from tennis.rally.shots import SHOTS_MAX

InstrumentKind = Text  # an open word, as the bench's kind is: a package may bring an instrument
# the kit's own instruments: what a manifest calls them, and what a plan does
INSTRUMENTS: dict[str, InstrumentKind] = {"virtual": "builtin", "brickwall": "pico"}
STAGES_BALLS_MAX = 100_000  # some kB of profile a ball are on the disk meanwhile
UNRECORDED = object()  # the manifest lacks it: whether it differs is unknown
EVERY_BENCH = None
# who takes a setting: commands, a side of `tennis compare`, `tennis explain try`, and a match's
# plan, there for each kernel or for each way to set the target up
Taker = Literal["rally", "drill", "sweep", "compare", "side", "remedy", "kernel", "setting"]
Trait = Literal[
    "no ball depends on it",
    "published or not",  # verdicts on publications take rallies with any value
    "never from a folder",  # a folder may come from somebody else
    "own on a board",  # a lab that does not name it takes any value there
    "placed by a board",  # and so does a match
    "Linux only",
    "a file",
]
# benches with Linux that tennis sets up: virtual, or a board with --target
VIRTUAL = frozenset({"virtual"})
SET_UP = VIRTUAL | {"managed"}
# headings of `tennis rally --help-all`
FIRST = "What to play"
MORE = "More about the target"
INSIDE = "More instruments"
ELSEWHERE = "Another bench"


class _Apart(NamedTuple):
    """Another setting that no bench takes beside one; empty values are any value."""

    other: str
    values: tuple[str | int, ...] = ()
    own: tuple[str | int, ...] = ()
    why: str = ""


@dataclass(frozen=True, kw_only=True, eq=False)
class Setting:
    """A row of the table: all properties of a setting but its type and its default.

    Two rallies that differ in a setting on which balls depend are two kinds: they are not pooled,
    a match and a lab take only those that they list, and a comparison names the difference.
    """

    words: str  # its name for people
    help: str = ""
    heading: str = MORE
    option: str = ""  # if it is not its name
    metavar: str | None = None
    takers: AbstractSet[Taker] = frozenset({"rally"})
    benches: AbstractSet[str] | None = EVERY_BENCH  # as ``Capabilities`` call them
    traits: AbstractSet[Trait] = frozenset()
    # its value in a manifest, in the words of a plan; None: the target's field of its name
    found: Callable[[Manifest], Any] | None = None
    planned: Callable[[Any], Any] | None = None  # the same of a plan; None: the field's value
    shown: Callable[[Any], str] = str
    brief: Callable[[Any], str] | None = None  # in a rally's label; None: its words and the value
    # the kernel's own parameter: a bench that boots the target adds PARAMETER=VALUE
    parameter: str = ""
    apart: tuple[_Apart, ...] = ()
    why: str = ""  # a bench does not take it
    instead: str = ""
    # from its field
    name: str = ""
    field: FieldInfo = field(default_factory=FieldInfo)

    @property
    def default(self) -> Any:
        """Return its usual value; None: it has no default."""
        if self.field.is_required():
            return None
        return self.field.get_default(call_default_factory=True)

    @property
    def choices(self) -> tuple[Any, ...]:
        """Return the values that may be asked for; empty: they are too many to list."""
        values = _of_literal(self.field.annotation)
        return tuple(value for value in values if value not in {"unknown", PROGRAM})

    @property
    def is_number(self) -> bool:
        """Tell whether its values are numbers."""
        whole = any(isinstance(value, int) for value in self.choices)
        return whole or _holds(self.field.annotation, int)

    @property
    def in_target(self) -> bool:
        """Tell whether a manifest's target has a field of its name, which means the same."""
        return self.found is None and self.name in Target.model_fields

    def recorded(self, manifest: Manifest) -> Any:
        """Return its value in a manifest, in the words of a plan."""
        return self.found(manifest) if self.found else getattr(manifest.target, self.name)

    def in_brief(self, value: Any) -> str:
        """Return a value with what it is of, in a few words."""
        return self.brief(value) if self.brief else f"{self.words} {value}"

    def of(self, settings: Any) -> Any:
        """Return its value in a plan, or in a lab's rally, as ``recorded`` returns it."""
        return self.planned(settings) if self.planned else getattr(settings, self.name)


def _parts(kind: Any) -> tuple[Any, ...]:
    """Return the types of which a type is made, without what ``Annotated`` adds to them."""
    args = get_args(kind)
    return args[:1] if get_origin(kind) is Annotated else args


def _of_literal(kind: Any) -> tuple[Any, ...]:
    if get_origin(kind) is Literal:
        return get_args(kind)
    optional = get_origin(kind) in {Annotated, Union, UnionType}
    return tuple(value for one in _parts(kind) for value in _of_literal(one)) if optional else ()


def _holds(kind: Any, wanted: type) -> bool:
    optional = get_origin(kind) in {Annotated, Union, UnionType}
    return kind is wanted or (optional and any(_holds(one, wanted) for one in _parts(kind)))


def _place(cpus: int | str | None) -> str:
    return "the kernel's choice" if cpus is None else str(cpus)


def _words(value: object) -> str:
    return str(value) or "none"


def _whose(own: bool) -> str:
    return OWN if own else "the kit's"


def instrument_of(manifest: Manifest) -> str:
    """Return the name of a rally's instrument in a plan."""
    return INSTRUMENTS.get(manifest.instrument.kind, manifest.instrument.kind)


def _program(manifest: Manifest) -> str | None:
    program = manifest.target.program
    return identity(program.name, program.sha256) if program else None


def _stage(stage: Stage | None) -> Stage | None:
    return stage if stage == IN_BAND else None  # out-of-band is the usual one


class Settings(StrictModel):
    """The settings of a rally's target, on which its balls depend."""

    kernel: Annotated[
        Text,
        Setting(
            words="kernel",
            takers={"rally", "drill", "sweep", "compare", "side", "remedy"},
            traits={"never from a folder"},
            planned=lambda settings: settings.kernel_name,
            heading=FIRST,
            metavar="NAME|DIR",
            help="A name from `tennis kernels`, such as sloth, or the folder of a built arm64 "
            "kernel tree. The tree may have EVL (Xenomai 4) or Cobalt (Xenomai 3). On a physical "
            "bench, the kernel that the target runs. [default: mainline; with --bench pi: unknown]",
        ),
    ]
    load: Annotated[
        Text,
        Setting(
            words="load",
            takers={"rally", "drill", "sweep", "compare", "side"},
            found=lambda manifest: manifest.load.name,
            heading=FIRST,
            metavar="NAME",
            help="The load on the target: {loads}; hog holds interrupts off for a known time. "
            "SLOTH has {sloth_loads}. On a physical bench, the load that you started. [default: "
            "idle; with --bench pi: unknown]",
        ),
    ]
    bottom_half: Annotated[
        BottomHalf,
        Setting(
            words="bottom half",
            takers={"rally", "sweep", "side", "remedy"},
            heading=FIRST,
            help="The code that lowers the reply line. [default: tasklet, on EVL and Cobalt "
            "thread, on SLOTH task, the only one there; with --bench pi: unknown]",
        ),
    ]
    top_half: Annotated[
        TopHalf,
        Setting(
            words="top half",
            takers={"rally", "sweep", "side", "remedy"},
            heading=FIRST,
            help="The place of the handler that raises the reply line. hard: in the interrupt "
            "itself. forced: in the thread that PREEMPT_RT makes for ordinary handlers. explicit: "
            "in a thread that the driver asks for, on any kernel. [default: hard; with --bench "
            "pi: unknown]",
        ),
    ] = "hard"
    priorities: Annotated[
        Priorities,
        Setting(
            words="priorities",
            takers={"rally", "sweep", "side", "remedy"},
            heading=FIRST,
            metavar="NAME|MAP",
            help="default: the kernel's own. chrt: the answering threads at SCHED_FIFO 99, as in "
            "the thesis. thesis-2008: all softirq threads at 50, as a 2.6 kernel had them. Or a "
            "map of your own, as in irq=90,ksoftirqd=50,rcuc=1. native: the core's highest on EVL "
            "and Cobalt; on SLOTH that of its configuration, the only one there. [default: "
            "default, on EVL, Cobalt and SLOTH native; with --bench pi: unknown]",
        ),
    ]
    load_options: Annotated[
        dict[Text, int],
        Field(max_length=64, default_factory=dict),
        Setting(
            words="load options",
            takers={"rally", "drill", "sweep", "side"},
            benches=SET_UP | {"sloth"},
            found=lambda manifest: dict(manifest.load.options),
            shown=lambda options: _words(_fact(options)),
            brief=lambda options: _fact(options),  # noqa: PLW0108 (it is defined below)
            option="--load-option",
            metavar="NAME=NUMBER",
            help="A parameter of the load, as in hold_us=200. May be repeated.",
            instead="without --target, start it yourself",
        ),
    ]
    command_line: Annotated[  # added to the kernel's
        CommandLine,
        Setting(
            words="command line",
            takers={"rally", "drill", "sweep", "side", "remedy"},
            benches=SET_UP | {"wired"},
            traits={"own on a board"},
            found=lambda manifest: manifest.target.added,
            shown=_words,
            metavar="WORDS",
            help="Add to the kernel's command line, as in 'rcu_nocbs=0 threadirqs'. A word that "
            "the kernel does not know is refused. sysctl.NAME=VALUE sets a sysctl, /sys/FILE=VALUE "
            "a file that docs/virtual-bench.md names. Boot a board with the words first.",
        ),
    ] = ""
    instruction_ns: Annotated[
        InstructionNs,
        Setting(
            words="instruction ns",
            takers={"rally", "drill", "side"},
            benches=VIRTUAL | {"sloth"},
            traits={"own on a board", "published or not"},
            found=lambda manifest: manifest.instruction_ns or UNRECORDED,
            brief=lambda took_ns: f"{took_ns} ns per instruction",
            help="How long an instruction takes on the virtual bench. [default: 2]",
            why="only there you can choose it",
        ),
    ] = 2
    memory: Annotated[  # whose caches, TLBs and slow registers the virtual clock knows
        MemoryProfile,
        Setting(
            words="memory",
            takers={"rally", "drill", "side", "remedy", "setting"},
            benches=VIRTUAL,
            traits={"own on a board"},
            metavar="PROFILE",
            help="Let caches, TLBs and slow registers take virtual time (virtual bench): {memory}. "
            "Figures that no source gives are assumed; docs/memory.md has the limits of the model.",
            why="a board has a memory of its own",
            apart=(
                _Apart(
                    "processors",
                    (2, 4),
                    why="the model has the caches of one, and none that several share",
                ),
                _Apart(
                    "beneath",
                    ("sloth",),
                    why="the model knows one kernel's page tables, and SLOTH has its own",
                ),
                _Apart(
                    "instrument", ("pico",), why="nobody has tried whether such a rally repeats"
                ),
            ),
        ),
    ] = "none"
    racquet: Annotated[  # the C file of a user's own Racquet, on the virtual bench
        Text | None,
        Setting(
            words="Racquet",
            takers={"rally", "side"},
            benches=VIRTUAL | {"sloth"},
            traits={"never from a folder", "a file"},
            found=lambda manifest: _whose(manifest.target.module == OWN),
            planned=lambda settings: _whose(settings.racquet is not None),
            brief=lambda _: "own Racquet",
            metavar="FILE.c",
            help="A Racquet of your own on the virtual bench, built in a box. It is one C file "
            "that includes target/racquet/racquet-device.h. With --kernel sloth it includes "
            "target/sloth/sloth.h, and FILE.h is beside it.",
            instead="on a board, build and load it yourself, and play without --target",
        ),
    ] = None
    program: Annotated[  # a file or a folder: it answers, and no module of the kit's is there
        Text | None,
        Setting(
            words="program",
            takers={"rally", "drill", "side", "setting"},
            benches=SET_UP,
            traits={"never from a folder", "Linux only", "a file"},
            found=_program,
            planned=lambda settings: known_by(settings.program),
            shown=lambda known: str(known or "none: a Racquet"),
            brief=lambda known: f"program {known.partition(',')[0]}",
            metavar="FILE|DIR",
            help="A program of your own answers by itself, through the GPIO character device. "
            "The kernel has no module of the kit. FILE is C or C++, or a "
            "static executable for arm64; DIR has a program.toml (docs/programs.md).",
            why="nobody starts one on a board that tennis does not manage",
            instead="start it there yourself, or use --target",
            apart=(
                *map(_Apart, ("racquet", "beneath", "stage")),
                _Apart(
                    "instrument", ("pico",), why="nobody has tried whether such a rally repeats"
                ),
            ),
        ),
    ] = None
    stage: Annotated[  # of a kernel with two; None: the one beneath Linux
        Stage | None,
        Setting(
            words="stage",
            takers={"rally", "side", "kernel"},
            benches=VIRTUAL,
            found=lambda manifest: _stage(manifest.target.stage),
            planned=lambda settings: _stage(settings.stage),
            shown=lambda stage: str(stage or "out-of-band"),
            brief=str,
            help="Which stage of a tree with EVL or Cobalt answers (virtual bench). out-of-band: "
            "the core's Racquet. in-band: the ordinary one, as part of Linux, with its halves and "
            "priorities. [default: out-of-band]",
            why="on a board, the Racquet that was installed there answers",
        ),
    ] = None
    beneath: Annotated[  # answers in Linux' place
        Beneath,
        Setting(
            words="beneath",
            takers={"rally", "side", "kernel"},
            benches=VIRTUAL,
            traits={"Linux only"},
            help="sloth: SLOTH answers beneath Debian's unchanged kernel, and takes all "
            "interrupts first (virtual bench; docs/sloth-beneath-linux.md).",
            apart=(
                _Apart("instrument", ("pico",), own=("sloth",)),
                _Apart("racquet", own=("sloth",)),
                _Apart("drill", own=("sloth",)),
            ),
        ),
    ] = "none"
    processors: Annotated[
        Processors,
        Setting(
            words="processors",
            takers={"rally", "side", "setting"},
            benches=VIRTUAL,
            traits={"own on a board"},
            found=lambda manifest: manifest.target.processors or 1,
            brief=lambda count: format_count(count, "processor"),
            help="The number of the virtual target's processors. [default: 1]",
            why="you cannot choose a board's processors",
            apart=(
                _Apart("beneath", ("sloth",), own=(2, 4)),
                _Apart("witness", own=(2, 4)),
                _Apart("drill", own=(2, 4)),
            ),
        ),
    ] = 1
    interrupt_cpu: Annotated[
        Cpu | None,
        Setting(
            words="interrupt's CPU",
            takers={"rally", "side", "setting"},
            benches=SET_UP,
            traits={"own on a board", "placed by a board", "published or not"},
            shown=_place,
            brief=lambda cpu: f"interrupt on {cpu}",
            metavar="CPU",
            help="Move the ping's interrupt and its threads to this CPU of a --target, or of the "
            "virtual target. On a board, some pings are counted first, and the rally is "
            "refused if they come to another CPU. A Pi 3 and a Zero 2 cannot move it.",
        ),
    ] = None
    # the processor of the process of bottom half "user"; None: the kernel chooses
    bottom_half_cpu: Annotated[
        Cpu | None,
        Setting(
            words="bottom half's CPU",
            takers={"rally", "side", "remedy", "setting"},
            benches=SET_UP,
            traits={"own on a board", "published or not"},
            shown=_place,
            brief=lambda cpu: f"bottom half on {cpu}",
            metavar="CPU",
            help="Pin the process of --bottom-half user to this CPU of a --target, or of the "
            "virtual target; there also a --program. The kernel keeps processes away from an "
            "isolated CPU if nobody pins them.",
        ),
    ] = None
    load_cpus: Annotated[
        CpuList | None,
        Setting(
            words="load's CPUs",
            takers={"rally", "side", "setting"},
            benches=SET_UP,
            traits={"own on a board", "published or not"},
            found=lambda manifest: manifest.load.cpus,
            shown=_place,
            brief=lambda cpu: f"load on {cpu}",
            metavar="LIST",
            help="Pin the load to these CPUs of a --target, or of the virtual target, as in 0,2-3.",
        ),
    ] = None
    witness: Annotated[  # looks on from inside the target
        Witness,
        Setting(
            words="witness",
            takers={"rally", "side", "remedy", "setting"},
            benches=SET_UP,
            brief=lambda name: f"with {name}",
            heading=INSIDE,
            help="Also measure inside the target, every millisecond: with rt-tests' cyclictest, "
            "or with a tracer of the kernel. `tennis stats` shows the result (virtual bench, or "
            "--target).",
            why="without --target, nobody starts it there",
        ),
    ] = "none"

    @field_validator("bottom_half_cpu")
    @classmethod
    def _pins_a_process(cls, cpu: int | None, info: ValidationInfo) -> int | None:
        if cpu is not None and info.data.get("bottom_half") not in {"user", PROGRAM}:
            message = (
                "only a process is pinned (--bottom-half user, --program); the others follow the "
                "ping"
            )
            raise PydanticCustomError("contradiction", "{words}", {"words": message})
        return cpu

    @property
    def kernel_name(self) -> str:
        """Return the kernel's name in the rally's manifest, as far as it is known."""
        return PurePath(self.kernel).name

    @property
    def kernel_words(self) -> str:
        """Return all that was asked for on the kernel's command line, by settings and in words."""
        of_settings = [
            f"{row.parameter}={value}"
            for name, row in SETTINGS.items()
            if row.parameter and (value := getattr(self, name)) is not None
        ]
        return " ".join(filter(None, [*of_settings, self.command_line]))

    def of_target(self) -> dict[str, Any]:
        """Return the settings in a manifest's target, of a bench that has them all."""
        names = (row.name for row in OF_TARGET if row.in_target and row.name != "kernel")
        return {"kernel": self.kernel_name} | {name: getattr(self, name) for name in names}


class Setup(Settings):
    """The same, with the instrument, the place, and the drill in place of answers."""

    instrument: Annotated[
        InstrumentKind,
        Setting(
            words="instrument",
            takers={"rally", "drill"},
            benches=VIRTUAL | {"sloth", "managed", "wired", "second pico"},
            traits={"published or not"},
            found=instrument_of,
            heading=ELSEWHERE,
            metavar="NAME",
            help="The instrument on the virtual bench: builtin is fast; pico is the Brickwall's "
            "firmware on an emulated Pico, end to end. [default: builtin; with --kernel "
            "sloth-pico: pico]",
        ),
    ] = "builtin"
    target: Annotated[  # the host that ssh knows; None: nobody manages the target
        Text | None,
        Setting(
            words="target",
            takers={"rally", "drill", "sweep", "compare"},
            benches=frozenset({"managed"}),
            traits={"no ball depends on it", "never from a folder"},
            heading=ELSEWHERE,
            metavar="HOST",
            help="The board, with --bench pi: a target of the inventory, or a host as ssh knows "
            "it (NAME or USER@NAME). Racquet, load and priorities are set up there over SSH, and "
            "undone at the end, whatever happens. A target that somebody else holds is refused.",
            why="the virtual bench boots its own",
        ),
    ] = None
    port: Annotated[  # of the Pico; None: the only one
        Text | None,
        Setting(
            words="port",
            takers={"rally", "drill", "sweep", "compare"},
            benches=frozenset({"managed", "wired", "second pico"}),
            traits={"no ball depends on it", "never from a folder"},
            heading=ELSEWHERE,
            metavar="PORT",
            help="The Brickwall's serial port, with --bench pi. [default: that of the only Pico]",
            why="the virtual bench has no port",
        ),
    ] = None
    drill: Annotated[  # in place of the Racquet; a command of its own asks for it
        Drill | None,
        Setting(
            words="drill",
            takers=frozenset(),
            benches=SET_UP,
            found=lambda manifest: manifest.drill,
            option="tennis drill",
            why="nothing would start the drill there",
            instead="name the board that tennis manages",
        ),
    ] = None
    analyser: Annotated[  # for sigrok-cli; None: the only one
        Text | None,
        Setting(
            words="analyser",
            takers={"rally", "drill"},
            benches=frozenset({"managed", "wired", "second pico"}),
            traits={"no ball depends on it"},
            heading=INSIDE,
            metavar="SPEC",
            help="The analyser, as `sigrok-cli -d` takes it. [default: the only one]",
        ),
    ] = None

    def kind_of(self, protocol: Protocol) -> tuple[Any, ...]:
        """Return the key that boots of one kind share, without their number of balls."""
        values = [_fact(row.of(self)) for row in OF_KIND]
        served = protocol.model_dump(exclude={*OF_A_BOOT, *LENGTH})
        return (*values, *served.items())


class Recordings(StrictModel):
    """Recordings after a rally, which play it again: no ball depends on them."""

    stages: Annotated[
        bool,
        Setting(
            words="stages",
            benches=VIRTUAL,
            traits={"no ball depends on it", "Linux only"},
            heading=INSIDE,
            help="Afterwards, play the rally once more, and record when each step of every ball "
            "came, in OUT/stages.parquet (virtual bench; `tennis explain stages OUT` does it "
            "later).",
            why="the stages are those of Linux",
            apart=(
                _Apart("instrument", ("pico",)),
                _Apart("beneath", ("sloth",)),
                *map(_Apart, ("racquet", "program")),
            ),
        ),
    ] = False


class Instants(StrictModel):
    """Instants in place of balls that follow each other: a protocol's loop of its own."""

    shots: Annotated[
        Annotated[int, Field(ge=1, le=SHOTS_MAX)] | None,
        Setting(
            words="shots",
            benches=VIRTUAL,
            traits={"no ball depends on it", "Linux only"},  # they depend on the protocol
            heading=FIRST,
            metavar="COUNT",
            help="Play this many shots instead of balls that follow each other. A shot is a ball "
            "at a random instant of one boot, which no other ball has disturbed (virtual bench; "
            "docs/shots.md).",
            why="a board's boot cannot be gone through again from each instant",
            apart=(
                _Apart("instrument", ("pico",)),
                _Apart("beneath", ("sloth",)),
                *map(_Apart, ("drill", "witness", "stages")),
            ),
        ),
    ] = None


def _rows(*models: type[BaseModel]) -> dict[str, Setting]:
    return {
        name: replace(row, name=name, field=field)
        for model in models
        for name, field in model.model_fields.items()
        for row in field.metadata
        if isinstance(row, Setting)
    }


SETTINGS: Mapping[str, Setting] = _rows(Setup, Recordings, Instants)
# those that a manifest has, and that make a rally's kind
OF_KIND = tuple(
    row
    for row in SETTINGS.values()
    if (row.found or row.in_target) and "no ball depends on it" not in row.traits
)
OF_TARGET = tuple(row for row in OF_KIND if row.name in Settings.model_fields)
# of a protocol: by which boots of one kind may differ
OF_A_BOOT = frozenset({"seed"})
LENGTH = frozenset({"balls"})


def rows_of(taker: Taker) -> Iterator[Setting]:
    """Yield the settings that a command, a side, a remedy or a match's plan takes."""
    return (row for row in SETTINGS.values() if taker in row.takers)


def option_of(name: str, value: str | int | None = None) -> str:
    """Return a setting as it is written on the command line."""
    option = SETTINGS[name].option or f"--{name.replace('_', '-')}"
    return f"{option} {value}" if value else option


def taken_by(bench: str) -> frozenset[str]:
    """Return the settings that a bench of the kit's takes, beside those that every bench does."""
    return frozenset(name for name, row in SETTINGS.items() if bench in (row.benches or ()))


def recorded(manifest: Manifest) -> dict[str, Any]:
    """Return the settings of a plan that a manifest has.

    Without those that are never taken from a folder: its kernel, its Racquet, its program.
    """
    rows = (row for row in OF_KIND if "never from a folder" not in row.traits)
    every = {row.name: row.recorded(manifest) for row in rows}
    return {name: value for name, value in every.items() if value is not UNRECORDED}


def differences(
    manifest: Manifest, settings: Settings, rows: Collection[Setting] = OF_KIND
) -> Iterator[tuple[Setting, Any, Any]]:
    """Yield the settings of a rally that are not as asked for: row, as it is, as it should be.

    A setting that the manifest does not have differs in nothing.
    """
    for row in rows:
        is_so, should_be = row.recorded(manifest), row.of(settings)
        if is_so is not UNRECORDED and is_so != should_be:
            yield row, is_so, should_be


def in_brief(played: Manifest | Settings, but: Collection[str]) -> list[str]:
    """Return the unusual settings of a rally, or of a plan, in a few words each.

    ``but``: settings that have another place beside it.
    """
    found = []
    for row in OF_TARGET:
        is_so = row.recorded(played) if isinstance(played, Manifest) else row.of(played)
        if row.name not in but and is_so is not UNRECORDED and is_so != row.of(USUAL):
            found.append(row.in_brief(is_so))
    return found


def served_otherwise(
    here: Protocol, protocol: Protocol, but: frozenset[str] = frozenset()
) -> Iterator[tuple[str, Any, Any]]:
    """Yield in what balls were served otherwise than asked for: name, as it is, as it should be."""
    for name in Protocol.model_fields:
        if name not in but and getattr(here, name) != getattr(protocol, name):
            yield name, getattr(here, name), getattr(protocol, name)


def facts(manifest: Manifest) -> dict[str, str]:
    """Return the settings of a manifest in words; empty words: it has no such setting."""
    return {row.words: _fact(row.recorded(manifest)) for row in OF_KIND}


def _fact(value: Any) -> str:
    if value is None or value is UNRECORDED:
        return ""
    if isinstance(value, dict):
        return ", ".join(f"{name}={number}" for name, number in sorted(value.items()))
    return str(value)


# a rally with all defaults, except for what each rally has of its own
USUAL = Setup(kernel="", load="", load_options={}, bottom_half="unknown", priorities="default")
USUAL_PROTOCOL = Serving().protocol()


def not_as_published(manifest: Manifest, named: Collection[str]) -> str:
    """Return the settings of a rally that differ from the publication's; empty: none.

    ``named``: settings of which the publication has values; the caller compares them.
    """
    # if nobody asked, a board may have put the interrupt on the processor that it isolates
    on_a_board = manifest.bench not in TIMELESS
    rows = [
        row
        for row in OF_KIND
        if row.name not in {*named, "instrument"}
        and not (on_a_board and "placed by a board" in row.traits)
    ]
    found = [f"{row.words} {_fact(is_so)}" for row, is_so, _ in differences(manifest, USUAL, rows)]
    # a fixed rate is another question; the length of a ping or of a gap is not
    for name in ("loop", "rate_hz"):
        value = getattr(manifest.protocol, name)
        if name not in named and value != getattr(USUAL_PROTOCOL, name):
            found.append(f"{name.replace('_', ' ')} {value}")
    return ", ".join(found)


# --- a request, in which every setting may be left out ---


class OptionalSettings(StrictModel):
    """Settings; those that nobody asked for are None."""

    @property
    def explicit(self) -> dict[str, Any]:
        """Return what somebody asked for."""
        return {name: value for name, value in dict(self).items() if value is not None}


Model = TypeVar("Model", bound=BaseModel)


def type_of(name: str) -> Any:
    """Return the type of a setting, with its limits."""
    of = next(one for one in (Setup, Recordings, Instants) if name in one.model_fields)
    return of.model_fields[name].rebuild_annotation()


def optional_model(title: str, kinds: Mapping[str, Any], base: type[Model]) -> type[Model]:
    """Make a model of types by name; each value may be None, which is the default."""
    fields: dict[str, Any] = {
        name: (Optional[kind], None)  # noqa: UP045 (also for types that are no classes)
        for name, kind in kinds.items()
    }
    return create_model(title, __base__=base, __module__=__name__, **fields)


if TYPE_CHECKING:

    class SettingsRequest(Setup, Recordings, Instants, OptionalSettings):
        """All settings of the table; what nobody asked for is None."""

        kernel: str | None = None  # type: ignore[assignment]
        load: str | None = None  # type: ignore[assignment]
        bottom_half: BottomHalf | None = None  # type: ignore[assignment]
        priorities: str | None = None  # type: ignore[assignment]
        load_options: dict[str, int] | None = None  # type: ignore[assignment]
        racquet: Path | None = None  # type: ignore[assignment]
        program: Path | None = None  # type: ignore[assignment]
else:
    SettingsRequest = optional_model(
        "SettingsRequest",
        {
            name: Path if "a file" in row.traits else type_of(name)
            for name, row in SETTINGS.items()
            if row.takers
        },
        OptionalSettings,
    )
