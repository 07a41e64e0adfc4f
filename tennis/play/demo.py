# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""The thesis' main result on the virtual bench: two kernels, two loads, two priorities."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from itertools import product
from pathlib import Path

from tennis.errors import TennisError
from tennis.play.planning import bench_of, plan_of
from tennis.play.rally import Observer, Stop, Watch, play, resume
from tennis.play.report import Row, write_report
from tennis.rally import Rally, open_rally, part_path
from tennis.rally.disk import writing
from tennis.rally.manifest import Priorities
from tennis.rally.plan import Plan
from tennis.units import format_ns

KERNELS = ("mainline", "rt")
LOADS = ("idle", "stress")
PRIORITIES: tuple[Priorities, ...] = ("default", "chrt")
# what the demonstration itself writes, and may write again
MARKER = ".tennis-demo"


def plans(balls: int, seed: int) -> dict[str, Plan]:
    """Return the demonstration's plans by the names of their folders."""
    return {
        f"{kernel}-{load}-{priorities}": plan_of(
            kernel=kernel, load=load, priorities=priorities, balls=balls, seed=seed
        )
        for kernel, load, priorities in product(KERNELS, LOADS, PRIORITIES)
    }


def demo(
    folder: Path,
    wanted: dict[str, Plan],
    shown: Callable[[str], AbstractContextManager[Observer]],
    stop: Stop,
    say: Callable[[str], None],
) -> tuple[list[Rally], Path]:
    """Play the rallies into ``folder`` and write its report.html; return both.

    ``say`` gets a line for each rally that is there. What an earlier demonstration finished with
    the same plan and versions is kept, what it left unfinished is finished. Raises TennisError
    where ``folder`` holds something else.
    """
    if folder.exists() and not (folder / MARKER).exists() and any(folder.iterdir()):
        raise TennisError(f"{folder} holds something else than a demonstration: use another --out")
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / MARKER).touch()
    rallies = []
    for number, (name, plan) in enumerate(wanted.items(), 1):
        rally = _kept(folder / name, plan)
        how = "kept" if rally else "played"
        if rally is None:
            with shown(f"{number}/{len(wanted)}") as observe:
                rally = _played(folder / name, plan, Watch(observe, stop))
        rallies.append(rally)
        say(f"{number}/{len(wanted)} {name}: {how}, {rally.balls:,} balls, {rally.misses} missed")
        if stop():
            break
    report = folder / "report.html"
    write_report(rallies, report, force=True)
    return rallies, report


def _kept(out: Path, plan: Plan) -> Rally | None:
    """Return the finished rally of the same plan and the same versions, where there is one.

    Raises TennisError where there is a rally of another plan: it is somebody's data.
    """
    if not out.exists():
        return None
    rally = open_rally(out)
    manifest = rally.manifest
    if manifest.protocol != plan.protocol or (
        manifest.tool.versions != bench_of(plan.bench).versions(plan)
    ):
        raise TennisError(
            f"{out} was played with another plan or other versions: use another --out, "
            f"or remove {out.parent}"
        )
    if manifest.ended == "complete" and not manifest.tainted:
        return rally
    shutil.rmtree(out)  # the same plan brings the same balls back, and the rest
    return None


def _played(out: Path, plan: Plan, watch: Watch) -> Rally:
    bench = bench_of(plan.bench)
    if not part_path(out).is_dir():
        return play(bench, plan, out, watch)
    if Plan.read(part_path(out)).protocol != plan.protocol:
        raise TennisError(
            f"{out} was begun with another plan: finish it with `tennis rally --resume {out}`, "
            "or use another --out"
        )
    return resume(bench, out, watch)


def story(rows: list[Row]) -> Iterator[str]:
    """Yield what the rows say about the thesis' main result, each line with its numbers."""
    found = {(row.kernel, row.load, row.priorities): row for row in rows if not row.tainted}

    def worst(which: str, kernel: str, load: str, priorities: str) -> int | None:
        row = found.get((kernel, load, priorities))
        return getattr(row, which).max if row else None

    for kernel in KERNELS:
        idle = worst("interrupt", kernel, "idle", "default")
        stress = worst("interrupt", kernel, "stress", "default")
        if idle and stress:
            grew = f"{stress / idle:.3g} times the idle one ({format_ns(stress)})"
            yield f"{kernel}: the worst interrupt latency under stress is {grew}."
    default = worst("scheduling", "rt", "stress", "default")
    chrt = worst("scheduling", "rt", "stress", "chrt")
    if default and chrt:
        yield (
            f"rt under stress: without priorities the bottom half's worst case is "
            f"{format_ns(default)}, with them {format_ns(chrt)} "
            f"({default / chrt:.3g} times)."
        )
