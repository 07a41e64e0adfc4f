"""Tables beside a rally's balls: Parquet files that name the balls they describe."""

from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ConfigDict

from tennis.kit.errors import RallyError
from tennis.rally import Rally
from tennis.rally.balls import GROUP_ROWS
from tennis.rally.columns import Field, Table
from tennis.rally.disk import writing
from tennis.rally.folder import BALLS
from tennis.rally.opening import check_file
from tennis.rally.parquet import Reader, Writer
from tennis.rally.text import plain

_BALLS_KEY, _ABOUT_KEY = "balls_sha256", "about"


class StrictAbout(BaseModel):
    """The description of a table, in its metadata; this base class has no fields."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


About = TypeVar("About", bound=StrictAbout)


def write_table(
    rally: Rally, name: str, table: Table, fields: list[Field], about: StrictAbout | None = None
) -> Path:
    """Write a table into the folder of a rally; return the file. Raises DiskFullError."""
    metadata = {_BALLS_KEY: rally.manifest.files[BALLS]}
    if about is not None:
        metadata[_ABOUT_KEY] = about.model_dump_json()
    path = rally.path / name
    scratch = path.with_name(f".{name}.part")
    with writing(path):
        with Writer(scratch, fields, metadata) as file:
            for rows in table.cut(GROUP_ROWS):
                file.write(rows)
        scratch.replace(path)
    return path


def read_table(
    rally: Rally, name: str, fields: list[Field], about: type[About], rows: range
) -> tuple[Table, About]:
    """Return a table of a rally, and what it is about; ``rows``: how many it may have.

    Raises RallyError if the file is not this rally's, or not what ``write_table`` wrote.
    """
    path = rally.path / name
    check_file(rally.path, name)
    try:
        with Reader(path) as file:
            of_balls = file.metadata.get(_BALLS_KEY)
            same = file.fields == fields and of_balls == rally.manifest.files[BALLS]
            if file.rows not in rows or not same:
                raise not_of(rally, name)
            table = Table.joined(file.batches(file.rows), fields)
        return table, about.model_validate_json(file.metadata.get(_ABOUT_KEY, "{}"))
    except (OSError, ValueError) as error:
        raise RallyError(
            f"{path} is damaged: {plain(str(error), 200)}", next_step="remove it"
        ) from error


def not_of(rally: Rally, name: str) -> RallyError:
    """Return the error of a table that is another rally's."""
    command = {"stages.parquet": "stages"}.get(name, "shots")
    return RallyError(
        f"{rally.path / name} is not of this rally's balls",
        next_step=f"remove it, and run 'tennis explain {command} {rally.path}'",
    )
