# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""What ran while a ball waited, as the profiling plugin (target/virtual/profile.c) counted it."""

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

MASKED, USER_MODE = 1, 2
USER, UNKNOWN = -2, -3  # in place of a function's index


@dataclass(frozen=True)
class Symbol:
    """A function: where it begins, and what it is called."""

    address: int
    name: str
    module: str | None = None

    def __str__(self) -> str:
        """Return the name as the kernel's own messages have it."""
        return f"{self.name} [{self.module}]" if self.module else self.name


@dataclass(frozen=True)
class Phase:
    """What ran from the serve to the rise (0), or from there to the fall (1); times in ns.

    ``nodes``: a calling context tree, parents before children; ``parent`` -1 is a task, whose
    ``function`` is the index of its name in ``tasks``. ``segments``: what ran in a row. Both count
    instructions, each of which takes ``ns_per_instruction``.
    """

    ball: int
    phase: int
    began: int
    ended: int
    tasks: list[str]
    nodes: NDArray[Any]
    segments: NDArray[Any]
    cut: int  # segments that were too many to be kept
    ns_per_instruction: int
