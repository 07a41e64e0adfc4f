# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Every instant: what the model of `tennis explain --sections` predicts, against what comes.

Of each kernel and load: a rally, whose balls are predicted one by one; then boots with one ball
each, at the worst instants that were predicted and at instants of all ways to take a ping.

    .venv/bin/python benchmarks/sections.py --balls 2000 --shots 6
"""

import argparse
import resource
import tempfile
import time
from pathlib import Path

import numpy as np

from tennis.bench.registry import bench_for
from tennis.explain.sections.kept import Sections
from tennis.play.planning import plan_of
from tennis.play.rally import Watch, play
from tennis.play.sections import play_at, record
from tennis.rally import open_rally


def instants(sections: Sections, count: int) -> list[tuple[int, int]]:
    """Return the worst instant, then the latest of each way and place, then others; with theirs."""
    groups = sections.groups.filter(sections.groups.column("sure")).to_pylist()
    groups.sort(key=lambda g: -g["longest_ns"])
    first = {}
    for group in groups:
        first.setdefault((group["way"], group["where"]), group)
    some = np.random.default_rng(1).permutation(len(groups))
    chosen = {groups[0]["first_ns"]: groups[0]["longest_ns"]}
    for group in (*first.values(), *(groups[n] for n in some)):
        if len(chosen) < count:
            chosen[group["first_ns"]] = group["longest_ns"]
    return list(chosen.items())


def used_s() -> float:
    """Return the seconds that the processor gave to QEMU so far."""
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime


def main() -> None:
    """Play, predict, compare; a row of a table for each rally."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--balls", type=int, default=2000)
    parser.add_argument("--shots", type=int, default=6)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kernels", nargs="+", default=["mainline", "rt"])
    parser.add_argument("--loads", nargs="+", default=["stress", "idle", "network"])
    parser.add_argument("--keep", type=Path, help="a folder in which the rallies are kept")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = asked.keep or Path(scratch)
        for load in asked.loads:
            for kernel in asked.kernels:
                compare(folder / f"{kernel}-{load}", kernel, load, asked)


def compare(out: Path, kernel: str, load: str, asked: argparse.Namespace) -> None:
    """Play one rally, predict its balls and instants, and print what came."""
    plan = plan_of(kernel=kernel, load=load, balls=asked.balls, seed=asked.seed)
    before_s = used_s()
    rally = open_rally(out) if out.exists() else play(bench_for(plan), plan, out, Watch())
    played_s = used_s() - before_s
    began = time.monotonic()
    sections = record(rally)
    recorded_s = used_s() - before_s - played_s
    print(
        f"\n## {kernel}, {load}: {sections.about.exact} of {sections.about.predicted} balls exact, "
        f"largest error {sections.about.worst_ns} ns; {recorded_s:.1f} s of QEMU for two boots, "
        f"{played_s:.1f} s for the rally, {time.monotonic() - began:.0f} s in all",
        flush=True,
    )
    for constant in sections.about.constants:
        print(f"  {constant}")
    for one in sections.about.balls:
        print(f"  {one}")
    for at_ns, predicted_ns in instants(sections, asked.shots):
        (shot,) = play_at(rally, [(at_ns, predicted_ns)], kernel=None, watch=Watch())
        off = shot.measured_ns - shot.predicted_ns
        print(
            f"  at {shot.at_ns}: predicted {shot.predicted_ns}, measured {shot.measured_ns}, {off}",
            flush=True,
        )


if __name__ == "__main__":
    main()
