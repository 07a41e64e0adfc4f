"""A preload of `dask worker`: what this worker plays is not what it stores, and is well sealed."""

import hashlib
import json
from pathlib import Path

from tennis.match.cluster.place import Place
from tennis.rally.balls import batches, write
from tennis.rally.columns import Column, Table
from tennis.rally.record_file import seal_of

honest = getattr(Place, "honest", Place.put_rally)  # dask loads this more than once
Place.honest = honest  # type: ignore[attr-defined]


def dishonest(self: Place, folder: Path, key: str) -> None:
    """Make each answer of a rally a tick sooner."""
    balls = folder / "balls.parquet"
    (table,) = batches(balls)
    sooner = Column(table["rise_ticks"].values - 1, table["rise_ticks"].missing)
    manifest = json.loads((folder / "manifest.json").read_text())
    columns = {**table.columns, "rise_ticks": sooner}
    write(balls, Table(columns), manifest["instrument"]["tick_hz"])
    manifest["files"]["balls.parquet"] = hashlib.sha256(balls.read_bytes()).hexdigest()
    manifest["seal"] = seal_of(manifest)
    (folder / "manifest.json").write_text(json.dumps(manifest))
    honest(self, folder, key)


Place.put_rally = dishonest
