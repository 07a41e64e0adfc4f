"""Crews, which play the rallies of a match: several processes, a cluster, a fleet's benches."""

from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from tennis.match.plan import ScheduledRally
from tennis.match.player import RallyOutcome
from tennis.play.rally import Stop
from tennis.rally.manifest import BenchKind


class Crew(Protocol):
    """Plays rallies; nobody sees how far each of them is."""

    @property
    def at_once(self) -> int:
        """Return how many rallies are played at the same time."""

    def check(self, kind: BenchKind) -> None:
        """Raise UsageError if this crew does not play on benches of a kind."""

    def play(
        self, scheduled: list[ScheduledRally], out: Path, stop: Stop
    ) -> Iterator[tuple[ScheduledRally, RallyOutcome]]:
        """Play rallies into the folder ``out``; each is yielded when it is there.

        Ends early if ``stop`` says so: rallies in play are sealed, or given up, first.
        """
