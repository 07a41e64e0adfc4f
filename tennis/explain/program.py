# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""The way of a ball through a user's own program: the cause of its wait, in a sentence.

The kernel takes the interrupt, wakes the line's thread (drivers/gpio/gpiolib-cdev.c), and that
wakes the program, which answers by a system call.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from tennis.explain.answer import Answer, Why, answers_again, entry, groups, ran, sum_ns
from tennis.explain.kinds import base, errand
from tennis.explain.segments import Segments
from tennis.explain.story import Moments
from tennis.explain.ways import Lanes, way_to_bottom_half, way_to_program
from tennis.kit.units import format_ns

# of a line's events: version 2 of the character device, and version 1
HANDLERS = frozenset({"edge_irq_handler", "lineevent_irq_handler"})
THREADS = frozenset({"edge_irq_thread", "lineevent_irq_thread"})
PAGE_FAULT, FUTEX = "page fault", "system call futex"
INHERITS = frozenset({"futex_lock_pi"})  # kernel/futex: who waits lends the owner its priority
# CPython takes its one lock there (Python/ceval_gil.c)
INTERPRETERS_LOCK = frozenset(
    {"PyEval_RestoreThread", "PyEval_AcquireThread", "PyGILState_Ensure", "_Py_HandlePending"}
)
# in these it waits for a ping, or sets a line: nothing else keeps it from the ping
WAITS_FOR_PINGS = frozenset(
    f"system call {name}"
    for name in (
        *("read", "readv", "pread64", "ioctl", "poll", "ppoll", "select", "pselect6"),
        *("epoll_wait", "epoll_pwait", "epoll_pwait2"),
    )
)
# until it is through, the stack is still that of the task before
SWITCHES = frozenset({"__switch_to", "cpu_switch_to"})
# there the kernel takes the processor from a task that could go on
TAKES = frozenset(
    {
        *("preempt_schedule", "preempt_schedule_notrace", "preempt_schedule_common"),
        *("preempt_schedule_irq", "dynamic_preempt_schedule", "__cond_resched"),
    }
)
GONE = "{gone}"  # in a reason, the place of the time
SLEEPS = frozenset({"system call nanosleep", "system call clock_nanosleep"})


@dataclass(frozen=True)
class _ProgramWay:
    """The way of a ping to a program's code: indices of segments; None: it came another way."""

    handler: int | None  # the line's hard handler begins
    line: int | None  # the line's thread has the event
    runs: int  # the task that answers is in its own code
    thread_of_it: int  # that task's number


class ProgramAnswer(Answer):
    """A ball that a program answered, or should have."""

    def __init__(self, lanes: list[Lanes], rise: int | None, home: int) -> None:
        first = way_to_program(lanes[0], home)
        parts = (first, *(way_to_bottom_half(later, first.processor) for later in lanes[1:]))
        # without a way it never ran, or was cut off
        self._way = way = _way(first) if rise is not None else None
        taken = None if way is None or way.handler is None else entry(first, way.handler)
        super().__init__(lanes, parts, range(len(first.whats) if taken is None else taken))
        again = answers_again(parts[1]) if rise is not None and len(parts) > 1 else None
        self.moments = Moments(
            taken=None if taken is None else int(first.began[taken]),
            masked_ns=self.masked_ns,
            thread_runs=None if way is None or way.line is None else int(first.began[way.line]),
            top_half=None if way is None else int(first.began[way.runs]),
            bottom_half=None if again is None else (rise or 0) + int(parts[1].began[again]),
            answerer="" if again is None else parts[1].task(int(parts[1].node[again])),
        )

    def until_the_rise(self, *, missed: bool) -> Why:
        """Name the main cause of the time from the ping to the rise."""
        del missed  # then there is no way
        part, way = self.parts[0], self._way
        if self.is_masked:
            return self.interrupts_off()
        if way is None:
            cause = part.blame(part.weights)
            return cause, f"the program did not answer; most of the time {ran(cause)}"
        return self._late(part, way)

    def _late(self, part: Segments, way: _ProgramWay) -> Why:
        who, begins = self.named(part, way.runs), way.handler or 0
        stretches = {
            "handler": range(begins),
            "line": range(begins, way.line or begins),
            "program": range(way.line or begins, way.runs),
            "answer": range(way.runs, len(part.whats)),
        }
        longest = max(stretches, key=lambda name: sum_ns(part, stretches[name]))
        its = stretches[longest]
        if longest == "answer":
            cause, why = _own_time(part, its, way.thread_of_it)
            return cause, f"{who} ran after {format_ns(int(part.began[way.runs]))}, and {why}"
        cause = part.blame(part.weights_of(its))
        most = f"most of the time the processor was in {cause}" if cause else "nothing ran"
        took = format_ns(sum_ns(part, its))
        if longest == "handler":
            return cause, f"the interrupt was taken after {took}; {most}"
        if longest == "line" and way.line is not None:
            line = self.named(part, way.line)
            return cause, f"the line's thread {line} did not run for {took}; {most}"
        after = "after its line's thread had the ping" if way.line is not None else "after the ping"
        late = f"did not get to its own code for {took} {after}"
        return cause, f"{who} {_busy(part, its, way.thread_of_it)}{late}; {most}"

    def until_the_fall(self) -> Why:
        """Name the main cause of the time from the rise to the fall."""
        part = self.parts[1]
        cause, why = _own_time(part, range(len(part.whats)), part.thread_at(0))
        return cause, f"{self.named(part, 0)} had raised the line, and {why}"


def _way(part: Segments) -> _ProgramWay | None:
    """Return how the program came to answer at the end of a phase; None: its code did not run."""
    if not part.whats:
        return None
    every = range(len(part.whats))
    answers = part.thread_at(every[-1])
    handler = next((i for i in every if HANDLERS & _bases(part, i)), None)
    line = next((i for i in every[handler or 0 :] if THREADS & _bases(part, i)), None)
    after = every[(handler or 0) if line is None else line :]
    own = (i for i in after if part.whats[i].kind == "program" and part.thread_at(i) == answers)
    runs = next(own, None)
    return None if runs is None else _ProgramWay(handler, line, runs, answers)


def _busy(part: Segments, its: range, thread: int) -> str:
    """Name a program's work when its ping came; empty: it waited for the ping."""
    own = (i for i in its if part.thread_at(i) == thread and not SWITCHES & _bases(part, i))
    errands = (errand(part.stack(int(part.node[i]))) for i in own)
    doing = next((one for one in errands if one == PAGE_FAULT or "system call " in one), "")
    if doing in SLEEPS:
        return f"slept when the ping came ({doing}), and "
    if doing in {"", "system call entry", *WAITS_FOR_PINGS}:
        return ""
    return f"was still at something else when the ping came ({doing}), and "


def _own_time(part: Segments, its: range, thread: int) -> Why:
    """Say what a task did, or what it waited for, when it should only answer."""
    away = [i for i in its if part.thread_at(i) != thread]
    took = format_ns(sum_ns(part, its))
    if 2 * sum_ns(part, away) >= sum_ns(part, its):
        why, gone = _most(part, its, thread)
        cause = part.blame(part.weights_of(gone))
        waited = why.replace(GONE, format_ns(sum_ns(part, gone)))
        return cause, f"{waited}; most of the time the processor was in {cause}"
    here = [i for i in its if part.thread_at(i) == thread]
    most, ns = groups(part, here)[0]
    cause = part.blame(part.weights_of(i for i in here if part.whats[i] == most))
    return cause, f"answered {took} later: {format_ns(ns)} of {most}, most in {cause}"


def _most(part: Segments, its: range, thread: int) -> tuple[str, list[int]]:
    """Return why a task was away for longest, and all segments in which it was away for that."""
    gone: dict[str, list[int]] = defaultdict(list)
    before: list[int] = []
    away: list[int] = []
    for i in (*its, None):
        if i is not None and part.thread_at(i) != thread:
            away.append(i)
            continue
        if away:
            gone[_reason(part, before, away)] += away
            away = []
        if i is not None:
            before.append(i)
    why = max(gone, key=lambda why: sum_ns(part, gone[why]))
    return why, gone[why]


def _reason(part: Segments, before: Sequence[int], away: Sequence[int]) -> str:
    """Say what a task waited for, from its last functions, with ``GONE`` for the time.

    It waited for nothing if the kernel took the processor from it: it could have continued.
    """
    if not before:
        return f"lost the processor for {GONE}"
    last = part.stack(int(part.node[before[-1]]))
    wanted = errand(last)
    if TAKES & {base(name) for name in last}:
        within = " within a page fault" if wanted == PAGE_FAULT else ""
        within = f" within its {wanted}" if wanted.startswith("system call ") else within
        return f"lost the processor for {GONE}{within}"
    reason = _wanted(part, before, away, wanted)
    return f"waited {GONE} {reason}" if reason else f"lost the processor for {GONE}"


def _wanted(part: Segments, before: Sequence[int], away: Sequence[int], wanted: str) -> str:
    """Say what a task waited for in a call; empty: unknown."""
    if wanted == PAGE_FAULT:
        return "for a page of its memory"
    if wanted != FUTEX:
        return f"in its {wanted}" if "system call" in wanted else ""
    since = next(
        (n for n, i in reversed([*enumerate(before)]) if part.whats[i].kind == "program"), 0
    )
    callers = {name.partition(" [")[0] for name in part.stack(int(part.node[before[since]]))}
    inherits = any(INHERITS & _bases(part, i) for i in before[since:])
    python = INTERPRETERS_LOCK & callers
    lock = "for the lock of Python's interpreter" if python else "for a lock of its own"
    if not inherits:
        lock += " without priority inheritance"
    # the owner continues as soon as it gets the processor, and that ends the wait
    owner = next(
        (i for i in reversed(away) if part.task(int(part.node[i])) in part.names.program_tasks),
        None,
    )
    if owner is None:
        return f"{lock} (futex)"
    lent = "" if inherits else ", to whom nobody lent a priority"
    return f"{lock} (futex), which another thread of it had, {part.named(owner)}{lent}"


def _bases(part: Segments, segment: int) -> set[str]:
    return {base(name) for name in part.stack(int(part.node[segment]))}
