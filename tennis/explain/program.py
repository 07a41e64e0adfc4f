"""The way of a ball through a user's own program: the cause of its wait, in a sentence.

The kernel takes the interrupt, wakes the line's thread (drivers/gpio/gpiolib-cdev.c), and that
wakes the program, which answers by a system call.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from tennis.explain.answer import (
    Answer,
    Why,
    answers_again,
    bases,
    began_at,
    entry,
    groups,
    ran,
    sum_ns,
)
from tennis.explain.calls import Calls
from tennis.explain.kinds import What, base, errand
from tennis.explain.segments import Blame, Segments
from tennis.explain.story import Moments
from tennis.explain.thread import LOCKS
from tennis.explain.ways import Lanes, way_to_bottom_half, way_to_program
from tennis.kit.units import format_ns
from tennis.rally.phases import VDSO

# of a line's events: version 2 of the character device, and version 1
HANDLERS = frozenset({"edge_irq_handler", "lineevent_irq_handler"})
THREADS = frozenset({"edge_irq_thread", "lineevent_irq_thread"})
PAGE_FAULT, FUTEX = "page fault", "system call futex"
INHERITS = frozenset({"futex_lock_pi"})  # kernel/futex: who waits lends the owner its priority
# CPython takes its one lock there (Python/ceval_gil.c)
INTERPRETERS_LOCK = frozenset(
    {"PyEval_RestoreThread", "PyEval_AcquireThread", "PyGILState_Ensure", "_Py_HandlePending"}
)
PYTHONS_LOCK = "PyThread_acquire_lock_timed"  # threading.Lock and RLock
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
TRAP = "a priority above its line's thread"
YIELD = "system call sched_yield"
TIMED_OUT = 2**64 - 110  # -ETIMEDOUT
PLAIN = {
    "system call clone": "starting a process or thread",
    "system call clone3": "starting a process or thread",
    "system call execve": "loading another program",
    "system call mmap": "mapping memory",
    "system call munmap": "giving memory back",
    "system call brk": "mapping memory",
}
PLAIN_WAITS = {
    "system call wait4": "for a child process to end",
    "system call waitid": "for a child process to end",
}
PIPES = {
    **dict.fromkeys(("pipe_write", "anon_pipe_write"), ", on a pipe that was full"),
    **dict.fromkeys(("pipe_read", "anon_pipe_read"), ", on a pipe that was empty"),
}
# the C library's functions that wait for a futex which is no mutex
FUTEXES = (
    (re.compile(r"pthread_cond_(?:clock|timed)?wait"), "the condition", "condition"),
    (re.compile(r"sem_(?:clock|timed)?wait"), "the semaphore", "semaphore"),
    (re.compile(r"pthread_(?:clock|timed)?join"), "a thread to end", "join"),
    (re.compile(r"pthread_barrier_wait"), "the barrier", "barrier"),
    (re.compile(r"pthread_rwlock_"), "the rwlock", "rwlock"),
)


# what the kernel does with a line that hears no ping, or raises none (drivers/gpio/gpiolib*.c)
SILENT = {
    "debounce_irq_handler": (
        "it asked for a debounced line, and the kernel drops an edge if the line falls again "
        "within that time, as after a short ping (--pulse-us)"
    ),
    "gpio_set_open_drain_value_commit": (
        "its reply line is an open drain, which is pulled down and never up: nothing raises it here"
    ),
}


@dataclass(frozen=True)
class _Reason:
    """Why a ball was late: in a sentence, by which kind it is counted, and the code."""

    text: str
    kind: str
    cause: Blame | None


@dataclass(frozen=True)
class _Away:
    """Why a task did not run: ``text`` with ``GONE``; ``kind`` is what and where alone."""

    text: str
    kind: str


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
            taken=began_at(first, taken),
            masked_ns=self.masked_ns,
            thread_runs=began_at(first, way.line if way else None),
            top_half=began_at(first, way.runs if way else None),
            bottom_half=None if again is None else (rise or 0) + int(parts[1].began[again]),
            answerer="" if again is None else parts[1].task(int(parts[1].node[again])),
        )

    def until_the_rise(self, *, missed: bool) -> Why:
        """Name the main cause of the time from the ping to the rise."""
        part, way = self.parts[0], self._way
        seen = _unanswered(self.parts) if missed else ""
        # an idle processor has them off, and wakes all the same
        idle_ns = sum_ns(part, [i for i in self.masked if part.whats[i].kind == "idle"])
        if 2 * (self.masked_ns - idle_ns) >= part.ns and not seen:
            self.kind = "interrupts off"
            return self.interrupts_off()
        if way is None:
            cause = part.blame(part.weights)
            why = (
                f"the program did not answer{seen}" if missed else "its way was not recorded whole"
            )
            return cause, f"{why}; most of the time {ran(cause)}"
        return self._late(part, way)

    def _late(self, part: Segments, way: _ProgramWay) -> Why:
        who, begins = self.named(part, way.runs), way.handler or 0
        calls = Calls(self.lanes[0])
        stretches = {
            "handler": range(begins),
            "line": range(begins, way.line or begins),
            "program": range(way.line or begins, way.runs),
            "answer": range(way.runs, len(part.whats)),
        }
        took_ns = {name: sum_ns(part, its) for name, its in stretches.items()}
        longest, second, *_ = sorted(took_ns, key=lambda name: -took_ns[name])
        its, also = stretches[longest], ""
        if longest == "answer":
            own = _own_time(part, its, way.thread_of_it, calls)
            self.kind, ran_ns = own.kind, int(part.began[way.runs])
            return own.cause, f"{who} ran after {format_ns(ran_ns)}, and {own.text}"
        if second == "answer" and 2 * took_ns[second] >= took_ns[longest]:
            own = _own_time(part, stretches[second], way.thread_of_it, calls)
            it = "it" if longest == "program" else who
            also = f"; then {it} {own.text.partition(';')[0]}"
        cause = part.blame(part.weights_of(its))
        most = f"most of the time the processor was in {cause}" if cause else "nothing ran"
        most += _at_priority(part, its, way.thread_of_it, cause)
        took = format_ns(sum_ns(part, its))
        self.kind = f"the {longest}"
        if longest == "handler":
            return cause, f"the interrupt was taken after {took}; {most}"
        if longest == "line" and way.line is not None:
            line = self.named(part, way.line)
            why = (
                f"the line's thread {line} did not run for {took}{self._free(part, its, way.line)}"
            )
            return cause, f"{why}; {most}{also}"
        if lock := _trap(part, its, way.thread_of_it, way.line):
            line = self.named(part, way.line or 0)
            self.kind = f"{TRAP}, of {lock}"
            return cause, (
                f"{who} has a higher priority than its line's thread {line}: woken by it, it "
                "took the processor from it, and then had to wait for a lock that the thread "
                f"still held ({lock}); that took {took} from when "
                "the thread had the ping"
            )
        after = "after its line's thread had the ping" if way.line is not None else "after the ping"
        busy = _busy(part, its, way.thread_of_it, calls)
        self.kind = "asleep" if busy.startswith("slept") else "busy" if busy else "no processor"
        late = f"did not get to its own code for {took} {after}"
        return cause, f"{who} {busy}{late}{self._free(part, its, way.runs)}; {most}{also}"

    def _free(self, part: Segments, its: range, whose: int) -> str:
        """Say which other processor was idle meanwhile, and whether the task may use it."""
        lanes, place = self.lanes[0], part.place(whose)
        began = int(part.began[its.start]) if len(its) else 0
        ended = began + sum_ns(part, its)
        allowed = part.allowed(whose)
        for lane in lanes:
            if lane.processor == place:
                continue
            between = lane.weights_between(began, ended)
            idle = sum(
                ns for (node, off), ns in between.items() if lane.what(node, off).kind == "idle"
            )
            if ended - began and 10 * idle >= 9 * (ended - began):
                bound = f"it is bound to processor {place}, and " * (allowed == 1 << place)
                return f" ({bound}processor {lane.processor} was free)"
        return ""

    def until_the_fall(self) -> Why:
        """Name the main cause of the time from the rise to the fall."""
        part = self.parts[1]
        why = _own_time(part, range(len(part.whats)), part.thread_at(0), Calls(self.lanes[1]))
        self.kind = why.kind
        return why.cause, f"{self.named(part, 0)} had raised the line, and {why.text}"


def _way(part: Segments) -> _ProgramWay | None:
    """Return how the program came to answer at the end of a phase; None: its code did not run."""
    if not part.whats:
        return None
    every = range(len(part.whats))
    answers = part.thread_at(every[-1])
    handler = next((i for i in every if HANDLERS & bases(part, i)), None)
    line = next((i for i in every[handler or 0 :] if THREADS & bases(part, i)), None)
    after = every[(handler or 0) if line is None else line :]
    own = (i for i in after if part.whats[i].kind == "program" and part.thread_at(i) == answers)
    runs = next(own, None)
    return None if runs is None else _ProgramWay(handler, line, runs, answers)


def _busy(part: Segments, its: range, thread: int, calls: Calls) -> str:
    """Name a program's work when its ping came; empty: it waited for the ping."""
    own = [i for i in its if part.thread_at(i) == thread and not SWITCHES & bases(part, i)]
    errands = ((i, errand(part.stack(int(part.node[i])))) for i in own)
    at, doing = next(
        ((i, one) for i, one in errands if one == PAGE_FAULT or "system call " in one), (0, "")
    )
    if doing in {"", "system call entry", *WAITS_FOR_PINGS}:
        return ""
    verb = "touched in" if doing == PAGE_FAULT else "called in"
    where = _in(part.site_near(at), verb)
    if doing in SLEEPS:
        asked = calls.asked(thread, int(part.began[at]), int(part.began[own[-1]]))
        return f"slept when the ping came ({doing}{asked}{where}), and "
    return f"was still at something else when the ping came ({doing}{where}), and "


def _in(site: str, verb: str = "called in") -> str:
    return f", {verb} {site}" if site else ""


def _own_time(part: Segments, its: range, thread: int, calls: Calls) -> _Reason:
    """Say what a task did, or what it waited for, when it should only answer."""
    away = [i for i in its if part.thread_at(i) != thread]
    took = format_ns(sum_ns(part, its))
    if 2 * sum_ns(part, away) >= sum_ns(part, its):
        (first, gone), *others = _most(part, its, thread, calls)
        cause = part.blame(part.weights_of(gone))
        gone_ns = sum_ns(part, gone)
        waited = first.text.replace(GONE, format_ns(gone_ns))
        for other, its_gone in others[:1]:
            if 5 * sum_ns(part, its_gone) >= gone_ns:
                waited += f", and {other.text.replace(GONE, format_ns(sum_ns(part, its_gone)))}"
        if 5 * gone_ns < 4 * sum_ns(part, its):
            most, ns = groups(part, [i for i in its if part.thread_at(i) == thread])[0]
            waited += f"; {format_ns(ns)} were {_plain(most)}" if 5 * ns >= gone_ns else ""
            waited += f"; in all it answered {took} later"
        why = f"{waited}; most of the time the processor was in {cause}"
        return _Reason(why, first.kind, cause)
    here = [i for i in its if part.thread_at(i) == thread]
    most, ns = groups(part, here)[0]
    of_it = [i for i in here if part.whats[i] == most]
    cause = part.blame(part.weights_of(of_it))
    site = _longest_site(part, of_it)
    verb = "touched in" if most.label == PAGE_FAULT else "called in"
    if most.kind == "program":  # its functions are in the cause
        site, verb = site if "(" in site else "", "in"
    where = _in(site, verb)
    what = _plain(most)
    if handler := _signal_handler(part, of_it):
        what += f", in its signal handler {handler}"
    why = f"answered {took} later: {format_ns(ns)} of {what}{where}, most in {cause}"
    return _Reason(why, f"{most.label}{where}", cause)


def _plain(what: What) -> str:
    """Say what a task was at, if it is a system call in words as well."""
    return f"{PLAIN[what.label]} ({what})" if what.label in PLAIN else str(what)


def _at_priority(part: Segments, its: range, thread: int, cause: Blame | None) -> str:
    """Say the priority of another thread or process of the program's that had the processor."""
    if cause is None or cause.what.kind != "program":
        return ""
    others = [i for i in its if part.whats[i] == cause.what and part.thread_at(i) != thread]
    at = max(others, key=lambda i: int(part.length[i]), default=None)
    if at is None or part.priority(at) <= 0:
        return ""
    return f", at {part.names.policy(cause.what.task, part.priority(at))}"


def _longest_site(part: Segments, segments: Sequence[int]) -> str:
    """Return from where in its source a program was longest at some segments."""
    sums: dict[str, int] = defaultdict(int)
    for i in segments:
        own = part.whats[i].kind == "program"
        sums[part.site(i) if own else part.site_near(i)] += int(part.length[i])
    return max(sums, key=lambda site: sums[site])


def _signal_handler(part: Segments, segments: Sequence[int]) -> str:
    """Return the function that the kernel called for a signal; empty: it called none.

    It returns to the vDSO, or to the C library's own way back.
    """
    longest = max(segments, key=lambda i: int(part.length[i]))
    names = [name.partition(" [")[0] for name in part.stack(int(part.node[longest]))]
    back = next((n for n, name in enumerate(names[:-1]) if name in {VDSO, "__restore_rt"}), None)
    return names[back + 1] if back is not None and names[back + 1] != "?" else ""


def _most(part: Segments, its: range, thread: int, calls: Calls) -> list[tuple[_Away, list[int]]]:
    """Return why a task was away, and all segments in which it was away for that; longest first."""
    gone: dict[_Away, list[int]] = defaultdict(list)
    before: list[int] = []
    away: list[int] = []
    for i in (*its, None):
        if i is not None and part.thread_at(i) != thread:
            away.append(i)
            continue
        if away:
            gone[_reason(part, before, away, calls)] += away
            away = []
        if i is not None:
            before.append(i)
    return sorted(gone.items(), key=lambda one: -sum_ns(part, one[1]))


def _reason(  # noqa: PLR0911 (one for each kind)
    part: Segments, before: Sequence[int], away: Sequence[int], calls: Calls
) -> _Away:
    """Say what a task waited for, from what it did last, with ``GONE`` for how long.

    It waited for nothing if the kernel took the processor from it: it could have continued.
    """
    lost = f"lost the processor for {GONE}"
    if not before:
        return _Away(lost, "lost the processor")
    last = part.stack(int(part.node[before[-1]]))
    thread = part.thread_at(before[-1])
    wanted = errand(last)
    if TAKES & {base(name) for name in last}:
        within = " within a page fault" if wanted == PAGE_FAULT else ""
        within = f" within its {wanted}" if wanted.startswith("system call ") else within
        return _Away(lost + within, f"lost the processor{within}")
    where = _in(part.site_near(before[-1]), "touched in" if wanted == PAGE_FAULT else "called in")
    if wanted == PAGE_FAULT:
        return _Away(f"waited {GONE} for a page of its memory{where}", f"a page{where}")
    began, ended = int(part.began[away[0]]), int(part.began[away[-1]] + part.length[away[-1]])
    if wanted in SLEEPS:
        asked = calls.asked(thread, began, ended)
        return _Away(f"slept {GONE} ({wanted}{asked}{where})", f"sleep ({wanted}{where})")
    if wanted == YIELD:
        return _Away(f"gave the processor away for {GONE} ({wanted}{where})", f"{wanted}{where}")
    if wanted == FUTEX:
        return _lock(part, before, away, calls)
    if "system call" not in wanted:
        return _Away(lost, "lost the processor")
    full = next((PIPES[name] for name in map(base, last) if name in PIPES), "")
    what = PLAIN_WAITS.get(wanted, f"in its {wanted}")
    if what != f"in its {wanted}":
        what += f" ({wanted})"
    text = f"waited {GONE} {what}{full}{where}"
    return _Away(text + _children(part, away, wanted), f"{wanted}{full}{where}")


def _children(part: Segments, away: Sequence[int], wanted: str) -> str:
    """Say what the child was at for which a program waits; empty: it waits for none."""
    own = [i for i in away if part.of_program(int(part.node[i]))]
    if wanted not in PLAIN_WAITS or not own:
        return ""
    most, ns = groups(part, own)[0]
    return f", which was at {most} for {format_ns(ns)}"


def _lock(part: Segments, before: Sequence[int], away: Sequence[int], calls: Calls) -> _Away:
    """Say for what of its threads' own a task waited, who had it, and who gave it."""
    since = next(
        (n for n, i in reversed([*enumerate(before)]) if part.whats[i].kind == "program"), 0
    )
    thread = part.thread_at(before[-1])
    callers = {name.partition(" [")[0] for name in part.stack(int(part.node[before[since]]))}
    inherits = any(INHERITS & bases(part, i) for i in before[since:])
    began, ended = int(part.began[away[0]]), int(part.began[away[-1]] + part.length[away[-1]])
    call = calls.of(thread, began, ended)
    name = part.names.object(call.what) if call else ""
    site = part.site_near(before[-1])
    if INTERPRETERS_LOCK & callers:
        what, kind = "the lock of Python's interpreter", "lock"
    elif PYTHONS_LOCK in callers:
        what, kind = "a lock of Python's threading", "lock"
    else:
        what, kind = _futex_kind(callers)
    if kind == "lock" and not inherits:
        what += " without priority inheritance"
    text = f"waited {GONE} for {what} (futex{f' {name}' if name else ''})"
    said = " ".join(filter(None, (kind, name))) + _in(site, "in")
    if call and call.result == TIMED_OUT:
        nobody = f"{text}, which nobody gave it within its time (ETIMEDOUT){_in(site)}"
        return _Away(nobody, f"{said}, timed out")
    giver = calls.giver(call) if call else None
    owner, its = (giver.segment, giver.part) if giver else (None, part)
    if owner is None:  # it goes on as soon as it gets the processor, and that ends the wait
        owner = next((i for i in reversed(away) if part.of_program(int(part.node[i]))), None)
        its = part
    if owner is None:
        return _Away(text + _in(site), said)
    if kind != "lock":
        return _Away(f"{text}{_in(site)}, until {its.named(owner)} ended that", said)
    lent = "" if inherits else ", to whom nobody lent a priority"
    places = f"; wanted in {site}" if site else ""
    if giver and (gave := giver.part.site_of(giver.node)):
        places += f", given back in {gave}"
    if its.processor != part.processor and (kept := _kept(its, owner, began, ended)):
        places += f"; {kept}"
    had = f"which another thread of it had, {its.named(owner)}"
    return _Away(f"{text}, {had}{lent}{places}", said)


def _kept(part: Segments, owner: int, began: int, ended: int) -> str:
    """Say who kept a lock's owner from its processor, if that was a fifth of a wait.

    Else what the owner was at, if that was most of it; else empty.
    """
    weights, thread = part.weights_between(began, ended), part.thread_at(owner)
    own = {key: ns for key, ns in weights.items() if part.thread(key[0]) == thread}
    others = {
        key: ns for key, ns in weights.items() if key not in own and part.what(*key).kind != "idle"
    }
    ns, cause = sum(others.values()), part.blame(others)
    if cause and 5 * ns >= ended - began:
        return (
            f"that one's processor {part.processor} was at others for {format_ns(ns)}, in {cause}"
        )
    most = 2 * sum(own.values()) >= ended - began
    return f"on processor {part.processor} that one was in {part.blame(own)}" if most else ""


def _futex_kind(callers: Collection[str]) -> tuple[str, str]:
    """Return what a wait for a futex is for, and a word for it, by the C library's functions."""
    for pattern, what, kind in FUTEXES:
        if any(pattern.search(name) for name in callers):
            return what, kind
    return "a lock of its own", "lock"


def _trap(part: Segments, its: range, thread: int, line: int | None) -> str:
    """Return for which lock a program waits that its line's thread holds; empty: for none.

    It has the higher priority, takes the processor from the thread that wakes it, and needs what
    that one still has. The kernel lends its priority to the thread then.
    """
    of_program = next((i for i in its if part.thread_at(i) == thread), None)
    if line is None or of_program is None or part.priority(of_program) <= part.priority(line):
        return ""
    lines_thread = part.thread_at(line)
    for i in its:
        names = [base(name) for name in part.stack(int(part.node[i]))]
        place = next((n for n, name in enumerate(names) if name in LOCKS), None)
        if part.thread_at(i) != thread or not place or "schedule_rtlock" not in names:
            continue
        if any(part.thread_at(j) == lines_thread for j in range(i, its.stop)):
            return " < ".join(reversed(names[max(0, place - 2) : place]))
    return ""


def _unanswered(parts: Sequence[Segments]) -> str:
    """Say what kept a program's line from a ping, or its reply from the wire; empty: not seen."""
    every = {name for part in parts for i in range(len(part.whats)) for name in bases(part, i)}
    if why := next((why for function, why in SILENT.items() if function in every), ""):
        return f": {why}"
    part = parts[0]
    own = [i for i in range(len(part.whats)) if part.of_program(int(part.node[i]))]
    if not own or 10 * sum_ns(part, own) < 9 * part.ns or THREADS & every or not HANDLERS & every:
        return ""
    return (
        f": {part.named(own[0])} polls: it waits in no call, has the processor all the time, "
        "and so its line's thread, of a lower priority, never has the ping"
    )
