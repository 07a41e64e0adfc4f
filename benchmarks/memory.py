# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""What a memory profile costs: QEMU's processor time of a rally with it and without, in turn.

Exits with 1 if a load's median ratio is above the target.
"""

import argparse
import sys
import tempfile
from pathlib import Path

import numpy as np
from boot import LOADS, used_s

from tennis.bench.virtual.bench import VirtualBench
from tennis.play.planning import plan_for
from tennis.play.rally import Watch, play
from tennis.rally.request import requests_of

TARGET = 1.6


def rally_s(**settings: object) -> float:
    """Play a rally; return the processor seconds of QEMU."""
    bench, plan = VirtualBench(), plan_for(*requests_of(settings))
    bench.parts(plan)  # all programs but QEMU
    began_s = used_s()
    with tempfile.TemporaryDirectory(prefix="tennis-memory-") as scratch:
        play(bench, plan, Path(scratch) / "rally", Watch())
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
        about = {"load": load, "balls": asked.balls}
        pairs = [
            [rally_s(**about, seed=seed, memory=name) for name in ("none", asked.memory)]
            for seed in range(1, asked.pairs + 1)
        ]
        without, with_it = np.median(pairs, axis=0)
        low, ratio, high = np.quantile([b / a for a, b in pairs], (0, 0.5, 1))
        print(
            f"{load}, {asked.balls} balls with the boot: {without:.1f} s, with {asked.memory} "
            f"{with_it:.1f} s: {ratio:.2f} times ({low:.2f} to {high:.2f}, N = {len(pairs)} pairs)"
        )
        worst = max(worst, ratio)
    print(f"at most {worst:.2f} times, target {TARGET}")
    return int(worst > TARGET)


if __name__ == "__main__":
    sys.exit(main())
