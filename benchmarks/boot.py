"""What a boot for a single ball consists of: processor time on the host, virtual time in the guest.

What the guest does until it is ready is part of the bytes, so it is QEMU's whole share. Python and
the small programs that it starts are what can be saved without another edition of the bench.
Medians of boots in one process, after a first one that does not count: it imports, and builds what
is not in the cache. Exits with 1 if the share of what is not QEMU is above the target.

--memory PROFILE: instead, QEMU's processor time of rallies with that profile, by that of none, in
turn. With a clock instructions are shorter, so each virtual second has more of them, also before
the target is ready. So it is also compared with none whose instructions are as short.
"""

import argparse
import re
import resource
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from tennis.bench.virtual.bench import VirtualBench
from tennis.play.planning import plan_for
from tennis.play.rally import Watch, play
from tennis.rally.folder import CONSOLE
from tennis.rally.request import requests_of

LOADS = ("idle", "stress")
TARGET_SHARE = 0.15  # of what is not QEMU
TARGET_RATIO = 1.6  # with a memory profile, of 500 balls with their boot
# what the console says, by the kernel's clock
INIT = re.compile(r"\[ *([\d.]+)\] Run /init as init process")
LOADED = re.compile(r"tennis: fact load_started_s ([\d.]+)")
READY = re.compile(r"tennis: fact ready_monotonic_ns (\d+)")


def used_s(who: int = resource.RUSAGE_CHILDREN) -> float:
    """Return the seconds that the processor gave to children that ended, or to ``who``."""
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


def boot(folder: Path, **settings: Any) -> tuple[list[float], list[float]]:
    """Play one ball, or some.

    Returns processor seconds of QEMU, programs and Python; and virtual seconds of the kernel until
    it runs /init, from there until the load starts, from there until the target is ready.
    """
    bench = VirtualBench()
    plan = plan_for(*requests_of({"kernel": "mainline", "balls": 1} | settings))
    began_s, own_s = used_s(), used_s(resource.RUSAGE_SELF)
    bench.parts(plan)  # all programs but QEMU
    prepared_s = used_s()
    assert play(bench, plan, folder, Watch()).balls == plan.protocol.balls
    host = [used_s() - prepared_s, prepared_s - began_s, used_s(resource.RUSAGE_SELF) - own_s]
    console = (folder / CONSOLE).read_text(errors="replace")
    init_s, loaded_s, ready_ns = (float(one.search(console)[1]) for one in (INIT, LOADED, READY))
    return host, [init_s, loaded_s - init_s, ready_ns / 1e9 - loaded_s]


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--boots", type=int, default=10, help="of each load")
    parser.add_argument("--memory", help="a profile, to be compared with none")
    boots, profile = (asked := parser.parse_args()).boots, asked.memory
    worst = 0.0
    for load in LOADS if profile else ():
        plan = plan_for(*requests_of({"kernel": "mainline", "memory": profile}))
        short = {"memory": "none", "instruction_ns": plan.instruction_ns}
        sides = ({"memory": "none"}, short, {"memory": profile})
        about = {"load": load, "balls": 500}
        rows = []
        for seed in range(1, boots + 1):
            with tempfile.TemporaryDirectory(prefix="tennis-boot-") as scratch:
                each = (
                    boot(Path(scratch) / f"{n}", **about, seed=seed, **side)
                    for n, side in enumerate(sides)
                )
                rows.append([host[0] for host, _ in each])
        print(f"{load}: {np.median(rows, axis=0)} s of QEMU: none, none as short, {profile}")
        for n, name in reversed([*enumerate(("none", f"none with {plan.instruction_ns} ns"))]):
            low, ratio, high = np.quantile([row[2] / row[n] for row in rows], (0, 0.5, 1))
            print(f"{load}: {ratio:.2f} times {name} ({low:.2f} to {high:.2f}, N = {boots})")
        worst = max(worst, ratio)
    if profile:
        print(f"at most {worst:.2f} times none, target {TARGET_RATIO}")
        return int(worst > TARGET_RATIO)
    for load in LOADS:
        with tempfile.TemporaryDirectory(prefix="tennis-boot-") as scratch:
            every = range(boots + 1)
            found = [boot(Path(scratch) / str(seed), load=load, seed=seed) for seed in every][1:]
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
