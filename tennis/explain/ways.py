"""The way of a ball through several processors: those that it waited for, in order of time.

The interrupt is taken on one processor; the answer may run on another, from its wake-up on.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby

import numpy as np

from tennis.explain.kinds import ANSWERS, IRQ_ENTRY, base
from tennis.explain.segments import Names, Segments
from tennis.rally.phases import WAKES, Phase

Lanes = tuple[Segments, ...]  # one phase, by processor
SETS_LINE = frozenset({"pl061_set_value"})  # of the virtual bench's lines
SWITCHES = frozenset({"__switch_to", "cpu_switch_to"})
LINES = frozenset({"edge_irq_thread", "lineevent_irq_thread"})  # what a line's thread runs
LINE_THREADS = LINES | {"irq_thread"}


def lanes_of(phases: Sequence[Phase], names: Names) -> list[Lanes]:
    """Return the phases that took any time, in order, each by processor."""
    ordered = sorted(phases, key=lambda phase: (phase.phase, phase.processor))
    found = [
        tuple(Segments(one, names) for one in ordered if one.phase == number) for number in (0, 1)
    ]
    timed = [lanes for lanes in found if lanes and lanes[0].ns > 0]
    if names.own_racquet:
        answers = frozenset(filter(None, map(_answering, timed)))
        for part in (part for lanes in timed for part in lanes):
            part.answers = answers
    return timed


def _answering(lanes: Lanes) -> str:
    """Return the module's function that was setting its line when a phase ended; empty: none."""
    last = [(part, int(part.node[-1])) for part in lanes if part.node.size]
    setting = [one for one in last if _sets_line(*one)]
    for part, node in setting or last:
        if own := part.own(node):
            return own[0]
    return ""


def _sets_line(part: Segments, node: int) -> bool:
    return bool(SETS_LINE & part.bases(node))


def invocation(part: Segments) -> tuple[int, str] | None:
    """Return where the last call of a function that answers begins, and its name; None: none."""
    own = [i for i, what in enumerate(part.whats) if what.kind == "racquet"]
    if not own:
        return None
    begins = own[-1]
    thread, handler = part.thread_at(begins), part.answering(int(part.node[begins]))
    for i in reversed(range(begins)):
        node = int(part.node[i])
        # until a switch is through, the stack is still that of the task before
        if part.thread(node) == thread and base(part.leaf(node)) not in SWITCHES:
            if handler not in part.stack(node):
                break
            begins = i
    return begins, handler


def way_to_call(lanes: Lanes, home: int) -> Segments:
    """Return what a ball waited for until a Racquet of somebody's own set its line.

    ``home``: the processor to which pings come, or on which the top half ran.
    """
    calls = {part.processor: invocation(part) for part in lanes}
    runs = max(
        (part for part in lanes if calls[part.processor]),
        key=lambda part: part.began[_last_own(part)],
        default=lanes[home] if home < len(lanes) else lanes[0],
    )
    call = calls[runs.processor]
    if call is None or runs.processor == home:
        return runs
    return _woken_elsewhere(lanes, runs, call[0])


def way_to_top_half(lanes: Lanes, home: int) -> Segments:
    """Return a ball's wait until its top half ran; ``home``: the processor for pings."""
    began = {part.processor: min(_own(part), default=None) for part in lanes}
    runs = min(
        (part for part in lanes if began[part.processor] is not None),
        key=lambda part: part.began[began[part.processor]],
        default=lanes[home] if home < len(lanes) else lanes[0],
    )
    own = began[runs.processor]
    if own is None:
        return runs
    return _woken_elsewhere(lanes, runs, own)


def way_to_program(lanes: Lanes, home: int) -> Segments:
    """Return the segments of a ball's wait until a program raised its line; ``home``: as above.

    Up to three tasks may follow each other, on as many processors: who takes the interrupt, the
    line's thread, the program. If the line's thread woke the one that answers, its way ends there:
    what wakes it later is what it waits for when it should answer.
    """
    runs, own = _answered_last(lanes, home)
    setting = (part for part in lanes if part.node.size and _sets_line(part, int(part.node[-1])))
    if part := next(setting, None):  # another thread may run on, elsewhere
        thread = part.thread_at(-1)
        its = [i for i in _own(part) if part.thread_at(i) == thread]
        runs, own = (part, its[-1]) if its else (runs, own)
    if own is None:
        return runs
    thread = runs.thread_at(own)
    woken = [
        event.at
        for part in lanes
        for event in part.events
        if event.kind == WAKES and event.what == thread
        if LINES & part.bases(event.node)
    ]
    since = (i for i in _own(runs) if runs.thread_at(i) == thread and runs.began[i] >= min(woken))
    return _woken_in_turn(lanes, runs, next(since, own) if woken else own)


def way_to_bottom_half(lanes: Lanes, top_half: int) -> Segments:
    """Return the segments of a ball's wait after its top half ran on processor ``top_half``."""
    runs, own = _answered_last(lanes, top_half)
    if own is None or runs.processor == top_half:
        return runs
    return _woken_elsewhere((lanes[top_half], runs), runs, own)


def woken_thread(part: Segments, segment: int) -> int | None:
    """Return the number of a segment's task; None if it only interrupts a task.

    The task that an interrupt meets is not the one that was woken for what the interrupt does.
    """
    return _thread_of(part, int(part.node[segment]))


def _thread_of(part: Segments, node: int) -> int | None:
    if any(IRQ_ENTRY.fullmatch(name) for name in part.stack(node)):
        return None
    return part.thread(node)


def _own(part: Segments) -> list[int]:
    return [i for i, what in enumerate(part.whats) if what.kind in ANSWERS]


def _last_own(part: Segments) -> int | None:
    return max(_own(part), default=None)


def _answered_last(lanes: Lanes, home: int) -> tuple[Segments, int | None]:
    """Return the processor that answered last, and in which segment; else ``home``, and None."""
    found = [(part, own) for part in lanes if (own := _last_own(part)) is not None]
    last = max(found, key=lambda one: one[0].began[one[1]], default=None)
    return last or (lanes[home] if home < len(lanes) else lanes[0], None)


def _woken_elsewhere(lanes: Sequence[Segments], runs: Segments, own: int) -> Segments:
    """Return the waker's time until it woke the task of segment ``own``, and that task's after."""
    thread, began = woken_thread(runs, own), int(runs.began[own])
    wakes = [
        (event.at, part)
        for part in lanes
        for event in part.events
        if event.kind == WAKES and event.what == thread and event.at <= began
    ]
    at, waker = max(wakes, key=lambda one: one[0], default=(0, runs))
    return runs if waker is runs else _joined(waker, runs, at)


def _woken_in_turn(lanes: Lanes, runs: Segments, own: int) -> Segments:
    """Return the way to the task of segment ``own``, through all that woke each other before.

    The line's thread and the program's threads wait for what wakes them: so the way continues to
    the task that woke them. An interrupt or another task does not wait for the ping, and the way
    begins there.
    """
    every = [(event, part) for part in lanes for event in part.events if event.kind == WAKES]
    wakes: dict[int, list[tuple[int, Segments, int]]] = defaultdict(list)
    for event, part in sorted(every, key=lambda one: one[0].at):
        wakes[event.what].append((event.at, part, event.node))
    way = [(runs, 0)]  # the latest first: a lane, and from when on
    until, node = int(runs.began[own]), int(runs.node[own])
    thread = _thread_of(runs, node)
    while thread is not None:
        while wakes[thread] and wakes[thread][-1][0] >= until:
            wakes[thread].pop()
        if not wakes[thread]:
            break
        until, waker, node = wakes[thread].pop()
        way[-1] = (way[-1][0], until)
        way.append((waker, 0))
        thread = _thread_of(waker, node) if _waits(waker, node) else None
    found, *others = (next(lane) for _, lane in groupby(reversed(way), key=lambda one: one[0]))
    joined = found[0]
    for part, at in others:
        joined = _joined(joined, part, at)
    return joined


def _waits(part: Segments, node: int) -> bool:
    """Tell whether a task waits for its turn in the way of a ping: the line's or the program's."""
    return bool(part.bases(node) & LINE_THREADS) or part.of_program(node)


def _joined(first: Segments, second: Segments, at: int) -> Segments:
    """Return one lane: that of ``first`` until a moment, and from there on that of ``second``."""
    one, other = first.phase, second.phase
    nodes = np.concatenate([one.nodes, other.nodes])
    later = nodes[len(one.nodes) :]
    roots = later["parent"] < 0
    later["function"][roots] += len(one.tasks)
    later["parent"][~roots] += len(one.nodes)
    before, after = one.segments.copy(), other.segments.copy()
    before["ns"] = np.clip(at - first.began, 0, first.length)
    after["ns"] = np.clip(second.began + second.length - at, 0, second.length)
    after["node"] += len(one.nodes)
    segments = np.concatenate([before[before["ns"] > 0], after[after["ns"] > 0]])
    nodes["ns"] = np.bincount(segments["node"], segments["ns"], len(nodes))
    off = segments[(segments["flags"] & 1) != 0]
    nodes["masked_ns"] = np.bincount(off["node"], off["ns"], len(nodes))
    events = np.concatenate([one.events, other.events])
    events["node"][len(one.events) :] += len(one.nodes)
    stalls = np.concatenate([one.stalls, other.stalls])
    of_later = np.arange(len(stalls)) >= len(one.stalls)
    moment = one.began + at
    begins = np.where(of_later, np.maximum(stalls["at"], moment), stalls["at"])
    ends = stalls["at"] + stalls["ns"].astype(np.int64)
    ends = np.where(of_later, ends, np.minimum(ends, moment))
    stalls["node"][of_later] += len(one.nodes)
    stalls["at"], stalls["ns"] = begins, np.clip(ends - begins, 0, None)
    joined = replace(
        other,
        tasks=[*one.tasks, *other.tasks],
        threads=[*one.threads, *other.threads],
        priorities=[*one.priorities, *other.priorities],
        of_program=[*one.of_program, *other.of_program],
        allowed=[*one.allowed, *other.allowed],
        nodes=nodes,
        segments=segments,
        events=events[np.argsort(events["at"], kind="stable")],
        stalls=stalls[stalls["ns"] > 0],
        cut=one.cut + other.cut,
    )
    places = (*first.places, *second.places)
    found = Segments(joined, second.names, woken_by=first.woken_by, places=places)
    found.answers = second.answers
    return found
