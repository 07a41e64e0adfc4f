# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Rules that a class is marked by: the deadline, what a late day costs, what was handed out.

They are kept beside the marks: a run that does not name them uses those of the last one that did.
"""

import json
import math
import re
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from typing import Annotated

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    field_validator,
)

from tennis.course.labs import LABS, Lab
from tennis.errors import RallyError, UsageError
from tennis.rally import open_folder
from tennis.rally.disk import write_whole
from tennis.rally.edited import read_edited
from tennis.rally.folder import BALLS, MANIFEST
from tennis.rally.text import plain, quoted
from tennis.units import format_count

RULES = "rules.toml"
RECORDED = "recorded"  # in a lab's folder: rallies that it hands out
NONE = "none"
YEARS = range(2000, 2200)  # a time zone's hours lead out of the calendar's first and last
HEAD = "# How this class is marked. Options of `tennis grade` put other rules here.\n"
Cost = Annotated[str, StringConstraints(pattern=r"^\d{1,3}(\.\d{1,2})?%?$")]


class ClassRules(BaseModel):
    """What holds for all hand-ins of a class."""

    model_config = ConfigDict(extra="forbid")

    deadline: datetime | None = None
    late_per_day: Cost = "0"  # points, or with % a share of the lab's points
    late_days: Annotated[int, Field(ge=0, le=1000)] | None = None  # no points after so many
    recorded: list[Annotated[str, StringConstraints(pattern="^[0-9a-f]{64}$")]] = []
    boards: bool = False  # the class has boards, whose rallies nobody can play again

    @field_validator("deadline")
    @classmethod
    def _has_a_zone(cls, value: datetime | None) -> datetime | None:
        """Take a time that somebody wrote without a zone for this machine's."""
        return value if value is None else _in_our_time(value)

    def days_late(self, handed_in: datetime | None) -> int:
        """Return how many days late something came; a day that was begun counts."""
        if self.deadline is None or handed_in is None or handed_in <= self.deadline:
            return 0
        return math.ceil((handed_in - self.deadline) / timedelta(days=1))

    def lost(self, days: int, lab: Lab) -> float:
        """Return the points that so many late days cost: all of the lab's at most."""
        if self.late_days is not None and days > self.late_days:
            return float(lab.points)
        cost = float(self.late_per_day.removesuffix("%"))
        each = cost * lab.points / 100 if self.late_per_day.endswith("%") else cost
        return min(round(days * each, 2), float(lab.points))

    def words(self, lab: Lab) -> str:
        """Say what the rules are; empty: there is no deadline."""
        if self.deadline is None:
            return ""
        local = self.deadline.astimezone()
        when = f"deadline: {local:%A} {local.day} {local:%B %Y, %H:%M:%S} (UTC{local:%z})"
        each = self.lost(1, lab) if self.late_days != 0 else float(lab.points)
        cost = f"each day begun costs {each:g} of {format_count(lab.points, 'point')}"
        if not float(self.late_per_day.removesuffix("%")):
            cost = "late ones are marked late and lose nothing"
        if self.late_days is not None:
            cost += f"; more than {format_count(self.late_days, 'day')} late: no points"
        return f"{when}; {cost}"


def read_deadline(text: str) -> datetime | None:
    """Read a time, or a day, which means its end; None for ``none``. Raises UsageError."""
    if text.strip().casefold() == NONE:
        return None
    try:
        if re.fullmatch(r"\s*\d{4}-?\d\d-?\d\d\s*", text):
            day = date.fromisoformat(text.strip())
            return _in_our_time(datetime.combine(day, time(23, 59, 59)))
        return _in_our_time(datetime.fromisoformat(text))
    except ValueError as error:
        raise UsageError(
            f"--deadline {plain(text, 40)}",
            next_step="write it as 2026-12-01T18:00, or 2026-12-01 for the end of that day",
        ) from error


def _in_our_time(when: datetime) -> datetime:
    """Return a time in UTC. Raises ValueError for one that no class has."""
    if when.year not in YEARS:
        raise ValueError(f"the year {when.year}")
    return when.astimezone(UTC)


def read_cost(text: str) -> str:
    """Read what a late day costs: points, or a share as ``10%``. Raises UsageError."""
    cost = text.replace(" ", "").replace(",", ".")
    if not re.fullmatch(r"\d{1,3}(\.\d{1,2})?%?", cost):
        raise UsageError(
            f"--late-per-day {plain(text, 40)}", next_step="write points, 1.5, or a share, 10%"
        )
    return cost


def read_rules(out: Path) -> ClassRules:
    """Read the rules of the last time. Raises UsageError where somebody broke the file."""
    path = out / RULES
    try:
        return ClassRules.model_validate(read_edited(path))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(step) for step in first["loc"])
        raise UsageError(
            f"{path}: {plain(where, 40)}: {plain(first['msg'], 100)}",
            next_step="correct that line, or remove the file and give the options again",
        ) from error


def write_rules(out: Path, rules: ClassRules) -> None:
    """Keep the rules for the next time."""
    lines = [
        f"{name} = {json.dumps(value)}"
        for name, value in rules.model_dump(mode="json", exclude_defaults=True).items()
    ]
    if lines or (out / RULES).exists():
        write_whole(out / RULES, (HEAD + "\n".join(lines) + "\n").encode(), force=True)


def handed_out(lab: Lab, folders: Sequence[Path]) -> list[str]:
    """Return the SHA-256 of the balls of the rallies that the course hands out, sorted.

    They are those in the lab's folder ``recorded`` and in ``folders``, one or two levels deep.
    Raises UsageError where a folder holds none.
    """
    found = set(_balls_below(LABS / lab.slug / RECORDED))
    for folder in folders:
        balls = set(_balls_below(folder))
        if not balls:
            raise UsageError(
                f"--recorded {quoted(folder)} holds no rally",
                next_step="name the folder that `tennis course record --out` wrote",
            )
        found |= balls
    return sorted(found)


def _balls_below(folder: Path) -> Iterator[str]:
    for pattern in (MANIFEST, f"*/{MANIFEST}", f"*/*/{MANIFEST}"):
        for manifest in sorted(folder.glob(pattern)):
            try:
                yield open_folder(manifest.parent).manifest.files[BALLS]
            except RallyError as error:
                raise UsageError(f"--recorded: {error}", next_step="name sound rallies") from error
