"""Search for the worst instant of a rally's machine by shots; shots are kept.

It begins with random instants, one in each equal part of the time. Then, boot by boot, instants
between two played ones that may be later than the worst: half of a boot goes before the latest
shots, where the latency jumps up (a tooth is highest at its first moment), the other half into the
longest parts without a shot. ``tennis.rally.coverage`` computes what may be later. After Ctrl-C the
same command continues after the last boot.
"""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from tennis.bench.virtual.bench import VirtualBench
from tennis.kit.errors import BenchError, RallyError, UsageError
from tennis.kit.log import log
from tennis.kit.units import format_count
from tennis.play.rally import Watch
from tennis.play.repeat import NONE, balls_of, changes, plan_again, unlike
from tennis.play.shots import ready_ns, refuse_unfit, shoot
from tennis.rally import Rally
from tennis.rally import instants as storage
from tennis.rally.coverage import Played, Times
from tennis.rally.instants import About, Instants, Until
from tennis.rally.plan import Plan
from tennis.rally.shots import are_shots, span_ns

SHOTS = 2000  # of a search, if nobody says another number
SHOTS_MAX = 100_000
BOOTS = 8  # at most; under stress one takes as long as 500 shots
OF_A_BOOT = 50  # shots at least, while enough are left
FIRST = 2  # the first boot plays one in this many shots of the search
LEAST = 30  # instants that are drawn
INSIDE = 8  # shots of a boot between two instants
STEEP = 8  # a part this many times longer than the worst latency is searched from its end

# the latencies at instants that rise, in one boot; ns
Play = Callable[[Sequence[int]], Sequence[int]]


def find_worst(
    rally: Rally,
    shots: int = SHOTS,
    *,
    until: Until = "rise",
    kernel: str | None = None,
    watch: Watch | None = None,
) -> Instants:
    """Search until ``shots`` shots were played, with those of earlier searches; keep each boot.

    ``kernel``: the tree that the rally was played on, if it was one. Raises UsageError for a plan
    that cannot have shots, RallyError if the rally's shots do not come again, BenchError.
    """
    plan = plan_again(rally, kernel)
    refuse_unfit(plan)
    played = _Playing(rally, plan, until, watch or Watch())
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
            self.found = self.found.until(until)

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
        # each boot plays the latest known one again: shots of another machine are never mixed in
        known = self.found.rows[[np.argmax(self.found.rows[:, 1])]]
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
        """Write the instants played so far."""
        low_ns, high_ns, step_ns = self.time()
        about = About(
            until=self._until, drawn=drawn, low_ns=low_ns, high_ns=high_ns, step_ns=step_ns
        )
        rows = self._rows[np.argsort(self._rows[:, 0])]
        self.found = Instants(about, rows)
        storage.write(self._rally, self.found)

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
            until=self._until, drawn=len(table), low_ns=low_ns, high_ns=high_ns, step_ns=step_ns
        )
        return Instants(about, table[first])


def drawn(low_ns: int, high_ns: int, step_ns: int, count: int, seed: int) -> Times:
    """Return instants at random in [low, high), one in each of ``count`` equal parts.

    Whole instructions behind ``low_ns``, and the first and the last one besides.
    """
    steps = (high_ns - low_ns) // step_ns
    parts = np.arange(count + 1) * (steps / count)
    within = np.random.default_rng(seed).uniform(parts[:-1], parts[1:])
    every = np.concatenate([[0], within.astype(np.int64), [steps - 1]])
    return np.unique(low_ns + every * step_ns)


def begin(time: tuple[int, int, int], shots: int, seed: int, play: Play) -> Played:
    """Play the first instants of a search, which are drawn at random; ``time``: low, high, step."""
    at = drawn(*time, max(LEAST, shots // FIRST - 2), seed)
    latency = np.asarray(play(at.tolist()), np.int64)
    return Played(at, latency, at.size - 2, *time)


def search(played: Played, shots: int, play: Play) -> Iterator[Played]:
    """Yield the played instants, boot by boot: ``shots`` in all, or until nothing may be later."""
    left = shots - played.at.size
    boots = min(BOOTS - 1, max(1, left // OF_A_BOOT))
    for boot in range(boots):
        wanted = _next(played, -(-left // (boots - boot))) if left > 0 else np.zeros(0, np.int64)
        wanted = np.union1d(wanted, played.ends_left())
        if not wanted.size:
            return
        latency = np.asarray(play(wanted.tolist()), np.int64)
        left -= wanted.size
        played = played.with_more(wanted, latency)
        yield played


def _next(played: Played, count: int) -> Times:
    """Return the instants of the next boot, rising: at most ``count``."""
    may_be = played.may_be()
    places = np.flatnonzero(may_be > played.worst_ns)
    # the latest first, and of one tooth that ends there once
    by_lateness = places[np.argsort(-played.latency[places + 1], kind="stable")]
    by_length = places[np.argsort(-may_be[places], kind="stable")]
    chosen: dict[int, None] = {}
    for place in by_lateness[: max(1, count // (2 * INSIDE))]:
        chosen.update(dict.fromkeys(_inside(played, int(place)).tolist()))
    known = set(played.at.tolist())
    for part in (1, 2, 3, 4):  # fifths; more than one of a part if few parts are left
        for place in by_length:
            if len(chosen) >= count:
                break
            low, high = int(played.at[place]), int(played.at[place + 1])
            steps = (high - low) // played.step_ns
            chosen[low + steps * part // 5 * played.step_ns] = None
    fresh = sorted(set(list(chosen)[:count]) - known)
    return np.array(fresh, np.int64)


def _inside(played: Played, place: int) -> Times:
    """Return instants between two that were played; more of them before the second one if far."""
    low, high = int(played.at[place]), int(played.at[place + 1])
    steps = (high - low) // played.step_ns  # between them are steps - 1 instants
    if high - low > STEEP * played.worst_ns:
        back = np.geomspace(1, steps - 1, INSIDE)
    else:
        back = np.linspace(0, steps, INSIDE + 2)[1:-1]
    at = high - np.clip(np.round(back), 1, steps - 1).astype(np.int64) * played.step_ns
    return np.unique(at)
