"""Parquet files of a few columns side by side, read and written a row group at a time.

A stranger may have made a file: what a page may take is bounded by its rows before anything of it
is unpacked, and each number is checked before it is used. docs/decisions/0006 says why Tennis has
a reader of its own. Formats: parquet.thrift, and the compact protocol of Apache Thrift.
"""

import os
import struct
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cramjam
import numpy as np
from numpy.typing import NDArray

from tennis.rally.columns import KINDS, Column, Field, Table
from tennis.rally.disk import open_below

MAGIC = b"PAR1"
# a hundred million balls in the smallest row groups take a fifth of it
FOOTER_MAX = 4 << 20
DEPTH_MAX = 12  # of structures and lists in each other; a footer of balls has 7

# FileMetaData, SchemaElement, KeyValue, RowGroup, ColumnChunk, ColumnMetaData
VERSION, SCHEMA, ROWS, ROW_GROUPS, KEY_VALUES, MADE_BY = 1, 2, 3, 4, 5, 6
TYPE, REPETITION, NAME, CHILDREN, CONVERTED = 1, 3, 4, 5, 6
KEY, VALUE = 1, 2
COLUMNS, GROUP_BYTES, GROUP_ROWS = 1, 2, 3
OFFSET, CHUNK = 2, 3
CHUNK_ENCODINGS, PATH, CHUNK_CODEC, VALUES, UNPACKED, PACKED = 2, 3, 4, 5, 6, 7
DATA_PAGE, DICTIONARY_PAGE = 9, 11
# PageHeader, and its part about a page with data, or with a dictionary
PAGE_TYPE, PAGE_UNPACKED, PAGE_PACKED, DATA, DICTIONARY = 1, 2, 3, 5, 7
COUNT, ENCODING, LEVELS, NO_LISTS = 1, 2, 3, 4
ENCODINGS = {
    **{0: "PLAIN", 2: "PLAIN_DICTIONARY", 3: "RLE", 5: "DELTA_BINARY_PACKED"},
    **{8: "RLE_DICTIONARY", 9: "BYTE_STREAM_SPLIT"},
}
CODECS = {6: "ZSTD", 7: "LZ4_RAW"}
CODES = {name: number for names in (ENCODINGS, CODECS) for number, name in names.items()}
# a kind's physical type, and the converted types that say it; the last one is written
STORED: dict[str, tuple[int, tuple[int | None, ...]]] = {
    "uint32": (1, (13,)),
    "int64": (2, (18, None)),
    "int8": (1, (15,)),
    "string": (6, (0,)),
}
STORED_AS: dict[int, np.dtype[Any]] = {1: np.dtype("<u4"), 2: np.dtype("<u8")}

PAGE_HEAD_MAX = 1 << 13
PAGE_COSTS = 1 << 10  # bytes that a page counts for beside its own: empty ones come to an end, too
WORD_BYTES, NUMBER_BYTES = 128, 24  # that a row may take, packed differences of any number among it
# differences that share a smallest one, and those of them that share a width
BLOCK, MINI = 1024, 256
BLOCK_MAX = 1 << 20
LEVEL = 3  # of both codecs

Unsigned = NDArray[np.uint64]
Octets = bytes | memoryview


class _Long(int):
    """A whole number that parquet.thrift calls i64: its type is in the bytes."""


@dataclass(frozen=True)
class _Chunk:
    """The storage of one column's values in one row group."""

    encodings: frozenset[str]
    codec: str
    dictionary: bool
    rows: int
    begin: int
    end: int


class Reader(AbstractContextManager["Reader"]):
    """A Parquet file that is open. Raises OSError, and ValueError for a damaged one."""

    def __init__(self, path: Path) -> None:
        self.fields = list[Field]()
        self.groups = list[int]()  # rows of each row group
        self.chunks = list[_Chunk]()  # of all row groups, one after the other
        self.metadata = dict[str, str]()
        self.rows = 0
        self._file = open_below(path.parent, path.name)
        try:
            self._read_footer()
        except BaseException:
            self._file.close()
            raise

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self._file.close()

    def batches(
        self, most: int, names: list[str] | None = None, groups: Iterable[int] | None = None
    ) -> Iterator[Table]:
        """Yield the rows of all row groups, or some, at most so many at a time."""
        places = {one.name: number for number, one in enumerate(self.fields)}
        for group in range(len(self.groups)) if groups is None else groups:
            begin, left = group * len(self.fields), self.groups[group]
            columns = {}
            for name in names or places:
                at = places[name]
                pages = _pages_in(self._file.fileno(), self.fields[at], self.chunks[begin + at])
                columns[name] = _Taken(pages)
            while left:
                rows = min(most, left)
                yield Table({name: pages.take(rows) for name, pages in columns.items()})
                left -= rows

    def _read_footer(self) -> None:
        file = self._file
        end = file.seek(0, 2)
        file.seek(max(0, end - 8))
        tail = file.read(8)
        if len(tail) < 8 or tail[4:] != MAGIC:
            raise ValueError("no Parquet file")
        (size,) = struct.unpack("<I", tail[:4])
        if size > min(FOOTER_MAX, end - 8):
            raise ValueError("a footer larger than its file, or than any of balls")
        file.seek(end - 8 - size)
        try:
            meta = _Structure(file.read(size)).read()
            self._take_fields(meta[SCHEMA])
            for group in meta.get(ROW_GROUPS, []):
                self._take_group(group)
            words = {one[KEY]: one.get(VALUE, b"") for one in meta.get(KEY_VALUES, [])}
            self.metadata = {key.decode(): value.decode() for key, value in words.items()}
            self.rows = _whole(meta[ROWS])
            if self.rows != sum(self.groups):
                raise ValueError("row groups that are not its rows")
        except (IndexError, KeyError, TypeError, AttributeError) as error:
            raise ValueError("a damaged footer") from error
        if not all(0 < chunk.begin <= chunk.end <= end for chunk in self.chunks):
            raise ValueError("a column that is not in its file")

    def _take_fields(self, described: list[dict[int, Any]]) -> None:
        root, *leaves = described
        if _whole(root[CHILDREN]) != len(leaves) or any(CHILDREN in leaf for leaf in leaves):
            raise ValueError("columns in columns")
        for leaf in leaves:
            kept, said = _whole(leaf[TYPE]), leaf.get(CONVERTED)
            kinds = [kind for kind, (one, some) in STORED.items() if one == kept and said in some]
            if leaf[REPETITION] not in {0, 1}:
                raise ValueError("a column of lists")
            kind = kinds[0] if kinds else f"type {kept} {said}"
            self.fields.append(Field(leaf[NAME].decode(), kind, nullable=leaf[REPETITION] == 1))

    def _take_group(self, group: dict[int, Any]) -> None:
        rows = _whole(group[GROUP_ROWS])
        self.groups.append(rows)
        for one, column in zip(self.fields, group[COLUMNS], strict=True):
            meta = column[CHUNK]
            encodings = frozenset(ENCODINGS.get(n, str(n)) for n in meta[CHUNK_ENCODINGS])
            codec = CODECS.get(meta[CHUNK_CODEC], str(meta[CHUNK_CODEC]))
            if meta[VALUES] != rows or rows < 0 or meta[PATH] != [one.name.encode()]:
                raise ValueError("a column of another length than its rows")
            begin = min(_whole(meta[at]) for at in (DATA_PAGE, DICTIONARY_PAGE) if meta.get(at))
            end = begin + _whole(meta[PACKED])
            self.chunks.append(_Chunk(encodings, codec, DICTIONARY_PAGE in meta, rows, begin, end))


class Writer(AbstractContextManager["Writer"]):
    """Writes a Parquet file. ``forms``: a column's encoding and codec, unless they are the usual.

    The same rows in the same row groups give the same bytes. Raises OSError.
    """

    def __init__(
        self,
        path: Path,
        fields: list[Field],
        metadata: Mapping[str, str],
        forms: Mapping[str, tuple[str, str]] | None = None,
    ) -> None:
        self._fields, self._metadata, self._forms = fields, metadata, forms or {}
        self._groups = list[dict[int, Any]]()
        self._file = path.open("wb")
        self._file.write(MAGIC)

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self.close()

    def write(self, rows: Table) -> None:
        """Write a row group. Raises ValueError for a missing value where none may be."""
        chunks = list[dict[int, Any]]()
        for field in self._fields:
            column = rows[field.name]
            if column.nulls and not field.nullable:
                raise ValueError(f"a value of {field.name} is missing")
            usual = "RLE_DICTIONARY" if field.kind == "string" else "DELTA_BINARY_PACKED"
            encoding, codec = self._forms.get(field.name, (usual, "ZSTD"))
            pages, unpacked, before = _pages_of(column, field, encoding, codec)
            begin = self._file.tell()
            self._file.write(pages)
            about = {
                TYPE: STORED[field.kind][0],
                CHUNK_ENCODINGS: [CODES["RLE"], CODES[encoding]],
                PATH: [field.name],
                CHUNK_CODEC: CODES[codec],
                VALUES: _Long(len(column)),
                UNPACKED: _Long(unpacked),
                PACKED: _Long(len(pages)),
                DATA_PAGE: _Long(begin + before),
            }
            dictionary = {DICTIONARY_PAGE: _Long(begin)} if before else {}
            chunks.append({OFFSET: _Long(0), CHUNK: about | dictionary})
        size = _Long(sum(chunk[CHUNK][UNPACKED] for chunk in chunks))
        group = {COLUMNS: chunks, GROUP_BYTES: size, GROUP_ROWS: _Long(len(rows))}
        self._groups.append(group)

    def close(self) -> None:
        """Write the footer, once."""
        if self._file.closed:
            return
        leaves = []
        for one in self._fields:
            kept, (*_, said) = STORED[one.kind]
            leaf = {TYPE: kept, REPETITION: int(one.nullable), NAME: one.name}
            leaves.append(leaf if said is None else {**leaf, CONVERTED: said})
        meta = {
            VERSION: 2,
            SCHEMA: [{NAME: "schema", CHILDREN: len(leaves)}, *leaves],
            ROWS: _Long(sum(group[GROUP_ROWS] for group in self._groups)),
            ROW_GROUPS: self._groups,
            KEY_VALUES: [{KEY: key, VALUE: value} for key, value in self._metadata.items()],
            MADE_BY: "tennis",
        }
        packed = _structure(meta)
        with self._file as file:
            file.write(packed + struct.pack("<I", len(packed)) + MAGIC)


class _Taken:
    """The values of a column in a row group, a few rows at a time."""

    def __init__(self, pages: Iterator[Column]) -> None:
        self._pages, self._held = pages, list[Column]()

    def take(self, rows: int) -> Column:
        have = sum(map(len, self._held))
        while have < rows:
            page = next(self._pages, None)
            if page is None:
                raise ValueError("a column with fewer values than rows")
            self._held.append(page)
            have += len(page)
        every = Column.joined(self._held)
        self._held = [every[rows:]]
        return every[:rows]


def _pages_in(file: int, field: Field, chunk: _Chunk) -> Iterator[Column]:
    """Yield the values of each page of a column."""
    of_row = WORD_BYTES if field.kind == "string" else NUMBER_BYTES
    at, left, rows_left = chunk.begin, chunk.rows * of_row + (1 << 20), chunk.rows
    words: NDArray[Any] | None = None
    while at < chunk.end:
        reader = _Structure(os.pread(file, PAGE_HEAD_MAX, at))
        try:
            head = reader.read()
            unpacked, packed = _whole(head[PAGE_UNPACKED]), _whole(head[PAGE_PACKED])
            left -= max(unpacked, packed) + PAGE_COSTS
            if left < 0 or unpacked < 0 or packed < 0:
                raise ValueError("a column that is larger than its rows")
            at += reader.at + packed
            data = _unpacked(chunk.codec, os.pread(file, packed, at - packed), unpacked)
            if head[PAGE_TYPE] == 2:
                words = _plain(data, field.kind, _whole(head[DICTIONARY][COUNT]))
                continue
            count, encoding = _whole(head[DATA][COUNT]), ENCODINGS[head[DATA][ENCODING]]
            if not 0 <= count <= rows_left or encoding not in chunk.encodings:
                raise ValueError("a page that its column does not have")
            rows_left -= count
            yield _column(data, encoding, count, field, words)
        except (IndexError, KeyError, TypeError, AttributeError, OverflowError) as error:
            raise ValueError("a damaged page") from error


def _column(
    data: Octets, encoding: str, count: int, field: Field, words: NDArray[Any] | None
) -> Column:
    """Return the values of a page; ``words``: its dictionary."""
    if not field.nullable:
        return Column(_values(data, encoding, count, field.kind, words))
    size = int.from_bytes(data[:4], "little")
    missing = _runs(data[4 : 4 + size], 1, count) == 0
    there = count - int(np.count_nonzero(missing))
    values = _values(data[4 + size :], encoding, there, field.kind, words)
    if there == count:
        return Column(values)
    spread = np.full(count, "" if field.kind == "string" else 0, KINDS[field.kind])
    spread[~missing] = values
    return Column(spread, missing)


def _values(
    data: Octets, encoding: str, count: int, kind: str, words: NDArray[Any] | None
) -> NDArray[Any]:
    match encoding:
        case "PLAIN":
            return _plain(data, kind, count)
        case "PLAIN_DICTIONARY" | "RLE_DICTIONARY" if words is not None:
            return words[_runs(data[1:], data[0], count) if count else slice(0)]
        case "DELTA_BINARY_PACKED" if kind != "string":
            numbers = _differences(data, count)
            return numbers.view(np.int64) if kind == "int64" else numbers.astype(KINDS[kind])
        case "BYTE_STREAM_SPLIT" if kind != "string":
            planes = _planes(data, STORED_AS[STORED[kind][0]], count)
            return planes.astype(KINDS[kind], copy=False)
    raise ValueError(f"a column of {kind} in {encoding}")


def _pages_of(column: Column, field: Field, encoding: str, codec: str) -> tuple[bytes, int, int]:
    """Return the pages of a column, their bytes unpacked, and where the one with data begins."""
    values, levels, before, unpacked = column.values, b"", b"", 0
    if field.nullable:
        flags = np.packbits(~column.flags, bitorder="little").tobytes()
        runs = _varint(len(flags) << 1 | 1) + flags
        levels = len(runs).to_bytes(4, "little") + runs
        values = values if column.missing is None else values[~column.missing]
    if encoding == "RLE_DICTIONARY":
        words: dict[str, int] = {}
        codes = [words.setdefault(word, len(words)) for word in values.tolist()]
        texts = [word.encode() for word in words]
        listed = b"".join(len(text).to_bytes(4, "little") + text for text in texts)
        about = {COUNT: len(words), ENCODING: CODES["PLAIN"]}
        before, unpacked = _page({PAGE_TYPE: 2, DICTIONARY: about}, listed, codec)
        width, eights = max(1, (len(words) - 1).bit_length()), -(-len(codes) // 8)
        bits = _joined(np.array(codes, np.uint64), width)[: eights * width]
        data = bytes([width]) + _varint(eights << 1 | 1) + bits
    elif encoding == "BYTE_STREAM_SPLIT":
        octets = np.ascontiguousarray(values).view(np.uint8)
        data = octets.reshape(-1, values.itemsize).T.tobytes()
    else:
        data = _packed_differences(values)
    about = {COUNT: len(column), ENCODING: CODES[encoding], LEVELS: CODES["RLE"]}
    head = {PAGE_TYPE: 0, DATA: {**about, NO_LISTS: CODES["RLE"]}}
    page, size = _page(head, levels + data, codec)
    return before + page, unpacked + size, len(before)


def _page(head: dict[int, Any], data: bytes, codec: str) -> tuple[bytes, int]:
    """Return a page, and the bytes that it would have unpacked."""
    if codec == "ZSTD":
        packed = bytes(cramjam.zstd.compress(data, LEVEL))
    else:
        packed = bytes(cramjam.lz4.compress_block(data, compression=LEVEL, store_size=False))
    begin = _structure(head | {PAGE_UNPACKED: len(data), PAGE_PACKED: len(packed)})
    return begin + packed, len(begin) + len(data)


def _unpacked(codec: str, packed: bytes, size: int) -> Octets:
    """Return the bytes of a page, which must be so many."""
    data = bytearray(size)
    try:
        if codec == "ZSTD":
            found = cramjam.zstd.decompress_into(packed, data)
        elif codec == "LZ4_RAW":
            found = cramjam.lz4.decompress_block_into(packed, data, output_len=size)
        else:
            raise ValueError(f"pages in {codec}")
    except cramjam.DecompressionError as error:
        raise ValueError("a damaged page") from error
    if found != size:
        raise ValueError("a page of another size than it says")
    return memoryview(data)


def _plain(data: Octets, kind: str, count: int) -> NDArray[Any]:
    """Return numbers that are one after the other, or words with their lengths."""
    if kind != "string":
        numbers = np.frombuffer(data, STORED_AS[STORED[kind][0]], count)
        return numbers.astype(KINDS[kind])
    words, at = [], 0
    for _ in range(count):
        size = int.from_bytes(data[at : at + 4], "little")
        words.append(str(data[at + 4 : at + 4 + size], "utf-8"))
        at += 4 + size
        if at > len(data):
            raise ValueError("a word that is longer than its page")
    return np.array(words, np.object_)


def _runs(data: Octets, width: int, count: int) -> Unsigned:
    """Return ``count`` numbers of ``width`` bits: repeated ones, and eights of packed ones."""
    if not 1 <= width <= 32:
        raise ValueError("numbers of no width")
    found, at, reader = np.empty(count, np.uint64), 0, _Structure(data)
    while at < count:
        head = reader.unsigned()
        if head & 1:
            some = _split(reader.octets((head >> 1) * width), width)[: count - at]
            size = some.size
            found[at : at + size] = some
        else:
            size = min(head >> 1, count - at)
            found[at : at + size] = int.from_bytes(reader.octets((width + 7) // 8), "little")
        at += size
        if size < 8 and at < count:  # shorter ones are packed; a few bytes could hold millions
            raise ValueError("a run of a few numbers")
    return found


def _split(packed: Octets, width: int) -> Unsigned:
    """Return numbers of ``width`` bits, eight of them in ``width`` bytes."""
    rows = len(packed) // width
    padded = np.concatenate([np.frombuffer(packed, np.uint8), np.zeros(9, np.uint8)])
    found = np.empty((rows, 8), np.uint64)
    for lane in range(8):
        at, shift = divmod(lane * width, 8)
        some = np.ndarray((rows,), "<u8", padded, at, (width,)) >> np.uint64(shift)
        if shift + width > 64:
            high = np.ndarray((rows,), np.uint8, padded, at + 8, (width,)).astype(np.uint64)
            some |= high << np.uint64(64 - shift)
        np.bitwise_and(some, np.uint64((1 << width) - 1), out=found[:, lane])
    return found.ravel()


def _joined(numbers: Unsigned, width: int) -> bytes:
    """Return the bytes that ``_split`` reads, to a whole number of 64 numbers."""
    rows = np.concatenate([numbers, np.zeros(-numbers.size % 64, np.uint64)]).reshape(-1, 64)
    found = np.zeros((len(rows), width), "<u8")
    for lane in range(64):
        at, shift = divmod(lane * width, 64)
        found[:, at] |= rows[:, lane] << np.uint64(shift)
        if shift + width > 64:
            found[:, at + 1] |= rows[:, lane] >> np.uint64(64 - shift)
    return found.tobytes()


def _planes(data: Octets, stored: np.dtype[Any], count: int) -> NDArray[Any]:
    """Return numbers whose first bytes are one after the other, then the second ones."""
    if len(data) != count * stored.itemsize:
        raise ValueError("numbers of another size")
    planes = np.frombuffer(data, np.uint8).reshape(stored.itemsize, count)
    found: NDArray[Any] = planes[0].astype(stored)
    for number, plane in enumerate(planes[1:], 1):
        if plane.any():  # high bytes are mostly zeros
            found |= plane.astype(stored) << stored.type(8 * number)
    return found


def _differences(data: Octets, count: int) -> Unsigned:
    """Return numbers that are kept as differences: blocks with a smallest one, and the rest."""
    if not count:
        return np.zeros(0, np.uint64)
    reader = _Structure(data)
    block, minis, total = reader.unsigned(), reader.unsigned(), reader.unsigned()
    first, at = reader.signed() & (2**64 - 1), reader.at
    mini = block // minis if minis else 0
    if total != count or not 0 < block <= BLOCK_MAX or block != mini * minis or mini % 32:
        raise ValueError("differences in blocks of no size")
    if count == 1:
        return np.array([first], np.uint64)
    lows, widths, begins = list[int](), list[bytes](), list[int]()
    start, blocks = at, -(-(count - 1) // block)
    for left in range(count - 1, 0, -block):
        low, shift = data[at], 7
        at += 1
        while low >> shift:  # the high bit says that more follows
            low += data[at] - 1 << shift
            at, shift = at + 1, shift + 7
            if shift > 70:
                raise ValueError("a number of more than 64 bits")
        lows.append(low)
        own = data[at : at + min(minis, -(-left // mini))]
        at += minis
        begins.append(at)
        widths.append(bytes(own).ljust(minis, b"\0"))
        at += sum(own) * mini // 8
        if len(lows) == 1 and not any(own) and data[start:] == bytes(data[start:at]) * blocks:
            return np.arange(count, dtype=np.uint64) * _signed([low]) + np.uint64(first)
    if at > len(data):
        raise ValueError("differences that end early")
    width = np.frombuffer(b"".join(widths), np.uint8).reshape(-1, minis).astype(np.int64)
    sizes = width * (mini // 8)
    starts = (np.array(begins, np.int64)[:, None] + np.cumsum(sizes, axis=1) - sizes).ravel()
    numbers = np.zeros(width.size * mini + 1, np.uint64)
    numbers[0] = first
    steps = numbers[1:].reshape(-1, mini)
    for each in np.unique(width).tolist():
        if each > 64:
            raise ValueError("differences of more than 64 bits")
        if each:
            (alike,) = np.nonzero(width.ravel() == each)
            size = each * mini // 8
            some = b"".join([data[start : start + size] for start in starts[alike].tolist()])
            found = _split(some, each).reshape(-1, mini)
            steps[slice(None) if alike.size == width.size else alike] = found
    steps.reshape(blocks, -1)[...] += _signed(lows)[:, None]
    return np.cumsum(numbers[:count], out=numbers[:count])


def _signed(numbers: list[int]) -> Unsigned:
    """Return numbers whose lowest bit is their sign, modulo 2**64."""
    coded = np.array(numbers, np.uint64)
    return coded >> np.uint64(1) ^ (np.uint64(0) - (coded & np.uint64(1)))


def _packed_differences(values: NDArray[Any]) -> bytes:
    """Return the bytes that ``_differences`` reads."""
    signed, unsigned = (np.int64, np.uint64) if values.itemsize == 8 else (np.int32, np.uint32)
    numbers = values.astype(signed)
    first = int(numbers[0]) if numbers.size else 0
    parts = [*map(_varint, (BLOCK, BLOCK // MINI, numbers.size)), _varint(first, signed=True)]
    steps = np.diff(numbers)
    if not steps.size:
        return b"".join(parts)
    steps = np.concatenate([steps, np.repeat(steps[-1:], -steps.size % BLOCK)]).reshape(-1, BLOCK)
    lows = steps.min(axis=1)
    over = (steps - lows[:, None]).view(unsigned).astype(np.uint64).reshape(-1, MINI)
    used = -(-(numbers.size - 1) // MINI)
    widths = [most.bit_length() for most in over[:used].max(axis=1).tolist()]
    widths += [0] * (len(over) - used)
    minis = [b""] * len(over)
    for width in sorted({*widths} - {0}):
        own = [number for number, one in enumerate(widths) if one == width]
        octets, size = _joined(over[own].ravel(), width), MINI * width // 8
        for place, number in enumerate(own):
            minis[number] = octets[place * size : (place + 1) * size]
    for number, low in enumerate(lows.tolist()):
        block = slice(number * BLOCK // MINI, (number + 1) * BLOCK // MINI)
        parts += [_varint(low, signed=True), bytes(widths[block]), *minis[block]]
    return b"".join(parts)


def _whole(number: object) -> int:
    """Return a whole number of a structure. Raises TypeError if it is something else."""
    if not isinstance(number, int) or isinstance(number, bool):
        raise TypeError
    return number


class _Structure:
    """Reads a structure of the compact protocol: field numbers to values.

    Raises IndexError behind the end, ValueError for a type that does not exist.
    """

    def __init__(self, data: Octets) -> None:
        self.data, self.at, self.depth = data, 0, 0

    def byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1]

    def unsigned(self) -> int:
        number = shift = 0
        while shift < 64:
            byte = self.byte()
            number |= (byte & 0x7F) << shift
            if byte < 0x80:  # the high bit says that more follows
                return number
            shift += 7
        raise ValueError("a number of more than 64 bits")

    def signed(self) -> int:
        number = self.unsigned()
        return number >> 1 ^ -(number & 1)

    def octets(self, size: int) -> bytes:
        if size > len(self.data) - self.at:
            raise IndexError
        self.at += size
        return bytes(self.data[self.at - size : self.at])

    def read(self) -> dict[int, Any]:
        fields, number = dict[int, Any](), 0
        while head := self.byte():
            number = number + (head >> 4) if head >> 4 else self.signed()
            fields[number] = self._value(head & 15)
        return fields

    def _elements(self) -> list[Any]:
        head = self.byte()
        size, kind = head >> 4, head & 15
        if size == 15:
            size = self.unsigned()
        if size > len(self.data) - self.at:  # an element takes a byte at least
            raise IndexError
        # a truth in a list takes a byte; in a structure it is the type itself
        return [self._value(3 if kind in (1, 2) else kind) for _ in range(size)]

    def _value(self, kind: int) -> Any:
        match kind:
            case 1 | 2:
                return kind == 1
            case 3:
                return self.byte()
            case 4 | 5 | 6:
                return self.signed()
            case 7:
                return self.octets(8)
            case 8:
                return self.octets(self.unsigned())
            case 9 | 10 | 12:
                self.depth += 1
                if self.depth > DEPTH_MAX:
                    raise ValueError("structures in structures without end")
                value = self.read() if kind == 12 else self._elements()
                self.depth -= 1
                return value
        raise ValueError("an unknown type")  # maps (11) appear nowhere in parquet.thrift


def _varint(number: int, *, signed: bool = False) -> bytes:
    """Return a number, 7 bits a byte; ``signed``: its lowest bit is the sign."""
    number = number << 1 ^ (-1 if number < 0 else 0) if signed else number
    octets = bytearray()
    while number > 0x7F:
        octets.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*octets, number])


def _structure(fields: Mapping[int, Any]) -> bytes:
    """Return a structure of the compact protocol: what ``_Structure`` reads."""
    packed, before = b"", 0
    for number, value in sorted(fields.items()):
        kind, content = _packed(value)
        packed += bytes([number - before << 4 | kind]) + content
        before = number
    return packed + b"\0"


def _packed(value: Any) -> tuple[int, bytes]:
    """Return the type of a value, and its bytes."""
    match value:
        case _Long():
            return 6, _varint(value, signed=True)
        case int():
            return 5, _varint(value, signed=True)
        case str():
            return 8, _varint(len(value.encode())) + value.encode()
        case list():
            each = [_packed(one) for one in value]
            kind = each[0][0] if each else 12
            size = _varint(len(each)) if len(each) > 14 else b""
            head = bytes([min(len(each), 15) << 4 | kind])
            return 9, head + size + b"".join(content for _, content in each)
    return 12, _structure(value)
