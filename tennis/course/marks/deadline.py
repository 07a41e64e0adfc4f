# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Rules that a class is marked by: the deadline, what a late day costs, what was handed out.

They are kept beside the marks: a run that does not name them uses those of the last one that did.
Days are those of a calendar, in one zone, which is named: a day of 25 hours is one day, and the
last second of a day belongs to it.
"""

import json
import math
import os
import re
import zoneinfo
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from pathlib import Path
from typing import Annotated, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    field_validator,
    model_validator,
)

from tennis.course.labs import Lab
from tennis.errors import RallyError, UsageError
from tennis.rally import open_folder
from tennis.rally.disk import write_whole
from tennis.rally.edited import nearest, read_edited
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

    zone: Annotated[str, StringConstraints(max_length=60)] = ""  # empty: this machine's
    deadline: datetime | None = None
    late_per_day: Cost = "0"  # points, or with % a share of the lab's points
    late_days: Annotated[int, Field(ge=0, le=1000)] | None = None  # no points after so many
    recorded: list[Annotated[str, StringConstraints(pattern="^[0-9a-f]{64}$")]] = []
    boards: bool = False  # the class has boards, whose rallies nobody can play again

    @field_validator("zone")
    @classmethod
    def _is_a_zone(cls, value: str) -> str:
        zone_of(value)
        return value

    @model_validator(mode="after")
    def _has_a_zone(self) -> Self:
        """Take a time that somebody wrote without a zone for one of the class's."""
        if self.deadline is not None:
            self.deadline = _as_utc(self.deadline, self.zone)
        return self

    def days_late(self, handed_in: datetime | None) -> int:
        """Return how many days of the calendar late something came; a day that was begun counts."""
        if self.deadline is None or handed_in is None:
            return 0
        came = handed_in.replace(microsecond=0)  # a second that was begun is not over
        if came <= self.deadline:
            return 0
        zone = zone_of(self.zone)
        # by the clock on the wall: a day may have 23 hours, or 25
        wall, end = (when.astimezone(zone).replace(tzinfo=None) for when in (came, self.deadline))
        return max(1, math.ceil((wall - end) / timedelta(days=1)))

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
        local = self.deadline.astimezone(zone_of(self.zone))
        when = f"deadline: {local:%A} {local.day} {local:%B %Y, %H:%M:%S}"
        when += f" ({self.zone or own_zone()}, UTC{local:%z})"
        each = self.lost(1, lab) if self.late_days != 0 else float(lab.points)
        cost = f"each day begun costs {each:g} of {format_count(lab.points, 'point')}"
        if not float(self.late_per_day.removesuffix("%")):
            cost = "late ones are marked late and lose nothing"
        if self.late_days is not None:
            cost += f"; more than {format_count(self.late_days, 'day')} late: no points"
        return f"{when}; {cost}"


def read_zone(name: str) -> str:
    """Read the name of a time zone. Raises UsageError."""
    try:
        zone_of(name)
    except ValueError as error:
        raise UsageError(
            f"--zone {plain(name, 40)} is not one", next_step="write it as Europe/Berlin, or UTC"
        ) from error
    return name


def own_zone() -> str:
    """Return the name of this machine's time zone; UTC if nobody says."""
    place = os.path.realpath("/etc/localtime").partition("/zoneinfo/")[2]
    for name in (os.environ.get("TZ", "").lstrip(":"), place):
        try:
            zone_of(name or "?")
        except ValueError:
            continue
        return name
    return "UTC"


def zone_of(name: str) -> tzinfo:
    """Return a time zone by its name; empty: this machine's. Raises ValueError."""
    called = name or own_zone()
    if called == "UTC":  # which needs no table
        return UTC
    try:
        return zoneinfo.ZoneInfo(called)
    except (zoneinfo.ZoneInfoNotFoundError, OSError, ValueError) as error:
        raise ValueError(f"{plain(called, 40)} is not a time zone") from error


def read_deadline(text: str, zone: str = "") -> datetime | None:
    """Read a time, or a day, which means its end; None for ``none``. Raises UsageError.

    ``zone``: whose, where the time does not say; empty: this machine's.
    """
    said = text.strip()
    if said.casefold() == NONE:
        return None
    try:
        # as a calendar has it, 2026-12-01, or by its week, 2026-W49-2
        if re.fullmatch(r"[0-9]{4}-?(?:[0-9]{2}-?[0-9]{2}|W[0-9]{2}-?[1-7])", said):
            day = date.fromisoformat(said)
            return _as_utc(datetime.combine(day, time(23, 59, 59)), zone)
        return _as_utc(datetime.fromisoformat(said), zone)
    except ValueError as error:
        raise UsageError(
            f"--deadline {plain(text, 40)}",
            next_step="write it as 2026-12-01T18:00, or 2026-12-01 for the end of that day",
        ) from error


def _as_utc(when: datetime, zone: str) -> datetime:
    """Return a time in UTC. Raises ValueError for one that no class has."""
    if when.year not in YEARS:
        raise ValueError(f"the year {when.year}")
    return (when if when.tzinfo else when.replace(tzinfo=zone_of(zone))).astimezone(UTC)


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
        if first["type"] == "extra_forbidden":
            raise UsageError(
                f"{path}: {plain(where, 40)} is unknown",
                next_step=nearest(where, ClassRules.model_fields),
            ) from error
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
    found = set(_balls_below(lab.folder / RECORDED))
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
