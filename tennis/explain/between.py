"""Events between processors while a ball waits: locks, interrupts, tasks that are moved."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tennis.explain.segments import Blame, Event, Segments
from tennis.explain.ways import Lanes
from tennis.kit.units import format_ns
from tennis.rally.phases import GIVES, GOT, MOVES, SENDS, SLEEPING, TAKES, WAKES, WANTS

# functions that lead to a lock, an interrupt or a move, from any caller
_LOCKING = re.compile(
    r"queued_|_raw_|__raw_|rt_spin_|rtlock_|rt_mutex_|rt_read_|rt_write_|__rt_"
    r"|(__)?mutex_|(__)?(down|up)(_\w+)?$"
)
_SENDING = re.compile(
    r"gic_|\w*smp_cross_call|ipi_|arch_(smp_send|send_call|irq_work)|smp_send_|send_call_|\w*ipi\w*"
    r"|__smp_call|generic_exec_single|smp_call_|irq_work_|on_each_cpu|call_function"
)
_MOVING = re.compile(r"set_task_cpu|__set_task_cpu")
# the same in Linux 5.10 to 7 on arm64
_INTERRUPTS = {0: "to reschedule", 1: "to call a function", 2: "to stop", 5: "to do IRQ work"}


@dataclass(frozen=True)
class LockHeld:
    """A wait for a lock that another held; ``began`` and ``ended`` in ns since the phase began."""

    began: int
    ended: int
    waiter: int  # the processor that wanted it
    task: str
    thread: int  # that task's number
    wanted: str  # the function that did
    sleeps: bool
    holders: int  # tasks that had it in turn
    holder: int | None  # the processor that gave it; the longest of several; None: not known
    owner: str  # the task that did
    held_ns: int  # how much of the wait the holder had it
    cause: Blame | None  # what the holder's processor was at meanwhile
    lock: str = ""  # the variable, if it is known
    owner_thread: int | None = None  # the number of the task that did

    @property
    def ns(self) -> int:
        """Return how long it took."""
        return self.ended - self.began

    def __str__(self) -> str:
        """Say it in words."""
        lock = f"a lock of {self.wanted}" if self.wanted else "a lock"
        if self.lock:
            lock = f"{self.lock}, wanted in {self.wanted}," if self.wanted else self.lock
        waited = f"{self.task} waited {format_ns(self.ns)} for {lock}"
        if self.holder is None:
            return f"{waited}, and its holder is not known"
        held = f" that processor {self.holder} ({self.owner}) held"
        if self.holders > 1:
            held = (
                f" that {self.holders} tasks held in turn, processor {self.holder} ({self.owner}) "
                f"longest, for {format_ns(self.held_ns)}"
            )
        return waited + held + (f", most of it in {self.cause.short}" if self.cause else "")


@dataclass(frozen=True)
class _Turn:
    """Somebody had a lock, and gave it; ns since the phase began."""

    began: int
    ended: int
    part: Segments
    node: int

    @property
    def ns(self) -> int:
        return self.ended - self.began


@dataclass(frozen=True)
class Interrupt:
    """An interprocessor interrupt; times in ns since the phase began."""

    sent: int
    taken: int
    sender: int
    taker: int
    number: int  # of the kernel's: 0 to reschedule, 1 to call a function
    function: str  # that sent it
    task: str
    wakes: str  # the task that is to run; empty: none
    wakes_thread: int  # its number; 0: none

    def __str__(self) -> str:
        """Say it in words."""
        what = f"to wake {self.wakes}" if self.wakes else _INTERRUPTS.get(self.number, "")
        return (
            f"took an interrupt that processor {self.sender} ({self.task}) had sent "
            f"{format_ns(self.taken - self.sent)} before {what}".rstrip()
            + f", in {self.function}"
        )


@dataclass(frozen=True)
class Moved:
    """A task was given to another processor; ns since the phase began."""

    at: int
    by: int
    task: str
    thread: int  # the task's number
    to: int
    function: str

    def __str__(self) -> str:
        """Say it in words."""
        return f"moved {self.task} to processor {self.to}, in {self.function}"


def locks(lanes: Lanes) -> list[LockHeld]:
    """Return the waits for locks in a phase, in the order in which they began."""
    opened: dict[tuple[int, int], tuple[Segments, Event]] = {}
    gave: dict[int, list[tuple[Segments, Event]]] = defaultdict(list)
    found = []
    for part, event in _in_order(lanes):
        key = (event.what, event.other)  # the lock, and the task that waits for it
        if event.kind == WANTS:
            opened.setdefault(key, (part, event))
        elif event.kind == GIVES:
            gave[event.what].append((part, event))
        elif event.kind == GOT and key in opened:
            found.append(_held(*opened.pop(key), event.at, gave[event.what]))
    found += [_held(*one, one[0].ns, ()) for one in opened.values()]
    return sorted(found, key=lambda one: one.began)


def _held(
    part: Segments, wanted: Event, ended: int, gave: Sequence[tuple[Segments, Event]]
) -> LockHeld:
    turns: dict[tuple[int, int], list[_Turn]] = defaultdict(list)  # by processor and task
    began = wanted.at
    for other, event in gave:
        if began <= event.at <= ended:
            turn = _Turn(began, event.at, other, event.node)
            turns[other.processor, other.thread(event.node)].append(turn)
            began = event.at
    thread = wanted.other & ~SLEEPING
    longest = max(turns.values(), key=_ns, default=[])
    return LockHeld(
        began=wanted.at,
        ended=ended,
        waiter=part.processor,
        task=wanted.name or part.task(wanted.node),
        thread=thread,
        # a task that has slept since before the phase: what its processor was at says nothing
        wanted=_caller(part, wanted, _LOCKING) if thread == part.thread(wanted.node) else "",
        sleeps=bool(wanted.other & SLEEPING),
        holders=len(turns),
        holder=longest[0].part.processor if longest else None,
        owner=longest[0].part.task(longest[0].node) if longest else "",
        held_ns=_ns(longest),
        cause=_cause(longest),
        lock=part.names.variable(wanted.what),
        owner_thread=longest[0].part.thread(longest[0].node) if longest else None,
    )


def _ns(turns: Sequence[_Turn]) -> int:
    return sum(turn.ns for turn in turns)


def _cause(turns: Sequence[_Turn]) -> Blame | None:
    """Return the work of a lock's holder while it had the lock."""
    weights: Counter[tuple[int, bool]] = Counter()
    for turn in turns:
        weights.update(turn.part.weights_between(turn.began, turn.ended))
    return turns[0].part.blame(weights) if turns else None


def interrupts(lanes: Lanes) -> list[Interrupt]:
    """Return the interprocessor interrupts that were sent and taken in a phase, as taken.

    Several from one sender before one is taken are one: the first counts. The interrupt controller
    takes that of the sender with the lowest number first (QEMU's GICv2).
    """
    pending: dict[tuple[int, int], dict[int, tuple[Segments, Event, Event | None]]]
    pending = defaultdict(dict)
    woken: dict[int, Event] = {}
    found = []
    for part, event in _in_order(lanes):
        if event.kind == WAKES:
            woken[part.processor] = event
        elif event.kind == SENDS:
            wakes = "try_to_wake_up" in part.stack(event.node)
            woke = woken.get(part.processor) if wakes else None
            for other in lanes:
                if event.other >> other.processor & 1:
                    key = (other.processor, event.what & 0xFFFFFFFF)
                    pending[key].setdefault(part.processor, (part, event, woke))
        elif event.kind == TAKES and (senders := pending[part.processor, event.what]):
            sender, sent, woke = senders.pop(min(senders))
            found.append(
                Interrupt(
                    sent.at,
                    event.at,
                    sender.processor,
                    part.processor,
                    sent.what >> 32,
                    _caller(sender, sent, _SENDING),
                    sender.task(sent.node),
                    woke.name if woke else "",
                    woke.what if woke else 0,
                )
            )
    return found


def moves(lanes: Lanes) -> list[Moved]:
    """Return the tasks that were given to another processor in a phase."""
    return [
        Moved(
            event.at,
            part.processor,
            event.name,
            event.what,
            event.other,
            _caller(part, event, _MOVING),
        )
        for part, event in _in_order(lanes)
        if event.kind == MOVES
    ]


def _in_order(lanes: Lanes) -> Iterator[tuple[Segments, Event]]:
    every = [(part, event) for part in lanes for event in part.events]
    yield from sorted(every, key=lambda one: (one[1].at, one[0].processor))


def _caller(part: Segments, event: Event, plumbing: re.Pattern[str]) -> str:
    """Return the innermost function that is not part of how all of them do it."""
    shown = reversed(part.shown_stack(event.node))
    names = (name for name in shown if not plumbing.match(name))
    return next(names, "?")
