"""The system calls that a box refuses: uncounted memory, and access to other processes.

System V's shared memory, queues and semaphores, and files that exist in memory only, would be
counted nowhere. By the others a process reads, writes or steers another one of the same user, such
as the box's first process, which says how the box ended; and a ring of requests (io_uring) passes a
filter by. Nothing that a notebook or a compiler does needs them.
"""

import platform
import struct

from tennis.kit.errors import BenchError

# the refused calls, by their numbers on each processor
CALLS: dict[str, dict[str, int]] = {
    "x86_64": {
        **{"shmget": 29, "msgget": 68, "semget": 64, "memfd_create": 319, "memfd_secret": 447},
        **{"ptrace": 101, "process_vm_readv": 310, "process_vm_writev": 311, "pidfd_getfd": 438},
        **{"io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427},
    },
    "aarch64": {
        **{"shmget": 194, "msgget": 186, "semget": 190, "memfd_create": 279, "memfd_secret": 447},
        **{"ptrace": 117, "process_vm_readv": 270, "process_vm_writev": 271, "pidfd_getfd": 438},
        **{"io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427},
    },
}
ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}  # linux/audit.h
OTHER_ABI = 0x40000000  # x32: the same calls under other numbers
ENOSYS = 38
# linux/bpf_common.h, linux/seccomp.h
LOAD, IF_EQUAL, IF_AT_LEAST, RETURN = 0x20, 0x15, 0x35, 0x06
NUMBER_AT, ARCHITECTURE_AT = 0, 4
ALLOW, ERROR = 0x7FFF0000, 0x00050000


def program() -> bytes:
    """Return the filter as the kernel takes it. Raises BenchError on another processor."""
    machine = platform.machine()
    if machine not in CALLS:
        raise BenchError(f"hand-ins cannot run in a box on this processor ({machine})")
    architecture, numbers = ARCHITECTURES[machine], CALLS[machine].values()
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
