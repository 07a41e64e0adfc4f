# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""What a boot for a single ball consists of: processor time on the host, virtual time in the guest.

What the guest does until it is ready is part of the bytes, so it is QEMU's whole share. Python and
the small programs that it starts are what can be saved without another edition of the bench.
Medians of boots in one process, after a first one that does not count: it imports, and builds what
is not in the cache. Seen of one boot each on a busy machine: QEMU 97 % of 4.8 s idle, 98 % of 9.9 s
under stress; so little outside of the guest is left to be cut. Exits with 1 where the share of what
is not QEMU is above the target.

``--before TREE`` compares with another checkout, which has a .venv of its own: ``tennis rally`` of
one ball in each in turn, with the same seed. Exits with 1 where two rallies have different bytes.
"""

import argparse
import re
import resource
import subprocess
import sys
import tempfile
from fractions import Fraction
from pathlib import Path

import numpy as np
from measuring import planned, used_s

from tennis.bench.virtual.bench import VirtualBench
from tennis.checkout import ROOT
from tennis.play.rally import Watch, play
from tennis.rally import open_rally
from tennis.rally.folder import CONSOLE
from tennis.rally.repeated import digest_of
from tennis.stats.intervals import quantile_ranks

LOADS = ("idle", "stress")
TARGET_SHARE = 0.15  # of what is not QEMU
# what the console says, by the kernel's clock
INIT = re.compile(r"\[ *([\d.]+)\] Run /init as init process")
LOADED = re.compile(r"tennis: fact load_started_s ([\d.]+)")
READY = re.compile(r"tennis: fact ready_monotonic_ns (\d+)")


def boot(load: str, seed: int, folder: Path) -> tuple[list[float], list[float]]:
    """Play one ball.

    Returns processor seconds of QEMU, programs and Python; and virtual seconds of the kernel until
    it runs /init, from there until the load starts, from there until the target is ready.
    """
    bench, plan = VirtualBench(), planned(kernel="mainline", load=load, balls=1, seed=seed)
    began_s = used_s()
    own_s = used_s(resource.RUSAGE_SELF)
    bench.parts(plan)  # all programs but QEMU
    prepared_s = used_s()
    play(bench, plan, folder, Watch(lambda _: None))
    ended_s = used_s()
    console = (folder / CONSOLE).read_text(errors="replace")
    init_s, loaded_s, ready_ns = (float(one.search(console)[1]) for one in (INIT, LOADED, READY))
    if open_rally(folder).balls != 1:
        raise SystemExit(f"{folder} has no single ball")
    host = [ended_s - prepared_s, prepared_s - began_s, used_s(resource.RUSAGE_SELF) - own_s]
    return host, [init_s, loaded_s - init_s, ready_ns / 1e9 - loaded_s]


def command(tree: Path, load: str, seed: int, folder: Path) -> tuple[float, str]:
    """Play one ball as people do. Return the processor seconds of all of it, and its digest."""
    words = ["rally", "--kernel", "mainline", "--load", load, "--balls", "1", "--seed", str(seed)]
    began_s = used_s() + used_s(resource.RUSAGE_SELF)
    subprocess.run(
        [str(tree / ".venv" / "bin" / "tennis"), *words, "--out", str(folder)],
        cwd=folder.parent,
        check=True,
        capture_output=True,
    )
    spent_s = used_s() + used_s(resource.RUSAGE_SELF) - began_s
    return spent_s, digest_of(open_rally(folder))


def compared(before: Path, load: str, seeds: range) -> bool:
    """Play boots in two trees in turn, and print. Return whether all pairs have the same bytes."""
    used: list[tuple[float, float]] = []
    alike = 0
    for seed in seeds:
        with tempfile.TemporaryDirectory(prefix="tennis-boot-") as scratch:
            sides = [("before", before), ("now", ROOT)]
            found = {
                name: command(tree, load, seed, Path(scratch) / name)
                for name, tree in sides[:: 1 if seed % 2 else -1]  # each is first, in turn
            }
        used.append((found["before"][0], found["now"][0]))
        same = found["before"][1] == found["now"][1]
        alike += same
        print(
            f"{load}, seed {seed}: {used[-1][0]:.2f} s before, {used[-1][1]:.2f} s now, "
            f"{'alike' if same else 'OTHER BYTES'}"
        )
    seconds = np.array(used[1:])  # the first pair builds what is not in the cache
    ratios = np.sort(seconds[:, 1] / seconds[:, 0])
    ranks = quantile_ranks(len(ratios), Fraction(1, 2))  # from six boots on
    interval = f" ({ratios[ranks[0] - 1]:.3f} to {ratios[ranks[1] - 1]:.3f})" if ranks else ""
    medians = " before, ".join(f"{value:.2f} s" for value in np.median(seconds, axis=0))
    print(
        f"{load}: {medians} now, of processor time, {len(ratios)} boots each; median ratio of "
        f"pairs {np.median(ratios):.3f}{interval}; {alike} of {len(seeds)} pairs are alike"
    )
    return alike == len(seeds)


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--boots", type=int, default=10, help="of each load")
    parser.add_argument("--load", action="append", choices=LOADS, help="default: both")
    parser.add_argument("--before", type=Path, help="a checkout to compare with")
    parser.add_argument("--first", type=int, default=0, help="the first seed, which does not count")
    asked = parser.parse_args()
    if asked.before:
        seeds = range(asked.first, asked.first + asked.boots + 1)
        alike = [compared(asked.before, load, seeds) for load in asked.load or LOADS]
        return int(not all(alike))
    worst = 0.0
    for load in asked.load or LOADS:
        with tempfile.TemporaryDirectory(prefix="tennis-boot-") as scratch:
            found = [
                boot(load, seed, Path(scratch) / str(seed)) for seed in range(asked.boots + 1)
            ][1:]
        qemu, programs, python = (np.median([one[0][part] for one in found]) for part in range(3))
        kernel, setup, quiet = (np.median([one[1][part] for one in found]) for part in range(3))
        total = qemu + programs + python
        print(
            f"{load}: {total:.2f} s of processor time (N = {asked.boots}): "
            f"QEMU {qemu / total:.0%}, other programs {programs / total:.0%}, "
            f"Python {python / total:.0%}"
        )
        print(
            f"{load}: {kernel + setup + quiet:.2f} s of virtual time: {kernel:.2f} s until /init, "
            f"{setup:.2f} s until the load starts, {quiet:.2f} s until the target is ready"
        )
        worst = max(worst, 1 - qemu / total)
    print(f"not QEMU: at most {worst:.0%}, target {TARGET_SHARE:.0%}")
    return int(worst > TARGET_SHARE)


if __name__ == "__main__":
    sys.exit(main())
