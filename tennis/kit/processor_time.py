# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""The processor time of a process, which a busy machine does not change."""

import os
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")


def processor_s(pid: int) -> float:
    """Return the seconds that a process and its descendants ran, those that ended included."""
    parents: dict[int, int] = {}
    ran: dict[int, float] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        number = int(path.parent.name)
        parents[number] = int(fields[1])
        ran[number] = sum(map(int, fields[11:15])) / TICKS

    def descends(number: int) -> bool:
        while number not in {0, pid}:
            number = parents.get(number, 0)
        return number == pid

    return sum(seconds for number, seconds in ran.items() if descends(number))
