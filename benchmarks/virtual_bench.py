# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""The virtual bench: balls per second of wall time, and what the instrument costs.

The cost is the wall time of a target under stress that powers itself off after a fixed virtual
time, with the instrument serving about 1,000 balls a second of virtual time, over the same without
the instrument, in turn on the same machine; the ratio is of the best times. Exits with 1 where the
target is missed.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

from tennis.bench.virtual.bench import Extras, VirtualBench
from tennis.play.planning import plan_of
from tennis.play.progress import Progress
from tennis.play.rally import Watch, play

TARGET_RATIO = 1.3


def rate(kernel: str, load: str, balls: int, folder: Path, instrument: str = "builtin") -> float:
    """Return balls per second of wall time, from the first ball to the last."""
    rates: list[float] = []

    def observe(progress: Progress) -> None:
        if progress.balls == balls and not rates:
            rates.append(progress.rate)

    plan = plan_of(kernel=kernel, load=load, balls=balls, instrument=instrument)
    play(VirtualBench(), plan, folder, Watch(observe))
    return rates[0]


def wall_s(kernel: str, *, instrument: bool, limit_s: int) -> tuple[float, int]:
    """Run a target under stress until it powers off; return wall seconds and balls."""
    extras = Extras(parameters=f"tennis.limit_s={limit_s}", instrument=instrument)
    plan = plan_of(kernel=kernel, load="stress", balls=10**8)
    bench = VirtualBench(extras)
    bench.parts(plan)
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        session = bench.start(plan, Path(folder))
        size = sum(len(frame.payload) for frame in session.frames() if frame)
        took = time.perf_counter() - began
        session.close()
    return took, size // 16


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--balls", type=int, default=5000, help="a rally's, for the rates")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--limit-s", type=int, default=15, help="virtual time of a run, for the cost"
    )
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tennis-bench-") as scratch:
        for kernel in ("mainline", "rt"):
            for load in ("idle", "stress"):
                balls = asked.balls * (10 if load == "idle" else 1)
                found = rate(kernel, load, balls, Path(scratch) / f"{kernel}-{load}")
                print(f"{kernel}, {load}: {found:,.0f} balls a second of wall time (N = {balls})")
        for load in ("idle", "stress"):
            rates = [
                rate("mainline", load, asked.balls // 5, Path(scratch) / f"{load}-{name}", name)
                for name in ("builtin", "pico")
            ]
            print(
                f"mainline, {load}: the emulated Pico plays {rates[1]:,.0f} balls a second of wall "
                f"time, 1/{rates[0] / rates[1]:.0f} of the built-in instrument's rate beside it "
                f"(N = {asked.balls // 5})"
            )
    missed = False
    for kernel in ("mainline", "rt"):
        best = {True: float("inf"), False: float("inf")}
        balls = 0
        for _ in range(asked.rounds):
            for instrument in (True, False):
                took, served = wall_s(kernel, instrument=instrument, limit_s=asked.limit_s)
                best[instrument] = min(best[instrument], took)
                balls = max(balls, served)
        ratio = best[True] / best[False]
        missed |= ratio > TARGET_RATIO
        print(
            f"{kernel}, stress: {best[True]:.2f} s of wall time with the instrument (about {balls} "
            f"balls), {best[False]:.2f} s without, best of {asked.rounds}: ratio {ratio:.2f}"
        )
    print(f"target: ratio at most {TARGET_RATIO}: {'MISSED' if missed else 'met'}")
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
