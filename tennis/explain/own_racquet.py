"""The way of a ball through a Racquet of somebody's own: what it waited for, in a sentence.

Only how it answers is known: which of its functions was on the stack when the reply rose, and when
it fell. Its other functions are threads, timers and work that may be the reason why it was late.
"""

from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise

from tennis.explain import between
from tennis.explain.answer import Answer, Why, bases, began_at, entry, overlap_ns, ran, sum_ns
from tennis.explain.between import LockHeld
from tennis.explain.kinds import IRQ_ENTRY, SCHEDULER, SOFTIRQ, base
from tennis.explain.segments import Blame, Segments
from tennis.explain.story import Moments
from tennis.explain.thread import LOCKS, SOFTIRQ_LOCK, THREAD, UNLOCKS, WAKES
from tennis.explain.ways import SWITCHES, Lanes, invocation, way_to_call
from tennis.kit.units import format_ns

# there the kernel takes the processor from a task that could go on
_PREEMPTS = frozenset(
    {"preempt_schedule", "preempt_schedule_notrace", "preempt_schedule_common"}
    | {"preempt_schedule_irq", "__cond_resched", "raw_irqentry_exit_cond_resched"}
)


@dataclass(frozen=True)
class _Call:
    """The call of a function that answers; indices of segments."""

    part: Segments
    begins: int
    handler: str
    thread: int | None  # None: it answers in an interrupt or a softirq, in any task

    def is_away(self, segment: int) -> bool:
        """Tell whether somebody else has the processor, or interrupts the call's task."""
        if self.thread is None:
            return self.handler not in self.part.stack(int(self.part.node[segment]))
        node = int(self.part.node[segment])
        is_switch = base(self.part.leaf(node)) in SWITCHES
        return (
            self.part.thread(node) != self.thread
            or is_switch
            or self.part.whats[segment].kind in {"irq", "path", "softirq"}
        )


class OwnAnswer(Answer):
    """A ball that a Racquet of somebody's own answered, or should have."""

    def __init__(self, lanes: list[Lanes], rise: int | None, home: int) -> None:
        first = way_to_call(lanes[0], home)
        parts = (first, *(way_to_call(later, first.processor) for later in lanes[1:]))
        calls = [_call(part) for part in parts]
        self._top = top = calls[0] if rise is not None else None
        woken = None if top is None else _woken(top)
        taken = None if top is None else entry(first, top.begins if woken is None else woken)
        super().__init__(lanes, parts, range(len(first.whats) if taken is None else taken))
        self._bottom = below = calls[1] if rise is not None and len(calls) > 1 else None
        runs = None if top is None or woken is None else _runs(top, woken)
        self.moments = Moments(
            taken=began_at(first, taken),
            masked_ns=self.masked_ns,
            thread_woken=began_at(first, woken),
            thread_runs=began_at(first, runs),
            top_half=began_at(first, top.begins if top else None),
            bottom_half=(rise or 0) + int(below.part.began[below.begins])
            if below and below.begins
            else None,
            answerer=below.part.task(int(below.part.node[-1])) if below else "",
        )

    def until_the_rise(self, *, missed: bool) -> Why:
        """Say what took most of the time from the ping to the rise."""
        part, top = self.parts[0], self._top
        if self.is_masked:
            return self.interrupts_off()
        if missed or top is None:
            cause = part.blame(part.weights)
            return cause, f"it did not raise its line; most of the time {ran(cause)}"
        return self._longest(top, self.blocked)

    def until_the_fall(self) -> Why:
        """Say what took most of the time from the rise to the fall."""
        part, below = self.parts[1], self._bottom
        if below is None:
            cause = part.blame(part.weights)
            return cause, f"it did not lower its line; most of the time {ran(cause)}"
        return self._longest(below, range(0))

    def _who(self, call: _Call) -> str:
        """Return the function that answers, and the task in which it ran."""
        name = call.handler.partition(" [")[0]
        if call.thread is None:
            return name + self.on(call.part.processor)
        return f"{name} in {self.named(call.part, len(call.part.whats) - 1)}"

    def _longest(self, call: _Call, blocked: range) -> Why:
        """Say which way of being late took longest."""
        part = call.part
        found = _reasons(call, blocked)
        reason = max(found, key=lambda name: sum_ns(part, found[name]))
        its = found[reason]
        cause = part.blame(part.weights_of(its))
        if held := self._held(call, its):
            return held.cause, self._waited(call, held)
        if held := self.spun(part, its):
            return held.cause, self._waited(call, held)
        if reason == "before":
            return self._behind(call, its)
        return cause, self._words(call, reason, its, cause)

    def _words(self, call: _Call, reason: str, its: list[int], cause: Blame | None) -> str:
        """Say what a reason means for the ball."""
        part, took = call.part, format_ns(sum_ns(call.part, its))
        match reason:
            case "blocked":
                why = f"the interrupt was taken after {took}"
            case "own":
                return f"{self._who(call)}: its own code took {took}, most in {_said(cause)}"
            case "slept":
                why = f"{self._who(call)} slept for {took}, {_place(call, _before(call, its))}"
            case "lock":
                owner = next((i for i in reversed(its) if bases(part, i) & UNLOCKS), None)
                held_by = "" if owner is None else f" that {self.named(part, owner)} held"
                why = f"{self._who(call)} waited {took} for {_lock_name(call, its)}{held_by}"
            case _:
                why = f"{self._who(call)} did not get the processor for {took}"
        return f"{why}; most of the time the processor was in {_said(cause)}" if cause else why

    def _behind(self, call: _Call, its: list[int]) -> Why:
        """Say what the answer's task was at before: it computed, or slept."""
        part, name = call.part, call.handler.partition(" [")[0]
        first = f"{name} ran in {self.named(part, call.begins)}, which first"
        own = [i for i in its if not call.is_away(i)]
        cause, slept_ns = part.blame(part.weights_of(own)), sum_ns(part, its) - sum_ns(part, own)
        if 2 * slept_ns < sum_ns(part, its):
            return cause, f"{first} went on for {format_ns(sum_ns(part, its))} with {_said(cause)}"
        # its stack is the same before and after: take the one next to the longest gap
        pairs = list(pairwise(own)) or [(own[0], own[0])]
        asleep = max(pairs, key=lambda pair: part.began[pair[1]] - part.began[pair[0]])[0]
        return cause, f"{first} slept for {format_ns(slept_ns)}, {_place(call, asleep)}"

    def _held(self, call: _Call, its: list[int]) -> LockHeld | None:
        """Return the wait for a lock that most of some segments were."""
        lanes = self.lanes[self.parts.index(call.part)]
        mine = [one for one in between.locks(lanes) if one.thread == call.thread and one.sleeps]
        longest = max(mine, key=lambda one: overlap_ns(call.part, its, one), default=None)
        if longest is None or longest.holder is None:
            return None
        most = 2 * overlap_ns(call.part, its, longest) >= sum_ns(call.part, its)
        return longest if most else None

    def _waited(self, call: _Call, held: LockHeld) -> str:
        """Say which lock it was, who had it, and what that was at."""
        lock = held.lock or "a lock"
        if SOFTIRQ_LOCK in held.wanted:
            lock = "the softirq lock"
        elif held.wanted:
            lock += f", wanted in {held.wanted},"
        owner = held.owner + (f" on processor {held.holder}" if len(self.lanes[0]) > 1 else "")
        why = f"{self._who(call)} waited {format_ns(held.ns)} for {lock} that {owner} held"
        if held.cause is None:
            return why
        if held.cause.what.kind in {"irq", "path", "softirq"}:
            return f"{why}, which was interrupted: most of the time in {_said(held.cause)}"
        if held.cause.what.task != held.owner:
            why += ", which did not have the processor"
            return f"{why}: most of the time in {_said(held.cause)}"
        return f"{why}, most of it in {_said(held.cause)}"


def _call(part: Segments) -> _Call | None:
    found = invocation(part)
    if found is None:
        return None
    begins, handler = found
    names = part.stack(int(part.node[begins]))
    until = names[: names.index(handler)] if handler in names else names
    interrupts = any(IRQ_ENTRY.fullmatch(name) or base(name) in SOFTIRQ for name in until)
    return _Call(part, begins, handler, None if interrupts else part.thread_at(begins))


def _woken(call: _Call) -> int | None:
    """Return where the hard interrupt wakes the handler's thread; None: it has none."""
    part = call.part
    if call.thread is None or THREAD not in bases(part, call.begins):
        return None
    return next((i for i in range(call.begins + 1) if WAKES in bases(part, i)), 0)


def _runs(call: _Call, woken: int) -> int:
    every = range(woken, call.begins + 1)
    return next(i for i in every if call.part.thread_at(i) == call.thread)


def _reasons(call: _Call, blocked: range) -> dict[str, list[int]]:
    """Sort a wait's segments by the reason why the answer did not come meanwhile."""
    part = call.part
    found: dict[str, list[int]] = defaultdict(list)
    left = "away"  # why the call's task does not have the processor
    for i in range(len(part.whats)):
        answers = part.whats[i].kind == "racquet"
        if i in blocked:
            found["blocked"].append(i)
        elif call.is_away(i):
            found["own" if answers else left].append(i)
        elif i >= call.begins or answers:
            found["own"].append(i)
            left = _left(part, i)
        else:
            here = _left(part, i)
            left = here if here == "lock" or (here == "slept" and _own(part, i)) else "away"
            if left == "slept":
                left = "before"
            found["before" if _own(part, i) else "away"].append(i)
    return found


def _left(part: Segments, segment: int) -> str:
    """Return why a task leaves the processor, if it does so in a segment."""
    names = bases(part, segment)
    if names & LOCKS:
        return "lock"
    return "slept" if names & SCHEDULER and not names & _PREEMPTS else "away"


def _own(part: Segments, segment: int) -> bool:
    """Tell whether a function of the module is on the stack."""
    return any(part.names.is_racquet(f) for f in part.path(int(part.node[segment])))


def _before(call: _Call, its: list[int]) -> int | None:
    """Return where the call's task last ran before some segments."""
    return next((i for i in reversed(range(its[0])) if not call.is_away(i)), None)


def _place(call: _Call, segment: int | None) -> str:
    """Say which call of the module's a task is in, and on which line."""
    names = [] if segment is None else call.part.shown_stack(int(call.part.node[segment]))
    at = max((i for i, name in enumerate(names) if "(" in name or "[racquet" in name), default=None)
    if at is None:
        return "nobody knows where"
    called = f"in {names[at + 1]}, called from " if at + 1 < len(names) else "in "
    return called + names[at]


def _lock_name(call: _Call, its: list[int]) -> str:
    """Describe a lock without a known owner: the code that wanted it."""
    last = _before(call, its)
    names = [] if last is None else call.part.shown_stack(int(call.part.node[last]))
    if SOFTIRQ_LOCK in {base(name) for name in names}:
        return "the softirq lock"
    own = [name for name in names if "(" in name or "[racquet" in name]
    return f"a lock, wanted in {own[-1]}," if own else "a lock"


def _said(cause: Blame | None) -> str:
    """Say where a time was spent: if in the module, in which function of it, on which line."""
    if cause is None or not any(cause.lines):
        return str(cause)
    return f"{cause.short} (process {cause.what.task})"
