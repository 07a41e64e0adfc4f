"""Waits for memory: lines, pages and registers, by cause and by function.

A stall is a part of the time of the function that waits. target/virtual/memory.c numbers causes,
levels and devices, and ``STALL_KIND`` of machine.h puts them together.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tennis.explain.segments import Segments
from tennis.kit.units import format_count, format_ns

GOES_ON = 1 << 31  # it began in the phase before, and is not counted a second time
CAUSES = 6
CODE, DATA, STORES, PAGES, DEVICE, CYCLES = range(CAUSES)
FIRST = 0  # of a page: the TLB that both share had it
_FROM = ("the first cache", "the second cache", "the third cache", "memory")
_DEVICES = ("the GPIO controller", "the interrupt controller", "the timer", "another device")
_CLASSES = (  # as cycles.h numbers them
    *("plain instructions", "loads", "stores", "branches", "barriers", "system registers"),
    *("atomics", "exception returns", "mispredicted branches", "exception entries"),
)
# what `tennis explain without` leaves out, and the causes it is the cost of
COSTS = {
    "memory": (CODE, DATA, STORES),
    "tlb": (PAGES,),
    "registers": (DEVICE,),
    "cycles": (CYCLES,),
}


@dataclass(frozen=True)
class Stall:
    """All stalls of one cause in some waits; ``function``: the one with most of their time."""

    cause: int
    where: int
    count: int
    ns: int
    function: str
    balls: int = 1

    @property
    def words(self) -> str:
        """Name the awaited memory, and how often."""
        if self.cause == CYCLES:
            return cause_words(self.cause, self.where)
        noun, nouns, verb, _, place = _names(self.cause, self.where)
        return f"{format_count(self.count, noun, nouns)} {verb} {place}"

    @property
    def cost(self) -> str:
        """Return which of ``COSTS`` it is."""
        return next(cost for cost, causes in COSTS.items() if self.cause in causes)

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "cause": cause_words(self.cause, self.where),
            "count": self.count,
            "ns": self.ns,
            "balls": self.balls,
            "mostly_in": self.function,
        }


def cause_words(cause: int, where: int) -> str:
    """Name the awaited memory, without a count: the same words for all waits."""
    if cause == CYCLES:
        return f"cycles of {_CLASSES[where]}"
    _, nouns, _, preposition, place = _names(cause, where)
    return f"{nouns} {preposition} {place}"


def _names(cause: int, where: int) -> tuple[str, str, str, str, str]:
    """Return what was awaited, one and many; what it did, long and short; and the place."""
    if cause == DEVICE:
        return "access", "accesses", "to", "to", _DEVICES[where]
    if (cause, where) == (STORES, FIRST):
        return "dirty line", "dirty lines", "went to", "to", "memory"
    if (cause, where) == (PAGES, FIRST):
        return "page", "pages", "came from", "from", "the second TLB"
    if cause == PAGES:
        return "page walk", "page walks", "whose entry came from", "in", _FROM[where]
    what = {CODE: "of code", DATA: "of data", STORES: "that {} written"}[cause]
    one, many = f"line {what.format('is')}", f"lines {what.format('are')}"
    return one, many, "came from", "from", _FROM[where]


def stalls_of(waits: Sequence[tuple[int, Sequence[Segments]]]) -> list[Stall]:
    """Return what some waits' stalls were, the longest first; ``waits``: balls and their parts."""
    counts: dict[int, int] = defaultdict(int)
    times: dict[int, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    balls: dict[int, set[int]] = defaultdict(set)
    for ball, parts in waits:
        for part in parts:
            for _, kind, node, ns in part.phase.stalls.tolist():
                what = kind & ~GOES_ON
                counts[what] += kind == what
                times[what][part.leaf(node)] += ns
                balls[what].add(ball)
    found = [
        Stall(
            what >> 4,
            what & 15,
            counts[what],
            sum(by_function.values()),
            max(by_function, key=lambda name: by_function[name]),
            len(balls[what]),
        )
        for what, by_function in times.items()
    ]
    return sorted(found, key=lambda one: -one.ns)


def stalled_ns(parts: Sequence[Segments], causes: Sequence[int] | None = None) -> int:
    """Return how long a ball's parts were stalls, of some causes or of all."""
    return sum(
        ns
        for part in parts
        for _, kind, _, ns in part.phase.stalls.tolist()
        if causes is None or (kind & ~GOES_ON) >> 4 in causes
    )


def sentence(parts: Sequence[Segments]) -> str:
    """Give the part of a wait that was for memory, and its main cause; empty: none."""
    found = stalls_of([(0, parts)])
    sentences = ""
    for of_cycles, where in (
        (False, "memory and registers"),
        (True, "cycles of slow instructions"),
    ):
        some = [one for one in found if (one.cause == CYCLES) == of_cycles]
        if some:
            whole, most = sum(one.ns for one in some), some[0]
            sentences += (
                f" {format_ns(whole)} of it went to {where}: {most.words} "
                f"({format_ns(most.ns)}), most in {most.function}."
            )
    return sentences
