# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""A match on a Dask cluster of this machine: two workers against one, and 200 workers simulated.

The simulation hands the rallies of plans/knutsson-10M.toml to 200 workers, as a scheduler that is
as quick as the one here does it. A rally lasts as long as those that were measured here, scaled by
its balls; so it says what the handing out costs, and not how quick other machines are.
"""

import argparse
import contextlib
import heapq
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tennis.checkout import ROOT
from tennis.match.plan import KernelAxis, LoadAxis, MatchPlan, read_plan
from tennis.play.cluster.client import Cluster
from tennis.play.match import Match, estimate_s, play_match
from tennis.play.rally import Observer
from tennis.play.schedule import scheduled_rallies

RALLIES, BALLS = 8, 5_000
WORKERS = 200
NOTHING = 2_000  # tasks that do nothing
HERE: dict[str, Any] = {"host": "127.0.0.1", "dashboard_address": ":0", "threads_per_worker": 1}


@contextlib.contextmanager
def silent(_: str) -> Iterator[Observer]:
    """Show no progress."""
    yield lambda _: None


def played_s(folder: Path, workers: int) -> float:
    """Return the seconds that a cluster of so many workers takes; they have fetched all before."""
    from distributed import LocalCluster

    plan = MatchPlan(
        kernels={"mainline": KernelAxis()},
        loads={"stress": LoadAxis()},
        balls=BALLS,
        repetitions=RALLIES,
    )
    small = plan.model_copy(update={"balls": 40, "seed": 1, "repetitions": 2 * workers})
    match, warm = (Match(one, *scheduled_rallies(one, {}, Path())) for one in (plan, small))
    with LocalCluster(n_workers=workers, **HERE) as cluster:
        asked = Cluster(cluster.scheduler_address, str(folder / f"store-{workers}"), 0)
        play_match(warm, folder / f"warm-{workers}", silent, lambda: False, asked)
        began = time.perf_counter()
        outcome = play_match(match, folder / f"match-{workers}", silent, lambda: False, asked)
        seconds = time.perf_counter() - began
    assert len(outcome.played) == RALLIES, outcome.bad
    return seconds


def task_s() -> float:
    """Return what Dask takes for a task that does nothing, in seconds."""
    from distributed import Client, LocalCluster

    with LocalCluster(n_workers=1, **HERE) as cluster, Client(cluster) as client:
        began = time.perf_counter()
        client.gather([client.submit(int, number, pure=False) for number in range(NOTHING)])
        return (time.perf_counter() - began) / NOTHING


def makespan_s(tasks: list[float], workers: int, overhead_s: float) -> float:
    """Return when the last task ends: one scheduler hands out, in order, to whoever is free."""
    free = [0.0] * workers
    scheduler_s = end_s = 0.0
    for task in tasks:
        scheduler_s = max(scheduler_s, heapq.heappop(free)) + overhead_s
        heapq.heappush(free, scheduler_s + task)
        end_s = max(end_s, scheduler_s + task)
    return end_s


def main() -> int:
    """Measure, simulate, and print ratios."""
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        one_s, two_s = (played_s(Path(scratch), workers) for workers in (1, 2))
    cores, ratio = len(os.sched_getaffinity(0)), two_s / one_s
    print(f"{RALLIES} rallies of {BALLS:,} balls under stress, {cores} cores")
    print(f"two workers take {ratio:.2f} of one worker's time: efficiency {0.5 / ratio:.2f}")
    print(f"here and now: {RALLIES * BALLS / one_s:,.0f} balls a second with one worker")
    overhead_s = task_s()
    print(f"a task that does nothing takes {overhead_s * 1000:.1f} ms")
    plan = read_plan(ROOT / "plans" / "knutsson-10M.toml")
    rallies, _ = scheduled_rallies(plan, {}, ROOT / "plans")
    # what was guessed for the rallies here, against what they took
    here = MatchPlan(kernels={"mainline": KernelAxis()}, loads={"stress": LoadAxis()}, balls=BALLS)
    guess_s = estimate_s(scheduled_rallies(here, {}, Path())[0][0].plan)
    tasks = [estimate_s(rally.plan) * one_s / RALLIES / guess_s for rally in rallies]
    total_s, end_s = sum(tasks), makespan_s(tasks, WORKERS, overhead_s)
    print(f"knutsson-10M.toml: {len(tasks):,} rallies, {total_s / 3600:,.0f} core-hours like these")
    efficiency = total_s / WORKERS / end_s
    print(f"{WORKERS} workers, simulated: {end_s / 3600:.2f} h, efficiency {efficiency:.3f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
