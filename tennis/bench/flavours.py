"""The Racquet of each kernel, the halves with which it can answer there, and their threads."""

from dataclasses import dataclass, replace
from typing import Literal, Protocol

from tennis.bench.configuration import Flavour
from tennis.kit.errors import UsageError
from tennis.rally.manifest import IN_BAND, PROGRAM, THREADED, BottomHalf, Stage, TopHalf
from tennis.rally.priorities import PRESETS, entries

# SLOTH is no kernel of Linux (target/sloth). In-band: the ordinary Racquet on a kernel with a core
InBand = Literal["evl in-band", "cobalt in-band"]
Player = Flavour | InBand | Literal["sloth"]


class _Halves(Protocol):
    """The halves and priorities of an answer, in a plan or a combination of a match."""

    @property
    def top_half(self) -> str:
        """The half that takes the interrupt."""

    @property
    def bottom_half(self) -> str:
        """The half that answers."""

    @property
    def priorities(self) -> str:
        """A preset, or a map of threads."""


@dataclass(frozen=True)
class _Racquet:
    """A Racquet and its choices; the first of each tuple is the default.

    On Linux it is a module of ``target/racquet``.
    """

    module: str
    top_halves: tuple[TopHalf, ...]
    bottom_halves: tuple[BottomHalf, ...]
    priorities: tuple[str, ...]  # presets
    threads: frozenset[str] = frozenset()  # that a map of priorities may name


_BOTTOM_HALVES: tuple[BottomHalf, ...] = ("tasklet", "thread", "workqueue", "user")
_LINUX = frozenset({"irq", "ksoftirqd", "kworker", "user"})
_ORDINARY = _Racquet("racquet", ("hard", "explicit"), _BOTTOM_HALVES, ("default", "chrt"), _LINUX)
RACQUETS: dict[Flavour, _Racquet] = {
    "mainline": _ORDINARY,
    "rt": _Racquet(
        "racquet",
        ("hard", "forced", "explicit"),
        _BOTTOM_HALVES,
        ("default", "chrt", "thesis-2008"),
        _LINUX | {"ktimers", "rcuc"},
    ),
    # Xenomai's cores have neither softirqs nor workqueues: a thread of theirs answers, at their
    # highest priority, and chrt cannot change that
    "evl": _Racquet("racquet_evl", ("hard",), ("thread",), ("native",)),
    "cobalt": _Racquet("racquet_cobalt", ("hard",), ("thread",), ("native",)),
}

# a user's own program, and no module of the kit
_PROGRAM = _Racquet(
    "a program",
    (PROGRAM,),
    (PROGRAM,),
    ("default", "chrt"),
    frozenset({"irq", "ksoftirqd", PROGRAM}),
)
PROGRAMS: dict[Player, _Racquet] = {
    "mainline": _PROGRAM,
    "rt": replace(
        _PROGRAM,
        priorities=("default", "chrt", "thesis-2008"),
        threads=_PROGRAM.threads | {"ktimers", "rcuc"},
    ),
}

SLOTH = _Racquet("target/sloth", ("hard",), ("task",), ("native",))
# kernels with a second core, and the same if Linux' own stage answers
CORES: dict[Player, InBand] = {"evl": "evl in-band", "cobalt": "cobalt in-band"}
PLAYERS: dict[str, _Racquet] = {
    **{str(flavour): racquet for flavour, racquet in RACQUETS.items()},
    **{str(player): _ORDINARY for player in CORES.values()},
    "sloth": SLOTH,
}


def player_on(flavour: Player, stage: Stage | None) -> Player:
    """Return who answers on a kernel of a flavour; ``stage``: None if the plan names none.

    Raises UsageError for a stage of a kernel that has one only.
    """
    if stage is None:
        return flavour
    if flavour not in CORES:
        raise UsageError(
            f"--stage {stage}: a kernel of flavour {flavour} has one stage only",
            next_step="leave it out, or name a tree with EVL or Cobalt (--kernel DIR)",
        )
    if stage != IN_BAND:
        return flavour
    return CORES[flavour]


def racquet_of(player: Player, bottom_half: str = "") -> _Racquet:
    """Return what answers on a kernel of a flavour, or on SLOTH.

    Raises UsageError if a program is to answer, and cannot.
    """
    if bottom_half != PROGRAM:
        return PLAYERS[player]
    if player not in PROGRAMS:
        raise UsageError(
            f"--program is for Linux alone: a kernel of flavour {player} has a core beneath it",
            next_step="use a kernel of flavour mainline or rt (tennis kernels)",
        )
    return PROGRAMS[player]


def defaults(player: Player) -> dict[str, str]:
    """Return a kernel's default halves and priorities."""
    racquet = racquet_of(player)
    return {
        "top_half": racquet.top_halves[0],
        "bottom_half": racquet.bottom_halves[0],
        "priorities": racquet.priorities[0],
    }


def check(flavour: Player, halves: _Halves) -> None:
    """Raise UsageError if a kernel of this flavour cannot be answered from like that."""
    top_half, bottom_half, priorities = halves.top_half, halves.bottom_half, halves.priorities
    racquet = racquet_of(flavour, bottom_half)
    mapped = priorities not in PRESETS and bool(racquet.threads)
    for option, asked, possible in (
        ("--top-half", top_half, racquet.top_halves),
        ("--bottom-half", bottom_half, racquet.bottom_halves),
        ("--priorities", priorities, racquet.priorities),
    ):
        if asked not in possible and not (mapped and asked == priorities):
            others = ", or the ordinary Racquet: --stage in-band" if flavour in CORES else ""
            raise UsageError(
                f"{option} {asked} is not for a kernel of flavour {flavour}: "
                f"{racquet.module} answers there",
                next_step=f"use {' or '.join(possible)}{others}",
            )
    if (top_half, bottom_half) == ("explicit", "thread"):
        raise UsageError(
            "--top-half explicit takes the interrupt's thread, which --bottom-half thread needs",
            next_step="use --top-half hard, or another bottom half",
        )
    there = _threads(flavour, halves)
    for thread in entries(priorities) if mapped else ():
        if thread not in there:
            with_what = f"a {top_half} top half and the bottom half {bottom_half}"
            if bottom_half == PROGRAM:
                with_what = "a program that answers"
            raise UsageError(
                f"--priorities {thread}=...: there is no such thread on a kernel of flavour "
                f"{flavour} with {with_what}",
                next_step=f"use {', '.join(sorted(there))}",
            )


def _threads(flavour: Player, halves: _Halves) -> set[str]:
    """Return which threads take part in an answer."""
    bottom_half = halves.bottom_half
    there = {
        "irq": halves.top_half in {*THREADED, PROGRAM} or bottom_half == "thread",
        "kworker": bottom_half == "workqueue",
        "user": bottom_half == "user",
    }
    every = racquet_of(flavour, bottom_half).threads
    return {name for name in every if there.get(name, True)}


def priorities_on(flavour: Player, halves: _Halves) -> str:
    """Return the words for the target's agent: ``irq=99,kworker=99?``; empty: nothing to set.

    A thread with a question mark may be missing: a preset has threads that not every kernel has.
    """
    there = _threads(flavour, halves)
    preset = halves.priorities in PRESETS
    return ",".join(
        f"{thread}={number}{'?' if preset and thread in {'kworker', 'ktimers'} else ''}"
        for thread, number in entries(halves.priorities).items()
        if thread in there
    )
