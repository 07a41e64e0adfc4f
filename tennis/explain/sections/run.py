# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""What one recorded run did, in ns of virtual time."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tennis.errors import BenchError
from tennis.explain.sections.records import (
    BY_RETURN_TO_USER,
    IDLE,
    IRQ_VECTORS,
    READ,
    SLEEP,
    STRETCH,
    TASK,
    TIMER,
    TIMER_CTL,
    TIMER_CVAL,
    TIMER_TVAL,
    WAKE,
    Clock,
)

Times = NDArray[np.int64]
# where an interrupt finds the processor: how long it takes from there to the handler
WHERE = ("user space", "kernel", "softirq", "idle task", "idle task's softirq", "ksoftirqd")
USER, KERNEL, SOFTIRQ, IDLE_TASK, IDLE_SOFTIRQ, THREAD_SOFTIRQ = range(len(WHERE))
SERVES_SOFTIRQ = 1 << 8  # of preempt_count: SOFTIRQ_OFFSET
KSOFTIRQD = "ksoftirqd/"  # serves them on a thread's stack, from which an interrupt's way is longer
TIMER_TICK_NS = 16  # of the guest's: 62.5 MHz
NEVER = np.iinfo(np.int64).max


@dataclass(frozen=True)
class Run:
    """Masked stretches, reads of the interrupt controller, sleeps, deadlines and tasks.

    Arrays of one kind have the same length, and are ordered by time. In stretch i interrupts were
    masked in [begin[i], end[i]); ``where`` says where an interrupt finds the processor behind it.
    A read's time is behind it: an interrupt that is pending before is seen.
    """

    instruction_ns: int
    begin: Times
    end: Times
    began_how: NDArray[np.uint16]
    began_place: NDArray[np.int32]
    how: NDArray[np.uint16]
    place: NDArray[np.int32]
    began_caller: NDArray[np.int32]
    caller: NDArray[np.int32]
    where: NDArray[np.int8]
    read: Times
    number: Times  # of the interrupt that it gave; 1023: none
    slept: Times
    woke: Times
    deadline_set: Times  # from then on, until the next, this deadline is in force:
    deadline: Times  # NEVER: none
    switched: Times
    tasks: list[str]

    @cached_property
    def entered(self) -> NDArray[np.bool_]:
        """Return which stretches an interrupt began."""
        return np.isin(self.began_how, IRQ_VECTORS)

    @cached_property
    def first_read(self) -> Times:
        """Return of each stretch its first read; the number of reads: there is none in it."""
        first = np.searchsorted(self.read, self.begin, "right")
        inside = first < len(self.read)
        inside[inside] = self.read[first[inside]] <= self.end[inside]
        return np.where(inside, first, len(self.read))

    @cached_property
    def first_read_ns(self) -> Times:
        """Return of each stretch the time behind its first read; NEVER: there is none in it."""
        return np.append(self.read, NEVER)[self.first_read]

    def tasks_at(self, ns: Times) -> tuple[list[str], NDArray[np.int64]]:
        """Return names of tasks, and of each time the index of the one that ran; "": not known."""
        names, which = np.unique(np.array([*self.tasks, ""]), return_inverse=True)
        ran = np.searchsorted(self.switched, ns, "right") - 1  # -1: before the first, the last name
        return [str(name) for name in names], which[ran]


def timed_records(records: NDArray[Any], instruction_ns: int) -> tuple[NDArray[Any], Clock]:
    """Return the records whose time is known, and their clock."""
    clock = Clock(records, instruction_ns)
    begun = np.where(records["kind"] == STRETCH, records["began"], records["count"])
    return records[(records["count"] <= clock.last_count) & (begun > clock.first_count)], clock


def decode(records: NDArray[Any], instruction_ns: int) -> Run:
    """Return a run of a plugin's records. Raises BenchError where they contradict each other."""
    records, clock = timed_records(records, instruction_ns)
    kind, count = records["kind"], records["count"].astype(np.int64)
    stretches = records[kind == STRETCH]
    begin = clock.at(stretches["began"].astype(np.int64))
    end = clock.at(count[kind == STRETCH])
    if (begin > end).any() or (begin[1:] < end[:-1]).any():
        raise BenchError(
            "the recorded sections overlap: this replay cannot be trusted",
            next_step="report it with the rally",
        )
    slept, woke = _sleeps(records, clock)
    deadline_set, deadline = _deadlines(records[kind == TIMER], clock)
    switches = records[kind == TASK]
    return Run(
        instruction_ns=instruction_ns,
        begin=begin,
        end=end,
        began_how=stretches["began_how"],
        began_place=stretches["began_place"],
        how=stretches["how"],
        place=stretches["place"],
        began_caller=stretches["began_caller"],
        caller=stretches["caller"],
        where=_where(stretches, switches),
        read=clock.at(count[kind == READ]),
        number=(records["value"][kind == READ] & 0x3FF).astype(np.int64),
        slept=slept,
        woke=woke,
        deadline_set=deadline_set,
        deadline=deadline,
        switched=clock.at(count[kind == TASK]),
        tasks=_names(switches),
    )


def _where(stretches: NDArray[Any], switches: NDArray[Any]) -> NDArray[np.int8]:
    value = stretches["value"]
    threads = np.array([*(name.startswith(KSOFTIRQD) for name in _names(switches)), False])
    ran = np.searchsorted(switches["count"], stretches["count"], "right") - 1  # -1: not known
    serves = (value & np.uint64(SERVES_SOFTIRQ)) != 0
    idle = (value & np.uint64(IDLE)) != 0
    softirq = np.where(threads[ran], THREAD_SOFTIRQ, SOFTIRQ)
    in_kernel = np.where(
        idle, np.where(serves, IDLE_SOFTIRQ, IDLE_TASK), np.where(serves, softirq, KERNEL)
    )
    return np.where(stretches["how"] == BY_RETURN_TO_USER, USER, in_kernel).astype(np.int8)


def _sleeps(records: NDArray[Any], clock: Clock) -> tuple[Times, Times]:
    """Return when the guest slept and woke, of each WFI that a wake follows."""
    some = records[(records["kind"] == SLEEP) | (records["kind"] == WAKE)]
    pairs = np.flatnonzero((some["kind"][:-1] == SLEEP) & (some["kind"][1:] == WAKE))
    return (
        clock.before(some["count"][pairs].astype(np.int64)),
        clock.at(some["count"][pairs + 1].astype(np.int64)),
    )


def _deadlines(writes: NDArray[Any], clock: Clock) -> tuple[Times, Times]:
    """Return from when on which deadline was in force, of what was written to the timer."""
    if (writes["how"] == TIMER_TVAL).any():
        raise BenchError(
            "this kernel gives its timer spans, not times: when it goes off is not known",
            next_step="play it on a kernel of `tennis kernels`",
        )
    at = clock.at(writes["count"].astype(np.int64))
    value = writes["value"].astype(np.int64)
    deadline, enabled, found = NEVER, True, []
    for how, number in zip(writes["how"].tolist(), value.tolist(), strict=True):
        if how == TIMER_CVAL:
            deadline = number * TIMER_TICK_NS if 0 <= number < NEVER // TIMER_TICK_NS else NEVER
        elif how == TIMER_CTL:  # enabled, and not masked
            enabled = number & 3 == 1
        found.append(deadline if enabled else NEVER)
    return at, np.array(found, np.int64)


def _names(switches: NDArray[Any]) -> list[str]:
    raw = zip(switches["value"].tolist(), switches["began"].tolist(), strict=True)
    return [
        (first.to_bytes(8, "little") + rest.to_bytes(8, "little"))
        .split(b"\0")[0]
        .decode("utf-8", "replace")
        for first, rest in raw
    ]
