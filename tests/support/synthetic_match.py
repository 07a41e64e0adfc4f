"""Matches made up in milliseconds: synthetic rallies, and the match.json that lists them."""

import hashlib
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tennis.match.folder import MatchFolder, MatchRecord, open_match
from tennis.match.plan import KernelAxis, LoadAxis, MatchPlan, NotPlayed, ScheduledRally, Setting
from tennis.rally import Rally
from tennis.rally.balls import batches, write
from tennis.rally.columns import Column, Table
from tennis.rally.command_line import file_name
from tennis.rally.folder import BALLS, MANIFEST
from tennis.rally.manifest import BottomHalf, Drill, Priorities, TopHalf, Witness
from tennis.rally.opening import _read_manifest
from tennis.rally.plan import Plan
from tests.support.synthetic import TIME_NOTE, make_rally, table
from tests.support.synthetic_drill import make_drill

HALVES: dict[str, BottomHalf] = {"mainline": "tasklet", "rt": "tasklet", "xenomai": "thread"}


CREATED = "2026-01-01T00:00:00+00:00"
TOPS: dict[str, TopHalf] = {"rt": "forced"}
BOOTS = 10


def bursts(worst: int, balls: int = 3000, base: int = 1000, every: int = 100) -> NDArray[np.int64]:
    """Return latencies (ns) whose worst of each ``every`` balls is ``worst``."""
    found = np.full(balls, base)
    found[every // 2 :: every] = worst
    return found


def plan_of(made: Rally) -> Plan:
    """Return the plan of which a made-up rally, or a drill, is one."""
    target = made.manifest.target
    return Plan(
        bench="replay",
        kernel=target.kernel,
        load=made.manifest.load.name,
        load_options={},
        bottom_half=target.bottom_half,
        top_half=target.top_half,
        priorities=target.priorities,
        command_line=target.added,
        witness=target.witness,
        protocol=made.manifest.protocol,
        versions={},
        drill=made.manifest.drill,
    )


def record_of(plan: MatchPlan, scheduled: Sequence[ScheduledRally], **about: Any) -> MatchRecord:
    """Return a match folder's record."""
    usual = {"bench": "replay", "not_played": [], "troubles": {}, "created": CREATED}
    return MatchRecord(
        schema_version=1,
        tennis="0",
        time_note=TIME_NOTE,
        plan=plan,
        scheduled=list(scheduled),
        **usual | about,
    )


class MatchMaker:
    """Makes a match folder, rally by rally."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir()
        self.scheduled: list[ScheduledRally] = []
        self.not_played: list[NotPlayed] = []
        self.troubles: dict[str, str] = {}

    def drill(
        self,
        kernel: str,
        load: str,
        drill: Drill,
        intervals: NDArray[np.int64],
        duration: NDArray[np.int64],
        *,
        command_line: str = "",
        witness: Witness = "none",
        boots: int = BOOTS,
    ) -> None:
        """Seal boots of a drill that differ in when they began, and list them."""
        name = f"{kernel}-{load}-{drill.name}-{drill.context}-{drill.period_ns}"
        name += "-" + file_name(command_line) if command_line else ""
        first = self.path / f"{name}-r1"
        about = {"kernel": kernel, "load": load, "added": command_line, "witness": witness}
        made = make_drill(
            first, drill, intervals, duration, later_ns=len(self.scheduled) * 1000, **about
        )
        planned = ScheduledRally(name=first.name, kernel=kernel, repetition=1, plan=plan_of(made))
        self.scheduled.append(planned)
        self._boots(planned, name, boots)

    def rally(
        self,
        kernel: str,
        priorities: Priorities,
        load: str,
        rise: NDArray[np.int64],
        schedule: NDArray[np.int64] | None = None,
        *,
        half: BottomHalf | None = None,
        top: TopHalf | None = None,
        repetition: int = 1,
        setting: str | None = None,
        **about: Any,
    ) -> Path:
        """Seal a rally and list it."""
        half = half or HALVES.get(kernel, "tasklet")
        added = str(about.get("added", ""))
        top = top or TOPS.get(kernel, "hard")
        number = f"-{top}" if top != "hard" else ""
        number += f"-{setting or file_name(added)}" if setting or added else ""
        number += f"-r{repetition}" if repetition > 1 else ""
        name = f"{kernel}-{load}-{priorities}-{half}{number}"
        # a tick later at one ball, another for each: no two boots have the same answers
        number_of_boot = len(self.scheduled)
        schedule = np.array(rise if schedule is None else schedule)
        schedule[number_of_boot % schedule.size] += 1
        made = make_rally(
            self.path / name,
            rise=rise,
            schedule=schedule,
            kernel=kernel,
            load=load,
            priorities=priorities,
            bottom_half=half,
            top_half=top,
            seed=repetition,
            later_ns=number_of_boot * 1000,
            **about,
        )
        where = {"name": name, "repetition": repetition, "setting": setting}
        self.scheduled.append(ScheduledRally(kernel=kernel, plan=plan_of(made), **where))
        return self.path / name

    def cell(
        self,
        kernel: str,
        priorities: Priorities,
        load: str,
        rise: NDArray[np.int64],
        schedule: NDArray[np.int64] | None = None,
        *,
        boots: int = BOOTS,
        **about: Any,
    ) -> Path:
        """Seal boots whose latencies are the same; return the first one's folder."""
        first = self.rally(kernel, priorities, load, rise, schedule, **about)
        self._boots(self.scheduled[-1], first.name, boots)
        return first

    def _boots(self, first: ScheduledRally, name: str, boots: int) -> None:
        """Make and list more boots of a rally: other seeds and gaps, and an answer that differs.

        Those of a drill are served later. ``seal`` would wait for the disk, ten times a cell.
        """
        for number in range(2, boots + 1):
            folder = self.path / f"{name}-r{number}"
            shutil.copytree(self.path / first.name, folder)
            manifest = _read_manifest(folder)
            (balls,) = batches(folder / BALLS)
            if first.plan.drill:
                served = Column(balls["served_ns"].values + number - 1)
                balls = Table({**balls.columns, "served_ns": served})
            else:
                balls = another_boot(balls, len(self.scheduled), manifest.instrument.tick_hz)
            write(folder / BALLS, balls, manifest.instrument.tick_hz)
            protocol = manifest.protocol.model_copy(update={"seed": number})
            digest = hashlib.sha256((folder / BALLS).read_bytes()).hexdigest()
            files = {**manifest.files, BALLS: digest}
            update = {"protocol": protocol, "files": files}
            (folder / MANIFEST).write_bytes(manifest.model_copy(update=update).sealed_text())
            plan = first.plan.model_copy(update={"protocol": protocol})
            about = {"name": folder.name, "repetition": number, "plan": plan}
            self.scheduled.append(first.model_copy(update=about))

    def left_out(self, kernel: str, priorities: Priorities, load: str, why: str) -> None:
        """List a combination that was not played."""
        half = HALVES[kernel]
        self.not_played.append(
            NotPlayed(
                name=f"{kernel}-{load}-{priorities}-{half}",
                kernel=kernel,
                load=load,
                priorities=priorities,
                bottom_half=half,
                top_half=TOPS.get(kernel, "hard"),
                why=why,
            )
        )

    def sealed(
        self,
        title: str = "A synthetic match",
        plan_file: str | None = None,
        settings: dict[str, Setting] | None = None,
    ) -> MatchFolder:
        """Write match.json and open the folder."""
        kernels: Sequence[str] = [planned.kernel for planned in self.scheduled] or ["rt"]
        plan = MatchPlan(
            title=title,
            kernels={name: KernelAxis() for name in kernels},
            loads={"idle": LoadAxis()},
            settings=settings or {},
        )
        about = {"not_played": self.not_played, "troubles": self.troubles, "plan_file": plan_file}
        record_of(plan, self.scheduled, **about).write(self.path)
        return open_match(self.path)


def another_boot(balls: Table, number: int, tick_hz: int) -> Table:
    """Return the balls of a match's boot: at other times, and one of them a tick later."""
    missed = balls["rise_ticks"].flags
    rise, fall = (balls[name].filled(0) for name in ("rise_ticks", "fall_ticks"))
    schedule = fall - rise
    schedule[number % schedule.size] += 1
    return table(rise, schedule, misses=missed, tick_hz=tick_hz, seed=number, later_ns=1)
