"""The reader of Parquet's footers, against pyarrow's; and what ends a process in pyarrow."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tennis.rally import footer

FORMS = {
    "plain": {"use_dictionary": False, "compression": "none"},
    "dictionary": {"use_dictionary": True, "compression": "snappy"},
    "statistics": {"use_dictionary": False, "compression": "gzip", "write_statistics": True},
    "delta": {
        "use_dictionary": False,
        "column_encoding": {"a": "DELTA_BINARY_PACKED", "b": "BYTE_STREAM_SPLIT"},
        "compression": {"a": "zstd", "b": "lz4"},
        "write_page_index": True,
    },
    "old": {"version": "1.0", "compression": "zstd", "write_page_checksum": True},
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("groups", [0, 1, 40])
def test_it_reads_what_pyarrow_reads(form, groups, tmp_path):
    rng = np.random.default_rng(groups)
    path = tmp_path / "t.parquet"
    columns = pa.schema(
        [pa.field("a", pa.int64()), pa.field("b", pa.int32(), nullable=False)],
        metadata={"key": "x" * 70_000},
    )
    with pq.ParquetWriter(path, columns, **FORMS[form]) as writer:
        for size in rng.integers(1, 3000, groups):
            table = [rng.integers(-(2**62), 2**62, size), rng.integers(0, 9, size)]
            data = [pa.array(t, f.type) for t, f in zip(table, columns, strict=True)]
            writer.write_table(pa.table(data, schema=columns))
    said, meta = footer.Footer.read(path), pq.ParquetFile(path).metadata
    assert said.rows == meta.num_rows
    assert said.groups == [meta.row_group(i).num_rows for i in range(groups)]
    theirs = [meta.row_group(i).column(j) for i in range(groups) for j in range(2)]
    assert [chunk.encodings for chunk in said.chunks] == [set(c.encodings) for c in theirs]
    assert [chunk.dictionary for chunk in said.chunks] == [c.has_dictionary_page for c in theirs]
    names = [chunk.codec.replace("_RAW", "") for chunk in said.chunks]
    assert names == [c.compression for c in theirs]


@pytest.mark.parametrize(
    "content",
    [b"", b"PAR1", bytes(8), b"\xff" * 4 + b"PAR1", b"\x04\0\0\0PAR1", b"\x00\0\0\0PAR1" * 2],
)
def test_no_footer(content, tmp_path):
    path = tmp_path / "t.parquet"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"footer|Parquet"):
        footer.Footer.read(path)


@pytest.mark.parametrize("form", ["plain", "dictionary", "statistics", "old"])
def test_a_column_that_is_larger_than_its_rows_is_refused(form, tmp_path):
    path = tmp_path / "t.parquet"
    for size in (900_000, 1_200_000):
        pq.write_table(pa.table({"a": ["x" * size]}), path, **FORMS[form])
        if size < footer.column_bytes(1):
            assert footer.Footer.read(path).rows == 1
    with pytest.raises(ValueError, match=r"larger than its rows|damaged"):
        footer.Footer.read(path)
