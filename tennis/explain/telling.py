# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Tell the story of a late ball: who is to blame, in a sentence for each latency."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tennis.errors import BenchError
from tennis.explain import between, stalls
from tennis.explain.between import LockHeld
from tennis.explain.kinds import ANSWERS, What
from tennis.explain.phases import Phase
from tennis.explain.program import ProgramWay, after_the_rise, program_way, until_the_rise
from tennis.explain.segments import Blame, Names, Segments
from tennis.explain.story import Latency, Story
from tennis.explain.thread import HandlerThread, handler_thread
from tennis.explain.ways import Lanes, lanes_of, way_to_bottom_half, way_to_program, way_to_top_half
from tennis.units import format_ns


def tell(  # noqa: PLR0913 (what is known of a ball)
    ball: int,
    served_ns: int,
    edges: tuple[int | None, int | None],
    phases: Sequence[Phase],
    names: Names,
    *,
    about: Latency | None = None,
    home: int = 0,
) -> Story:
    """Return the story of a ball; ``edges``: rise and fall in ns since the ping, None: missed.

    ``phases``: both of every processor. ``about``: the latency to find the cause of; by default the
    longer one. ``home``: the processor that pings shall come to.
    """
    rise, fall = edges
    lanes = lanes_of(phases, names)
    to_first = way_to_program if names.program_tasks else way_to_top_half
    first = to_first(lanes[0], home)
    parts = (first, *(way_to_bottom_half(later, first.processor) for later in lanes[1:]))
    waited = sum(part.ns for part in parts)
    top_half = taken = thread_woken = thread_runs = thread_locks = thread = None
    blocked = range(len(first.whats))
    way = program_way(first) if names.program_tasks and rise is not None else None
    if way:
        top_half = int(first.began[way.runs])
        thread_runs = int(first.began[way.thread]) if way.thread is not None else None
        if way.handler is not None:
            entry = _entry(first, way.handler)
            taken, blocked = int(first.began[entry]), range(entry)
    elif names.program_tasks:
        pass  # it never ran, or was cut off: what ran instead is told
    elif rise is not None:
        own = next((i for i, what in enumerate(first.whats) if what.kind == "racquet"), None)
        if own is None and not first.phase.cut:
            raise BenchError(
                "the functions' names do not fit this rally (the Racquet is not where they say)",
                next_step="remove the folder symbols from tennis' cache, and try again",
            )
        if own is not None:
            thread = handler_thread(first, own)
            entry = _entry(first, thread.woken if thread else own)
            if thread:
                thread_woken = int(first.began[thread.woken])
                thread_runs = int(first.began[thread.runs])
            if thread and thread.lock:
                thread_locks = int(first.began[thread.lock.segments.stop])
            top_half, taken = int(first.began[own]), int(first.began[entry])
            blocked = range(entry)
    bottom_half, answerer, waiting = None, "", range(0)
    if rise is not None and len(parts) > 1:
        second = parts[1]
        begin = _bottom_half(second)
        waiting = range(len(second.whats) if begin is None else begin)
        if begin is not None:
            bottom_half = rise + int(second.began[begin])
            answerer = second.task(int(second.node[begin]))
    late = _Late(
        parts,
        lanes,
        blocked,
        thread,
        names.priorities,
        waiting,
        answerer,
        bottom_half is not None,
        way,
        frozenset(names.program_tasks),
    )
    cause, latency, sentence = _because(ball, waited, edges, late, about)
    return Story(
        ball=ball,
        served_ns=served_ns,
        rise=rise,
        fall=fall,
        waited=waited,
        taken=taken,
        masked_ns=_sum(first, [i for i in blocked if first.masked[i]]),
        thread_woken=thread_woken,
        thread_runs=thread_runs,
        thread_locks=thread_locks,
        top_half=top_half,
        bottom_half=bottom_half,
        answerer=answerer,
        cause=cause,
        latency=latency,
        sentence=sentence + stalls.sentence(parts),
        parts=parts,
        is_program=bool(names.program_tasks),
        lanes=tuple(lanes) if len(lanes[0]) > 1 else (),
    )


def _entry(part: Segments, own: int) -> int:
    """Return the segment with which the exception begins that leads to the Racquet's handler."""
    at = own
    while at > 0 and part.whats[at - 1].kind == "path":
        at -= 1
    vectors = [i for i in range(at, own) if part.stack(int(part.node[i]))[-1:] == ["vectors"]]
    return vectors[-1] if vectors else at


def _bottom_half(part: Segments) -> int | None:
    """Return the first segment of the bottom half: the Racquet again, after something else."""
    other = next((i for i, what in enumerate(part.whats) if what.kind not in ANSWERS), None)
    if other is None:
        return None
    rest = range(other, len(part.whats))
    return next((i for i in rest if part.whats[i].kind in ANSWERS), None)


@dataclass(frozen=True)
class _Late:
    """What a ball waited for; ranges are of segments."""

    parts: Sequence[Segments]
    lanes: Sequence[Lanes]
    blocked: range  # until the interrupt was taken
    thread: HandlerThread | None
    priorities: Mapping[str, str]
    waiting: range  # from the rise until the bottom half begins
    answerer: str
    begun: bool  # the bottom half
    way: ProgramWay | None  # of a program of somebody's own
    program_tasks: frozenset[str]  # of such a program; empty: the Racquet answers

    def task_name(self, task: str) -> str:
        """Return a task with its priority, where that is known."""
        return f"{task} ({self.priorities[task]})" if task in self.priorities else task

    def named_in(self, part: Segments) -> Callable[[int], str]:
        """Return what names the task of a segment: with its priority, and where it was."""
        return lambda i: self.task_name(part.task(int(part.node[i]))) + self.on(part.place(i))

    def on(self, processor: int) -> str:
        """Return where something happened, if there is more than one place."""
        return f" on processor {processor}" if len(self.lanes[0]) > 1 else ""

    def spun(self, part: Segments, segments: Iterable[int]) -> LockHeld | None:
        """Return the longest wait for another processor's lock, if it is most of some segments."""
        its = list(segments)
        held = [
            one
            for one in between.locks(self.lanes[self.parts.index(part)])
            if not one.sleeps and one.holder not in {None, one.waiter}
            if one.waiter in {part.processor, part.woken_by}
        ]
        longest = max(held, key=lambda one: _overlap(part, its, one), default=None)
        if longest and 2 * _overlap(part, its, longest) >= _sum(part, its):
            return longest
        return None

    def slept(self, thread: HandlerThread) -> LockHeld | None:
        """Return the thread's wait for a lock, if a task on another processor held it."""
        lock, part = thread.lock, self.parts[0]
        return next(
            (
                one
                for one in between.locks(self.lanes[0])
                if lock and one.sleeps and one.task == thread.task
                if one.holder not in {None, part.processor}
                if 2 * _overlap(part, lock.segments, one) >= _sum(part, lock.segments)
            ),
            None,
        )


def _overlap(part: Segments, segments: Iterable[int], held: LockHeld) -> int:
    """Return how much of some segments a wait for a lock was, in ns."""
    its = list(segments)
    begins, ends = part.began[its], part.began[its] + part.length[its]
    common = np.minimum(ends, held.ended) - np.maximum(begins, held.began)
    return int(np.clip(common, 0, None).sum())


def _because(
    ball: int,
    waited: int,
    edges: tuple[int | None, int | None],
    late: _Late,
    about: Latency | None,
) -> tuple[Blame | None, Latency, str]:
    """Return the cause, the latency it belongs to, and both in a sentence."""
    rise, fall = edges
    if rise is None:
        head = f"Ball {ball} was missed: the reply did not rise within {format_ns(waited)}"
    elif fall is None:
        head = f"Ball {ball} was missed: the reply did not fall within {format_ns(waited)}"
    elif about:
        ns = rise if about == "interrupt" else fall - rise
        head = f"The {about} latency of ball {ball} was {format_ns(ns)}"
    else:
        head = f"Ball {ball} waited {format_ns(waited)}"
    first, *rest = late.parts
    longer = "interrupt" if not rest or first.ns >= rest[0].ns else "scheduling"
    if rise is None or not rest or (about or longer) == "interrupt":
        cause, why = _interrupt_words(first, late, missed=rise is None)
        return cause, "interrupt", f"{head}: {why}."
    if late.program_tasks:
        cause, why = after_the_rise(rest[0], late.named_in(rest[0]))
    else:
        cause, why = _scheduling_words(rest[0], late)
    return cause, "scheduling", f"{head}: {why}."


def _sum(part: Segments, indices: Iterable[int]) -> int:
    return int(part.length[list(indices)].sum())


def _interrupt_words(part: Segments, late: _Late, *, missed: bool) -> tuple[Blame | None, str]:
    blocked = late.blocked
    masked = [i for i in blocked if part.masked[i]]
    masked_ns = _sum(part, masked)
    if late.program_tasks and 2 * masked_ns < part.ns:
        return until_the_rise(part, late.way, late.named_in(part))
    if missed and 2 * masked_ns < part.ns:
        cause = part.blame(part.weights_of(blocked))
        return cause, f"the interrupt never led to the Racquet; most of the time {_ran(cause)}"
    if 2 * masked_ns < part.ns and late.thread:
        return _thread_words(part, late, late.thread)
    if 2 * masked_ns < part.ns:
        whole = part.blame(part.weights)
        taken = format_ns(_sum(part, blocked))
        why = f"the interrupt was taken after {taken}{late.on(part.woken_by)}"
        return whole, f"{why}; the rest is the way to the handler"
    where = late.on(part.woken_by)
    if held := late.spun(part, masked):
        return held.cause, f"interrupts were off for {format_ns(masked_ns)}{where}; {held}"
    cause = part.blame(part.weights_of(masked))
    why = f"interrupts were off for {format_ns(masked_ns)}{where} in {cause}"
    last = next((i for i in reversed(masked) if part.whats[i].kind == "masked"), None)
    if last is not None and cause and cause.what.kind == "masked":
        why += f"; the last function with interrupts off was {part.stack(int(part.node[last]))[-1]}"
    return cause, why


def _thread_words(part: Segments, late: _Late, thread: HandlerThread) -> tuple[Blame | None, str]:
    """Say why a top half in a thread came late although the interrupt did not."""
    who, lock = late.task_name(thread.task) + late.on(part.processor), thread.lock
    if slept := late.slept(thread):
        return slept.cause, f"{slept}, on processor {slept.waiter}"
    if lock and 2 * _sum(part, lock.segments) >= part.ns:
        its = [i for i in lock.segments if part.task(int(part.node[i])) == lock.owner]
        cause = part.blame(part.weights_of(its or lock.segments))
        held = f"that {late.task_name(lock.owner)} held" if its else "that another task held"
        why = f"{who} waited {format_ns(_sum(part, lock.segments))} for {lock.lock} {held}"
        return cause, f"{why}, most of it in {cause}"
    until = range(thread.woken, thread.own)
    others = [i for i in until if part.task(int(part.node[i])) != thread.task]
    if 2 * _sum(part, others) >= part.ns:
        cause = part.blame(part.weights_of(others))
        why = f"{who} did not get the processor for {format_ns(_sum(part, others))}"
        return cause, f"{why}; most of the time {_ran(cause)}"
    cause = part.blame(part.weights)
    taken = format_ns(_sum(part, late.blocked))
    ran = format_ns(int(part.began[thread.runs]))
    return cause, f"the interrupt was taken after {taken}, and {who} ran after {ran}"


def _ran(cause: Blame | None) -> str:
    return f"the processor was in {cause}" if cause else "nothing ran"


def _scheduling_words(part: Segments, late: _Late) -> tuple[Blame | None, str]:
    waiting, answerer, begun = late.waiting, late.answerer, late.begun
    others = [i for i in waiting if part.whats[i].kind != "racquet"]
    waited_ns = _sum(part, others)
    where = late.on(part.processor)
    if not begun or 2 * waited_ns >= part.ns:
        masked = [i for i in others if part.masked[i]]
        who = f"its bottom half (in {answerer}{where})" if begun else "its bottom half"
        if held := late.spun(part, others):
            return held.cause, f"{who} did not run for {format_ns(waited_ns)}; {held}"
        if 2 * _sum(part, masked) >= waited_ns:
            cause = part.blame(part.weights_of(masked))
            why = f"interrupts were off for {format_ns(_sum(part, masked))}, most in {cause}"
            return cause, f"{who} did not run for {format_ns(waited_ns)}; {why}"
        ran = _groups(part, others)
        busy = ran[0][0]
        cause = part.blame(part.weights_of(i for i in others if part.whats[i] == busy))
        if begun and busy.task == answerer and busy.kind in {"kernel", "masked"}:
            why = (
                f"its bottom half ran in {answerer}{where}, which was at something else before for"
            )
            return cause, f"{why} {format_ns(ran[0][1])}: {cause}"
        meanwhile = " and ".join(
            f"{format_ns(ns)} of {what}" for what, ns in ran[:2] if 10 * ns >= waited_ns
        )
        if cause and cause.what.kind != "user":
            meanwhile += f", most in {cause}"
        return cause, (
            f"{who} did not get the processor for {format_ns(waited_ns)}; meanwhile ran {meanwhile}"
        )
    later = [i for i in range(waiting.stop, len(part.whats)) if part.whats[i].kind != "racquet"]
    cause = part.blame(part.weights_of(later) or part.weights)
    why = f"its bottom half (in {answerer}{where}) began after {format_ns(waited_ns)}"
    return cause, f"{why} and was interrupted for {format_ns(_sum(part, later))}, most in {cause}"


def _groups(part: Segments, indices: Sequence[int]) -> list[tuple[What, int]]:
    sums: dict[What, int] = defaultdict(int)
    for index in indices:
        sums[part.whats[index]] += int(part.length[index])
    return sorted(sums.items(), key=lambda entry: -entry[1])
