# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""``balls.parquet``: from the instrument's frames to a table, and back to counts of ticks."""

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import NoReturn, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from tennis import wire
from tennis.errors import RallyError
from tennis.rally import footer
from tennis.rally.tally import Counter
from tennis.rally.text import plain
from tennis.units import NS_PER_S, ticks_to_ns

# as many as an instrument serves in one play: fourteen hours at 2000 balls a second
MAX_BALLS = 10**8
# Rows of a row group: small enough to share the work among threads, large enough to be read fast.
GROUP_ROWS = 1 << 18
# Larger ones than any version wrote are refused, and smaller ones before the last.
MAX_GROUP_ROWS = 1 << 22
MIN_GROUP_ROWS = 1 << 16
# Rows that are gathered from frames, and that are read at once.
BATCH_ROWS = 1 << 18

FIELDS = (
    pa.field("ball", pa.uint32(), nullable=False),
    pa.field("served_ns", pa.int64(), nullable=False),
    pa.field("rise_ticks", pa.uint32()),
    pa.field("fall_ticks", pa.uint32()),
)
LATENCY_COLUMNS = ["rise_ticks", "fall_ticks"]
# What any version wrote. Others (dictionaries, runs) unpack a few bytes into millions of balls.
ENCODINGS = {"DELTA_BINARY_PACKED", "BYTE_STREAM_SPLIT", "RLE"}  # RLE: where nulls are
CODECS = {"ZSTD", "LZ4", "LZ4_RAW"}
TICK_HZ_KEY = b"tick_hz"

NUMBERS = np.arange(BATCH_ROWS, dtype=np.uint32)
# a serve's time is rounded to whole nanoseconds, either way, and so is the next one's
ROUNDING_NS = 1.5
LONGEST_NS = 2**63 - 1

RECORD = np.dtype([("served", "<u8"), ("rise", "<u4"), ("fall", "<u4")])
assert RECORD.itemsize == wire.BALL_SIZE  # noqa: S101

Ticks = NDArray[np.uint32]
Number = TypeVar("Number", bound=np.generic)


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
    """Return the record batch of some balls, of which the first has the number ``first``."""
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
            pa.array(np.arange(first, first + balls.size, dtype=np.uint32)),
            pa.array(ticks_to_ns(served.astype(np.int64), tick_hz)),
            pa.array(np.where(no_rise, 0, rise).astype(np.uint32), mask=no_rise),
            pa.array(np.where(no_fall, 0, fall).astype(np.uint32), mask=no_fall),
        ],
        schema=schema(tick_hz),
    )


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
class Written:
    """What was written to ``balls.parquet``."""

    balls: int
    misses: int


def write(
    path: Path, balls: pa.Table | Iterable[pa.RecordBatch | pa.Table], tick_hz: int
) -> Written:
    """Write ``balls.parquet``; the bytes depend on the balls only, not on how they were batched.

    Raises RallyError for other columns than ``schema``, OSError.
    """
    if isinstance(balls, pa.Table | pa.RecordBatch):
        balls = [balls]
    rows = misses = 0
    # Columns that cannot hold nulls are read faster, and most rallies have no miss: they are
    # written until there is one, then all is written again.
    nulls = False
    writer = _writer(path, schema(tick_hz, nulls=nulls))
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
    return Written(rows, misses)


def _writer(path: Path, columns: pa.Schema) -> pq.ParquetWriter:
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
    writer = _writer(path, columns)
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
    """Check the form of ``balls.parquet`` (not its rows); return where its row groups begin.

    The last element is the number of balls.

    Raises RallyError where it is not what ``write`` writes.
    """
    # bounded: a footer made up to exhaust the memory is refused by the reader
    limits = {"thrift_string_size_limit": 1 << 20, "thrift_container_size_limit": 1 << 18}
    with _Reading(path):
        form = footer.read(path)
    _check_form(path, form)
    with _Reading(path), pq.ParquetFile(path, **limits) as file:
        there = file.schema_arrow
    wanted = schema(tick_hz)
    have = {field.name: str(field.type) for field in there}
    need = {field.name: str(field.type) for field in wanted}
    if have != need or there.names != wanted.names:
        columns = ", ".join(f"{name} {kind}" for name, kind in list(have.items())[:8])
        raise RallyError(
            f"{path} has the columns {columns!a}, not those of a rally", next_step="play it again"
        )
    told = (there.metadata or {}).get(TICK_HZ_KEY)
    if told != str(tick_hz).encode():
        raise RallyError(
            f"{path} counts ticks of {(told or b'unknown')[:20]!r} Hz, the manifest of {tick_hz} "
            "Hz: the files are from different rallies",
            next_step="use the original folder",
        )
    groups = form.groups
    if form.rows != balls or sum(groups) != balls:
        raise RallyError(
            f"{path} has {form.rows} balls, the manifest counts {balls}: "
            "the files are from different rallies",
            next_step="use the original folder",
        )
    small = any(rows < min(MIN_GROUP_ROWS, GROUP_ROWS) for rows in groups[:-1])
    if small or any(not 0 < rows <= MAX_GROUP_ROWS for rows in groups):
        raise RallyError(
            f"{path} was not written by tennis (row groups)", next_step="use the original folder"
        )
    return list(itertools.accumulate(groups, initial=0))


def _check_form(path: Path, form: footer.Footer) -> None:
    """Refuse what ``write`` never writes, before any of it is unpacked. Raises RallyError."""
    if form.rows > MAX_BALLS or len(form.groups) > MAX_BALLS // MIN_GROUP_ROWS + 1:
        raise RallyError(
            f"{path} has more than {MAX_BALLS} balls: it was not written by tennis",
            next_step="use the original folder",
        )
    for chunk in form.chunks:
        how = chunk.encodings - ENCODINGS | {chunk.codec} - CODECS
        if how or chunk.dictionary:
            forms = plain(" ".join(sorted(how)) or "a dictionary", 60)
            raise RallyError(
                f"{path} was not written by tennis (encoding {forms})",
                next_step="use the original folder",
            )


class _Reading:
    """Turns what a damaged file does to the reader into one line."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, pa.ArrowException | OSError | ValueError | OverflowError):
            raise RallyError(
                f"{self.path} cannot be read as a table of balls",
                next_step="copy the folder again from its origin, or play the rally again",
            ) from error


@dataclass(frozen=True)
class BallRules:
    """What the manifest says about every ball."""

    tick_hz: int
    timeout_ns: int
    ordered: bool = True  # no ball was served before the one before it was over

    @property
    def latest_ticks(self) -> int:
        """Return the latest tick of an answer: instruments round the timeout by a tick or two."""
        return -(-self.timeout_ns * self.tick_hz // NS_PER_S) + 2


@dataclass(frozen=True)
class Span:
    """When the first ball of a row group was served, and when the last one was over; ns."""

    served_ns: int
    over_ns: float


@dataclass(frozen=True)
class RowGroup:
    """The balls of a row group, in their order; latencies are uint32 ticks."""

    interrupt: Ticks  # of the balls that rose
    scheduling: Ticks  # of the balls that rose and fell
    balls: int
    misses: int


def _refuse(path: Path, what: str) -> NoReturn:
    raise RallyError(
        f"{path} holds {what}: it was damaged or made up", next_step="use the original folder"
    )


def _check_rows(
    path: Path, rows: pa.RecordBatch, first: int, before: Span, rules: BallRules
) -> Span:
    """Check rows against each other, the ball before them and the manifest. Raises RallyError."""
    if rows["ball"].null_count or rows["served_ns"].null_count:
        _refuse(path, "a ball without a number or a time")
    ball, served = _numbers(rows["ball"], np.uint32), _numbers(rows["served_ns"], np.int64)
    if ball[0] != first or not np.array_equal(ball - ball[0], NUMBERS[: ball.size]):
        _refuse(path, f"balls that are not numbered one after the other, near ball {first}")
    if served.min() < 0:
        _refuse(path, "a ball that was served before the rally began")
    rise, no_rise = _plain(rows["rise_ticks"])
    fall, no_fall = _plain(rows["fall_ticks"])
    if no_rise is not None:
        if no_fall is None or np.any(no_rise > no_fall):
            _refuse(path, "a reply that fell and never rose")
        rise = np.where(no_rise, np.uint32(0), rise)
    if no_fall is not None:
        fall = np.where(no_fall, np.uint32(0), fall)
    if max(rise.max(), fall.max()) > rules.latest_ticks:
        _refuse(path, f"an answer later than the timeout of {rules.timeout_ns} ns")
    # both times are rounded; most batches need no look at each ball
    tick_ns = NS_PER_S / rules.tick_hz
    steps = np.subtract(served[1:], served[:-1])
    shortest = steps.min(initial=LONGEST_NS)
    if (rules.ordered and served[0] < before.over_ns) or (
        rules.ordered
        and shortest < fall.max() * tick_ns - ROUNDING_NS
        and np.any(steps < fall[:-1] * tick_ns - ROUNDING_NS)
    ):
        _refuse(path, "a ball that was served before the one before it was over")
    return Span(int(served[0]), float(served[-1] + fall[-1] * tick_ns - ROUNDING_NS))


def _group(path: Path, rows: pa.RecordBatch, room: Ticks) -> RowGroup:
    rise, no_rise = _plain(rows["rise_ticks"])
    fall, no_fall = _plain(rows["fall_ticks"])
    interrupt = rise if no_rise is None else rise[~no_rise]
    nulls = [null for null in (no_rise, no_fall) if null is not None]
    if nulls:
        whole = ~np.logical_or.reduce(nulls)
        rise, fall = rise[whole], fall[whole]
    scheduling = np.subtract(fall, rise, out=room[: rise.size])
    # a fall before its rise wraps around: to a large difference, or it comes from a large rise
    large = scheduling.size and max(scheduling.max(), rise.max()) >= 2**31
    if large and np.any(fall < rise):
        raise RallyError(
            f"{path} holds a reply that fell before it rose", next_step="play the rally again"
        )
    return RowGroup(interrupt, scheduling, rows.num_rows, rows["fall_ticks"].null_count)


def _numbers(array: pa.Array, kind: type[Number]) -> NDArray[Number]:
    """Return a column's numbers, anything where null; to_numpy would import pandas."""
    end = array.offset + len(array)
    return np.frombuffer(array.buffers()[1], kind, count=end)[array.offset :]


def _plain(array: pa.Array) -> tuple[Ticks, NDArray[np.bool_] | None]:
    """Return a column's numbers (anything where null), and where it is null; None: nowhere."""
    start, size = array.offset, len(array)
    numbers = _numbers(array, np.uint32)
    if not array.null_count:
        return numbers, None
    # a byte each, not the index of each: most balls of a rally may be missed
    octets = np.frombuffer(array.buffers()[0], np.uint8)
    valid = np.unpackbits(octets, count=start + size, bitorder="little")[start:]
    return numbers, valid == 0


@dataclass
class RowCounts:
    """What the rows of some row groups held."""

    interrupt: Counter
    scheduling: Counter
    balls: int = 0
    misses: int = 0
    spans: dict[int, Span] = field(default_factory=dict)  # of each row group


def count(path: Path, groups: Iterable[int], begins: list[int], rules: BallRules) -> RowCounts:
    """Check and count the balls of some row groups, which begin at ``begins``.

    Raises RallyError.
    """
    counted = RowCounts(Counter(), Counter())
    room = np.empty(BATCH_ROWS, np.uint32)
    names = [column.name for column in FIELDS]
    with _Reading(path), pq.ParquetFile(path) as file:
        for number in groups:
            first, began, span = begins[number], -1, Span(0, 0.0)
            for rows in file.iter_batches(BATCH_ROWS, [number], names, use_threads=False):
                span = _check_rows(path, rows, first, span, rules)
                began = span.served_ns if began < 0 else began
                group = _group(path, rows, room)
                counted.interrupt.add(group.interrupt)
                counted.scheduling.add(group.scheduling)
                counted.balls += group.balls
                counted.misses += group.misses
                first += group.balls
            if first != begins[number + 1]:
                _refuse(path, f"{first} balls where its list says {begins[number + 1]}")
            counted.spans[number] = Span(began, span.over_ns)
    counted.interrupt.settle()
    counted.scheduling.settle()
    return counted


def check_spans(path: Path, spans: dict[int, Span], rules: BallRules) -> None:
    """Check that no row group begins before the one before it is over. Raises RallyError."""
    ordered = [spans[number] for number in sorted(spans)]
    if rules.ordered and any(b.served_ns < a.over_ns for a, b in itertools.pairwise(ordered)):
        _refuse(path, "a ball that was served before the one before it was over")


def batches(path: Path, columns: list[str] | None = None) -> Iterator[pa.RecordBatch]:
    """Read the balls, some columns or all, in batches of at most GROUP_ROWS rows.

    Raises RallyError.
    """
    with _Reading(path), pq.ParquetFile(path) as file:
        yield from file.iter_batches(GROUP_ROWS, columns=columns, use_threads=False)
