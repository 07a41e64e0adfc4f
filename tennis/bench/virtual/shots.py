"""Shots on the virtual bench: the instants for the instrument, and how many children this host has.

``target/virtual/shots.c`` says how an instant is played in a child.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tennis.kit import share
from tennis.kit.errors import UsageError

MB = 1 << 20
# QEMU with a target of 1 GB that stress filled, and a child, which has a copy of what either of
# both writes while it plays
QEMU_MB, CHILD_MB = 1300, 150
CHILD_LIMIT_MS = 120_000  # of the host's time; then a child hangs


@dataclass(frozen=True)
class Children:
    """The number of children at once (None: as many as this host bears), and their time limit."""

    count: int | None = None
    limit_ms: int = CHILD_LIMIT_MS


def held_open(instants_ns: Sequence[int]) -> int:
    """Return a descriptor of a file in memory with all instants, for the instrument."""
    descriptor = os.memfd_create("shots", 0)
    with os.fdopen(os.dup(descriptor), "wb") as file:
        file.write(np.asarray(instants_ns, np.int64).tobytes())
    return descriptor


def parameters(descriptor: int, children: Children, *, absolute: bool) -> dict[str, int]:
    """Return the instrument's parameters for shots.

    ``absolute``: the instants are of the clock that begins with the machine, else behind the
    target's rest.
    """
    return {
        "shots": descriptor,
        "absolute": int(absolute),
        "children": children.count or _side_by_side(),
        "child_limit": children.limit_ms,
    }


def _side_by_side(processors: int | None = None, free_bytes: int | None = None) -> int:
    """Return how many children run side by side here: one a processor, if memory allows it.

    Raises UsageError if it allows none.
    """
    count = processors or share.processors()
    free = share.free_memory_bytes() if free_bytes is None else free_bytes
    if free is None:
        return count
    room = (free // MB - QEMU_MB) // CHILD_MB
    if room < 1:
        raise UsageError(
            f"--shots: {free // MB:,} MB of memory are free, and QEMU with one child may need "
            f"{QEMU_MB + CHILD_MB:,} MB",
            next_step="end other programs, or play balls",
        )
    return min(count, room)
