"""Common to the Racquet's answers and a program's: parts of a wait, words for them."""

from collections import defaultdict
from collections.abc import Iterable

import numpy as np

from tennis.explain import between
from tennis.explain.between import LockHeld
from tennis.explain.kinds import ANSWERS, What
from tennis.explain.segments import Blame, Segments
from tennis.explain.story import Moments
from tennis.explain.ways import Lanes
from tennis.kit.units import format_ns

Why = tuple[Blame | None, str]  # the cause, and a sentence without its head


class Answer:
    """A ball's wait by its way: ``parts``, until the rise and from there until the fall.

    ``blocked``: segments of the first part until the interrupt was taken.
    """

    moments: Moments
    kind = ""  # by which late balls of a program are counted: a cause, and where; empty: the code

    def __init__(self, lanes: list[Lanes], parts: tuple[Segments, ...], blocked: range) -> None:
        self.lanes, self.parts, self.blocked = lanes, parts, blocked
        self.masked = [i for i in blocked if parts[0].masked[i]]
        self.masked_ns = sum_ns(parts[0], self.masked)

    def until_the_rise(self, *, missed: bool) -> Why:
        """Say why the reply rose late; ``missed``: it did not rise."""
        raise NotImplementedError

    def until_the_fall(self) -> Why:
        """Say why the reply fell late."""
        raise NotImplementedError

    @property
    def is_masked(self) -> bool:
        """Tell whether interrupts were off for most of the wait for the rise."""
        return 2 * self.masked_ns >= self.parts[0].ns

    def interrupts_off(self) -> Why:
        """Say in which function interrupts were off."""
        part, masked = self.parts[0], self.masked
        off = f"interrupts were off for {format_ns(self.masked_ns)}{self.on(part.woken_by)}"
        if held := self.spun(part, masked):
            return held.cause, f"{off}; {held}"
        cause = part.blame(part.weights_of(masked))
        why = f"{off} in {cause}"
        last = next((i for i in reversed(masked) if part.whats[i].kind == "masked"), None)
        if last is not None and cause and cause.what.kind == "masked":
            function = part.shown_stack(int(part.node[last]))[-1]
            why += f"; the last function with interrupts off was {function}"
        return cause, why

    def on(self, processor: int) -> str:
        """Name the processor, if there are several."""
        return f" on processor {processor}" if len(self.lanes[0]) > 1 else ""

    def named(self, part: Segments, segment: int) -> str:
        """Return the name of the task of a segment, with its priority and its processor."""
        return part.named(segment) + self.on(part.place(segment))

    def spun(self, part: Segments, segments: Iterable[int]) -> LockHeld | None:
        """Return the longest wait for another processor's lock, if it is most of some segments."""
        its = list(segments)
        held = [
            one
            for one in between.locks(self.lanes[self.parts.index(part)])
            if not one.sleeps and one.holder not in {None, one.waiter}
            if one.waiter in {part.processor, part.woken_by}
        ]
        longest = max(held, key=lambda one: overlap_ns(part, its, one), default=None)
        if longest and 2 * overlap_ns(part, its, longest) >= sum_ns(part, its):
            return longest
        return None


def entry(part: Segments, own: int) -> int:
    """Return the segment with which the exception begins that leads to an interrupt's handler."""
    at = own
    while at > 0 and part.whats[at - 1].kind == "path":
        at -= 1
    vectors = [i for i in range(at, own) if part.stack(int(part.node[i]))[-1:] == ["vectors"]]
    return vectors[-1] if vectors else at


def answers_again(part: Segments) -> int | None:
    """Return the first segment of what answers, after something else ran behind the rise."""
    other = next((i for i, what in enumerate(part.whats) if what.kind not in ANSWERS), None)
    if other is None:
        return None
    rest = range(other, len(part.whats))
    return next((i for i in rest if part.whats[i].kind in ANSWERS), None)


def bases(part: Segments, segment: int) -> frozenset[str]:
    """Return the functions on the stack of a segment, without what compilers add to names."""
    return part.bases(int(part.node[segment]))


def began_at(part: Segments, segment: int | None) -> int | None:
    """Return when a segment began, in ns since the phase did; None: there is none."""
    return None if segment is None else int(part.began[segment])


def sum_ns(part: Segments, segments: Iterable[int]) -> int:
    """Return how long some segments are together."""
    return int(part.length[list(segments)].sum())


def overlap_ns(part: Segments, segments: Iterable[int], held: LockHeld) -> int:
    """Return how much of some segments a wait for a lock was."""
    its = list(segments)
    begins, ends = part.began[its], part.began[its] + part.length[its]
    common = np.minimum(ends, held.ended) - np.maximum(begins, held.began)
    return int(np.clip(common, 0, None).sum())


def groups(part: Segments, segments: Iterable[int]) -> list[tuple[What, int]]:
    """Return what some segments were and for how long, the longest first."""
    sums: dict[What, int] = defaultdict(int)
    for index in segments:
        sums[part.whats[index]] += int(part.length[index])
    return sorted(sums.items(), key=lambda one: -one[1])


def ran(cause: Blame | None) -> str:
    """Say what the processor ran."""
    return f"the processor was in {cause}" if cause else "nothing ran"
