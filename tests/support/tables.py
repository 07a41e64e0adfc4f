"""Tennis's tables and pyarrow's, which is the second opinion about them."""

from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tennis.rally.balls import FIELDS, LATENCY_COLUMNS, TICK_HZ_KEY
from tennis.rally.columns import KINDS, Column, Field, Table


def schema(tick_hz: int, *, nulls: bool = True) -> pa.Schema:
    """Return what pyarrow should find in a ``balls.parquet``."""
    return arrow_schema(FIELDS, nulls=nulls).with_metadata({TICK_HZ_KEY: str(tick_hz)})


def arrow_schema(fields: Iterable[Field], *, nulls: bool = True) -> pa.Schema:
    """Return columns as pyarrow has them."""
    return pa.schema(
        pa.field(one.name, getattr(pa, one.kind)(), nullable=one.nullable and nulls)
        for one in fields
    )


def arrow_of(tables: Iterable[Table], tick_hz: int) -> pa.Table:
    """Return balls as a table of pyarrow's."""
    every = Table.joined(tables, FIELDS)
    columns = [pa.array(one.values, mask=one.missing) for one in every.columns.values()]
    return pa.table(columns, schema=schema(tick_hz))


def plain(table: pa.Table | pa.RecordBatch) -> Table:
    """Return a table of pyarrow's as Tennis has it."""
    return Table({field.name: _column(table[field.name], field.type) for field in table.schema})


def _column(values: pa.ChunkedArray | pa.Array, kind: pa.DataType) -> Column:
    missing = values.is_null().to_numpy(zero_copy_only=False)
    if pa.types.is_string(kind):
        return Column.of(values.to_pylist(), "string")
    numbers = values.fill_null(0).to_numpy(zero_copy_only=False)
    return Column(numbers.astype(KINDS[str(kind)]), missing)


def arrow_writer(path: Path, columns: pa.Schema) -> pq.ParquetWriter:
    """Return what wrote the balls until tennis 0.3: pyarrow, with the same encodings."""
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
