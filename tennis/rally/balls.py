"""``balls.parquet``: from the instrument's frames to a table, and read again in batches.

``tennis/rally/rows.py`` checks and counts what the rows hold.
"""

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tennis.kit import wire
from tennis.kit.errors import RallyError
from tennis.kit.units import NS_PER_S, ticks_to_ns
from tennis.rally.columns import KINDS, Column, Field, Table
from tennis.rally.parquet import Reader, Writer

# as many as an instrument serves in one play: fourteen hours at 2000 balls a second
MAX_BALLS = 10**8
# Rows of a row group: small enough to share the work among threads, large enough to be read fast.
GROUP_ROWS = 1 << 18
# Larger ones than any version wrote are refused, and smaller ones before the last.
MAX_GROUP_ROWS = 1 << 22
MIN_GROUP_ROWS = 1 << 16
# Rows that are gathered from frames, and that are read at once.
BATCH_ROWS = 1 << 18

FIELDS = [
    Field("ball", "uint32", nullable=False),
    Field("served_ns", "int64", nullable=False),
    Field("rise_ticks", "uint32"),
    Field("fall_ticks", "uint32"),
]
COLUMNS = [field.name for field in FIELDS]
LATENCY_COLUMNS = ["rise_ticks", "fall_ticks"]
# All encodings that any version wrote. Others (dictionaries, runs) unpack a few bytes into millions
# of balls.
ENCODINGS = {"DELTA_BINARY_PACKED", "BYTE_STREAM_SPLIT", "RLE"}  # RLE: the places of nulls
CODECS = {"ZSTD", "LZ4_RAW"}
# Statistics read the latencies, so these are stored for speed: their high bytes are all alike and
# split off, which LZ4 unpacks twice as fast as zstd at nearly the same size; its level 3 finds
# longer repetitions, which are unpacked faster. Ball and served rise steadily: packed differences,
# then zstd.
FORMS = dict.fromkeys(LATENCY_COLUMNS, ("BYTE_STREAM_SPLIT", "LZ4_RAW"))
TICK_HZ_KEY = "tick_hz"

RECORD = np.dtype([("served", "<u8"), ("rise", "<u4"), ("fall", "<u4")])
assert RECORD.itemsize == wire.BALL_SIZE  # noqa: S101


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


def _batch(first: int, balls: NDArray[np.void], tick_hz: int) -> Table:
    """Return the table of some balls; the first one has the number ``first``."""
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
    late = [
        Column(np.where(none, 0, ticks).astype(np.uint32), none)
        for ticks, none in ((rise, no_rise), (fall, no_fall))
    ]
    number = np.arange(first, first + balls.size, dtype=np.uint32)
    steady = [Column(number), Column(ticks_to_ns(served.astype(np.int64), tick_hz))]
    return Table(dict(zip(COLUMNS, [*steady, *late], strict=True)))


def batches_from_frames(payloads: Iterable[bytes], tick_hz: int) -> Iterator[Table]:
    """Turn the payloads of BALLS frames, in their order, into tables, one at a time.

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


def write(path: Path, balls: Table | Iterable[Table], tick_hz: int) -> _Written:
    """Write ``balls.parquet``; the bytes depend on the balls only, not on how they were batched.

    Raises RallyError for other columns than ``FIELDS``, OSError.
    """
    rows = misses = 0
    # Columns that cannot hold nulls are read faster, and most rallies have no miss: they are
    # written until there is one, then all is written again.
    nulls = False
    writer = _open_writer(path, tick_hz, nulls=nulls)
    try:
        for group in _regroup([balls] if isinstance(balls, Table) else balls):
            if not nulls and any(group[name].nulls for name in LATENCY_COLUMNS):
                nulls = True
                writer.close()
                writer = _rewriter(path, tick_hz)
            writer.write(group)
            rows += len(group)
            misses += group["fall_ticks"].nulls
    finally:
        writer.close()
    return _Written(rows, misses)


def _open_writer(path: Path, tick_hz: int, *, nulls: bool) -> Writer:
    """Return what writes a table of balls to ``path``, group by group.

    Without ``nulls``, the columns say that no ball was missed.
    """
    fields = FIELDS if nulls else [replace(field, nullable=False) for field in FIELDS]
    return Writer(path, fields, {TICK_HZ_KEY: str(tick_hz)}, FORMS)


def _rewriter(path: Path, tick_hz: int) -> Writer:
    """Return a writer that has written again, with other columns, what ``path`` holds."""
    before = path.with_name(path.name + ".before")
    path.replace(before)
    writer = _open_writer(path, tick_hz, nulls=True)
    with Reader(before) as file:
        for group in file.batches(GROUP_ROWS):
            writer.write(group)
    before.unlink()
    return writer


def _regroup(batches: Iterable[Table]) -> Iterator[Table]:
    """Cut batches of any size into tables of GROUP_ROWS rows (the last is shorter)."""
    held, rows = list[Table](), 0
    for batch in batches:
        have = [(name, one.values.dtype) for name, one in batch.columns.items()]
        if have != [(field.name, np.dtype(KINDS[field.kind])) for field in FIELDS]:
            raise RallyError(f"balls have the columns {[*batch.columns]}: not those of a rally")
        held.append(batch)
        rows += len(batch)
        if rows < GROUP_ROWS:
            continue
        whole = Table.joined(held, FIELDS)
        full = rows - rows % GROUP_ROWS
        yield from whole.part(0, full).cut(GROUP_ROWS)
        held, rows = [whole.part(full, rows)], rows - full
    if rows:
        yield Table.joined(held, FIELDS)


def check(path: Path, *, balls: int, tick_hz: int) -> list[int]:
    """Check the form of ``balls.parquet`` (not its rows); return the beginnings of its row groups.

    The last element is the number of balls.

    Raises RallyError unless it has the form that ``write`` gives.
    """
    with Reading(path), Reader(path) as file:
        _check_form(file, balls)
        _check_columns(file, tick_hz)
    return list(itertools.accumulate(file.groups, initial=0))


def _check_form(form: Reader, balls: int) -> None:
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


def _check_columns(form: Reader, tick_hz: int) -> None:
    """Refuse other columns than ``FIELDS``, and those of another clock. Raises TableError."""
    have = [(field.name, field.kind) for field in form.fields]
    if have != [(field.name, field.kind) for field in FIELDS]:
        columns = ", ".join(f"{name} {kind}" for name, kind in have[:8])
        raise TableError(f"has the columns {columns!a}, not those of a rally", "play it again")
    written_hz = form.metadata.get(TICK_HZ_KEY)
    if written_hz != str(tick_hz):
        raise TableError(
            f"counts ticks of {(written_hz or 'unknown')[:20]!a} Hz, the manifest of {tick_hz} "
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
        if isinstance(error, OSError | ValueError):
            raise RallyError(
                f"{self.path} cannot be read as a table of balls",
                next_step="copy the folder again from its origin, or play the rally again",
            ) from error


def batches(path: Path, columns: list[str] | None = None) -> Iterator[Table]:
    """Read the balls, some columns or all, in batches of at most GROUP_ROWS rows.

    Raises RallyError.
    """
    with Reading(path), Reader(path) as file:
        yield from file.batches(GROUP_ROWS, columns)
