# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""A match: what it costs beside its rallies, and what several workers gain.

The wall time of a match, over that of the same rallies played singly in the same process, in turn
on the same machine; and over that of the match with a worker for each core. The ratios are of the
best times. Exits with 1 where a target is missed.
"""

import argparse
import contextlib
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tennis.bench.virtual.bench import VirtualBench
from tennis.match.plan import KernelAxis, LoadAxis, MatchPlan
from tennis.play.match import Match, play_match
from tennis.play.rally import Observer, Watch, play
from tennis.play.schedule import scheduled_rallies
from tennis.play.workers import Workers

TARGET_COST = 1.2


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
    best = [float("inf")] * 3
    cores = os.cpu_count() or 1
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
            began = time.perf_counter()
            outcome = play_match(match, Path(scratch) / "w", silent, lambda: False, Workers(cores))
            best[2] = min(best[2], time.perf_counter() - began)
            assert not outcome.bad
            for path in Path(scratch).iterdir():
                shutil.rmtree(path)
    ratio = best[0] / best[1]
    print(
        f"a match of {len(match.scheduled)} rallies of {balls} balls: {best[0]:.1f} s of wall "
        f"time, its rallies singly {best[1]:.1f} s, best of {rounds}: ratio {ratio:.2f}; with "
        f"{cores} workers {best[2]:.1f} s: ratio {best[2] / best[0]:.2f}"
    )
    return ratio


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--balls", type=int, default=1000, help="a rally's, for the cost")
    parser.add_argument("--rounds", type=int, default=2)
    asked = parser.parse_args()
    missed = cost(asked.balls, asked.rounds) > TARGET_COST
    print(f"target: cost ratio at most {TARGET_COST}: {'MISSED' if missed else 'met'}")
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
