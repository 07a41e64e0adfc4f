# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Some of many rallies are played again: which ones, nobody knows before all are played."""

import hashlib
import random
from collections.abc import Iterable
from pathlib import Path
from typing import TypeVar

from tennis.course.checks import Inconclusive, InDoubt, NotRun
from tennis.course.work import Work
from tennis.errors import BenchError, RallyError, TennisError
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
    """Play rallies of a student again, and compare. Raises InDoubt, Inconclusive."""
    if bench != "virtual":
        raise Inconclusive(f"it was played on the bench {bench}, which does not repeat")
    for rally in rallies:
        play_rally_again(work, rally)


def play_rally_again(work: Work, rally: Path, racquet: Path | None = None) -> None:
    """Play one rally again, and compare. Raises InDoubt, Inconclusive.

    What differs is played once more before anybody is accused: a machine in trouble ends a replay
    early, and hardly at the same ball twice.
    """
    first = _difference(work, rally, racquet)
    second = _difference(work, rally, racquet) if first else ""
    if not second:
        return  # all of it was the same at least once: nobody could have made that up
    if first != second:
        trouble = BenchError(f"two replays of it differ: {first}", next_step="try again")
        raise Inconclusive(str(trouble)) from trouble
    raise InDoubt(first)


def _difference(work: Work, rally: Path, racquet: Path | None) -> str:
    """Return how a replay differs from a rally; empty: in nothing. Raises Inconclusive."""
    try:
        checking.check_rally(rally, racquet=racquet)
    except RallyError as error:
        return plain(str(error).replace(f"{work.folder}/", ""), 300)
    except TennisError as error:
        raise Inconclusive(plain(str(error).replace(f"{work.folder}/", ""), 300)) from error
    return ""
