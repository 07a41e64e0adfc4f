# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Which system calls a box refuses: those for memory that belongs to no process and no folder.

System V's shared memory, queues and semaphores, and files that exist in memory only, would be
counted nowhere. Nothing that a notebook or a compiler does needs them.
"""

import platform
import struct

from tennis.errors import BenchError

# linux/audit.h; numbers of shmget, msgget, semget, memfd_create, memfd_secret
REFUSED = {
    "x86_64": (0xC000003E, (29, 68, 64, 319, 447)),
    "aarch64": (0xC00000B7, (194, 186, 190, 279, 447)),
}
OTHER_ABI = 0x40000000  # x32: the same calls under other numbers
ENOSYS = 38
# linux/bpf_common.h, linux/seccomp.h
LOAD, IF_EQUAL, IF_AT_LEAST, RETURN = 0x20, 0x15, 0x35, 0x06
NUMBER_AT, ARCHITECTURE_AT = 0, 4
ALLOW, ERROR = 0x7FFF0000, 0x00050000


def program() -> bytes:
    """Return the filter as the kernel takes it. Raises BenchError on another processor."""
    machine = platform.machine()
    if machine not in REFUSED:
        raise BenchError(f"hand-ins cannot run in a box on this processor ({machine})")
    architecture, numbers = REFUSED[machine]
    refuse = len(numbers) + 5  # the place of the last instruction
    steps = [
        (LOAD, 0, 0, ARCHITECTURE_AT),
        (IF_EQUAL, 0, refuse - 2, architecture),  # a jump counts from the next instruction
        (LOAD, 0, 0, NUMBER_AT),
        (IF_AT_LEAST, refuse - 4, 0, OTHER_ABI),
    ]
    for number in numbers:
        steps.append((IF_EQUAL, refuse - len(steps) - 1, 0, number))
    steps += [(RETURN, 0, 0, ALLOW), (RETURN, 0, 0, ERROR | ENOSYS)]
    return b"".join(struct.pack("=HBBI", *step) for step in steps)
