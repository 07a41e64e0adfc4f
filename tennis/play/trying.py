# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Try a remedy: the same rally with another setting, the same seed, before and after."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError
from scipy.stats import fisher_exact

from tennis.bench.virtual.bench import VirtualBench
from tennis.errors import RallyError, UsageError
from tennis.listener import say
from tennis.play.planning import plan_of
from tennis.play.rally import Watch, play
from tennis.play.replaying import NONE, balls_of, changes, plan_again
from tennis.rally import Rally, open_rally
from tennis.rally.folder import finished
from tennis.rally.plan import Plan
from tennis.rally.text import plain

SETTINGS = ("kernel", "command-line", "priorities", "top-half", "bottom-half", "witness")
LATE_ONE_IN = 1000  # where nobody says what late is: so many balls of the rally before are
LATE_MIN = 5
SURE = 0.05  # a difference that chance makes less often than that is one


@dataclass(frozen=True)
class Tried:
    """What became of the late balls; times are of the whole wait, from ping to fall, in ns."""

    before: Rally
    after: Rally
    setting: str
    over_ns: int
    late_before: int
    late_after: int
    chance: float  # how often as great a difference comes by chance: Fisher's exact test

    @property
    def verdict(self) -> str:
        """Say in one word what the experiment showed."""
        if self.chance > SURE:
            return "undecided"
        fewer = self.late_after * self.before.balls < self.late_before * self.after.balls
        return "helps" if fewer else "harms"


def try_setting(
    rally: Rally, settings: Sequence[str], *, over_ns: int | None, watch: Watch
) -> Tried:
    """Play a rally's plan with other settings beside it, unless that is there; count late balls.

    ``settings``: ``NAME=VALUE`` each. Raises UsageError, RallyError and BenchError, before it is
    played where that can be known.
    """
    before_plan = plan_again(rally)
    plan = changed(before_plan, settings)
    if plan == before_plan:
        raise UsageError("--try changes nothing: the rally was played with these settings")
    bench = VirtualBench()
    differ = [
        name
        for name in changes(rally, bench.versions(before_plan))
        if name.endswith("sha256") or name == "qemu"
    ]
    if differ:
        raise RallyError(
            f"{rally.path} was played with another {plain(', '.join(differ[:3]))}: what differs "
            "could be that, and not the setting",
            next_step="play it anew",
        )
    place = _place(rally.path, settings)
    after = finished(place)
    if after is None:
        say(f"playing it with {', '.join(settings)}: {place}")
        plan = plan.model_copy(update={"versions": bench.versions(plan)})
        after = play(bench, plan, place, watch)
    elif plan_again(after) != plan:
        raise RallyError(f"{place} holds another rally", next_step="move it away")
    if after.manifest.suspect or not after.balls:
        faults = "; ".join(plain(fault.message, 200) for fault in after.manifest.faults[:2])
        raise RallyError(
            f"{place} cannot be compared: {faults or 'it was interrupted'}",
            next_step="move it away, and try again",
        )
    return _counted(rally, open_rally(place), ", ".join(settings), over_ns)


def changed(plan: Plan, settings: Sequence[str]) -> Plan:
    """Return a plan with other settings. Raises UsageError."""
    asked: dict[str, str] = {}
    for setting in settings:
        name, separator, value = setting.partition("=")
        if name not in SETTINGS or not separator:
            raise UsageError(
                f"--try {plain(setting, 60)}",
                next_step=f"say NAME=VALUE, with one of {', '.join(SETTINGS)}",
            )
        asked[name.replace("-", "_")] = value
    checked = plan_of(
        kernel=asked.get("kernel", plan.kernel),
        load=plan.load,
        load_options=plan.load_options,
        top_half=asked.get("top_half", plan.top_half),  # type: ignore[arg-type]
        bottom_half=asked.get("bottom_half", plan.bottom_half),  # type: ignore[arg-type]
        priorities=asked.get("priorities", plan.priorities),
        command_line=asked.get("command_line", plan.command_line),
        instruction_ns=plan.instruction_ns,
        witness=asked.get("witness", plan.witness),  # type: ignore[arg-type]
    )
    try:
        return checked.model_copy(update={"protocol": plan.protocol})
    except ValidationError as error:
        raise UsageError(f"--try: {error.errors()[0]['msg']}") from error


def _place(rally: Path, settings: Sequence[str]) -> Path:
    slug = re.sub(r"[^A-Za-z0-9.]+", "-", "+".join(settings)).strip("-")[:60]
    return rally.with_name(f"{rally.name}.try-{slug}")


def _waits(rally: Rally) -> NDArray[np.int64]:
    return balls_of(rally)[:, 2]


def _counted(before: Rally, after: Rally, setting: str, over_ns: int | None) -> Tried:
    """Count the balls that waited longer than a time: missed ones did."""
    waits = [_waits(before), _waits(after)]
    if over_ns is None:
        rank = max(LATE_MIN, before.balls // LATE_ONE_IN)
        ordered = np.sort(waits[0])
        over_ns = int(ordered[max(0, before.balls - rank - 1)])
    late = [int(((one > over_ns) | (one == NONE)).sum()) for one in waits]
    table = [[count, one.size - count] for count, one in zip(late, waits, strict=True)]
    chance = float(fisher_exact(table)[1])
    return Tried(before, after, setting, over_ns, late[0], late[1], chance)
