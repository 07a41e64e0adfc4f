"""``balls.parquet``: from the instrument's frames to a table, and read again in batches.

``tennis/rally/rows.py`` checks and counts what the rows hold.
"""

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from tennis.kit import wire
from tennis.kit.errors import RallyError
from tennis.kit.units import NS_PER_S, ticks_to_ns
from tennis.rally import footer

# as many as an instrument serves in one play: fourteen hours at 2000 balls a second
MAX_BALLS = 10**8
# Rows of a row group: small enough to share the work among threads, large enough to be read fast.
GROUP_ROWS = 1 << 18
# Larger ones than any version wrote are refused, and smaller ones before the last.
MAX_GROUP_ROWS = 1 << 22
MIN_GROUP_ROWS = 1 << 16
# a footer made up to exhaust the memory is refused by the reader
FOOTER_LIMITS = {"thrift_string_size_limit": 1 << 20, "thrift_container_size_limit": 1 << 18}
# Rows that are gathered from frames, and that are read at once.
BATCH_ROWS = 1 << 18

FIELDS = (
    pa.field("ball", pa.uint32(), nullable=False),
    pa.field("served_ns", pa.int64(), nullable=False),
    pa.field("rise_ticks", pa.uint32()),
    pa.field("fall_ticks", pa.uint32()),
)
LATENCY_COLUMNS = ["rise_ticks", "fall_ticks"]
# All encodings that any version wrote. Others (dictionaries, runs) unpack a few bytes into millions
# of balls.
ENCODINGS = {"DELTA_BINARY_PACKED", "BYTE_STREAM_SPLIT", "RLE"}  # RLE: the places of nulls
CODECS = {"ZSTD", "LZ4", "LZ4_RAW"}
TICK_HZ_KEY = b"tick_hz"

RECORD = np.dtype([("served", "<u8"), ("rise", "<u4"), ("fall", "<u4")])
assert RECORD.itemsize == wire.BALL_SIZE  # noqa: S101


def schema(tick_hz: int, *, nulls: bool = True) -> pa.Schema:
    """Return the columns of ``balls.parquet``; the metadata carry the length of a tick.

    Without ``nulls``, the columns say that no ball was missed.
    """
    fields = FIELDS if nulls else [field.with_nullable(False) for field in FIELDS]
    return pa.schema(fields, metadata={TICK_HZ_KEY: str(tick_hz).encode()})


def records(payload: bytes) -> NDArray[np.void]:
    """Return the balls of a BALLS frame as a structured array (served, rise, fall; ticks).

    Raises RallyError for a payload that is not a whole number of balls.
    """
    if len(payload) % wire.BALL_SIZE:
        raise RallyError(
            f"a frame holds {len(payload)} bytes, not a whole number of balls: "
            "it was written by another version of the instrument",
            next_step="update the instrument",
        )
    return np.frombuffer(payload, RECORD)


def _batch(first: int, balls: NDArray[np.void], tick_hz: int) -> pa.RecordBatch:
    """Return the record batch of some balls; the first one has the number ``first``."""
    if first + balls.size > MAX_BALLS:
        raise RallyError(
            f"more than {MAX_BALLS} balls", next_step="play several shorter rallies instead"
        )
    served, rise, fall = balls["served"], balls["rise"], balls["fall"]
    if balls.size and int(served.max()) >= 2**62 // Fraction(NS_PER_S, tick_hz).numerator:
        raise RallyError("the instrument's clock is out of range: restart the instrument")
    no_rise, no_fall = rise == wire.NONE_TICKS, fall == wire.NONE_TICKS
    if np.any((fall < rise) & ~no_rise & ~no_fall):
        raise RallyError(
            "a reply fell before it rose", next_step="check the instrument with `tennis doctor`"
        )
    return pa.record_batch(
        [
            _column_of(np.arange(first, first + balls.size, dtype=np.uint32)),
            _column_of(ticks_to_ns(served.astype(np.int64), tick_hz)),
            _column_of(np.where(no_rise, 0, rise).astype(np.uint32), no_rise),
            _column_of(np.where(no_fall, 0, fall).astype(np.uint32), no_fall),
        ],
        schema=schema(tick_hz),
    )


def _column_of(values: NDArray[Any], missing: NDArray[np.bool_] | None = None) -> pa.Array:
    """Return a column. ``pa.array`` would import pandas: half a second of each ``tennis rally``."""
    there = None if missing is None else pa.py_buffer(np.packbits(~missing, bitorder="little"))
    buffers = [there, pa.py_buffer(np.ascontiguousarray(values))]
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), values.size, buffers)


def batches_from_frames(payloads: Iterable[bytes], tick_hz: int) -> Iterator[pa.RecordBatch]:
    """Turn the payloads of BALLS frames, in their order, into record batches, one at a time.

    Balls are numbered from 0. Raises RallyError for payloads that cannot be balls.
    """
    first, held, rows = 0, list[NDArray[np.void]](), 0
    for payload in payloads:
        balls = records(payload)
        held.append(balls)
        rows += balls.size
        if rows >= BATCH_ROWS:
            yield _batch(first, np.concatenate(held), tick_hz)
            first, held, rows = first + rows, [], 0
    if rows:
        yield _batch(first, np.concatenate(held), tick_hz)


@dataclass(frozen=True)
class _Written:
    """The numbers of balls in a written ``balls.parquet``."""

    balls: int
    misses: int


def write(
    path: Path, balls: pa.Table | Iterable[pa.RecordBatch | pa.Table], tick_hz: int
) -> _Written:
    """Write ``balls.parquet``; the bytes depend on the balls only, not on how they were batched.

    Raises RallyError for other columns than ``schema``, OSError.
    """
    if isinstance(balls, pa.Table | pa.RecordBatch):
        balls = [balls]
    rows = misses = 0
    # Columns that cannot hold nulls are read faster, and most rallies have no miss: they are
    # written until there is one, then all is written again.
    nulls = False
    writer = _open_writer(path, schema(tick_hz, nulls=nulls))
    try:
        for group in _regroup(balls, schema(tick_hz)):
            if not nulls and any(group[name].null_count for name in LATENCY_COLUMNS):
                nulls = True
                writer.close()
                writer = _rewriter(path, group.schema)
            writer.write_table(group.cast(writer.schema), GROUP_ROWS)
            rows += group.num_rows
            misses += group["fall_ticks"].null_count
    finally:
        writer.close()
    return _Written(rows, misses)


def _open_writer(path: Path, columns: pa.Schema) -> pq.ParquetWriter:
    """Return what writes a table of balls to ``path``, group by group."""
    # Statistics read the latencies, so these are stored for speed: their high bytes are all alike
    # and split off, which LZ4 unpacks twice as fast as zstd at nearly the same size; its level 3
    # finds longer repetitions, which are unpacked faster. Ball and served rise steadily: packed
    # differences, then zstd. Statistics of the groups help nobody.
    steady = ["ball", "served_ns"]
    return pq.ParquetWriter(
        path,
        columns,
        compression=dict.fromkeys(steady, "zstd") | dict.fromkeys(LATENCY_COLUMNS, "lz4"),
        compression_level=dict.fromkeys([*steady, *LATENCY_COLUMNS], 3),
        use_dictionary=False,
        column_encoding=dict.fromkeys(steady, "DELTA_BINARY_PACKED")
        | dict.fromkeys(LATENCY_COLUMNS, "BYTE_STREAM_SPLIT"),
        write_statistics=False,
        store_schema=True,
    )


def _rewriter(path: Path, columns: pa.Schema) -> pq.ParquetWriter:
    """Return a writer that has written again, with other columns, what ``path`` holds."""
    before = path.with_name(path.name + ".before")
    path.replace(before)
    writer = _open_writer(path, columns)
    with pq.ParquetFile(before) as file:
        for group in range(file.num_row_groups):
            writer.write_table(file.read_row_group(group).cast(columns), GROUP_ROWS)
    before.unlink()
    return writer


def _regroup(
    batches: Iterable[pa.RecordBatch | pa.Table], columns: pa.Schema
) -> Iterator[pa.Table]:
    """Cut batches of any size into tables of GROUP_ROWS contiguous rows (the last is shorter)."""
    held, rows = list[pa.Table](), 0
    for batch in batches:
        table = pa.Table.from_batches([batch]) if isinstance(batch, pa.RecordBatch) else batch
        if [(f.name, f.type) for f in table.schema] != [(f.name, f.type) for f in columns]:
            raise RallyError(f"balls have the columns {table.schema.names}: not those of a rally")
        # the same bytes whether a batch says that its columns are nullable or not
        held.append(pa.Table.from_arrays(table.columns, schema=columns))
        rows += table.num_rows
        if rows < GROUP_ROWS:
            continue
        whole = pa.concat_tables(held)
        for start in range(0, rows - rows % GROUP_ROWS, GROUP_ROWS):
            yield whole.slice(start, GROUP_ROWS).combine_chunks()
        rest = whole.slice(rows - rows % GROUP_ROWS)
        held, rows = [rest], rest.num_rows
    if rows:
        yield pa.concat_tables(held).combine_chunks()


def check(path: Path, *, balls: int, tick_hz: int) -> list[int]:
    """Check the form of ``balls.parquet`` (not its rows); return the beginnings of its row groups.

    The last element is the number of balls.

    Raises RallyError unless it has the form that ``write`` gives.
    """
    with Reading(path):
        form = footer.Footer.read(path)
        _check_form(form, balls)
        with pq.ParquetFile(path, **FOOTER_LIMITS) as file:
            _check_columns(file.schema_arrow, tick_hz)
    return list(itertools.accumulate(form.groups, initial=0))


def _check_form(form: footer.Footer, balls: int) -> None:
    """Refuse what ``write`` never writes, before any of it is unpacked. Raises TableError.

    Also another number of ``balls``, and row groups of odd sizes.
    """
    if form.rows > MAX_BALLS or len(form.groups) > MAX_BALLS // MIN_GROUP_ROWS + 1:
        raise TableError(
            f"has more than {MAX_BALLS} balls: it was not written by tennis",
            "use the original folder",
        )
    for chunk in form.chunks:
        how = chunk.encodings - ENCODINGS | {chunk.codec} - CODECS
        if how or chunk.dictionary:
            forms = (" ".join(sorted(how)) or "a dictionary")[:60]
            raise TableError(
                f"was not written by tennis (encoding {forms})", "use the original folder"
            )
    groups = form.groups
    if form.rows != balls or sum(groups) != balls:
        raise TableError(
            f"has {form.rows} balls, the manifest counts {balls}: "
            "the files are from different rallies",
            "use the original folder",
        )
    small = any(rows < min(MIN_GROUP_ROWS, GROUP_ROWS) for rows in groups[:-1])
    if small or any(not 0 < rows <= MAX_GROUP_ROWS for rows in groups):
        raise TableError("was not written by tennis (row groups)", "use the original folder")


def _check_columns(there: pa.Schema, tick_hz: int) -> None:
    """Refuse other columns than ``schema``, and those of another clock. Raises TableError."""
    wanted = schema(tick_hz)
    have = {field.name: str(field.type) for field in there}
    need = {field.name: str(field.type) for field in wanted}
    if have != need or there.names != wanted.names:
        columns = ", ".join(f"{name} {kind}" for name, kind in list(have.items())[:8])
        raise TableError(f"has the columns {columns!a}, not those of a rally", "play it again")
    written_hz = (there.metadata or {}).get(TICK_HZ_KEY)
    if written_hz != str(tick_hz).encode():
        raise TableError(
            f"counts ticks of {(written_hz or b'unknown')[:20]!r} Hz, the manifest of {tick_hz} "
            "Hz: the files are from different rallies",
            "use the original folder",
        )


class TableError(ValueError):
    """The table in ``balls.parquet`` is not a rally's; ``Reading`` adds the file's name."""

    def __init__(self, message: str, next_step: str) -> None:
        super().__init__(message)
        self.next_step = next_step


class Reading:
    """Turns errors of a file into one line about it, also those that break the reader."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, TableError):
            raise RallyError(f"{self.path} {error}", next_step=error.next_step) from error
        if isinstance(error, pa.ArrowException | OSError | ValueError | OverflowError):
            raise RallyError(
                f"{self.path} cannot be read as a table of balls",
                next_step="copy the folder again from its origin, or play the rally again",
            ) from error


def batches(path: Path, columns: list[str] | None = None) -> Iterator[pa.RecordBatch]:
    """Read the balls, some columns or all, in batches of at most GROUP_ROWS rows.

    Raises RallyError.
    """
    with Reading(path), pq.ParquetFile(path) as file:
        yield from file.iter_batches(GROUP_ROWS, columns=columns, use_threads=False)
