# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Search for the worst instant of a rally's machine by shots alone; what is played is kept.

For what no model predicts: an idle machine, a top half in a thread, bottom halves, rallies of
shots. After Ctrl-C the same command goes on behind the last boot.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tennis.bench.virtual.bench import VirtualBench
from tennis.errors import BenchError, RallyError, UsageError
from tennis.explain.instants import storage
from tennis.explain.instants.storage import About, Instants, Until
from tennis.log import log
from tennis.play.instant_search import SHOTS_MAX, begin, search
from tennis.play.rally import Watch
from tennis.play.repeat import NONE, balls_of, changes, plan_again, unlike
from tennis.play.shots import ready_ns, refuse_unfit, shoot
from tennis.rally import Rally
from tennis.rally.plan import Plan
from tennis.rally.shots import are_shots, span_ns
from tennis.units import format_count


def find_worst(  # noqa: PLR0913 (a rally, what is searched for, and who looks on)
    rally: Rally,
    shots: int,
    *,
    until: Until = "rise",
    kernel: str | None = None,
    plan: Plan | None = None,
    watch: Watch,
) -> Instants:
    """Search until so many shots were played, those of earlier searches among them; keep each boot.

    ``plan``: what the caller played the rally of; else ``plan_again`` with the tree ``kernel``.
    Raises UsageError for what shots do not go with, RallyError where the rally's shots do not
    come again, BenchError.
    """
    if not 1 <= shots <= SHOTS_MAX:
        raise UsageError(f"--shots {shots}", next_step=f"say 1 to {SHOTS_MAX:,}")
    plan = plan or plan_again(rally, kernel)
    refuse_unfit(plan)
    played = _Playing(rally, plan, until, watch)
    if played.found is None:
        began = begin(played.time(), shots, plan.protocol.seed, played.first)
        played.keep(began.drawn)
    assert played.found is not None  # noqa: S101
    for _ in search(played.found.played(), shots, played.more):
        pass
    return played.found


class _Playing:
    """A search, boot by boot."""

    def __init__(self, rally: Rally, plan: Plan, until: Until, watch: Watch) -> None:
        self._rally, self._plan, self._until, self._watch = rally, plan, until, watch
        self._rows = np.zeros((0, 3), np.int64)
        self.found = storage.read(rally)
        if self.found is None and are_shots(plan.protocol):
            self.found = self._of_the_rally()
        if self.found is not None:
            about = self.found.about.model_copy(update={"until": until})
            self.found = Instants(about, self.found.rows)

    def time(self) -> tuple[int, int, int]:
        """Return the time that is searched, and what an instruction takes; ns."""
        table = balls_of(self._rally)
        if not len(table):
            raise UsageError(f"{self._rally.path} holds no balls: it has no time")
        low, high = int(table[0, 0]), int(table[-1, 0]) + 1
        if are_shots(self._plan.protocol):
            # its first and last shot are not the ends of the time from which they were drawn
            low = ready_ns(self._rally) + self._plan.protocol.settle_ns
            high = low + span_ns(self._plan.protocol)
        return low, high, self._plan.instruction_ns

    def first(self, every: Sequence[int]) -> Sequence[int]:
        """Play the instants that were drawn."""
        self._rows = self._shots(every)
        return self._latencies(self._rows)

    def more(self, every: Sequence[int]) -> Sequence[int]:
        """Play others, and keep them with all before."""
        assert self.found is not None  # noqa: S101
        known = self._known_again(self.found.rows)
        rows = self._shots(sorted({*every, *known[:, 0].tolist()}))
        again = rows[np.isin(rows[:, 0], known[:, 0])]
        if not np.array_equal(again, known):
            versions = VirtualBench().versions(self._plan)
            raise unlike(self._rally, f"the instant {known[0, 0]:,} ns is another one", versions)
        fresh = rows[~np.isin(rows[:, 0], known[:, 0])]
        self._rows = np.concatenate([self.found.rows, fresh])
        self.keep(self.found.about.drawn)
        return self._latencies(fresh)

    def keep(self, drawn: int) -> None:
        """Write what was played so far."""
        low_ns, high_ns, step_ns = self.time()
        about = About(
            until=self._until, drawn=drawn, low_ns=low_ns, high_ns=high_ns, step_ns=step_ns
        )
        rows = self._rows[np.argsort(self._rows[:, 0])]
        self.found = Instants(about, rows)
        storage.write(self._rally, self.found)

    def _known_again(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the latest instant that is known: it is played in each boot, and must be the same.

        So what another boot played is never mixed with what is none of this machine's.
        """
        worst = int(np.argmax(rows[:, 1]))
        return rows[worst : worst + 1]

    def _shots(self, every: Sequence[int]) -> NDArray[np.int64]:
        log.info(f"playing {format_count(len(every), 'shot')} in one boot")
        rows = shoot(self._rally, self._plan, every, self._watch)
        if (rows[:, 2] == NONE).any():
            at_ns = int(rows[rows[:, 2] == NONE][0, 0])
            raise BenchError(
                f"the ball at {at_ns} ns was not answered in time",
                next_step="play the rally with a longer --timeout-ms",
            )
        return rows

    def _latencies(self, rows: NDArray[np.int64]) -> Sequence[int]:
        return [int(ns) for ns in rows[:, 1 if self._until == "rise" else 2]]

    def _of_the_rally(self) -> Instants:
        """Return the shots of a rally of shots, which were drawn at random."""
        rally = self._rally
        if rally.misses:
            raise UsageError(
                f"{rally.path}: {format_count(rally.misses, 'shot')} had no complete answer, and "
                "nothing is later than that",
                next_step="play it with a longer --timeout-ms",
            )
        if changed := changes(rally, VirtualBench().versions(self._plan)):
            raise RallyError(
                f"{rally.path} was played with another {', '.join(changed[:3])}",
                next_step="play it again",
            )
        table = balls_of(rally)
        first = np.unique(table[:, 0], return_index=True)[1]  # two shots may be of one instant
        low_ns, high_ns, step_ns = self.time()
        about = About(
            until=self._until,
            drawn=len(table),
            low_ns=low_ns,
            high_ns=high_ns,
            step_ns=step_ns,
        )
        return Instants(about, table[first])
