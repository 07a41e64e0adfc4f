# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""What a boot for a single ball consists of: processor time on the host, virtual time in the guest.

What the guest does until it is ready is part of the bytes, so it is QEMU's whole share. Python and
the small programs that it starts are what can be saved without another edition of the bench.
Medians of boots in one process, after a first one that does not count: it imports, and builds what
is not in the cache. Exits with 1 if the share of what is not QEMU is above the target.
"""

import argparse
import re
import resource
import sys
import tempfile
from pathlib import Path

import numpy as np

from tennis.bench.virtual.bench import VirtualBench
from tennis.play.planning import plan_for
from tennis.play.rally import Watch, play
from tennis.rally.folder import CONSOLE
from tennis.rally.request import requests_of

LOADS = ("idle", "stress")
TARGET_SHARE = 0.15  # of what is not QEMU
# what the console says, by the kernel's clock
INIT = re.compile(r"\[ *([\d.]+)\] Run /init as init process")
LOADED = re.compile(r"tennis: fact load_started_s ([\d.]+)")
READY = re.compile(r"tennis: fact ready_monotonic_ns (\d+)")


def used_s(who: int = resource.RUSAGE_CHILDREN) -> float:
    """Return the seconds that the processor gave to children that ended, or to ``who``."""
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


def boot(load: str, seed: int, folder: Path) -> tuple[list[float], list[float]]:
    """Play one ball.

    Returns processor seconds of QEMU, programs and Python; and virtual seconds of the kernel until
    it runs /init, from there until the load starts, from there until the target is ready.
    """
    bench = VirtualBench()
    settings = {"kernel": "mainline", "load": load, "balls": 1, "seed": seed}
    plan = plan_for(*requests_of(settings))
    began_s, own_s = used_s(), used_s(resource.RUSAGE_SELF)
    bench.parts(plan)  # all programs but QEMU
    prepared_s = used_s()
    assert play(bench, plan, folder, Watch(lambda _: None)).balls == 1
    host = [used_s() - prepared_s, prepared_s - began_s, used_s(resource.RUSAGE_SELF) - own_s]
    console = (folder / CONSOLE).read_text(errors="replace")
    init_s, loaded_s, ready_ns = (float(one.search(console)[1]) for one in (INIT, LOADED, READY))
    return host, [init_s, loaded_s - init_s, ready_ns / 1e9 - loaded_s]


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--boots", type=int, default=10, help="of each load")
    boots = parser.parse_args().boots
    worst = 0.0
    for load in LOADS:
        with tempfile.TemporaryDirectory(prefix="tennis-boot-") as scratch:
            found = [boot(load, seed, Path(scratch) / str(seed)) for seed in range(boots + 1)][1:]
        qemu, programs, python = np.median([host for host, _ in found], axis=0)
        kernel, setup, quiet = np.median([guest for _, guest in found], axis=0)
        total = qemu + programs + python
        print(
            f"{load}: {total:.2f} s of processor time (N = {boots}): "
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
