# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Count a store's balls on the machines of a Dask cluster, which all see its folder or bucket."""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from tennis.cluster import connected
from tennis.errors import TennisError, UsageError
from tennis.rally.text import plain
from tennis.store.folder import Store, open_store
from tennis.store.place import S3
from tennis.store.question import Counted, counted

CHUNK_BALLS = 20_000_000  # of a task: some seconds of work


def version() -> str:
    """Return what must be the same on all machines: the code that counts."""
    files = sorted(Path(__file__).parent.glob("*.py"))
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()[:16]


def count_there(place: str, rows: pa.Table, wanted: str) -> Counted | str:
    """Count some rallies of a store, on a worker; a line where that cannot be done."""
    if version() != wanted:
        return "it has another version of tennis"
    try:
        return counted(open_store(place if place.startswith(S3) else Path(place)), rows)
    except TennisError as error:
        return str(error)
    except Exception as error:  # Dask loses some on their way, and the client would wait
        return f"{type(error).__name__}: {error}"


@contextmanager
def counting_on(address: str) -> Iterator[Callable[[Store, pa.Table], Counted]]:
    """Yield what counts on the cluster whose scheduler is at ``address``.

    Raises UsageError where it has no worker, or no Dask is here, BenchError where none answers.
    """

    def count(store: Store, rows: pa.Table) -> Counted:
        place, wanted = where(store), version()
        futures = [
            client.submit(count_there, place, chunk, wanted, pure=False) for chunk in chunks(rows)
        ]
        parts = []
        for future in futures:
            try:
                part = future.result()
            except Exception as error:
                why = plain(str(error) or type(error).__name__, 200)
                raise TennisError(f"a worker did not count: {why}") from error
            if isinstance(part, str):
                raise TennisError(
                    f"a worker did not count: {plain(part, 300)}",
                    next_step="all machines need the same checkout, and see the store",
                )
            parts.append(part)
        rise, width = (_joined([part[number] for part in parts]) for number in range(2))
        return rise, width

    with connected(address) as client:
        if not client.nthreads():
            raise UsageError(
                f"the cluster at {plain(address, 80)} has no worker",
                next_step="start one: dask worker ADDRESS",
            )
        yield count


def where(store: Store) -> str:
    """Return where a worker finds a store."""
    return store.name if store.name.startswith(S3) else str(store.path.absolute())


def chunks(rows: pa.Table) -> Iterator[pa.Table]:
    """Yield rows in parts of about as many balls."""
    first = balls = 0
    for number, some in enumerate(rows["balls"].to_pylist()):
        if balls and balls + some > CHUNK_BALLS:
            yield rows.slice(first, number - first)
            first, balls = number, 0
        balls += some
    yield rows.slice(first)


def _joined(parts: list[Mapping[str, Any]]) -> dict[str, Any]:
    """Add counts up; the same latency may be in several."""
    values, where = np.unique(
        np.concatenate([np.asarray(part["ns"], np.float64) for part in parts]), return_inverse=True
    )
    counts = np.zeros(values.size, np.int64)
    np.add.at(counts, where, np.concatenate([np.asarray(p["count"], np.int64) for p in parts]))
    return {"ns": values, "count": counts}
