# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""When one recorded run would have let a more urgent thread run.

A kernel that preempts itself (PREEMPT_RT, and Linux 7 with lazy preemption) lets it run as soon as
preempt_count is 0 and interrupts are on. Another kernel asks only in some functions
(``__cond_resched``), and where it goes back to user space. Both let it run where a task gives way.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tennis.explain.sections.records import (
    BOTTOM,
    BY_RETURN_TO_USER,
    CHANCE,
    PREEMPT,
    SCHEDULES,
    TASK,
    VECTOR,
)
from tennis.explain.sections.run import NEVER, Run, Times, timed_records

THREAD_NAME = re.compile(r"irq/\d+-racquet")
FROM_USER = (VECTOR + 0x400, VECTOR + 0x480)  # vectors: an exception, an interrupt
ENABLES, OFFERS, RETURNS, GIVES_WAY = range(4)  # kinds of chances
KINDS = (
    "until it can be preempted",
    "until the kernel asks",
    "until the return to user space",
    "until the task gives way",
)


@dataclass(frozen=True)
class Thread:
    """A thread that answers. ``forced``: by the kernel, so it takes the lock of bottom halves.

    ``priority`` as in task_struct: less is more urgent.
    """

    name: str
    priority: int
    forced: bool


@dataclass(frozen=True)
class Switching:
    """Chances for a thread to run, and who stands in its way; arrays ordered by time.

    Chance i ends a *wait* that began at ``began[i]``: between them the thread cannot run.
    ``place``, ``caller`` and ``how`` say where in the code the chance is, ``began_place``,
    ``began_caller`` and ``began_how`` where the wait began.
    """

    thread: Thread
    preempts: bool  # the kernel preempts itself
    chance: Times
    kind: NDArray[np.int8]  # of KINDS
    place: NDArray[np.int32]
    caller: NDArray[np.int32]
    how: NDArray[np.uint16]
    began: Times
    began_place: NDArray[np.int32]
    began_caller: NDArray[np.int32]
    began_how: NDArray[np.uint16]
    # from a time on, until the next; the first is before the record began
    counted: Times
    held: NDArray[np.bool_]  # preempt_count is not 0
    switched: Times
    urgent: NDArray[np.bool_]  # the task goes before the thread
    bottom: Times
    bottom_held: NDArray[np.bool_]  # somebody else holds bottom halves

    def can_preempt(self, at: Times) -> NDArray[np.bool_]:
        """Return whether the kernel could be preempted at some times."""
        return ~_in_force(self.counted, self.held, at) & self.preempts

    def goes_before(self, at: Times) -> NDArray[np.bool_]:
        """Return whether the task that runs at some times goes before the thread."""
        return _in_force(self.switched, self.urgent, at)

    def next_chance(self, at: Times) -> Times:
        """Return the index of the first chance behind some times; their number: none."""
        found: Times = np.searchsorted(self.chance, at, "right")
        return found

    def bottom_free(self, at: Times) -> Times:
        """Return from when on nobody else holds bottom halves; NEVER: not seen."""
        held = _in_force(self.bottom, self.bottom_held, at)
        let_go = self.bottom[~self.bottom_held]
        later = np.append(let_go, NEVER)[np.searchsorted(let_go, at, "right")]
        return np.where(held, later, at)


def _in_force(since: Times, what: NDArray[np.bool_], at: Times) -> NDArray[np.bool_]:
    """Return what was in force at some times; ``since[0]`` is before all of them."""
    found: NDArray[np.bool_] = what[np.searchsorted(since, at, "right") - 1]
    return found


def _with_first(
    since: Times, what: NDArray[np.bool_], first: bool
) -> tuple[Times, NDArray[np.bool_]]:
    return np.concatenate([[-NEVER], since]), np.concatenate([[first], what])


class _Places:
    """Where something is in the code, of one record each."""

    def __init__(self, place: NDArray[Any], caller: NDArray[Any], how: NDArray[Any]) -> None:
        self.place, self.caller, self.how = place, caller, how

    @classmethod
    def of(cls, table: NDArray[Any]) -> "_Places":
        return cls(table["place"], table["caller"], np.zeros(len(table), np.uint16))

    @classmethod
    def alike(cls, length: int, how: int) -> "_Places":
        nowhere = np.zeros(length, np.int32)
        return cls(nowhere, nowhere, np.full(length, how, np.uint16))

    @classmethod
    def joined(cls, parts: Sequence["_Places"]) -> "_Places":
        columns = zip(*((p.place, p.caller, p.how) for p in parts), strict=True)
        return cls(*(np.concatenate(column) for column in columns))

    def __getitem__(self, index: NDArray[Any]) -> "_Places":
        return _Places(self.place[index], self.caller[index], self.how[index])


def find_thread(records: NDArray[Any], run: Run, *, forced: bool) -> Thread | None:
    """Return the thread of the Racquet's top half; None: it never ran in this record."""
    own = [n for n, name in enumerate(run.tasks) if THREAD_NAME.fullmatch(name)]
    if not own:
        return None
    return Thread(run.tasks[own[0]], int(_Record(records, run).priority[own[0]]), forced)


class _Record:
    """What is of use here in the records of a run."""

    def __init__(self, records: NDArray[Any], run: Run) -> None:
        self._records, self._clock = timed_records(records, run.instruction_ns)
        self.run = run
        self.counts, counted = self.of(PREEMPT)
        raised = self.counts["value"] != 0
        # only changes are recorded, so before the first it was the other way
        self.counted, self.held = _with_first(counted, raised, not raised[:1].any())
        tasks, self.switched = self.of(TASK)
        self.priority: Times = tasks["priority"].astype(np.int16).astype(np.int64)

    def of(self, kind: int) -> tuple[NDArray[Any], Times]:
        """Return all records of a kind, and when they came."""
        some = self._records[self._records["kind"] == kind]
        return some, self._clock.at(some["count"].astype(np.int64))

    def sections(self, index: NDArray[Any]) -> _Places:
        """Return where some masked stretches ended."""
        run = self.run
        return _Places(run.place, run.caller, run.how)[index]

    def not_masked(self, at: Times) -> NDArray[np.bool_]:
        section = np.searchsorted(self.run.begin, at, "right") - 1
        return (section < 0) | (at >= self.run.end[np.maximum(section, 0)])


def switching_of(records: NDArray[Any], run: Run, thread: Thread, *, preempts: bool) -> Switching:
    """Return the chances of a thread; ``records`` are those of ``run``.

    ``preempts``: the kernel preempts itself.
    """
    record = _Record(records, run)
    own = np.array([name == thread.name for name in run.tasks], bool)
    urgent = (record.priority <= thread.priority) & ~own
    chance, kind, place = _chances(record, own, preempts=preempts)
    switched, not_others = _with_first(record.switched, urgent | own, False)
    free = ~_in_force(switched, not_others, chance)
    chance, kind, place = chance[free], kind[free], place[free]
    began, began_place = _begins(record, chance, place, preempts=preempts)
    bottom, bottom_held = _bottom_halves(record, own)
    return Switching(
        thread=thread,
        preempts=preempts,
        chance=chance,
        kind=kind,
        place=place.place,
        caller=place.caller,
        how=place.how,
        began=began,
        began_place=began_place.place,
        began_caller=began_place.caller,
        began_how=began_place.how,
        counted=record.counted,
        held=record.held,
        switched=switched,
        urgent=_with_first(record.switched, urgent, False)[1],
        bottom=bottom,
        bottom_held=bottom_held,
    )


def _chances(
    record: _Record, own: NDArray[np.bool_], *, preempts: bool
) -> tuple[Times, NDArray[np.int8], _Places]:
    """Return all chances in their order, whoever runs: when, of which kind, and where."""
    run, gives = record.run, record.switched[~own]
    exits = np.flatnonzero(run.how == BY_RETURN_TO_USER)
    # where a task gives way to another, the thread could have run instead
    found = [
        (GIVES_WAY, gives, _Places.alike(len(gives), SCHEDULES)),
        (RETURNS, run.end[exits], record.sections(exits)),
    ]
    if preempts:
        free = ~record.held[1:] & record.not_masked(record.counted[1:])
        left = np.flatnonzero(run.entered & (run.how != BY_RETURN_TO_USER))
        left = left[~_in_force(record.counted, record.held, run.end[left])]
        found.append((ENABLES, record.counted[1:][free], _Places.of(record.counts[free])))
        found.append((ENABLES, run.end[left], record.sections(left)))
    else:
        offers, offered = record.of(CHANCE)
        found.append((OFFERS, offered, _Places.of(offers)))
    at = np.concatenate([one[1] for one in found])
    order = np.argsort(at, kind="stable")
    kind = np.concatenate([np.full(len(one[1]), one[0], np.int8) for one in found])
    return at[order], kind[order], _Places.joined([one[2] for one in found])[order]


def _begins(
    record: _Record, chance: Times, place: _Places, *, preempts: bool
) -> tuple[Times, _Places]:
    """Return where the wait that each chance ends began.

    That is where preempt_count was raised last, or, on a kernel that does not preempt itself, the
    chance before; or where the kernel was entered, if that is later.
    """
    run = record.run
    entered = np.flatnonzero(np.isin(run.began_how, FROM_USER))
    entry = _Places(run.began_place, run.began_caller, run.began_how)[entered]
    at, where = chance, place
    if preempts:
        raised = record.held[1:]
        at, where = record.counted[1:][raised], _Places.of(record.counts[raised])
    at, where = np.concatenate([run.begin[entered], at]), _Places.joined([entry, where])
    order = np.argsort(at, kind="stable")
    index = order[np.maximum(np.searchsorted(at[order], chance, "left") - 1, 0)]
    return np.minimum(at[index], chance), where[index]


def _bottom_halves(record: _Record, own: NDArray[np.bool_]) -> tuple[Times, NDArray[np.bool_]]:
    """Return from when on another task than the thread holds bottom halves, and whether."""
    asked, at = record.of(BOTTOM)
    others = ~_in_force(*_with_first(record.switched, own, False), at)
    change = np.where(asked["how"] == 1, 1, -1) * asked["value"].astype(np.int64)
    total = np.cumsum(change[others])
    # what was held before the record began is let go in it
    before = -min(0, int(total.min(initial=0)))
    return _with_first(at[others], total + before > 0, before > 0)
