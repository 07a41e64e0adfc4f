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
from tennis.play.rally import Observer, Stop, Watch, play
from tennis.play.report import Row, write_report
from tennis.rally import Rally, open_rally
from tennis.rally.plan import Plan, Priorities
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
    balls: int,
    seed: int,
    shown: Callable[[str], AbstractContextManager[Observer]],
    stop: Stop,
) -> tuple[list[Rally], Path]:
    """Play all rallies into ``folder`` and write its report.html; return both.

    Rallies that an earlier demonstration finished with the same plan are kept. Raises TennisError
    where ``folder`` holds something else.
    """
    if folder.exists() and not (folder / MARKER).exists() and any(folder.iterdir()):
        raise TennisError(f"{folder} holds something else than a demonstration: use another --out")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / MARKER).touch()
    rallies = []
    for name, plan in plans(balls, seed).items():
        rally = _kept(folder / name, plan)
        if rally is None:
            for old in (folder / name, folder / f"{name}.part"):
                shutil.rmtree(old, ignore_errors=True)
            with shown(f"{name:22}") as observe:
                rally = play(bench_of(plan.bench), plan, folder / name, Watch(observe, stop))
        rallies.append(rally)
        if stop():
            break
    report = folder / "report.html"
    write_report(rallies, report, force=True)
    return rallies, report


def _kept(folder: Path, plan: Plan) -> Rally | None:
    """Return a finished rally of the same plan and the same versions, where there is one."""
    try:
        rally = open_rally(folder)
    except TennisError:
        return None
    manifest = rally.manifest
    same = (
        manifest.protocol == plan.protocol
        and manifest.ended == "complete"
        and not manifest.tainted
        and manifest.tool.versions == bench_of(plan.bench).versions(plan)
    )
    return rally if same else None


def story(rows: list[Row]) -> Iterator[str]:
    """Yield what the rows say about the thesis' main result, each line with its numbers."""
    found = {(row.kernel, row.load, row.priorities): row for row in rows}

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
