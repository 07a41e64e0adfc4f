"""Tennis's reader and writer of Parquet files, against pyarrow's."""

import struct
import sys
import tracemalloc

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tennis.kit.checkout import ROOT
from tennis.rally import parquet
from tennis.rally.columns import KINDS, Column, Field, Table
from tennis.rally.parquet import Reader, Writer
from tests.support.processes import run_to_end
from tests.support.tables import arrow_schema, plain

FIELDS = [
    Field("ball", "uint32", nullable=False),
    *(Field(kind, kind) for kind in KINDS),
    Field("word", "string", nullable=False),
]
FORMS = {
    "dictionary": {"compression": "zstd"},
    "large dictionary": {"compression": "zstd", "dictionary_pagesize_limit": 1000},
    "plain": {"use_dictionary": False, "compression": "zstd", "write_page_checksum": True},
    "small pages": {"compression": "lz4", "data_page_size": 1000, "write_batch_size": 50},
    "differences": {
        "use_dictionary": False,
        "compression": "lz4",
        "column_encoding": dict.fromkeys(["ball", "uint32", "int64", "int8"], "DELTA_BINARY_PACKED")
        | {"string": "PLAIN", "word": "PLAIN"},
    },
}


def values(kind, rows, rng):
    """Return numbers of all sizes, or words, or runs of one of them."""
    if kind == "string":
        return np.array([f"ä{n}" * (n % 3) for n in rng.integers(0, 99, rows)], np.object_)
    numbers = rng.integers(0, 2**63, rows) >> rng.integers(0, 63, rows).astype(np.int64)
    return np.where(rng.random() < 0.5, numbers, np.sort(numbers)).astype(KINDS[kind])


def drawn(rows, missing, rng):
    flags = {one.name: rng.random(rows) < missing * one.nullable for one in FIELDS}
    return Table({one.name: Column(values(one.kind, rows, rng), flags[one.name]) for one in FIELDS})


def content(table):
    return {name: one.tolist() for name, one in table.columns.items()}


def read(path, most=1 << 18):
    with Reader(path) as file:
        return file, content(Table.joined(file.batches(most), file.fields))


@pytest.mark.parametrize("missing", [0, 0.3, 1])
@pytest.mark.parametrize("rows", [1, 2, 33, 1025, 5000])
def test_each_reads_what_the_other_writes(rows, missing, tmp_path):
    rng = np.random.default_rng([rows, int(9 * missing)])
    groups, about = [drawn(rows, missing, rng) for _ in range(3)], {"key": "ü" * 70_000}
    path = tmp_path / "ours"
    with Writer(path, FIELDS, about, {"uint32": ("BYTE_STREAM_SPLIT", "LZ4_RAW")}) as file:
        for group in groups:
            file.write(group)
    theirs = pq.ParquetFile(path)
    table, every = theirs.read(), content(Table.joined(groups, FIELDS))
    assert table.schema == arrow_schema(FIELDS)
    assert table.schema.metadata == {b"key": about["key"].encode()}
    assert (table.to_pydict(), theirs.num_row_groups) == (every, 3)
    assert content(plain(table)) == every
    file, found = read(path, rows - rows // 3)
    assert (found, file.metadata, file.groups) == (every, about, [rows] * 3)
    for name, form in FORMS.items():
        pq.write_table(table, tmp_path / name, row_group_size=rows, **form)
        file, found = read(tmp_path / name, 700)
        assert (found, file.fields, file.rows) == (every, FIELDS, 3 * rows), name
        assert file.metadata["key"] == about["key"]


@settings(max_examples=40)
@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=300), st.integers(0, 63))
def test_differences_of_any_numbers(tmp_path_factory, numbers, shift):
    every = {"a": Column(np.array(numbers) >> shift)}
    every["b"] = Column(every["a"].values.astype(np.uint32))
    path = tmp_path_factory.mktemp("d") / "t"
    with Writer(path, [Field("a", "int64"), Field("b", "uint32", nullable=False)], {}) as file:
        file.write(Table(every))
    assert read(path)[1] == pq.read_table(path).to_pydict() == content(Table(every))


@pytest.mark.parametrize(
    "data",
    [b"", b"PAR1", bytes(8), b"\xff" * 4 + b"PAR1", b"\x04\0\0\0PAR1", b"\x00\0\0\0PAR1" * 2],
)
def test_no_footer(data, tmp_path):
    path = tmp_path / "t.parquet"
    path.write_bytes(data)
    with pytest.raises(ValueError, match=r"footer|Parquet"):
        Reader(path)


def test_lists_in_lists_without_end_are_refused(tmp_path):
    footer = b"\x29" + b"\x19" * 100_000
    path = tmp_path / "t.parquet"
    path.write_bytes(b"PAR1" + footer + struct.pack("<I", len(footer)) + b"PAR1")
    with pytest.raises(ValueError, match="without end"):
        Reader(path)


def test_runs_of_a_few_numbers_are_refused():
    """They would take a hundred times their bytes, and a second for a million."""
    assert parquet._runs(b"\x10\1\2\0", 1, 9).tolist() == [1] * 8 + [0]
    with pytest.raises(ValueError, match="a run of a few"):
        parquet._runs(b"\x0e\1\2\0", 1, 8)


def test_a_column_that_is_larger_than_its_rows_is_refused(tmp_path):
    for size in (900_000, 1_200_000):
        table = pa.table({"a": ["x" * size]})
        pq.write_table(table, tmp_path / f"{size}", use_dictionary=False, compression="zstd")
    assert read(tmp_path / "900000")[1] == {"a": ["x" * 900_000]}
    with pytest.raises(ValueError, match="larger than its rows"):
        read(tmp_path / "1200000")


def test_a_row_group_is_given_up_before_the_next_one(tmp_path):
    rows = Table({"a": Column(np.arange(50_000))})
    with Writer(tmp_path / "t", [Field("a", "int64")], {}) as file:
        for _ in range(12):
            file.write(rows)
    tracemalloc.start()
    with Reader(tmp_path / "t") as file:
        assert sum(map(len, file.batches(50_000))) == 12 * 50_000
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 6 * 8 * 50_000  # a circle of references kept all of them


def test_a_missing_ball_is_not_written(tmp_path):
    rows = Table({"a": Column(np.arange(3), np.arange(3) == 1)})
    with (
        Writer(tmp_path / "t", [Field("a", "int64", nullable=False)], {}) as file,
        pytest.raises(ValueError, match="a value of a is missing"),
    ):
        file.write(rows)


def test_no_damage_of_a_page_ends_the_process():
    """One in 300 of such pages ended it within another reader, without an exception."""
    words = [sys.executable, "-m", "tests.support.fuzz", "pages", "400", "1"]
    done = run_to_end(words, cwd=ROOT)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("pages: 400 inputs, ")
