# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""What a memory profile costs: QEMU's processor time, with it and without, in one run.

    .venv/bin/python benchmarks/memory.py

Each rally is played twice, with few balls and with many: the difference is what balls cost without
the boot. It fails above 3.2 times for a ball under stress, and above 1.3 times for a rally of
500 balls with its boot.
"""

import argparse
import sys
import tempfile
from pathlib import Path

from measuring import played, used_s

PROFILES = ("none", "cortex-a72")
FEW, MANY = 500, 1500
BALL_MAX, RALLY_MAX = 3.2, 1.3


def rally_s(out: Path, kernel: str, balls: int, memory: str) -> float:
    """Play a rally under stress; return the seconds that the processor gave to QEMU."""
    before_s = used_s()
    played(out, kernel=kernel, load="stress", balls=balls, memory=memory)
    return used_s() - before_s


def main() -> int:
    """Print both ratios for each kernel; 1 if one is too large."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kernels", nargs="+", default=["mainline", "rt"])
    kernels = parser.parse_args().kernels
    failed = False
    with tempfile.TemporaryDirectory() as scratch:
        # what is built is built before anything is measured
        for kernel in kernels:
            for memory in PROFILES:
                rally_s(Path(scratch) / f"{kernel}-{memory}", kernel, 1, memory)
        for kernel in kernels:
            took = {
                (memory, balls): rally_s(
                    Path(scratch) / f"{kernel}-{memory}-{balls}", kernel, balls, memory
                )
                for balls in (FEW, MANY)
                for memory in PROFILES
            }
            whole = [took[memory, FEW] for memory in PROFILES]
            ball = [(took[memory, MANY] - took[memory, FEW]) / (MANY - FEW) for memory in PROFILES]
            ratios = (whole[1] / whole[0], ball[1] / ball[0])
            failed |= ratios[0] > RALLY_MAX or ratios[1] > BALL_MAX
            print(
                f"{kernel}, stress, {FEW} balls with the boot: {whole[0]:.1f} s without, "
                f"{whole[1]:.1f} s with {PROFILES[1]}: {ratios[0]:.2f} times; "
                f"a ball: {1000 * ball[0]:.2f} and {1000 * ball[1]:.2f} ms: {ratios[1]:.2f} times",
                flush=True,
            )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
