# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""The umpire, where its room is here: a capture beside a rally that is played."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, cast

import pyarrow as pa

from tennis import entries
from tennis.rally import Rally
from tennis.rally.plan import Plan


class Umpire(Protocol):
    """What the umpire's room does for a player: the module ``tennis.play.capture``."""

    def warnings(self, plan: Plan) -> list[str]:
        """Say what the analyser that is plugged in cannot do for a plan. Raises BenchError."""

    def watching(self, plan: Plan, part: Path) -> AbstractContextManager[list[str]]:
        """Capture while a rally is played; what went wrong comes into the list."""

    def simulated(self, part: Path, rally: "JustPlayed") -> str:
        """Write the capture of a rally that was just played on the virtual bench."""

    def simulated_again(self, rally: Rally, scratch: Path) -> str:
        """Write the capture of a sealed rally into a folder."""


@dataclass(frozen=True)
class JustPlayed:
    """A rally that was played on the virtual bench, and is not sealed yet."""

    plan: Plan
    tick_hz: int
    events: list[dict[str, Any]]
    balls: Callable[[], Iterator[pa.RecordBatch]]


def umpire() -> Umpire:
    """Return the umpire. Raises EntryError where its room is not here."""
    return cast(Umpire, entries.need("tennis.umpire", "play", "--umpire"))
