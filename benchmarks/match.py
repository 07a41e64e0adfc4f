# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""A match: what it costs beside its rallies, and how often its verdicts claim what is not there.

Cost: the wall time of a match, over that of the same rallies played singly in the same process, in
turn on the same machine; the ratio is of the best times. Soundness: pairs of rallies of one and the
same distribution with bursts, so that no ranking is true; how often do the blocks' intervals claim
one, and how often do intervals of the 99.9 % quantile that take each ball for independent? Exits
with 1 where a target is missed.
"""

import argparse
import contextlib
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tennis.bench.virtual.bench import VirtualBench
from tennis.match.plan import KernelAxis, LoadAxis, MatchPlan
from tennis.play.match import Match, play_match
from tennis.play.rally import Observer, Watch, play
from tennis.play.schedule import scheduled_rallies
from tennis.replicate.rules import replication
from tennis.stats import blocks
from tennis.stats.intervals import quantile_ranks

TARGET_COST = 1.2
TARGET_WRONG = 0.05
BURST = 40  # balls that are late together


@contextlib.contextmanager
def silent(_: str) -> Iterator[Observer]:
    """Show nothing."""
    yield lambda _: None


def cost(balls: int, rounds: int) -> float:
    """Play a match and its rallies in turn; print and return the ratio of the best times."""
    plan = MatchPlan(
        kernels={"mainline": KernelAxis(), "rt": KernelAxis()},
        loads={"idle": LoadAxis(), "stress": LoadAxis()},
        balls=balls,
    )
    match = Match(plan, *scheduled_rallies(plan, {}, Path()))
    for planned in match.scheduled:
        VirtualBench().versions(planned.plan)  # builds what is not there yet
    best = [float("inf"), float("inf")]
    with tempfile.TemporaryDirectory(prefix="tennis-bench-") as scratch:
        for _ in range(rounds):
            began = time.perf_counter()
            outcome = play_match(match, Path(scratch) / "m", silent, lambda: False)
            best[0] = min(best[0], time.perf_counter() - began)
            assert not outcome.bad
            began = time.perf_counter()
            for planned in match.scheduled:
                play(
                    VirtualBench(),
                    planned.plan,
                    Path(scratch) / planned.name,
                    Watch(),
                )
            best[1] = min(best[1], time.perf_counter() - began)
            for path in Path(scratch).iterdir():
                shutil.rmtree(path)
    ratio = best[0] / best[1]
    print(
        f"a match of {len(match.scheduled)} rallies of {balls} balls: {best[0]:.1f} s of wall "
        f"time, its rallies singly {best[1]:.1f} s, best of {rounds}: ratio {ratio:.2f}"
    )
    return ratio


def disturbed(random: np.random.Generator, balls: int) -> NDArray[np.float64]:
    """Return latencies of which about one in 500 is late, ``BURST`` of them together."""
    starts = random.random(balls // BURST) < 0.002
    late = np.repeat(starts, BURST)
    values = random.normal(1000, 30, balls)
    # a burst is late as a whole
    return values + late * np.repeat(random.exponential(50_000, starts.size), BURST)


def blocks_claim(one: NDArray[np.float64], other: NDArray[np.float64]) -> bool:
    """Tell whether the rule of `tennis replicate` claims that one side is later."""
    rules = replication().statistics
    size = blocks.size_for(one.size, rules.blocks_min, rules.block_root)
    sure = 1 - (1 - Fraction(str(rules.confidence))) / 2
    a, b = (
        blocks.median(blocks.block_values([values], size, blocks.worst), sure)
        for values in (one, other)
    )
    assert a
    assert b
    return a.low > b.high or b.low > a.high


def quantiles_claim(one: NDArray[np.float64], other: NDArray[np.float64]) -> bool:
    """Tell whether intervals of the 99.9 % quantile, balls taken for independent, claim it."""
    found = []
    for values in (one, other):
        ranks = quantile_ranks(values.size, Fraction(999, 1000), Fraction(975, 1000))
        assert ranks
        ordered = np.sort(values)
        found.append((ordered[ranks[0] - 1], ordered[ranks[1] - 1]))
    return bool(found[0][0] > found[1][1] or found[1][0] > found[0][1])


def soundness(pairs: int, balls: int) -> float:
    """Print and return how often the blocks' rule claims a ranking that is not there."""
    random = np.random.default_rng(1)
    wrong = [0, 0]
    for _ in range(pairs):
        one, other = disturbed(random, balls), disturbed(random, balls)
        wrong[0] += blocks_claim(one, other)
        wrong[1] += quantiles_claim(one, other)
    print(
        f"{pairs} pairs of rallies of {balls} balls of one distribution, late balls in bursts of "
        f"{BURST}: a ranking is claimed in {100 * wrong[0] / pairs:.1f} % by blocks, in "
        f"{100 * wrong[1] / pairs:.1f} % by intervals of the 99.9 % quantile of single balls"
    )
    return wrong[0] / pairs


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--balls", type=int, default=1000, help="a rally's, for the cost")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--pairs", type=int, default=1000)
    asked = parser.parse_args()
    wrong = soundness(asked.pairs, 20_000)
    ratio = cost(asked.balls, asked.rounds)
    missed = ratio > TARGET_COST or wrong > TARGET_WRONG
    print(
        f"targets: cost ratio at most {TARGET_COST}, at most {100 * TARGET_WRONG:g} % wrong "
        f"rankings: {'MISSED' if missed else 'met'}"
    )
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
