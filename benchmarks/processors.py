# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Several processors on the virtual bench: repeats, the error of their turns, and their speed.

Repeats: each rally is played twice with one seed, the second time by turns alone and beside busy
loops; all files of both are compared byte by byte. Exits with 1 if a pair differs.
Turns: one isolated rally with turns of other lengths, so that the error of a turn shows.
Speed: balls a second of processor time with one, two and four processors; the boot is not counted.

    .venv/bin/python benchmarks/processors.py --pairs 100

A hundred pairs take hours. Several calls divide them: --pairs 34, --first-pair 35 --pairs 33 ...

It plays with the first qemu-system-aarch64 in PATH, and names its version.
"""

import argparse
import itertools
import os
import resource
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from measuring import planned, played, unlike, used_s

from tennis.bench.qemu.plugins import find_qemu
from tennis.bench.virtual.bench import Extras, VirtualBench
from tennis.stats.summary import latencies
from tennis.units import format_count

ISOLATED = {"command_line": "isolcpus=1 nohz_full=1 rcu_nocbs=1", "interrupt_cpu": 1}
HOG = {"load": "hog", "load_options": {"hold_us": 100, "period_us": 1000}}
KERNELS = ("mainline", "rt", "mainline-6.1", "rt-6.1", "mainline-7", "rt-7")
# half the instructions in the time that a load takes
SLOW = {"instruction_ns": 4}
# on two processors, if a row says no other number: a hog on either, a processor of its own, a lock
LOADS: tuple[dict[str, Any], ...] = (
    {"load": "idle"},
    {"load": "stress", **SLOW},
    {"load": "stress", **ISOLATED},
    {"load": "idle", "processors": 4},
    {"load": "stress", "processors": 1},
    {"load": "contention", "interrupt_cpu": 1},
    {**HOG, "load_cpus": "0"},
    {"load": "network", **SLOW},
    {"load": "idle", "processors": 1},
    {**HOG, "load_cpus": "1"},
    {"load": "stress", "processors": 4},
)
IDLE_IS_QUICKER = 200  # so many balls in about the same time
BOOTS_DIFFER_S = 2.0
MOST = 4  # processors; fewer are quicker
SETTLE_S = 0.1  # of virtual time, in which a load runs and no ball is played
TURNS_NS = (50, 100, 500, 1000, 2000, 5000)


@contextmanager
def busy(count: int) -> Iterator[None]:
    """Keep so many cores busy meanwhile."""
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def kind(number: int) -> tuple[dict[str, Any], str, bool]:
    """Return load, kernel and whether loops are busy beside the second rally, for a pair from 1 on.

    The numbers of loads, and of kernels with and without loops, have no common divisor: each load
    meets each kernel, and both of them busy loops.
    """
    index = number - 1
    beside = (index + index // len(KERNELS)) % 2 == 0
    return LOADS[index % len(LOADS)], KERNELS[index % len(KERNELS)], beside


def repeats(numbers: range, balls: int, loops: int, scratch: Path) -> int:
    """Play pairs, say of each whether it is alike, and count; return how many are not."""
    different: Counter[str] = Counter()
    played_so: Counter[str] = Counter()
    for number in numbers:
        load, kernel, beside = kind(number)
        asked = {"kernel": kernel, "balls": balls, "seed": number, "settle_s": SETTLE_S}
        asked |= {"processors": 2, **load}
        one = played(scratch / f"{number}-once", **asked)
        with busy(loops * beside):
            other = played(scratch / f"{number}-again", **asked)
        found = unlike(one, other, balls)
        company = f"beside {format_count(loops, 'busy loop')}" if beside else "both alone"
        for row in (
            format_count(load.get("processors", 2), "processor"),
            f"{load['load']}",
            f"{kernel}",
            company,
        ):
            played_so[row] += 1
            different[row] += bool(found)
        result = f"DIFFERENT: {', '.join(found)}" if found else "alike"
        print(f"pair {number}: {one.label}, seed {number}, {company}: {result}", flush=True)
        different["all"] += bool(found)
    for row, count in played_so.items():
        print(f"{row}: {count - different[row]} of {count} pairs alike ({balls} balls each)")
    print(f"all: {len(numbers) - different['all']} of {len(numbers)} pairs alike")
    return different["all"]


def turns(balls: int, scratch: Path) -> None:
    """Say how the latencies of an isolated rally move with the length of a turn."""
    for turn_ns in TURNS_NS:
        extras = Extras(answers={"turn": max(turn_ns, 2000), "fine_turn": turn_ns})
        out = scratch / f"turns-{turn_ns}"
        rally = played(out, extras, load="stress", balls=balls, processors=2, **ISOLATED)
        found = latencies([rally], claim=False)["interrupt_ns"]
        print(
            f"turns of {turn_ns} ns near a ping: interrupt latency {found.said('min')} at least, "
            f"{found.said('median')} usually, {found.said('max')} at most (N = {balls})",
            flush=True,
        )


def spent_s(out: Path, **asked: Any) -> float:
    """Return the processor seconds of a rally."""
    VirtualBench(Extras()).versions(planned(**asked))  # what is built now is not built in the rally
    before_s = used_s() + used_s(resource.RUSAGE_SELF)
    played(out, **asked)
    return used_s() + used_s(resource.RUSAGE_SELF) - before_s


def speed(balls: int, scratch: Path) -> None:
    """Say how many balls a second of processor time gives."""
    for processors, load in itertools.product((1, 2, MOST), ("idle", "stress")):
        # of the same virtual time for each, whatever an instruction takes
        asked = {"processors": processors, "load": load, **SLOW}
        count = balls * (IDLE_IS_QUICKER if load == "idle" else 1) * MOST // processors
        few, many = (
            spent_s(scratch / f"speed-{processors}-{load}-{n}", **asked, balls=n)
            for n in (50, 50 + count)
        )
        more_s = many - few
        # two boots of one plan differ by some tenths of a second
        rate = f"{count / more_s:,.0f}" if more_s > BOOTS_DIFFER_S else "too few balls to tell the"
        print(
            f"{format_count(processors, 'processor')}, {load}: {rate} balls a processor second "
            f"(N = {count:,}, instructions of 4 ns)",
            flush=True,
        )


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--pairs", type=int, default=100, help="0: leave them out")
    parser.add_argument(
        "--first-pair", type=int, default=1, help="the first one's number, which is its seed"
    )
    parser.add_argument("--balls", type=int, default=60, help="of each rally of a pair")
    parser.add_argument("--turn-balls", type=int, default=1000, help="0: leave it out")
    parser.add_argument("--speed-balls", type=int, default=1000, help="0: leave it out")
    parser.add_argument(
        "--loops", type=int, default=os.cpu_count() or 1, help="busy beside every other pair"
    )
    asked = parser.parse_args()
    print(f"QEMU {find_qemu().version}", flush=True)
    with tempfile.TemporaryDirectory(prefix="tennis-bench-") as folder:
        scratch = Path(folder)
        if asked.turn_balls:
            turns(asked.turn_balls, scratch)
        if asked.speed_balls:
            speed(asked.speed_balls, scratch)
        if asked.pairs:
            numbers = range(asked.first_pair, asked.first_pair + asked.pairs)
            return int(repeats(numbers, asked.balls, asked.loops, scratch) > 0)
    return 0


if __name__ == "__main__":
    sys.exit(main())
