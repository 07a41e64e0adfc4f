# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Several processors on the virtual bench: repeats, the error of their turns, and their speed.

Repeats: each rally is played twice with one seed, by turns alone and beside a busy loop on each
core; balls, events and console are compared byte by byte. Exits with 1 if a pair differs.
Turns: one isolated rally with turns of other lengths, so that the error of a turn shows.
Speed: balls a second of processor time with one, two and four processors; the boot is not counted.

    .venv/bin/python benchmarks/processors.py --pairs 100
"""

import argparse
import hashlib
import itertools
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tennis.bench.virtual.bench import Extras, VirtualBench
from tennis.play.planning import plan_of
from tennis.play.rally import Watch, play
from tennis.rally import Rally
from tennis.rally.folder import BALLS, CONSOLE, EVENTS
from tennis.stats.summary import latencies
from tennis.units import format_count

ISOLATED = {"command_line": "isolcpus=1 nohz_full=1 rcu_nocbs=1", "interrupt_cpu": 1}
HOG = {"load": "hog", "load_options": {"hold_us": 100, "period_us": 1000}}
KERNELS = ("mainline", "rt", "mainline-6.1", "rt-6.1", "mainline-7", "rt-7")
# on two processors, if a row says no other number: a hog on either, a processor of its own, a lock
LOADS: tuple[dict[str, Any], ...] = (
    {"load": "idle"},
    {"load": "stress"},
    {"load": "stress", **ISOLATED},
    {"load": "idle", "processors": 4},
    {"load": "stress", "processors": 1},
    {"load": "contention", "interrupt_cpu": 1},
    {**HOG, "load_cpus": "0"},
    {"load": "network"},
    {"load": "idle", "processors": 1},
    {**HOG, "load_cpus": "1"},
    {"load": "stress", "processors": 4},
)
IDLE_IS_QUICKER = 40  # so many balls in about the same time
TURNS_NS = (50, 100, 500, 1000, 2000, 5000)


def played(out: Path, extras: Extras | None = None, **asked: Any) -> Rally:
    """Play a rally on two processors, unless others are asked for."""
    plan = plan_of(**{"processors": 2, **asked})
    return play(VirtualBench(extras or Extras()), plan, out, Watch())


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


def digests(rally: Rally) -> dict[str, str]:
    """Return what must be the same twice."""
    files = {name: rally.path / name for name in (BALLS, EVENTS, CONSOLE)}
    return {
        name: hashlib.sha256(file.read_bytes()).hexdigest()
        for name, file in files.items()
        if file.is_file()
    }


def repeats(pairs: int, balls: int, scratch: Path) -> int:
    """Play pairs, say of each whether it is alike, and count; return how many are not."""
    different: Counter[str] = Counter()
    played_so: Counter[str] = Counter()
    # their numbers have no common divisor: each load meets each kernel
    kinds = zip(itertools.cycle(LOADS), itertools.cycle(KERNELS), strict=False)
    for number, (load, kernel) in enumerate(itertools.islice(kinds, pairs), 1):
        asked = {"kernel": kernel, "balls": balls, "seed": number, **load}
        loops = (number % 2) * (os.cpu_count() or 1)
        one = played(scratch / f"{number}-once", **asked)
        with busy(loops):
            other = played(scratch / f"{number}-again", **asked)
        unlike = [name for name, digest in digests(one).items() if digests(other)[name] != digest]
        for row in (
            format_count(load.get("processors", 2), "processor"),
            f"{load['load']}",
            f"{kernel}",
            "beside busy loops" if loops else "both alone",
        ):
            played_so[row] += 1
            different[row] += bool(unlike)
        beside = f"again beside {loops} busy loops" if loops else "both alone"
        result = f"DIFFERENT in {', '.join(unlike)}" if unlike else "alike"
        print(f"{number}/{pairs}: {one.label}, seed {number}, {beside}: {result}", flush=True)
    for row, count in played_so.items():
        print(f"{row}: {count - different[row]} of {count} pairs alike ({balls} balls each)")
    unlike_pairs = different["both alone"] + different["beside busy loops"]
    print(f"all: {pairs - unlike_pairs} of {pairs} pairs alike")
    return unlike_pairs


def turns(balls: int, scratch: Path) -> None:
    """Say how the latencies of an isolated rally move with the length of a turn."""
    for turn_ns in TURNS_NS:
        extras = Extras(answers={"turn": max(turn_ns, 2000), "fine_turn": turn_ns})
        out = scratch / f"turns-{turn_ns}"
        rally = played(out, extras, load="stress", balls=balls, **ISOLATED)
        found = latencies([rally], claim=False)["interrupt_ns"]
        print(
            f"turns of {turn_ns} ns near a ping: interrupt latency {found.said('min')} at least, "
            f"{found.said('median')} usually, {found.said('max')} at most (N = {balls})",
            flush=True,
        )


def spent_s(out: Path, **asked: Any) -> float:
    """Return the processor seconds of a rally."""
    before = sum(os.times()[:4])
    played(out, **asked)
    return sum(os.times()[:4]) - before


def speed(balls: int, scratch: Path) -> None:
    """Say how many balls a second of processor time gives."""
    for processors, load in itertools.product((1, 2, 4), ("idle", "stress")):
        # of the same virtual time for each, whatever an instruction takes
        asked = {"processors": processors, "load": load, "instruction_ns": 4}
        count = balls * (IDLE_IS_QUICKER if load == "idle" else 1)
        few, many = (
            spent_s(scratch / f"speed-{processors}-{load}-{n}", **asked, balls=n)
            for n in (50, 50 + count)
        )
        rate = count / (many - few)
        print(
            f"{processors} processors, {load}: {rate:,.0f} balls a processor second "
            f"(N = {count:,}, instructions of 4 ns)",
            flush=True,
        )


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--pairs", type=int, default=100)
    parser.add_argument("--balls", type=int, default=60, help="of each rally of a pair")
    parser.add_argument("--turn-balls", type=int, default=1000, help="0: leave it out")
    parser.add_argument("--speed-balls", type=int, default=500, help="0: leave it out")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tennis-bench-") as folder:
        scratch = Path(folder)
        if asked.turn_balls:
            turns(asked.turn_balls, scratch)
        if asked.speed_balls:
            speed(asked.speed_balls, scratch)
        return int(repeats(asked.pairs, asked.balls, scratch) > 0)


if __name__ == "__main__":
    sys.exit(main())
