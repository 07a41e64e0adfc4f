# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Some of many rallies are played again: which ones, nobody knows before all are played."""

import hashlib
import random
from collections.abc import Iterable
from pathlib import Path
from typing import TypeVar

from tennis.course.checks import Inconclusive, NotRun, Wrong
from tennis.course.work import Work
from tennis.errors import RallyError, TennisError
from tennis.play import checking
from tennis.rally.text import plain

Name = TypeVar("Name", int, str)


def chosen(balls: str, names: Iterable[Name], count: int) -> list[Name]:
    """Return ``count`` of the names, or all, ascending: which ones follows from the balls' hashes.

    Raises NotRun where there are no names.
    """
    from_all = sorted(names)
    if not from_all:
        raise NotRun("there is nothing to be played again")
    draw = random.Random(hashlib.sha256(balls.encode()).digest())  # noqa: S311 (to be repeated)
    return sorted(draw.sample(from_all, min(count, len(from_all))))


def play_again(work: Work, bench: str, rallies: Iterable[Path]) -> None:
    """Play rallies of a student again, and compare. Raises Wrong, Inconclusive."""
    if bench != "virtual":
        raise Inconclusive(f"it was played on the bench {bench}, which does not repeat")
    for rally in rallies:
        try:
            checking.check(rally)
        except RallyError as error:
            raise Wrong(plain(str(error).replace(f"{work.folder}/", ""), 300)) from error
        except TennisError as error:
            why = str(error).replace(f"{work.folder}/", "")
            raise Inconclusive(plain(why, 300)) from error
