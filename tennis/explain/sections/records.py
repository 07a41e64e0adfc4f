# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""What the plugin target/virtual/sections.c notes, and the times that its counts stand for.

Instructions are counted, and each takes the same time. While the guest sleeps, time leaps: behind
each sleep there is a pair of count and time.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tennis.errors import BenchError

RECORD = np.dtype(
    [
        ("count", "<u8"),
        ("value", "<u8"),
        ("place", "<i4"),
        ("began_place", "<i4"),
        ("caller", "<i4"),
        ("began_caller", "<i4"),
        ("kind", "<u2"),
        ("how", "<u2"),
        ("began_how", "<u2"),
        ("priority", "<u2"),
        ("began", "<u8"),
    ]
)
STRETCH, READ, SLEEP, WAKE, TIME, DOUBT, TIMER, TASK, PREEMPT, CHANCE, BOTTOM = range(1, 12)
BY_RETURN_TO_USER = 5
VECTOR = 0x1000
SCHEDULES = 0x2000  # of no record: a task gives way
IRQ_VECTORS = (VECTOR + 0x280, VECTOR + 0x480)  # from the kernel, from user space
TIMER_TVAL, TIMER_CTL, TIMER_CVAL = range(3)
IDLE = 1 << 63


def _mended(
    offset: NDArray[np.int64], same: NDArray[np.bool_], instruction_ns: int
) -> NDArray[np.int64]:
    """Return by how much time is ahead of counts at each look, without looks that were in between.

    QEMU begins an access to a device, finds that it must be the last instruction of its block, and
    begins it again. If a look is due meanwhile, the instruction is counted, and has not taken its
    time. Both looks around it say so. ``same``: no sleep lies between a look and the next.
    """
    step = np.diff(offset)
    ahead = same[:-1] & same[1:] & (step[:-1] == -instruction_ns) & (step[1:] == instruction_ns)
    mended = offset.copy()
    mended[1:-1][ahead] += instruction_ns
    return mended


class Clock:
    """Makes ns of virtual time of counts of instructions.

    ``records``: a replay's, in their order. Raises BenchError where counts and times do not go
    together: then something was counted that took no time, or the other way round.
    """

    def __init__(self, records: NDArray[Any], instruction_ns: int) -> None:
        kind = records["kind"]
        looks = records[kind == TIME]
        if not len(looks):
            raise BenchError(
                "the replay was too short to tell what time it was",
                next_step="play a rally with more balls",
            )
        self._ns = instruction_ns
        self._wakes = records["count"][kind == WAKE].astype(np.int64)
        # by order: a look while it sleeps would have the count of the wake that follows
        self._wakes_before_look = np.cumsum(kind == WAKE)[kind == TIME]
        times, counts = looks["value"].astype(np.int64), looks["count"].astype(np.int64)
        same = np.diff(self._wakes_before_look) == 0
        self._offset = _mended(times - instruction_ns * counts, same, instruction_ns)
        drift = np.abs(np.diff(self._offset)[same])
        if drift.any():
            raise BenchError(
                f"instructions and virtual time differ by up to {drift.max()} ns between two looks "
                "at the clock: this replay's times cannot be trusted",
                next_step="report it with the rally",
            )
        # what is outside has no time: before a sleep that nobody looked at the clock before
        slept = int(self._wakes_before_look[0])
        self.first_count = int(self._wakes[slept - 1]) if slept else 0
        self.last_count = int(counts[-1])

    def at(self, count: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return when so many instructions were executed, in ns; behind a sleep that ended there.

        Raises BenchError for a wake behind which nobody looked at the clock.
        """
        wakes = np.searchsorted(self._wakes, count, "right")
        look = np.searchsorted(self._wakes_before_look, wakes, "left")
        known = look < len(self._offset)
        look = np.minimum(look, len(self._offset) - 1)
        if not (known & (self._wakes_before_look[look] == wakes)).all():
            raise BenchError(
                "the guest slept twice, and nobody looked at the clock between",
                next_step="report it with the rally",
            )
        at: NDArray[np.int64] = self._offset[look] + self._ns * count
        return at

    def before(self, count: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the same, before a sleep that began there."""
        return self.at(count - 1) + self._ns
