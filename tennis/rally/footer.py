"""The footer of a Parquet file, which describes its row groups, read without pyarrow.

pyarrow ends the whole process, without an exception, if the description of a column chunk is
damaged. So a file is judged here first. Formats: parquet.thrift, and the compact protocol of Apache
Thrift.
"""

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from tennis.rally.disk import open_below

MAGIC = b"PAR1"
# a hundred million balls in the smallest row groups take a fifth of it
FOOTER_MAX = 4 << 20
DEPTH_MAX = 8  # of structures in structures; a footer of balls has 5

# parquet.thrift: FileMetaData, RowGroup, ColumnChunk, ColumnMetaData
ROWS, ROW_GROUPS = 3, 4
COLUMNS, GROUP_ROWS = 1, 3
CHUNK = 3
CHUNK_ENCODINGS, CHUNK_CODEC, VALUES, PACKED, DATA_PAGE, DICTIONARY_PAGE = 2, 4, 5, 7, 9, 11
PAGE_UNPACKED, PAGE_PACKED = 2, 3  # PageHeader
PAGE_HEAD_MAX = 1 << 13
PAGE_COSTS = 1 << 10  # bytes that a page counts for beside its own: empty ones come to an end, too
ENCODINGS = {
    0: "PLAIN",
    2: "PLAIN_DICTIONARY",
    3: "RLE",
    4: "BIT_PACKED",
    5: "DELTA_BINARY_PACKED",
    6: "DELTA_LENGTH_BYTE_ARRAY",
    7: "DELTA_BYTE_ARRAY",
    8: "RLE_DICTIONARY",
    9: "BYTE_STREAM_SPLIT",
}
CODECS = {
    0: "UNCOMPRESSED",
    1: "SNAPPY",
    2: "GZIP",
    3: "LZO",
    4: "BROTLI",
    5: "LZ4",
    6: "ZSTD",
    7: "LZ4_RAW",
}


@dataclass(frozen=True)
class _Chunk:
    """The storage of one column's numbers in one row group."""

    encodings: frozenset[str]
    codec: str
    dictionary: bool
    rows: int
    begin: int
    end: int


@dataclass(frozen=True)
class Footer:
    """The row groups of a Parquet file."""

    rows: int
    groups: list[int]  # rows of each row group
    chunks: list[_Chunk]  # of all row groups

    @classmethod
    def read(cls, path: Path) -> "Footer":
        """Read the footer of a Parquet file, and the heads of its pages.

        Raises OSError, and ValueError if it is no Parquet file or a column would unpack to more
        than it may.
        """
        with open_below(path.parent, path.name) as file:
            end = file.seek(0, 2)
            file.seek(max(0, end - 8))
            tail = file.read(8)
            if len(tail) < 8 or tail[4:] != MAGIC:
                raise ValueError("no Parquet file")
            (size,) = struct.unpack("<I", tail[:4])
            if size > min(FOOTER_MAX, end - 8):
                raise ValueError("a footer larger than its file, or than any of balls")
            file.seek(end - 8 - size)
            data = file.read(size)
            try:
                meta = _Reader(data).structure()
                footer = cls(_whole(meta[ROWS]), *_groups(meta.get(ROW_GROUPS, [])))
                for chunk in footer.chunks:
                    if not 0 < chunk.begin <= chunk.end <= end:
                        raise ValueError("a column that is not in its file")
                    _check_pages(file, chunk)
            except (IndexError, KeyError, TypeError, AttributeError) as error:
                raise ValueError("a damaged footer") from error
        return footer


def column_bytes(rows: int) -> int:
    """Return how many bytes a column of ``rows`` rows takes at most, unpacked."""
    return rows * 128 + (1 << 20)


def _check_pages(file: BinaryIO, chunk: _Chunk) -> None:
    """Raise ValueError if a column unpacks to more than its rows can take."""
    at, left = chunk.begin, column_bytes(chunk.rows)
    while at < chunk.end:
        file.seek(at)
        reader = _Reader(file.read(PAGE_HEAD_MAX))
        head = reader.structure()
        unpacked, packed = _whole(head[PAGE_UNPACKED]), _whole(head[PAGE_PACKED])
        left -= unpacked + PAGE_COSTS
        if left < 0 or unpacked < 0 or packed < 0:
            raise ValueError("a column that is larger than its rows")
        at += reader.at + packed


def _groups(described: list[dict[int, Any]]) -> tuple[list[int], list[_Chunk]]:
    rows, chunks = [], []
    for group in described:
        count = _whole(group[GROUP_ROWS])
        rows.append(count)
        for column in group[COLUMNS]:
            meta = column[CHUNK]
            encodings = frozenset(ENCODINGS.get(n, str(n)) for n in meta[CHUNK_ENCODINGS])
            codec = meta[CHUNK_CODEC]
            codec = CODECS.get(codec, str(codec))
            if meta[VALUES] != count:
                raise ValueError("a column of another length than its rows")
            begin = min(_whole(meta[at]) for at in (DATA_PAGE, DICTIONARY_PAGE) if meta.get(at))
            end = begin + _whole(meta[PACKED])
            chunks.append(_Chunk(encodings, codec, DICTIONARY_PAGE in meta, count, begin, end))
    return rows, chunks


def _whole(number: object) -> int:
    if not isinstance(number, int) or isinstance(number, bool):
        raise TypeError
    return number


class _Reader:
    """Reads a structure of the compact protocol: field numbers to values.

    Raises IndexError behind the end, ValueError for a type that does not exist.
    """

    def __init__(self, data: bytes) -> None:
        self.said, self.at, self.depth = data, 0, 0

    def byte(self) -> int:
        self.at += 1
        return self.said[self.at - 1]

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
        if size > len(self.said) - self.at:
            raise IndexError
        self.at += size
        return self.said[self.at - size : self.at]

    def elements(self) -> list[Any]:
        head = self.byte()
        size, kind = head >> 4, head & 15
        if size == 15:
            size = self.unsigned()
        if size > len(self.said) - self.at:  # an element takes a byte at least
            raise IndexError
        # a truth in a list takes a byte; in a structure it is the type itself
        return [self.value(3 if kind in (1, 2) else kind) for _ in range(size)]

    def structure(self) -> dict[int, Any]:
        self.depth += 1
        if self.depth > DEPTH_MAX:
            raise ValueError("structures in structures without end")
        fields, number = dict[int, Any](), 0
        while head := self.byte():
            number = number + (head >> 4) if head >> 4 else self.signed()
            fields[number] = self.value(head & 15)
        self.depth -= 1
        return fields

    def value(self, kind: int) -> Any:  # noqa: PLR0911 (a type each)
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
            case 9 | 10:
                return self.elements()
            case 12:
                return self.structure()
        raise ValueError("an unknown type")  # maps (11) appear nowhere in parquet.thrift
