# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""What a memory profile costs: QEMU's processor time of a rally with it and without, in turn.

Exits with 1 if a load's median ratio is above the target.
"""

import argparse
import resource
import sys
import tempfile
from pathlib import Path

import numpy as np

from tennis.bench.virtual.bench import VirtualBench
from tennis.play.planning import plan_for
from tennis.play.rally import Watch, play
from tennis.rally.request import requests_of

TARGET = 1.6
LOADS = ("idle", "stress")


def used_s() -> float:
    """Return the seconds that the processor gave to children that ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def rally_s(load: str, memory: str, seed: int, balls: int) -> float:
    """Play a rally; return the processor seconds of QEMU."""
    bench = VirtualBench()
    settings = {"load": load, "memory": memory, "seed": seed, "balls": balls}
    plan = plan_for(*requests_of(settings))
    bench.parts(plan)  # all programs but QEMU
    began_s = used_s()
    with tempfile.TemporaryDirectory(prefix="tennis-memory-") as scratch:
        play(bench, plan, Path(scratch) / memory, Watch())
    return used_s() - began_s


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--memory", default="raspberry-pi-4", help="the profile")
    parser.add_argument("--balls", type=int, default=500, help="of each rally")
    parser.add_argument("--pairs", type=int, default=5, help="of each load")
    parser.add_argument("--loads", nargs="+", default=LOADS, help="the loads")
    asked = parser.parse_args()
    worst = 0.0
    for load in asked.loads:
        found = np.array(
            [
                [rally_s(load, name, seed, asked.balls) for name in ("none", asked.memory)]
                for seed in range(1, asked.pairs + 1)
            ]
        )
        without, with_it = np.median(found, axis=0)
        ratios = found[:, 1] / found[:, 0]
        print(
            f"{load}, {asked.balls} balls with the boot: {without:.1f} s, with {asked.memory} "
            f"{with_it:.1f} s: {np.median(ratios):.2f} times ({ratios.min():.2f} to "
            f"{ratios.max():.2f}, N = {asked.pairs} pairs)",
            flush=True,
        )
        worst = max(worst, float(np.median(ratios)))
    print(f"at most {worst:.2f} times, target {TARGET}")
    return int(worst > TARGET)


if __name__ == "__main__":
    sys.exit(main())
