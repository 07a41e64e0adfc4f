# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""The worst instant of a boot by shots alone, where no model predicts what a ping meets.

First instants at random, one in each equal part of the time. Then, boot by boot, what is between
two instants that were played and may be later than the worst: half of a boot goes before the
latest shots, where the latency jumps up (a tooth is highest at its first moment), the other half
into the longest parts in which nothing was played. ``tennis.explain.instants.coverage`` says what
may be later, and why.
"""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from tennis.explain.instants.coverage import Played, Times

SHOTS = 2000  # of a search, if nobody says another number
SHOTS_MAX = 100_000
BOOTS = 8  # at most; under stress one takes as long as 500 shots
OF_A_BOOT = 50  # shots at least, as long as there are so many
FIRST = 2  # the first boot plays one of so many shots of the search
LEAST = 30  # instants that are drawn
INSIDE = 8  # shots of a boot between two instants
STEEP = 8  # a part that is so many times longer than the worst latency is searched from its end

# the latencies at instants that rise, in one boot; ns
Play = Callable[[Sequence[int]], Sequence[int]]


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
    """Yield what is played, boot by boot: ``shots`` in all, or until nothing may be later."""
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
    """Return the instants of the next boot, rising: so many at most."""
    may_be = played.may_be()
    places = np.flatnonzero(may_be > played.worst_ns)
    # the latest first, and of one tooth that ends there once
    by_lateness = places[np.argsort(-played.latency[places + 1], kind="stable")]
    by_length = places[np.argsort(-may_be[places], kind="stable")]
    chosen: dict[int, None] = {}
    for place in by_lateness[: max(1, count // (2 * INSIDE))]:
        chosen.update(dict.fromkeys(_inside(played, int(place)).tolist()))
    known = set(played.at.tolist())
    for part in (1, 2, 3, 4):  # fifths; of few parts that are left more than one
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
