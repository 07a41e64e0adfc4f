# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""What was found, beside the rally: ``sections.parquet`` and ``sections-longest.parquet``.

Of the same machine for the same time without a ball. The first file's metadata say how the model
was calibrated, and what it says of the rally's own balls.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field

from tennis.explain.beside import StrictAbout, not_of, read_table, write_table
from tennis.explain.sections.figures import GROUPS, LONGEST, LONGEST_KEPT
from tennis.rally import Rally

SECTIONS = "sections.parquet"
WORST = "sections-longest.parquet"
ROWS_LIMIT = 20_000_000
Ns = Annotated[int, Field(ge=0, lt=2**62)]


class SeenSpan(StrictAbout):
    """A time that the model takes for constant, and between which ends it was seen; ns."""

    name: Annotated[str, Field(max_length=60)]
    usual_ns: Ns
    least_ns: Ns
    most_ns: Ns
    seen: Ns


class BallsOfAWay(StrictAbout):
    """How far balls were from what the model says; ns."""

    way: Annotated[str, Field(max_length=60)]
    where: Annotated[str, Field(max_length=60)]
    balls: Ns
    exact: Ns
    within_10_ns: Ns
    worst_ns: Ns


class About(StrictAbout):
    """The time that was recorded, and the model's constants and errors."""

    schema_version: Literal[1] = 1
    low_ns: Ns
    high_ns: Ns
    instruction_ns: Annotated[int, Field(ge=1, le=4)]
    constants: Annotated[list[SeenSpan], Field(max_length=20)]
    balls: Annotated[list[BallsOfAWay], Field(max_length=60)]
    records: Ns
    thread: Annotated[str, Field(max_length=20)] = ""  # that answers; "": the hard interrupt does
    half_within_ns: Ns | None = None  # of a thread's balls: how far off half of them are at most
    nearly_all_within_ns: Ns | None = None  # and 99 % of them

    @property
    def time_ns(self) -> int:
        """Return how long was recorded."""
        return self.high_ns - self.low_ns

    @property
    def exact(self) -> int:
        """Return how many balls were predicted to the nanosecond."""
        return sum(one.exact for one in self.balls)

    @property
    def predicted(self) -> int:
        """Return how many balls there were to be predicted."""
        return sum(one.balls for one in self.balls)

    @property
    def worst_ns(self) -> int:
        """Return the largest difference between a ball and its prediction."""
        return max((one.worst_ns for one in self.balls), default=0)


@dataclass(frozen=True)
class Sections:
    """What is kept beside a rally."""

    about: About
    groups: pa.Table  # figures.GROUPS
    longest: pa.Table  # figures.LONGEST


def write(rally: Rally, sections: Sections) -> Path:
    """Write both files into the folder of a rally; return the first."""
    # the first file last: with it all is there
    write_table(rally, WORST, sections.longest, sections.about)
    return write_table(rally, SECTIONS, sections.groups, sections.about)


def read(rally: Rally) -> Sections | None:
    """Return what was found of a rally; None where nobody recorded it. Both tables have rows.

    Raises RallyError where a file is not this rally's, or not what ``write`` wrote.
    """
    if not (rally.path / SECTIONS).exists():
        return None
    rows, kept = range(1, ROWS_LIMIT + 1), range(1, LONGEST_KEPT + 1)
    groups, about = read_table(rally, SECTIONS, GROUPS, About, rows)
    worst, about_worst = read_table(rally, WORST, LONGEST, About, kept)
    if about != about_worst:
        raise not_of(rally, WORST)
    if about.high_ns <= about.low_ns:
        raise not_of(rally, SECTIONS)
    if _least(groups) < 0 or _least(worst) < 0 or _sum(groups, "time_ns") != about.time_ns:
        raise not_of(rally, SECTIONS)
    return Sections(about, groups, worst)


def _least(table: pa.Table) -> int:
    """Return the least number of a table of times and counts."""
    numbers = [c for f, c in zip(table.schema, table.columns, strict=True) if f.type == pa.int64()]
    return min(int(pc.min(column).as_py()) for column in numbers)


def _sum(table: pa.Table, name: str) -> int:
    # in Python's numbers: a stranger's may not fit
    return int(sum(table.column(name).to_pylist()))
