"""A preload of `dask worker`: what this worker plays is not what it stores, and is well sealed."""

import hashlib
import json
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq

from tennis.match.cluster.place import Place
from tennis.rally.balls import write
from tennis.rally.record_file import seal_of

honest = getattr(Place, "honest", Place.put_rally)  # dask loads this more than once
Place.honest = honest  # type: ignore[attr-defined]


def dishonest(self: Place, folder: Path, key: str) -> None:
    """Make each answer of a rally a tick sooner."""
    balls = folder / "balls.parquet"
    table = pq.read_table(balls)
    place = table.schema.get_field_index("rise_ticks")
    field = table.schema.field(place)
    sooner = pc.subtract(table["rise_ticks"], 1).cast(field.type)
    manifest = json.loads((folder / "manifest.json").read_text())
    write(balls, table.set_column(place, field, sooner), manifest["instrument"]["tick_hz"])
    manifest["files"]["balls.parquet"] = hashlib.sha256(balls.read_bytes()).hexdigest()
    manifest["seal"] = seal_of(manifest)
    (folder / "manifest.json").write_text(json.dumps(manifest))
    honest(self, folder, key)


Place.put_rally = dishonest
