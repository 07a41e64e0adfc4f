# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Matches made up in milliseconds: synthetic rallies, and the match.json that lists them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tennis.match.folder import MatchFolder, Record, open_match
from tennis.match.plan import KernelAxis, LoadAxis, MatchPlan, NotPlayed, ScheduledRally
from tennis.rally.manifest import BottomHalf, Priorities
from tennis.rally.plan import Plan
from tests.support.synthetic import TIME_NOTE, make_rally

HALVES: dict[str, BottomHalf] = {"mainline": "tasklet", "rt": "tasklet", "xenomai": "thread"}


def bursts(worst: int, balls: int = 2000, base: int = 1000, every: int = 100) -> NDArray[np.int64]:
    """Return latencies (ns) whose worst of each ``every`` balls is ``worst``."""
    found = np.full(balls, base)
    found[every // 2 :: every] = worst
    return found


class MatchMaker:
    """Makes a match folder, rally by rally."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir()
        self.scheduled: list[ScheduledRally] = []
        self.not_played: list[NotPlayed] = []
        self.troubles: dict[str, str] = {}

    def rally(
        self,
        kernel: str,
        priorities: Priorities,
        load: str,
        rise: NDArray[np.int64],
        schedule: NDArray[np.int64] | None = None,
        *,
        half: BottomHalf | None = None,
        repetition: int = 1,
        **about: Any,
    ) -> Path:
        """Seal a rally and list it."""
        half = half or HALVES.get(kernel, "tasklet")
        number = f"-r{repetition}" if repetition > 1 else ""
        name = f"{kernel}-{load}-{priorities}-{half}{number}"
        made = make_rally(
            self.path / name,
            rise=rise,
            schedule=rise if schedule is None else schedule,
            kernel=kernel,
            load=load,
            priorities=priorities,
            bottom_half=half,
            seed=repetition,
            **about,
        )
        plan = Plan(
            bench="replay",
            kernel=kernel,
            load=load,
            load_options={},
            bottom_half=half,
            priorities=priorities,
            protocol=made.manifest.protocol,
            versions={},
        )
        self.scheduled.append(
            ScheduledRally(name=name, kernel=kernel, repetition=repetition, plan=plan)
        )
        return self.path / name

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
                why=why,
            )
        )

    def sealed(self, title: str = "A synthetic match") -> MatchFolder:
        """Write match.json and open the folder."""
        kernels: Sequence[str] = [planned.kernel for planned in self.scheduled] or ["rt"]
        record = Record(
            schema_version=1,
            bench="replay",
            time_note=TIME_NOTE,
            created="2026-01-01T00:00:00+00:00",
            tennis="0",
            plan=MatchPlan(
                title=title,
                kernels={name: KernelAxis() for name in kernels},
                loads={"idle": LoadAxis()},
            ),
            scheduled=self.scheduled,
            not_played=self.not_played,
            troubles=self.troubles,
        )
        record.write(self.path)
        return open_match(self.path)
