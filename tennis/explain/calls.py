"""A program's system calls while a ball waited, by thread, with their results.

A call that began before the ball is seen when it is over: its first argument is gone then.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from tennis.explain.segments import Event, Segments
from tennis.explain.ways import Lanes
from tennis.kit.units import format_ns
from tennis.rally.phases import ASKS, CALLS, FIRES, RETURNS

FUTEX = 98  # the call's number (asm-generic/unistd.h)
# of linux/futex.h, without its flags
_COMMAND, _WAKES = 127, frozenset({1, 4, 5, 7})  # wake, requeue and wake, wake by operation, unlock


@dataclass(frozen=True)
class Call:
    """A call of the kernel: times in ns since the phase began; None: not in this phase."""

    thread: int
    part: Segments
    node: int  # the stack in user space
    number: int
    what: int  # argument 0, if it began here
    flags: int  # argument 1, of 32 bits
    began: int | None
    ended: int | None = None
    result: int | None = None
    asked_ns: int | None = None  # of a sleep
    until: bool = False  # ... which is a time of day

    @property
    def segment(self) -> int | None:
        """Return the segment in which it began, or ended."""
        at = self.ended if self.began is None else self.began
        began = self.part.began
        found = None if at is None else int(began.searchsorted(at, "right")) - 1
        return max(found, 0) if found is not None and len(began) else None


class Calls:
    """The calls of a phase, on all its processors."""

    def __init__(self, lanes: Lanes) -> None:
        self._all = list(_calls(lanes))
        self._slacks = [
            (event.at, event.other, event.what)
            for lane in lanes
            for event in lane.events
            if event.kind == FIRES
        ]

    def of(self, thread: int, began: int, ended: int) -> Call | None:
        """Return the last call of a thread that was not over while it was away; None: not known."""
        return next(
            (
                call
                for call in reversed(self._all)
                if call.thread == thread
                if (call.began is None or call.began <= began)
                if (call.ended is None or call.ended >= ended)
            ),
            None,
        )

    def asked(self, thread: int, began: int, ended: int) -> str:
        """Say which sleep a thread asked for, and by how much the kernel might delay its end."""
        call = self.of(thread, began, ended)
        slack = next((ns for at, task, ns in self._slacks if task == thread and at >= began), 0)
        said = ""
        if call and call.asked_ns is not None:
            said = (
                ", until a fixed time" if call.until else f", asked for {format_ns(call.asked_ns)}"
            )
        return said + (f", with a timer slack of {format_ns(slack)}" if slack else "")

    def giver(self, call: Call) -> Call | None:
        """Return the call of another thread that ended a wait for a futex; None: not seen."""
        return next(
            (
                one
                for one in reversed(self._all)
                if one.number == FUTEX and one.what == call.what and one.thread != call.thread
                if one.flags & _COMMAND in _WAKES and one.began is not None
                if one.began >= (call.began or 0) and one.began <= (call.ended or one.began)
            ),
            None,
        )


def _calls(lanes: Lanes) -> Iterator[Call]:
    """Yield all calls, in the order in which they end."""
    every = [(event, lane) for lane in lanes for event in lane.events]
    every.sort(key=lambda one: one[0].at)
    open_calls: dict[int, Call] = {}
    done: dict[int, Call] = {}
    for event, lane in every:
        if event.kind not in {CALLS, RETURNS, ASKS}:
            continue
        thread = lane.thread(event.node)
        if event.kind == ASKS:
            _asks(event, open_calls if thread in open_calls else done, thread)
            continue
        if thread in done:
            yield done.pop(thread)
        number, flags = event.other >> 32, event.other & 0xFFFF_FFFF
        if event.kind == CALLS:
            open_calls[thread] = Call(thread, lane, event.node, number, event.what, flags, event.at)
        else:
            call = open_calls.pop(thread, None)
            call = call or Call(thread, lane, event.node, number, 0, flags, None)
            done[thread] = replace(call, ended=event.at, result=event.what)
    yield from (*done.values(), *open_calls.values())


def _asks(event: Event, where: dict[int, Call], thread: int) -> None:
    if thread in where:
        where[thread] = replace(where[thread], asked_ns=event.what, until=bool(event.other))
