# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""The table of settings: how a rally can be played, and what is to be known of each setting.

All that asks for a setting, records it, compares it or refuses it goes by this table: plans, match
plans, sides of a comparison, remedies, replays, "is it the same rally", the table of
docs/how-it-is-built.md. How balls are served is in ``Protocol`` and ``Serving``, field by field; it
is compared here, too.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from types import UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Literal,
    Optional,
    TypeVar,
    Union,
    get_args,
    get_origin,
)

from pydantic import (
    BaseModel,
    Field,
    SerializerFunctionWrapHandler,
    ValidationInfo,
    create_model,
    field_validator,
    model_serializer,
)
from pydantic_core import PydanticCustomError

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
from tennis.units import format_count

InstrumentKind = Text  # an open word, as the bench's kind is: a package may bring an instrument
# what a manifest calls the kit's own, and what a plan does; others have one name
INSTRUMENTS: dict[str, InstrumentKind] = {"virtual": "builtin", "brickwall": "pico"}
UNTOLD = object()  # what a manifest does not tell, of which nobody can say that it differs
EVERY_BENCH = None  # takes it
# of which a match's plan lists several: the key, and the setting. Folders are named in this order
AXES = {
    "priorities": "priorities",
    "top_halves": "top_half",
    "bottom_halves": "bottom_half",
    "command_lines": "command_line",
}
# benches with Linux that tennis sets up: virtual, or a board with --target
SET_UP = frozenset({"virtual", "managed"})
VIRTUAL = frozenset({"virtual"})

# commands that play and do not ask for a setting: a drill answers nothing, a sweep is many rallies
DRILL, SWEEP = frozenset({"drill"}), frozenset({"sweep"})

# own value, other setting, its value; None: any
Clash = tuple[str | int | None, str, str | int | None]


# headings of `tennis rally --help-all`
FIRST = "What to play"
MORE = "More about the target"
INSIDE = "More instruments"
ELSEWHERE = "Another bench"


@dataclass(frozen=True, kw_only=True)
class Setting:
    """A row of the table: what is to be known of a setting, but for its type and its usual value.

    It changes the balls unless ``changes_balls`` is false. Two rallies that differ in what changes
    balls are two kinds: they are not pooled, a match and a lab take no other than they list, and a
    comparison names the difference.
    """

    words: str  # what two rallies differ in
    # as a manifest tells it, in the words of a plan; None: in the target's field of its name, or
    # nowhere
    recorded: Callable[[Manifest], Any] | None = None
    planned: Callable[[Any], Any] | None = None  # the same of a plan; None: the field's value
    changes_balls: bool = True
    published: bool = False  # verdicts on what was published take rallies whatever it is
    is_given: bool = False  # is never taken from a folder that may come from somebody else

    # to whom it may be said, beside `tennis rally`
    taken_by: frozenset[str] | None = EVERY_BENCH  # benches, as ``Capabilities`` call them
    of_a_side: bool = False  # of `tennis compare`
    # a key of a match's plan, and there of each kernel or of each way to set the target up
    of_a_match: Literal["kernel", "setting"] | None = None
    of_a_remedy: bool = False  # `tennis explain try`
    of_a_lab: bool = True  # a key of a lab's rally
    not_asked_by: frozenset[str] = frozenset()  # `tennis drill`, `tennis sweep`
    # a board has one of its own: a lab that does not name it takes any there
    own_on_board: bool = False
    placed_by_board: bool = False  # and a match, too

    # words: of its option, of a lab's refusal, of a bench that does not take it
    option: str = ""
    metavar: str | None = None
    help: str = ""
    heading: str = MORE  # in `tennis rally --help-all`
    # its word of the kernel's command line: a bench that boots the target adds PARAMETER=VALUE
    parameter: str = ""
    asked_as: Any = None  # its type where a command asks for it, if that is another one
    called: str = ""
    shown: Callable[[Any], str] = str
    brief: Callable[[Any], str] | None = None  # in a rally's label; None: its words and the value
    belongs: str = ""  # where it can be used, where the benches' own words do not say it well
    linux_only: bool = False
    why: str = ""
    instead: str = ""
    apart: tuple[Clash, ...] = ()  # settings of which a bench takes one only
    apart_why: tuple[tuple[str, str], ...] = ()  # those other settings, and the reasons

    # from its field
    name: str = ""
    default: Any = None
    kind: Any = None  # its type
    in_target: bool = False  # a manifest's target has a field of its name, and means the same

    @property
    def choices(self) -> tuple[Any, ...]:
        """Return the values that may be asked for; empty: they are too many to list."""
        plain = _of_literal(self.kind)
        return tuple(value for value in plain if value not in {"unknown", PROGRAM})

    @property
    def is_number(self) -> bool:
        """Tell whether its values are numbers."""
        return _holds(self.kind, int) or any(isinstance(value, int) for value in self.choices)

    @property
    def is_option(self) -> bool:
        """Tell whether `tennis rally` asks for it; a drill is a command of its own."""
        return not self.option or self.option.startswith("--")

    def is_asked_by(self, command: str) -> bool:
        """Tell whether a command that plays asks for it: rally, drill, or sweep."""
        return self.is_option and command not in self.not_asked_by

    def in_brief(self, value: Any) -> str:
        """Return a value with what it is of, in a few words."""
        return self.brief(value) if self.brief else f"{self.words} {value}"

    def of(self, settings: Any) -> Any:
        """Return its value in a plan, or in a lab's rally, as ``recorded`` would tell it."""
        return self.planned(settings) if self.planned else getattr(settings, self.name)


def _parts(kind: Any) -> tuple[Any, ...]:
    """Return the types of which a type is made, but for what ``Annotated`` says of it."""
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
    return "where the kernel put it" if cpus is None else f"on processor {cpus}"


def _words(value: object) -> str:
    return str(value) or "none"


def _whose(own: bool) -> str:
    return OWN if own else "the kit's"


def instrument_of(manifest: Manifest) -> str:
    """Return what a plan calls the instrument of a rally."""
    return INSTRUMENTS.get(manifest.instrument.kind, manifest.instrument.kind)


def _program(manifest: Manifest) -> str | None:
    program = manifest.target.program
    return identity(program.name, program.sha256) if program else None


def _instruction_ns(manifest: Manifest) -> Any:
    return manifest.instruction_ns or UNTOLD


def _stage(stage: Stage | None) -> Stage | None:
    return stage if stage == IN_BAND else None  # out-of-band is the usual one


class Settings(StrictModel):
    """What a rally's target is, and how it is set up: what its balls depend on."""

    kernel: Annotated[
        Text,
        Setting(
            words="kernel",
            planned=lambda settings: settings.kernel_name,
            is_given=True,
            heading=FIRST,
            of_a_side=True,
            of_a_remedy=True,
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
            recorded=lambda manifest: manifest.load.name,
            heading=FIRST,
            of_a_side=True,
            metavar="NAME",
            help="The load on the target: {loads}; you can compute what hog does. SLOTH has "
            "{sloth_loads}. On a physical bench, the load that you started. [default: idle; with "
            "--bench pi: unknown]",
        ),
    ]
    bottom_half: Annotated[
        BottomHalf,
        Setting(
            words="bottom half",
            not_asked_by=DRILL,
            heading=FIRST,
            of_a_side=True,
            of_a_remedy=True,
            help="The code that lowers the reply line. [default: tasklet, on EVL and Cobalt "
            "thread, on SLOTH task, the only one there; with --bench pi: unknown]",
        ),
    ]
    top_half: Annotated[
        TopHalf,
        Setting(
            words="top half",
            not_asked_by=DRILL,
            heading=FIRST,
            of_a_side=True,
            of_a_remedy=True,
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
            not_asked_by=DRILL,
            heading=FIRST,
            of_a_side=True,
            of_a_remedy=True,
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
            recorded=lambda manifest: dict(manifest.load.options),
            taken_by=SET_UP | {"sloth"},
            instead="without --target, start it yourself",
            of_a_side=True,
            option="--load-option",
            shown=lambda options: _words(_fact(options)),
            brief=lambda options: _fact(options),  # noqa: PLW0108 (it is defined below)
            metavar="NAME=NUMBER",
            help="A parameter of the load, as in hold_us=200. May be repeated.",
        ),
    ]
    command_line: Annotated[  # added to the kernel's
        CommandLine,
        Setting(
            words="command line",
            recorded=lambda manifest: manifest.target.added,
            taken_by=SET_UP | {"wired"},
            own_on_board=True,
            of_a_side=True,
            of_a_remedy=True,
            called="addition to the command line",
            shown=_words,
            metavar="WORDS",
            help="Add to the kernel's command line, as in 'rcu_nocbs=0 threadirqs'. A kernel that "
            "does not know a word is refused. A board must have been booted with the words before.",
        ),
    ] = ""
    instruction_ns: Annotated[
        InstructionNs,
        Setting(
            words="nanoseconds of an instruction:",
            recorded=_instruction_ns,
            taken_by=VIRTUAL | {"sloth"},
            own_on_board=True,
            why="only there you can choose it",
            of_a_side=True,
            published=True,
            called="instruction ns",
            brief=lambda took_ns: f"{took_ns} ns per instruction",
            help="How long an instruction takes on the virtual bench. [default: 2]",
        ),
    ] = 2
    memory: Annotated[  # whose caches, TLBs and slow registers the virtual clock knows
        MemoryProfile,
        Setting(
            words="memory",
            taken_by=VIRTUAL,
            own_on_board=True,
            why="a board has a memory of its own",
            apart=(
                *((None, "processors", several) for several in (2, 4)),
                (None, "beneath", "sloth"),
                (None, "instrument", "pico"),
            ),
            apart_why=(
                ("processors", "the model has the caches of one, and none that several share"),
                ("beneath", "the model knows one kernel's page tables, and SLOTH has its own"),
                ("instrument", "nobody has tried whether such a rally repeats"),
            ),
            of_a_side=True,
            of_a_match="setting",
            of_a_remedy=True,
            called="memory profile",
            brief=lambda profile: f"memory {profile}",
            metavar="PROFILE",
            help="Let caches, TLBs and slow registers take virtual time (virtual bench): {memory}. "
            "Figures that no source gives are assumed; docs/memory.md says what the model is not.",
        ),
    ] = "none"
    racquet: Annotated[  # the C file of a Racquet of one's own, on the virtual bench
        Text | None,
        Setting(
            words="module",
            not_asked_by=DRILL | SWEEP,
            recorded=lambda manifest: _whose(manifest.target.module == OWN),
            planned=lambda settings: _whose(settings.racquet is not None),
            is_given=True,
            taken_by=VIRTUAL | {"sloth"},
            instead="on a board, build and load it yourself, and play without --target",
            of_a_side=True,
            called="Racquet",
            shown=lambda whose: "your own" if whose == OWN else str(whose),
            brief=lambda _: "own Racquet",
            asked_as=Path,
            metavar="FILE.c",
            help="A Racquet of your own on the virtual bench, built in a box. It is one C file "
            "that includes target/racquet/racquet-device.h. With --kernel sloth it includes "
            "target/sloth/sloth.h, and FILE.h is beside it.",
        ),
    ] = None
    program: Annotated[  # a file or a folder: it answers, and no module of the kit's is there
        Text | None,
        Setting(
            words="program",
            not_asked_by=SWEEP,
            recorded=_program,
            planned=lambda settings: known_by(settings.program),
            is_given=True,
            taken_by=SET_UP,
            linux_only=True,
            why="nobody starts one on a board that tennis does not manage",
            instead="start it there yourself, or use --target",
            apart=(
                *((None, name, None) for name in ("racquet", "beneath", "stage")),
                (None, "instrument", "pico"),
            ),
            apart_why=(("instrument", "nobody has tried whether such a rally repeats"),),
            of_a_side=True,
            of_a_match="setting",
            shown=lambda known: str(known or "none: a Racquet"),
            brief=lambda known: f"program {known.partition(',')[0]}",
            asked_as=Path,
            metavar="FILE|DIR",
            help="A program of your own answers by itself, through the GPIO character device. "
            "No module of the kit's is in the kernel. FILE is C or C++, or a "
            "static executable for arm64; DIR has a program.toml (docs/programs.md).",
        ),
    ] = None
    stage: Annotated[  # of a kernel with two; None: the one beneath Linux
        Stage | None,
        Setting(
            words="stage",
            not_asked_by=DRILL,
            recorded=lambda manifest: _stage(manifest.target.stage),
            planned=lambda settings: _stage(settings.stage),
            taken_by=VIRTUAL,
            why="on a board, the Racquet that was installed there answers",
            of_a_side=True,
            of_a_match="kernel",
            shown=lambda stage: str(stage or "out-of-band"),
            brief=str,
            help="Which stage of a tree with EVL or Cobalt answers (virtual bench). out-of-band: "
            "the core's Racquet. in-band: the ordinary one, as part of Linux, with its halves and "
            "priorities. [default: out-of-band]",
        ),
    ] = None
    beneath: Annotated[  # answers in Linux' place
        Beneath,
        Setting(
            words="beneath",
            not_asked_by=DRILL,
            taken_by=VIRTUAL,
            linux_only=True,
            apart=(
                ("sloth", "instrument", "pico"),
                ("sloth", "racquet", None),
                ("sloth", "drill", None),
            ),
            of_a_side=True,
            of_a_match="kernel",
            called="beneath it",
            help="sloth: SLOTH answers beneath a kernel of Debian's that nobody changed, and "
            "takes all interrupts first (virtual bench; docs/sloth-beneath-linux.md).",
        ),
    ] = "none"
    processors: Annotated[
        Processors,
        Setting(
            words="processors",
            not_asked_by=DRILL,
            recorded=lambda manifest: manifest.target.processors or 1,
            taken_by=VIRTUAL,
            own_on_board=True,
            why="you cannot choose a board's processors",
            apart=tuple(
                (several, *other)
                for several in (2, 4)
                for other in (("beneath", "sloth"), ("witness", None), ("drill", None))
            ),
            of_a_side=True,
            of_a_match="setting",
            called="number of processors",
            brief=lambda count: format_count(count, "processor"),
            help="The number of the virtual target's processors. [default: 1]",
        ),
    ] = 1
    interrupt_cpu: Annotated[
        Cpu | None,
        Setting(
            words="interrupt's CPU",
            not_asked_by=DRILL,
            taken_by=SET_UP,
            own_on_board=True,
            placed_by_board=True,
            published=True,
            of_a_side=True,
            of_a_match="setting",
            called="interrupt",
            shown=_place,
            brief=lambda cpu: f"interrupt on {cpu}",
            help="Move the ping's interrupt and its threads to this CPU of a --target, or of the "
            "virtual target. A board first counts some pings, and the rally is refused if they "
            "come to another CPU. A Pi 3 and a Zero 2 have no choice.",
        ),
    ] = None
    # where the process of bottom half "user" is pinned; None: where the kernel puts it
    bottom_half_cpu: Annotated[
        Cpu | None,
        Setting(
            words="bottom half's CPU",
            not_asked_by=DRILL,
            taken_by=SET_UP,
            own_on_board=True,
            published=True,
            of_a_side=True,
            of_a_match="setting",
            called="bottom half",
            shown=_place,
            brief=lambda cpu: f"bottom half on {cpu}",
            help="Pin the process of --bottom-half user to this CPU of a --target, or of the "
            "virtual target; there also a --program. The kernel keeps processes away from an "
            "isolated CPU if nobody pins them.",
        ),
    ] = None
    load_cpus: Annotated[
        CpuList | None,
        Setting(
            words="load's CPUs",
            not_asked_by=DRILL,
            recorded=lambda manifest: manifest.load.cpus,
            taken_by=SET_UP,
            own_on_board=True,
            published=True,
            of_a_side=True,
            of_a_match="setting",
            called="load",
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
            not_asked_by=DRILL | SWEEP,
            taken_by=SET_UP,
            why="without --target, nobody starts it there",
            brief=lambda name: f"with {name}",
            of_a_side=True,
            of_a_match="setting",
            of_a_remedy=True,
            heading=INSIDE,
            help="Also measure inside the target, every millisecond: with rt-tests' cyclictest, "
            "or with a tracer of the kernel. `tennis witness` shows the result (virtual bench, or "
            "--target).",
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
        """Return what the rally's manifest calls the kernel, as far as this is known."""
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


class Setup(Settings):
    """The same, with what times it, where it is, and what the target does in place of answering."""

    instrument: Annotated[
        InstrumentKind,
        Setting(
            words="instrument",
            recorded=instrument_of,
            published=True,
            taken_by=VIRTUAL | {"sloth", "managed", "wired", "second pico"},
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
            changes_balls=False,
            is_given=True,
            taken_by=frozenset({"managed"}),
            belongs="--bench pi",
            why="the virtual bench boots its own",
            heading=ELSEWHERE,
            metavar="HOST",
            help="The board, with --bench pi: a target of the inventory, or a host as ssh knows "
            "it (NAME or USER@NAME). Racquet, load and priorities are set up there over SSH, and "
            "undone in the end, whatever happens. A target that somebody else holds is refused.",
        ),
    ] = None
    port: Annotated[  # of the Pico; None: the only one
        Text | None,
        Setting(
            words="port",
            changes_balls=False,
            is_given=True,
            taken_by=frozenset({"managed", "wired", "second pico"}),
            why="the virtual bench has no port",
            heading=ELSEWHERE,
            metavar="PORT",
            help="The Brickwall's serial port, with --bench pi. [default: that of the only Pico]",
        ),
    ] = None
    drill: Annotated[  # in place of the Racquet
        Drill | None,
        Setting(
            words="drill",
            recorded=lambda manifest: manifest.drill,
            taken_by=SET_UP,
            option="tennis drill",
            why="nothing would start the drill there",
            instead="name the board that tennis manages",
        ),
    ] = None
    analyser: Annotated[  # for sigrok-cli; None: the only one
        Text | None,
        Setting(
            words="analyser",
            not_asked_by=SWEEP,
            changes_balls=False,
            taken_by=frozenset({"managed", "wired", "second pico"}),
            belongs="--umpire on a physical bench",
            heading=INSIDE,
            metavar="SPEC",
            help="The analyser, as `sigrok-cli -d` takes it. [default: the only one]",
        ),
    ] = None


class Recordings(StrictModel):
    """What is recorded behind a rally, which plays it again: no ball depends on that."""

    stages: Annotated[
        bool,
        Setting(
            words="stages",
            not_asked_by=DRILL | SWEEP,
            changes_balls=False,
            taken_by=VIRTUAL,
            linux_only=True,
            why="the stages are those of Linux",
            apart=(
                (None, "instrument", "pico"),
                (None, "beneath", "sloth"),
                (None, "racquet", None),
                (None, "program", None),
            ),
            heading=INSIDE,
            help="Then play the rally once more, and record each step of every ball with its "
            "time, in OUT/stages.parquet (virtual bench; `tennis explain stages OUT` does it "
            "later).",
        ),
    ] = False


class Instants(StrictModel):
    """What is served in the place of balls that follow each other; a protocol's loop tells it."""

    shots: Annotated[
        Annotated[int, Field(ge=1, le=SHOTS_MAX)] | None,
        Setting(
            words="shots",
            not_asked_by=DRILL | SWEEP,
            changes_balls=False,  # the protocol does
            taken_by=VIRTUAL,
            linux_only=True,
            why="a board's boot cannot be gone through again from each instant",
            apart=(
                (None, "instrument", "pico"),
                (None, "beneath", "sloth"),
                (None, "drill", None),
                (None, "witness", None),
                (None, "stages", None),
            ),
            of_a_lab=False,
            heading=FIRST,
            metavar="COUNT",
            help="The number of shots, in place of balls that follow each other. They are instants "
            "of one boot that no ball disturbs, drawn at random. Each is played as if it were the "
            "first ball (virtual bench; docs/shots.md).",
        ),
    ] = None


def _rows(*models: type[BaseModel]) -> dict[str, Setting]:
    return {
        name: replace(
            row,
            name=name,
            default=None if field.is_required() else field.get_default(call_default_factory=True),
            kind=field.annotation,
            recorded=row.recorded or _of_target(name),
            in_target=row.recorded is None and name in Target.model_fields,
        )
        for model in models
        for name, field in model.model_fields.items()
        for row in field.metadata
        if isinstance(row, Setting)
    }


def _of_target(name: str) -> Callable[[Manifest], Any] | None:
    if name not in Target.model_fields:
        return None
    return lambda manifest: getattr(manifest.target, name)


SETTINGS: Mapping[str, Setting] = _rows(Setup, Recordings, Instants)
# what a manifest tells of a rally's kind
TOLD = tuple(row for row in SETTINGS.values() if row.recorded and row.changes_balls)
OF_TARGET = tuple(row for row in TOLD if row.name in Settings.model_fields)
# of a protocol: by which boots of one kind may differ
OF_A_BOOT = frozenset({"seed"})
LENGTH = frozenset({"balls"})


def option_of(name: str, value: str | int | None = None) -> str:
    """Return a setting as it is written on the command line."""
    option = SETTINGS[name].option or f"--{name.replace('_', '-')}"
    return f"{option} {value}" if value else option


def taken_by(bench: str) -> frozenset[str]:
    """Return the settings that a bench of the kit's takes, beside those that every bench does."""
    return frozenset(name for name, row in SETTINGS.items() if bench in (row.taken_by or ()))


def of_target(plan: Settings) -> dict[str, Any]:
    """Return what a manifest's target says by the names of settings, of a bench that has them all.

    But for its kernel, which has a name of its own there.
    """
    return {row.name: getattr(plan, row.name) for row in OF_TARGET if row.in_target} | {
        "kernel": plan.kernel_name
    }


def recorded(manifest: Manifest) -> dict[str, Any]:
    """Return what a manifest tells of a plan's settings.

    Without those that are never taken from a folder: its kernel, its Racquet, its program.
    """
    every = {row.name: row.recorded(manifest) for row in TOLD if row.recorded and not row.is_given}
    return {name: value for name, value in every.items() if value is not UNTOLD}


def differences(
    manifest: Manifest, settings: Settings, rows: tuple[Setting, ...] = TOLD
) -> Iterator[tuple[Setting, Any, Any]]:
    """Yield in which settings a rally is not what was asked for: row, as it is, as it should be.

    What the manifest does not tell differs in nothing.
    """
    for row in rows:
        is_so = row.recorded(manifest) if row.recorded else UNTOLD
        should_be = row.of(settings)
        if is_so is not UNTOLD and is_so != should_be:
            yield row, is_so, should_be


def in_brief(played: Manifest | Settings, but: Collection[str]) -> list[str]:
    """Return in a few words each what is not usual of a rally, or of a plan.

    ``but``: settings that are named otherwise beside it.
    """
    found = []
    for row in OF_TARGET:
        if not isinstance(played, Manifest):
            is_so = row.of(played)
        else:
            is_so = row.recorded(played) if row.recorded else UNTOLD
        if row.name not in but and is_so is not UNTOLD and is_so != row.of(USUAL):
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
    """Return what a manifest tells of its settings, in words; empty: it does not, or none."""
    return {row.words: _fact(row.recorded(manifest)) for row in TOLD if row.recorded}


def _fact(value: Any) -> str:
    if value is None or value is UNTOLD:
        return ""
    if isinstance(value, dict):
        return ", ".join(f"{name}={number}" for name, number in sorted(value.items()))
    return str(value)


# a rally for which nobody asked for anything, but for what each has its own of
USUAL = Setup(kernel="", load="", load_options={}, bottom_half="unknown", priorities="default")
USUAL_PROTOCOL = Serving().protocol()


def unusual(manifest: Manifest, but: Collection[str] = ()) -> str:
    """Say in what a rally is of another kind than the usual one; empty: in nothing.

    Rallies of which it says the same may be pooled if they are alike in the settings, and parts of
    the protocol, ``but``, too, of which it says nothing.
    """
    # the usual instrument of a board is a Brickwall
    left_out = frozenset({*but, *({"instrument"} if manifest.bench != "virtual" else ())})
    rows = tuple(row for row in TOLD if row.name not in left_out)
    found = [
        f"{row.words.removesuffix(':')} {_fact(is_so)}"
        for row, is_so, _ in differences(manifest, USUAL, rows)
    ]
    served = served_otherwise(manifest.protocol, USUAL_PROTOCOL, OF_A_BOOT | LENGTH | left_out)
    return ", ".join([*found, *(f"{name.replace('_', ' ')} {value}" for name, value, _ in served)])


def not_as_published(manifest: Manifest, named: Collection[str]) -> str:
    """Say in what a rally was played otherwise than what was published; empty: in nothing.

    ``named``: settings that the publication has values of, which are the caller's to compare.
    """
    # where nobody asked, a board may have put the interrupt on the processor that it isolates
    placed = {row.name for row in TOLD if row.placed_by_board and manifest.bench not in TIMELESS}
    # a fixed rate is another question; how long a ping or a gap was is none
    anyhow = {name for name in Protocol.model_fields if name not in {"loop", "rate_hz"}}
    return unusual(manifest, {*named, *placed, *anyhow, "instrument"})


def kind_of(settings: Setup, protocol: Protocol) -> tuple[Any, ...]:
    """Return what two rallies share that are boots of one kind, but for their number of balls."""
    values = [_fact(row.of(settings)) for row in TOLD]
    served = protocol.model_dump(exclude={*OF_A_BOOT, *LENGTH})
    return (*values, *served.items())


# --- settings that somebody may say, or not ---


class OptionalSettings(StrictModel):
    """Settings, of which those that nobody said are None."""

    @property
    def explicit(self) -> dict[str, Any]:
        """Return what somebody said."""
        return {name: value for name, value in dict(self).items() if value is not None}

    @property
    def of_a_match(self) -> dict[str, Any]:
        """Return what somebody said of the settings that a match's plan may have as they are."""
        return {
            name: value
            for name, value in self.explicit.items()
            if name in SETTINGS and SETTINGS[name].of_a_match
        }


class Combined(OptionalSettings):
    """What a combination of a match is played with, as far as somebody says it of this one."""

    @model_serializer(mode="wrap")
    def _said(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Write what is no axis only where somebody says it: files keep their bytes."""
        every: dict[str, Any] = write(self)
        return {k: v for k, v in every.items() if v is not None or k not in OF_A_MATCH}


OF_A_MATCH = {name: row for name, row in SETTINGS.items() if row.of_a_match}
Model = TypeVar("Model", bound=BaseModel)


def _written(name: str) -> Any:
    of = next(one for one in (Setup, Recordings, Instants) if name in one.model_fields)
    return of.model_fields[name].rebuild_annotation()


def _optional(title: str, kinds: Mapping[str, Any], base: type[Model]) -> type[Model]:
    """Make a model in which nobody need say a setting."""
    fields: dict[str, Any] = {
        name: (Optional[kind], None)  # noqa: UP045 (also of what is no class)
        for name, kind in kinds.items()
    }
    return create_model(title, __base__=base, __module__=__name__, **fields)


if TYPE_CHECKING:

    class SettingsRequest(Setup, Recordings, Instants, OptionalSettings):
        """All settings of the table; what nobody said is None, which ``explicit`` leaves out."""

        kernel: str | None = None  # type: ignore[assignment]
        load: str | None = None  # type: ignore[assignment]
        bottom_half: BottomHalf | None = None  # type: ignore[assignment]
        priorities: str | None = None  # type: ignore[assignment]
        load_options: dict[str, int] | None = None  # type: ignore[assignment]
        racquet: Path | None = None  # type: ignore[assignment]
        program: Path | None = None  # type: ignore[assignment]

    class KernelSettings(OptionalSettings):
        """Settings that a match's plan may have for all kernels, and for one."""

    class TargetSettings(OptionalSettings):
        """Settings that a match's plan may have for all ways to set the target up, and for one."""

        program: str | None = None

    class AxisSettings(StrictModel):
        """Settings of which a match's plan may list several, for all kernels, and for one."""

        command_lines: list[str] | None = None

    class CombinedSettings(Combined):
        """All of these settings, one of each."""

        program: str | None = None
else:
    SettingsRequest = _optional(
        "SettingsRequest",
        {n: row.asked_as or _written(n) for n, row in SETTINGS.items() if row.is_option},
        OptionalSettings,
    )
    KernelSettings = _optional(
        "KernelSettings",
        {n: _written(n) for n, row in OF_A_MATCH.items() if row.of_a_match == "kernel"},
        OptionalSettings,
    )
    TargetSettings = _optional(
        "TargetSettings",
        {n: _written(n) for n, row in OF_A_MATCH.items() if row.of_a_match == "setting"},
        OptionalSettings,
    )
    AxisSettings = _optional(
        "AxisSettings", {key: list[_written(name)] for key, name in AXES.items()}, StrictModel
    )
    CombinedSettings = _optional(
        "CombinedSettings", {n: _written(n) for n in (*AXES.values(), *OF_A_MATCH)}, Combined
    )
