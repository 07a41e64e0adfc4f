# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""The instants that a search played, beside the rally: ``instants.parquet``.

A row is an instant of the rally's machine without a ball. The metadata say of which balls it is,
how many instants were drawn at random, and from which time.
"""

from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tennis.errors import RallyError
from tennis.explain.instants.coverage import Played
from tennis.rally import Rally
from tennis.rally.disk import writing
from tennis.rally.folder import BALLS
from tennis.rally.text import plain

INSTANTS = "instants.parquet"
SCHEMA = pa.schema(
    [
        pa.field("at_ns", pa.int64(), nullable=False),  # when the ball was served
        pa.field("rise_ns", pa.int64(), nullable=False),  # its interrupt latency
        pa.field("fall_ns", pa.int64(), nullable=False),  # from the ping to the fall
    ]
)
ROWS_LIMIT, SIZE_LIMIT = 1_100_000, 1 << 26
_BALLS_KEY, _ABOUT_KEY = b"balls_sha256", b"about"
Until = Literal["rise", "fall"]
Ns = Annotated[int, Field(ge=0, lt=2**62)]


class About(BaseModel):
    """The time that was searched."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    schema_version: Literal[1] = 1
    until: Until  # which edge's latest instant was searched for
    drawn: Annotated[int, Field(ge=0, le=ROWS_LIMIT)]
    low_ns: Ns
    high_ns: Ns
    step_ns: Annotated[int, Field(ge=1, le=4)]


class Instants:
    """What was played so far: of each instant both edges; about which of them it was."""

    def __init__(self, about: About, rows: NDArray[np.int64]) -> None:
        self.about, self.rows = about, rows  # rows: at, rise, fall; shape (instants, 3), rising

    def played(self) -> Played:
        """Return the instants with the latency that was searched for."""
        about = self.about
        at, latency = self.rows[:, 0], self.rows[:, 1 if about.until == "rise" else 2]
        return Played(at, latency, about.drawn, about.low_ns, about.high_ns, about.step_ns)


def write(rally: Rally, instants: Instants) -> Path:
    """Write what was played into the folder of a rally; return the file."""
    metadata = {
        _BALLS_KEY: rally.manifest.files[BALLS].encode(),
        _ABOUT_KEY: instants.about.model_dump_json().encode(),
    }
    path = rally.path / INSTANTS
    scratch = path.with_name(f".{INSTANTS}.part")
    table = pa.table([pa.array(column) for column in instants.rows.T], SCHEMA)
    with writing(path):
        pq.write_table(table.replace_schema_metadata(metadata), scratch, compression="zstd")
        scratch.replace(path)
    return path


def read(rally: Rally) -> Instants | None:
    """Return what was played; None: nothing. Raises RallyError for what ``write`` did not write."""
    path = rally.path / INSTANTS
    if not path.exists():
        return None
    try:
        if path.is_symlink() or path.stat().st_size > SIZE_LIMIT:
            raise RallyError(f"{path} is a link, or larger than it can be", next_step="remove it")
        file = pq.ParquetFile(path)
        metadata = file.schema_arrow.metadata or {}
        known = file.schema_arrow.remove_metadata().equals(SCHEMA)
        of_balls = metadata.get(_BALLS_KEY, b"").decode("ascii", "replace")
        if not known or of_balls != rally.manifest.files[BALLS] or not _fits(file):
            raise _not_of(rally)
        about = About.model_validate_json(metadata.get(_ABOUT_KEY, b""))
        rows = np.stack([column.to_numpy() for column in file.read().columns], axis=1)
    except (OSError, ValueError, ValidationError, pa.ArrowException) as error:
        raise RallyError(
            f"{path} is damaged: {plain(str(error), 200)}", next_step="remove it"
        ) from error
    at = rows[:, 0]
    inside = about.low_ns <= at[0] and at[-1] < about.high_ns < 2**61
    if not inside or (np.diff(at) <= 0).any() or (rows < 0).any() or (rows[:, 1:] > 2**40).any():
        raise _not_of(rally)
    return Instants(about, rows)


def _fits(file: pq.ParquetFile) -> bool:
    return bool(0 < file.metadata.num_rows <= ROWS_LIMIT)


def _not_of(rally: Rally) -> RallyError:
    return RallyError(
        f"{rally.path / INSTANTS} is not of this rally's balls",
        next_step=f"remove it, and type: tennis explain {rally.path} --exact",
    )
