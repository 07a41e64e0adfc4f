# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Rules that a class is marked by: whether it has boards, and what was handed out.

They are kept beside the marks: a run that does not name them uses those of the last one that did.
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, StringConstraints, ValidationError

from tennis.course.labs import Lab
from tennis.errors import RallyError, UsageError
from tennis.rally import open_folder
from tennis.rally.disk import write_whole
from tennis.rally.edited import nearest, read_edited
from tennis.rally.folder import BALLS, MANIFEST
from tennis.rally.text import plain, quoted

RULES = "rules.toml"
RECORDED = "recorded"  # in a lab's folder: rallies that it hands out
HEAD = "# How this class is marked. Options of `tennis grade` put other rules here.\n"
# keys and options of earlier versions
LATE_RULES = {"zone", "deadline", "late_per_day", "late_days"}
USE_PLATFORM = "your learning platform knows when a file came: let it take late points off"


class ClassRules(BaseModel):
    """What holds for all hand-ins of a class."""

    model_config = ConfigDict(extra="forbid")

    recorded: list[Annotated[str, StringConstraints(pattern="^[0-9a-f]{64}$")]] = []
    boards: bool = False  # the class has boards, whose rallies nobody can play again


def read_rules(out: Path) -> ClassRules:
    """Read the rules of the last time. Raises UsageError where somebody broke the file."""
    path = out / RULES
    content = read_edited(path)
    if late := sorted(LATE_RULES & content.keys()):
        raise UsageError(
            f"{path}: there are no late rules now: {', '.join(late)}",
            next_step=f"remove that line; {USE_PLATFORM}",
        )
    try:
        return ClassRules.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        where = plain(".".join(str(step) for step in first["loc"]), 40)
        if first["type"] == "extra_forbidden":
            next_step = nearest(where, ClassRules.model_fields)
            raise UsageError(f"{path}: {where} is unknown", next_step=next_step) from error
        raise UsageError(
            f"{path}: {where}: {plain(first['msg'], 100)}",
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
    Raises UsageError if a folder holds no rally.
    """
    found = set(_balls_below(lab.folder / RECORDED))
    for folder in folders:
        balls = set(_balls_below(folder))
        if not balls:
            raise UsageError(
                f"--recorded {quoted(folder)} holds no rally",
                next_step="name the folder of the rallies that you handed out",
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
