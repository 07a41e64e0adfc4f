"""The instants that a search played, beside the rally: ``instants.parquet``.

A row is an instant of the rally's machine without a ball. The metadata name the balls, the number
of instants drawn at random, and the span of time.
"""

from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from tennis.rally import Rally, columns
from tennis.rally.beside import StrictAbout, not_of, read_table, write_table
from tennis.rally.coverage import Played
from tennis.rally.folder import INSTANTS

FIELDS = [
    columns.Field("at_ns", "int64", nullable=False),  # when the ball was served
    columns.Field("rise_ns", "int64", nullable=False),  # its interrupt latency
    columns.Field("fall_ns", "int64", nullable=False),  # from the ping to the fall
]
ROWS_LIMIT = 1_100_000
Until = Literal["rise", "fall"]
Ns = Annotated[int, Field(ge=0, lt=2**62)]


class About(StrictAbout):
    """The time that was searched."""

    schema_version: Literal[1] = 1
    until: Until  # which edge's latest instant was searched for
    drawn: Annotated[int, Field(ge=0, le=ROWS_LIMIT)]
    low_ns: Ns
    high_ns: Ns
    step_ns: Annotated[int, Field(ge=1, le=4)]


class Instants:
    """The instants played so far, with both edges of each; ``about`` describes the search."""

    def __init__(self, about: About, rows: NDArray[np.int64]) -> None:
        self.about, self.rows = about, rows  # rows: at, rise, fall; shape (instants, 3), rising

    def until(self, edge: Until) -> "Instants":
        """Return the same, to search for the latest instant of an edge."""
        return Instants(self.about.model_copy(update={"until": edge}), self.rows)

    def played(self) -> Played:
        """Return the instants with the latency that was searched for."""
        about = self.about
        at, latency = self.rows[:, 0], self.rows[:, 1 if about.until == "rise" else 2]
        return Played(at, latency, about.drawn, about.low_ns, about.high_ns, about.step_ns)


def write(rally: Rally, instants: Instants) -> Path:
    """Write the played instants into the folder of a rally; return the file."""
    named = zip(FIELDS, instants.rows.T, strict=True)
    table = columns.Table({field.name: columns.Column(values) for field, values in named})
    return write_table(rally, INSTANTS, table, FIELDS, instants.about)


def read(rally: Rally) -> Instants | None:
    """Return the played instants, or None. Raises RallyError unless ``write`` wrote the file."""
    if not (rally.path / INSTANTS).exists():
        return None
    played = range(1, ROWS_LIMIT + 1)
    table, about = read_table(rally, INSTANTS, FIELDS, About, played)
    rows = np.stack([table[field.name].values for field in FIELDS], axis=1)
    at = rows[:, 0]
    inside = about.low_ns <= at[0] and at[-1] < about.high_ns < 2**61
    if not inside or (np.diff(at) <= 0).any() or (rows < 0).any() or (rows[:, 1:] > 2**40).any():
        raise not_of(rally, INSTANTS)
    return Instants(about, rows)
