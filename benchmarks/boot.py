# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""What a boot for a single ball consists of: processor time on the host, virtual time in the guest.

What the guest does until it is ready is part of the bytes, so it is QEMU's whole share. Python and
the small programs that it starts are what can be saved without another edition of the bench.
Medians of boots in one process, after a first one that does not count: it imports, and builds what
is not in the cache. Seen of one boot each on a busy machine: QEMU 97 % of 4.8 s idle, 98 % of 9.9 s
under stress; so little outside of the guest is left to be cut. Exits with 1 where the share of what
is not QEMU is above the target.
"""

import argparse
import re
import resource
import sys
import tempfile
from pathlib import Path

import numpy as np

from tennis.bench.virtual.bench import VirtualBench
from tennis.play.planning import plan_of
from tennis.play.rally import Watch, play
from tennis.rally import open_rally
from tennis.rally.folder import CONSOLE

TARGET_SHARE = 0.15  # of what is not QEMU
# what the console says, by the kernel's clock
INIT = re.compile(r"\[ *([\d.]+)\] Run /init as init process")
LOADED = re.compile(r"tennis: fact load_started_s ([\d.]+)")
READY = re.compile(r"tennis: fact ready_monotonic_ns (\d+)")


def processor_s() -> tuple[float, float]:
    """Return user and system time of this process, and of its children that ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    own, children = (one.ru_utime + one.ru_stime for one in used)
    return own, children


def boot(load: str, seed: int, folder: Path) -> tuple[list[float], list[float]]:
    """Play one ball.

    Returns processor seconds of QEMU, programs and Python; and virtual seconds of the kernel until
    it runs /init, from there until the load starts, from there until the target is ready.
    """
    bench, plan = VirtualBench(), plan_of(kernel="mainline", load=load, balls=1, seed=seed)
    began = processor_s()
    bench.parts(plan)  # all programs but QEMU
    prepared = processor_s()
    play(bench, plan, folder, Watch(lambda _: None))
    ended = processor_s()
    console = (folder / CONSOLE).read_text(errors="replace")
    init_s, loaded_s, ready_ns = (float(one.search(console)[1]) for one in (INIT, LOADED, READY))
    if open_rally(folder).balls != 1:
        raise SystemExit(f"{folder} has no single ball")
    host = [ended[1] - prepared[1], prepared[1] - began[1], ended[0] - began[0]]
    return host, [init_s, loaded_s - init_s, ready_ns / 1e9 - loaded_s]


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--boots", type=int, default=10, help="of each load")
    asked = parser.parse_args()
    worst = 0.0
    for load in ("idle", "stress"):
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
