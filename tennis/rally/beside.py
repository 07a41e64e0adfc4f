"""Tables beside a rally's balls: Parquet files that name the balls they describe."""

from pathlib import Path
from typing import TypeVar

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pydantic import BaseModel, ConfigDict, ValidationError

from tennis.kit.errors import RallyError
from tennis.rally import Rally, footer
from tennis.rally.balls import FOOTER_LIMITS
from tennis.rally.disk import writing
from tennis.rally.folder import BALLS
from tennis.rally.opening import check_file
from tennis.rally.text import plain

_BALLS_KEY, _ABOUT_KEY = b"balls_sha256", b"about"


class StrictAbout(BaseModel):
    """The description of a table, in its metadata; this base class has no fields."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


About = TypeVar("About", bound=StrictAbout)


def write_table(rally: Rally, name: str, table: pa.Table, about: StrictAbout | None = None) -> Path:
    """Write a table into the folder of a rally; return the file. Raises DiskFullError."""
    metadata = {_BALLS_KEY: rally.manifest.files[BALLS].encode()}
    if about is not None:
        metadata[_ABOUT_KEY] = about.model_dump_json().encode()
    path = rally.path / name
    scratch = path.with_name(f".{name}.part")
    with writing(path):
        pq.write_table(table.replace_schema_metadata(metadata), scratch, compression="zstd")
        scratch.replace(path)
    return path


def read_table(
    rally: Rally, name: str, schema: pa.Schema, about: type[About], rows: range
) -> tuple[pa.Table, About]:
    """Return a table of a rally, and what it is about; ``rows``: how many it may have.

    Raises RallyError if the file is not this rally's, or not what ``write_table`` wrote.
    """
    path = rally.path / name
    check_file(rally.path, name)
    words = [field.name for field in schema if field.type == pa.string()]
    try:
        form = footer.Footer.read(path)
        if form.rows not in rows or sum(form.groups) != form.rows:
            raise not_of(rally, name)
        # words stay in their dictionaries: a few bytes could become a long one in each row
        with pq.ParquetFile(path, read_dictionary=words, **FOOTER_LIMITS) as file:
            metadata = file.schema_arrow.metadata or {}
            of_balls = metadata.get(_BALLS_KEY, b"").decode("ascii", "replace")
            same = file.metadata.schema.to_arrow_schema().remove_metadata().equals(schema)
            if not same or of_balls != rally.manifest.files[BALLS]:
                raise not_of(rally, name)
            table = file.read()
        for chunk in (chunk for word in words for chunk in table[word].chunks):
            sizes = pc.binary_length(chunk.dictionary).take(chunk.indices)
            if (pc.sum(sizes).as_py() or 0) > footer.column_bytes(form.rows):
                raise not_of(rally, name)
        return table.cast(schema), about.model_validate_json(metadata.get(_ABOUT_KEY, b"{}"))
    except (OSError, ValueError, KeyError, ValidationError, pa.ArrowException) as error:
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
