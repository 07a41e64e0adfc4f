"""The way of a ball to the Racquet and through it: what it waited for, in a sentence."""

from tennis.explain import between
from tennis.explain.answer import Answer, Why, answers_again, entry, groups, overlap_ns, ran, sum_ns
from tennis.explain.between import LockHeld
from tennis.explain.segments import Segments
from tennis.explain.story import Moments
from tennis.explain.thread import HandlerThread, handler_thread
from tennis.explain.ways import Lanes, way_to_bottom_half, way_to_top_half
from tennis.kit.errors import BenchError
from tennis.kit.units import format_ns


class RacquetAnswer(Answer):
    """A ball that the Racquet answered, or should have."""

    def __init__(self, lanes: list[Lanes], rise: int | None, home: int) -> None:
        first = way_to_top_half(lanes[0], home)
        parts = (first, *(way_to_bottom_half(later, first.processor) for later in lanes[1:]))
        own = _handler(first) if rise is not None else None
        self._thread = thread = None if own is None else handler_thread(first, own)
        woken = own if thread is None else thread.woken
        taken = None if woken is None else entry(first, woken)
        super().__init__(lanes, parts, range(len(first.whats) if taken is None else taken))
        begin = answers_again(parts[1]) if rise is not None and len(parts) > 1 else None
        self._begun = begin
        bottom_half = None if begin is None else (rise or 0) + int(parts[1].began[begin])
        lock = thread.lock if thread else None
        self.moments = Moments(
            taken=_began(first, taken),
            masked_ns=self.masked_ns,
            thread_woken=_began(first, thread.woken if thread else None),
            thread_runs=_began(first, thread.runs if thread else None),
            thread_locks=_began(first, lock.segments.stop if lock else None),
            top_half=_began(first, own),
            bottom_half=bottom_half,
            answerer="" if begin is None else parts[1].task(int(parts[1].node[begin])),
        )

    def until_the_rise(self, *, missed: bool) -> Why:
        """Say why the top half came late."""
        part = self.parts[0]
        if self.is_masked:
            return self.interrupts_off()
        if missed:
            cause = part.blame(part.weights_of(self.blocked))
            return cause, f"the interrupt never led to the Racquet; most of the time {ran(cause)}"
        if self._thread:
            return self._thread_late(part, self._thread)
        taken = format_ns(sum_ns(part, self.blocked))
        why = f"the interrupt was taken after {taken}{self.on(part.woken_by)}"
        return part.blame(part.weights), f"{why}; the rest is the way to the handler"

    def _thread_late(self, part: Segments, thread: HandlerThread) -> Why:
        """Say why a top half in a thread came late although the interrupt did not."""
        who, lock = part.named(thread.own) + self.on(part.processor), thread.lock
        if slept := self._slept(part, thread):
            return slept.cause, f"{slept}, on processor {slept.waiter}"
        if lock and 2 * sum_ns(part, lock.segments) >= part.ns:
            its, held = list(lock.segments), "that another task held"
            if lock.owner is not None:
                owner = part.thread_at(lock.owner)
                its = [i for i in its if part.thread_at(i) == owner]
                held = f"that {part.named(lock.owner)} held"
            cause = part.blame(part.weights_of(its))
            why = f"{who} waited {format_ns(sum_ns(part, lock.segments))} for {lock.lock} {held}"
            return cause, f"{why}, most of it in {cause}"
        until = range(thread.woken, thread.own)
        others = [i for i in until if part.thread_at(i) != thread.thread]
        if 2 * sum_ns(part, others) >= part.ns:
            cause = part.blame(part.weights_of(others))
            why = f"{who} did not get the processor for {format_ns(sum_ns(part, others))}"
            return cause, f"{why}; most of the time {ran(cause)}"
        taken = format_ns(sum_ns(part, self.blocked))
        runs = format_ns(int(part.began[thread.runs]))
        why = f"the interrupt was taken after {taken}, and {who} ran after {runs}"
        return part.blame(part.weights), why

    def _slept(self, part: Segments, thread: HandlerThread) -> LockHeld | None:
        """Return the thread's wait for a lock, if a task on another processor held it."""
        lock = thread.lock
        return next(
            (
                one
                for one in between.locks(self.lanes[0])
                if lock and one.sleeps and one.thread == thread.thread
                if one.holder not in {None, part.processor}
                if 2 * overlap_ns(part, lock.segments, one) >= sum_ns(part, lock.segments)
            ),
            None,
        )

    def until_the_fall(self) -> Why:
        """Say why the bottom half came late."""
        part, begin = self.parts[1], self._begun
        waiting = range(len(part.whats) if begin is None else begin)
        others = [i for i in waiting if part.whats[i].kind != "racquet"]
        waited_ns = sum_ns(part, others)
        where = self.on(part.processor)
        whose = "" if begin is None else f" (in {self.moments.answerer}{where})"
        who = f"its bottom half{whose}"
        if begin is not None and 2 * waited_ns < part.ns:
            rest = range(begin, len(part.whats))
            later = [i for i in rest if part.whats[i].kind != "racquet"]
            cause = part.blame(part.weights_of(later) or part.weights)
            interrupted = format_ns(sum_ns(part, later))
            why = f"{who} began after {format_ns(waited_ns)} and was interrupted for {interrupted}"
            return cause, f"{why}, most in {cause}"
        if held := self.spun(part, others):
            return held.cause, f"{who} did not run for {format_ns(waited_ns)}; {held}"
        masked = [i for i in others if part.masked[i]]
        if 2 * sum_ns(part, masked) >= waited_ns:
            cause = part.blame(part.weights_of(masked))
            why = f"interrupts were off for {format_ns(sum_ns(part, masked))}, most in {cause}"
            return cause, f"{who} did not run for {format_ns(waited_ns)}; {why}"
        longest = groups(part, others)
        busy, busy_ns = longest[0]
        its = [i for i in others if part.whats[i] == busy]
        cause = part.blame(part.weights_of(its))
        if begin is not None and busy.kind in {"kernel", "masked"}:
            answering = part.thread_at(begin)
            if all(part.thread_at(i) == answering for i in its):
                before = f"which was at something else before for {format_ns(busy_ns)}: {cause}"
                return cause, f"its bottom half ran in {self.moments.answerer}{where}, {before}"
        meanwhile = " and ".join(
            f"{format_ns(ns)} of {what}" for what, ns in longest[:2] if 10 * ns >= waited_ns
        )
        if cause and cause.what.kind != "user":
            meanwhile += f", most in {cause}"
        why = f"{who} did not get the processor for {format_ns(waited_ns)}"
        return cause, f"{why}; meanwhile ran {meanwhile}"


def _handler(part: Segments) -> int | None:
    """Return the segment in which the top half begins; None: it was cut off. Raises BenchError."""
    own = next((i for i, what in enumerate(part.whats) if what.kind == "racquet"), None)
    if own is None and not part.phase.cut:
        raise BenchError(
            "the functions' names do not fit this rally (the Racquet is not where they say)",
            next_step="remove the folder symbols from tennis' cache, and try again",
        )
    return own


def _began(part: Segments, segment: int | None) -> int | None:
    """Return when a segment began; the one behind the last began at the end."""
    return None if segment is None else int(part.began[segment])
