"""A top half that runs in a thread: when it was woken, when it ran, which lock it waited for.

PREEMPT_RT puts an interrupt's handler into a thread (Documentation/core-api/real-time/). The hard
interrupt only wakes the thread, and the thread disables bottom halves around the handler, for which
it takes the processor's softirq lock: so it waits for the owner of that lock. A thread that the
driver asked for is woken in the same way, and takes no such lock.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from tennis.explain.kinds import base
from tennis.explain.segments import Segments

WAKES = "__irq_wake_thread"
THREAD = "irq_thread"
CONTROLLER = "pl061_irq_handler"  # of the virtual bench's lines
LOCKS = {
    *("rt_spin_lock", "rtlock_slowlock", "rtlock_slowlock_locked", "rt_mutex_slowlock"),
    *("__mutex_lock", "__down", "rwsem_down_read_slowpath", "rwsem_down_write_slowpath"),
}
UNLOCKS = {"rt_mutex_slowunlock", "__mutex_unlock_slowpath", "__up", "rwsem_wake"}
SOFTIRQ_LOCK = "__local_bh_disable_ip"


@dataclass(frozen=True)
class _LockWait:
    """A wait for a lock that another task held; indices of segments."""

    segments: range
    lock: str
    owner: int | None  # the segment in which it unlocks; None: nobody did


@dataclass(frozen=True)
class HandlerThread:
    """The thread of a top half: indices of segments, in the order in which things happened."""

    thread: int  # its number
    woken: int  # the hard interrupt wakes it
    runs: int
    own: int  # the Racquet's handler begins
    lock: _LockWait | None


def handler_thread(part: Segments, own: int) -> HandlerThread | None:
    """Return how the handler at segment ``own`` was reached; None: not through a thread."""
    if THREAD not in _bases(part, own):
        return None
    thread = part.thread_at(own)
    woken = [i for i in range(own) if WAKES in _bases(part, i)]
    of_the_line = [i for i in woken if CONTROLLER in _bases(part, i)]
    first = next(iter(of_the_line or woken), 0)
    runs = next(i for i in range(first, own + 1) if part.thread_at(i) == thread)
    return HandlerThread(thread, first, runs, own, _lock_wait(part, thread, range(runs, own)))


def _lock_wait(part: Segments, thread: int, segments: range) -> _LockWait | None:
    """Return the longest wait for a lock: the thread is in its slow path, and others run."""
    longest: _LockWait | None = None
    at = segments.start
    while at < segments.stop:
        if part.thread_at(at) == thread:
            at += 1
            continue
        end = at
        while end < segments.stop and part.thread_at(end) != thread:
            end += 1
        awaited = _awaited_lock(part, range(segments.start, at), thread)
        gap = range(at, end)
        if awaited and (longest is None or _ns(part, gap) > _ns(part, longest.segments)):
            owner = next((i for i in reversed(gap) if UNLOCKS & {*_bases(part, i)}), None)
            longest = _LockWait(gap, awaited, owner)
        at = end
    return longest


def _awaited_lock(part: Segments, before: range, thread: int) -> str:
    """Return which lock the task wanted when it last ran; empty: it wanted none."""
    at = next((i for i in reversed(before) if part.thread_at(i) == thread), None)
    names = _bases(part, at) if at is not None else []
    place = next((i for i, name in enumerate(names) if name in LOCKS), None)
    if not place:
        return ""
    return "the softirq lock" if SOFTIRQ_LOCK in names else f"a lock of {names[place - 1]}"


def _bases(part: Segments, segment: int) -> list[str]:
    return [base(name) for name in part.stack(int(part.node[segment]))]


def _ns(part: Segments, segments: Sequence[int]) -> int:
    return int(part.length[list(segments)].sum())
