# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Shots: against boots of their own, against the model, and what they cost.

    .venv/bin/python benchmarks/shots.py --shots 300 --alone 8
    .venv/bin/python benchmarks/shots.py --shots 40 --alone 2 --kinds
    .venv/bin/python benchmarks/shots.py --shots 5000 --model --kernels rt --loads stress
    .venv/bin/python benchmarks/shots.py --shots 300 --cost

With --alone so many shots, the latest quarter among them, are played once more, each as the first
ball of a boot of its own; with --kinds, those of one rally of each row of KINDS. With --model a
rally of balls calibrates the model of `tennis explain --sections`, and all shots are compared with
what it says of their instants. With --cost the processor time of a shot and the memory of QEMU with
its children: the figures of docs/shots.md.
"""

import argparse
import contextlib
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from measuring import used_s
from numpy.typing import NDArray

from tennis import wire
from tennis.bench.virtual.bench import VirtualBench
from tennis.bench.virtual.machine import Extras
from tennis.bench.virtual.shots import Children
from tennis.explain.sections.calibration import calibrate
from tennis.explain.sections.model import WAYS, Model
from tennis.play.planning import plan_for
from tennis.play.rally import Watch, play
from tennis.play.repeat import balls_of
from tennis.play.sections import _Machine
from tennis.play.shots import first_ball_at
from tennis.rally import Rally, open_rally
from tennis.rally.balls import records
from tennis.rally.plan import Plan
from tennis.rally.request import RallyRequest
from tennis.rally.serving import Serving

BALLS = 500  # that calibrate the model
# kernel, load, top half, bottom half: each value of these that shots go with, at least once
KINDS = (
    ("mainline", "idle", "hard", "thread"),
    ("rt", "stress", "forced", "workqueue"),
    ("mainline", "xload", "hard", "workqueue"),
    ("rt", "network", "hard", "tasklet"),
    ("mainline", "network", "hard", "user"),
    ("rt", "xload", "hard", "user"),
    ("rt", "idle", "hard", "thread"),
    ("mainline", "stress", "explicit", "tasklet"),
)


def played(out: Path, plan: Plan, children: Children | None = None) -> Rally:
    """Play a plan, or open what was played."""
    if out.exists():
        return open_rally(out)
    return play(VirtualBench(Extras(children=children or Children())), plan, out, Watch())


def ball_alone(rally: Rally, plan: Plan, at_ns: int) -> tuple[int, int, int]:
    """Return served, rise and fall of a ball at an instant, the first of a boot of its own."""
    extras = Extras(protocol=first_ball_at(rally, plan, at_ns))
    with (
        tempfile.TemporaryDirectory() as scratch,
        contextlib.closing(VirtualBench(extras).start(plan, Path(scratch))) as session,
    ):
        for frame in session.frames():
            if frame is not None and frame.kind == wire.BALLS:
                session.stop()
                ball = records(frame.payload)[0]
                return int(ball["served"]), int(ball["rise"]), int(ball["fall"])
    raise SystemExit(f"no ball came at {at_ns} ns")


def against_boots(rally: Rally, plan: Plan, count: int) -> None:
    """Play some shots in boots of their own; print how many are the same."""
    table = balls_of(rally)
    order = np.argsort(-table[:, 1], kind="stable")
    latest, rest = np.split(order, [max(1, count // 4)])
    chosen = [*latest, *np.random.default_rng(1).permutation(rest)[: count - len(latest)]]
    same, began_s = 0, used_s()
    for number in sorted(map(int, chosen)):
        ours, alone = tuple(map(int, table[number])), ball_alone(rally, plan, int(table[number, 0]))
        same += ours == alone
        if ours != alone:
            print(f"  shot {number}: {ours}, alone {alone}", flush=True)
    print(
        f"  {same} of {len(chosen)} shots are what a boot of their own gives; "
        f"{used_s() - began_s:.1f} s of a processor",
        flush=True,
    )


def against_the_model(folder: Path, plan: Plan, shots: Rally) -> None:
    """Print how far shots are from what the model says of their instants, by way."""
    protocol = plan.protocol.model_copy(update={"loop": "closed", "balls": BALLS})
    asked = plan.model_copy(update={"protocol": protocol})
    rally = played(folder, asked)
    table = balls_of(shots)
    machine = _Machine(rally, asked, balls_of(rally), Watch())
    balls = balls_of(rally)
    found = calibrate(machine.decoded(machine.rally_again()), balls[:, 0], balls[:, 1])
    machine.end_ns = int(table[-1, 0]) + 1_000_000
    model = Model(machine.decoded(machine.without_balls()), found.constants)
    met = model.meet(table[:, 0])
    off = table[:, 1] - met.latency
    for sure in (True, False):
        for way in np.unique(met.way[met.sure == sure]):
            tell(WAYS[way], sure, off[(met.sure == sure) & (met.way == way)])


def tell(way: str, sure: bool, off: NDArray[np.int64]) -> None:
    """Print how far the shots of one way are off."""
    words = "predicted" if sure else "not sure"
    exact = int((off == 0).sum())
    print(f"  {way}, {words}: {exact} of {off.size} exact, {off.min():+} to {off.max():+} ns")


@contextlib.contextmanager
def memory_watched(found: list[int]) -> Iterator[None]:
    """Append the memory of QEMU with its children, in bytes, again and again."""
    over = threading.Event()

    def look() -> None:
        while not over.wait(0.02):
            found.append(sum(_family(Path("/proc/self"))))

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _family(process: Path) -> Iterator[int]:
    """Yield the part of the memory of each process below one that is QEMU; bytes."""
    with contextlib.suppress(OSError, ValueError):
        for task in (process / "task").iterdir():
            for child in (task / "children").read_text().split():
                below = Path("/proc", child)
                if b"qemu" in (below / "cmdline").read_bytes():
                    lines = (below / "smaps_rollup").read_text().splitlines()
                    yield next(int(line.split()[1]) << 10 for line in lines if line[:4] == "Pss:")
                yield from _family(below)


def cost(folder: Path, plan: Plan) -> None:
    """Print what a shot costs, and how much memory one child, two and four take."""
    one = plan.model_copy(update={"protocol": plan.protocol.model_copy(update={"balls": 1})})
    began_s = used_s()
    played(folder / "one", one)
    boot_s = used_s() - began_s
    for count in (1, 2, 4):
        memory: list[int] = []
        began, began_s = time.monotonic(), used_s()
        with memory_watched(memory):
            played(folder / f"of-{count}", plan, Children(count))
        whole_s, wall_s = used_s() - began_s, time.monotonic() - began
        shots = plan.protocol.balls
        print(
            f"  {count} at once: {(whole_s - boot_s) / shots * 1000:.1f} ms of a processor a shot, "
            f"{shots / (whole_s - boot_s):.0f} a second a core; {whole_s:.1f} s in all "
            f"({boot_s:.1f} s for the boot), {wall_s:.0f} s of the clock; "
            f"{max(memory) / 1e6:,.0f} MB",
            flush=True,
        )


def main() -> None:
    """Play shots of each kernel and load, and compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shots", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kernels", nargs="+", default=["mainline", "rt"])
    parser.add_argument("--loads", nargs="+", default=["stress"])
    parser.add_argument("--top-half", default="hard", choices=["hard", "explicit", "forced"])
    parser.add_argument("--bottom-half", default="tasklet")
    parser.add_argument("--memory", default="none")
    parser.add_argument("--program", type=Path)
    parser.add_argument("--racquet", type=Path)
    parser.add_argument("--processors", type=int, default=1)
    parser.add_argument("--alone", type=int, default=0)
    parser.add_argument("--model", action="store_true")
    parser.add_argument("--cost", action="store_true")
    parser.add_argument("--keep", type=Path, help="a folder in which the rallies are kept")
    parser.add_argument("--kinds", action="store_true", help="one rally of each row of KINDS")
    asked = parser.parse_args()
    kinds = [
        (kernel, load, asked.top_half, asked.bottom_half)
        for kernel in asked.kernels
        for load in asked.loads
    ]
    with tempfile.TemporaryDirectory() as scratch:
        folder = asked.keep or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        for kind in KINDS if asked.kinds else kinds:
            compare(asked, folder, kind)


def compare(asked: argparse.Namespace, folder: Path, kind: tuple[str, str, str, str]) -> None:
    """Play the shots of one kind, as a row of KINDS, and compare them with what was asked for."""
    kernel, load, top_half, bottom_half = kind
    settings = {
        "top_half": top_half,
        "bottom_half": bottom_half,
        "memory": asked.memory,
        "processors": asked.processors,
        "instruction_ns": max(2, asked.processors),
    }
    if asked.program:
        settings = {"program": asked.program.resolve()}
    if asked.racquet:
        settings = {"racquet": asked.racquet.resolve()}
    words = "-".join(str(part) for part in (kernel, load, *settings.values()))
    words = words.replace("/", "-")
    of = {"kernel": kernel, "load": load, "shots": asked.shots, **settings}
    plan = plan_for(RallyRequest.of(of), Serving(seed=asked.seed))
    began, began_s = time.monotonic(), used_s()
    rally = played(folder / words, plan)
    shots_s = used_s() - began_s
    latest = balls_of(rally)[:, 1].max()
    print(
        f"\n## {words}, seed {asked.seed}: {rally.balls} shots, {rally.misses} missed, "
        f"the latest {latest:,} ns, {time.monotonic() - began:.0f} s of the clock, "
        f"{shots_s:.1f} s of a processor",
        flush=True,
    )
    if asked.alone:
        against_boots(rally, plan, asked.alone)
    if asked.model:
        against_the_model(folder / f"{words}-balls", plan, rally)
    if asked.cost:
        (folder / f"{words}-cost").mkdir()
        cost(folder / f"{words}-cost", plan)


if __name__ == "__main__":
    main()
