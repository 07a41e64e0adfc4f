# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Questions to a store, in SQL or by name: DuckDB answers, out of core, in bounded memory.

A question may read the store and nothing else: no other file, no network, no write.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tennis.errors import TennisError, UsageError
from tennis.rally.folder import BALLS
from tennis.rally.text import plain
from tennis.store.folder import RALLIES, Store

MEMORY_MB = 1500  # of DuckDB's own; the process stays within 2 GB
LEVELS = (0.5, 0.99, 0.999, 0.9999)
# by what a store may be filtered and grouped
AXES = (
    *("kernel", "load", "bench_name", "student", "week", "bench", "bottom_half", "priorities"),
    *("top_half", "beneath", "drill"),
)


def connection(store: Store, rallies: pa.Table) -> Any:
    """Return DuckDB with two views: ``rallies``, the given rows of the catalogue, and ``balls``.

    ``balls``: id, ball, served_ns, rise_ns and fall_ns since the ball was served, and width_ns from
    rise to fall (NULL: it never came), of all that are no drills. Raises TennisError
    where DuckDB is not installed.
    """
    try:
        import duckdb  # noqa: PLC0415 (only a store needs it)
    except ModuleNotFoundError as error:
        raise TennisError(
            "a store needs DuckDB, which is not installed", next_step="scripts/setup.sh --store"
        ) from error
    database = duckdb.connect(":memory:", config={"memory_limit": f"{MEMORY_MB}MB"})
    database.register("rallies", rallies)
    played = rallies.filter(pc.is_null(rallies["drill"]))["id"].to_pylist()
    store.fetch(played, BALLS.__eq__)
    files = [str(store.place(name) / BALLS) for name in played]
    ticks = {"rise": "rise_ticks", "fall": "fall_ticks"}
    ticks |= {"width": "(fall_ticks::BIGINT - rise_ticks)"}
    spans = ", ".join(f"{tick} * (1e9 / tick_hz) AS {name}_ns" for name, tick in ticks.items())
    columns = f"id, ball, served_ns, {spans}"
    if files:
        listed = ", ".join(_text(file) for file in files)
        database.execute(
            f"CREATE VIEW balls AS SELECT {columns} FROM (SELECT *, regexp_extract(filename, "
            f"'/{RALLIES}/([0-9a-f]+)/[^/]+$', 1) AS id "
            f"FROM read_parquet([{listed}], filename = true)) "
            "JOIN (SELECT id, tick_hz FROM rallies) USING (id)"
        )
    else:
        database.execute(
            "CREATE VIEW balls AS SELECT NULL::VARCHAR AS id, NULL::UINTEGER AS ball, NULL::BIGINT "
            "AS served_ns, NULL::DOUBLE AS rise_ns, NULL::DOUBLE AS fall_ns, NULL::DOUBLE AS "
            "width_ns WHERE false"
        )
    database.execute(f"SET allowed_directories = [{_text(str(store.path / RALLIES))}]")
    database.execute("SET enable_external_access = false")
    database.execute("SET lock_configuration = true")
    return database


def _text(words: str) -> str:
    return "'" + words.replace("'", "''") + "'"


def ask(store: Store, sql: str, say: Callable[[str], None] = lambda _: None) -> pa.Table:
    """Return what a question in SQL gives. Raises UsageError where it cannot be answered."""
    database = connection(store, store.catalogue(say))
    import duckdb  # noqa: PLC0415 (it is there)

    try:
        statements = database.extract_statements(sql)
        # in the allowed folder DuckDB would also write: a SELECT does not
        if [one.type for one in statements] != [duckdb.StatementType.SELECT]:
            raise UsageError(
                "a question is one SELECT", next_step="see `tennis store query --help`"
            )
        found = database.sql(sql).to_arrow_table()
    except duckdb.Error as error:
        raise UsageError(f"the question was not answered: {plain(str(error), 300)}") from error
    finally:
        database.close()
    assert isinstance(found, pa.Table)  # noqa: S101
    return found


def chosen(
    store: Store, wanted: Mapping[str, str], say: Callable[[str], None] = lambda _: None
) -> pa.Table:
    """Return the catalogue's rows that are as wanted: name of a column -> value.

    Raises UsageError for another column than AXES.
    """
    rows = store.catalogue(say)
    for name, value in wanted.items():
        if name not in AXES:
            raise UsageError(
                f"{name} is no column to choose by", next_step=f"use {', '.join(AXES)}"
            )
        rows = rows.filter(pc.equal(rows[name], value))  # null: it is not
    return rows


# latencies in rising order (``ns``), and how often each came (``count``): to the rise, and from
# rise to fall
Counted = tuple[Mapping[str, Any], Mapping[str, Any]]


@dataclass(frozen=True)
class Group:
    """Balls of all rallies that are alike in some columns; nanoseconds."""

    of: dict[str, str]
    rallies: int
    balls: int
    misses: int
    interrupt_ns: dict[float, float]  # level -> the latency that so many balls do not exceed
    scheduling_ns: dict[float, float]
    interrupt_max_ns: float
    scheduling_max_ns: float


def quantiles(
    store: Store,
    rows: pa.Table,
    by: Iterable[str],
    count: Callable[[Store, pa.Table], Counted] | None = None,
) -> list[Group]:
    """Return exact quantiles of each group, in the order of its values.

    A quantile is a latency that some ball had: the smallest that a share of the balls, misses left
    out, does not exceed. Drills and suspect rallies are left out. How often each latency came is
    counted, not sorted: memory grows with the number of different latencies of a group, and not
    with that of balls. ``count`` counts in place of this process, as ``counted`` does. Raises
    UsageError for another column than AXES.
    """
    axes = list(by)
    for name in axes:
        if name not in AXES:
            raise UsageError(
                f"{plain(name, 40)} is no column to group by", next_step=f"use {', '.join(AXES)}"
            )
    played = rows.filter(pc.is_null(rows["drill"]))
    played = played.filter(pc.invert(played["suspect"]))
    keys: dict[tuple[str, ...], list[int]] = {}
    for number, row in enumerate(played.select(axes).to_pylist() if axes else [{}] * len(played)):
        keys.setdefault(tuple(str(row[name] or "-") for name in axes), []).append(number)
    groups = []
    for key, numbers in sorted(keys.items()):
        some = played.take(pa.array(numbers))
        groups.append(
            _group(dict(zip(axes, key, strict=True)), some, (count or counted)(store, some))
        )
    return groups


def counted(store: Store, rows: pa.Table) -> Counted:
    """Return how often each latency came in some rallies: to the rise, and from rise to fall."""
    database = connection(store, rows)
    try:
        rise, width = (
            database.execute(
                f"SELECT {span} AS ns, count(*) AS count FROM balls WHERE {span} IS NOT NULL "
                "GROUP BY ns ORDER BY ns"
            ).fetchnumpy()
            for span in ("rise_ns", "width_ns")
        )
    finally:
        database.close()
    return rise, width


def _group(of: dict[str, str], rows: pa.Table, count: Counted) -> Group:
    rise, width = count
    return Group(
        of=of,
        rallies=len(rows),
        balls=int(np.sum(rows["balls"].to_numpy())),
        misses=int(np.sum(rows["misses"].to_numpy())),
        interrupt_ns=_levels(rise),
        scheduling_ns=_levels(width),
        interrupt_max_ns=_max(rise),
        scheduling_max_ns=_max(width),
    )


def _levels(counted: Mapping[str, Any]) -> dict[float, float]:
    """Return the quantiles of LEVELS: latencies in rising order, and how often each came."""
    values, counts = (np.asarray(counted[name]) for name in ("ns", "count"))
    if not values.size:
        return {}
    reached = np.cumsum(counts)
    total = int(reached[-1])
    # the smallest rank that is at least a share of all: computed in whole numbers of 1/10,000
    ranks = {level: -(-round(level * 10_000) * total // 10_000) for level in LEVELS}
    return {level: float(values[np.searchsorted(reached, rank)]) for level, rank in ranks.items()}


def _max(counted: Mapping[str, Any]) -> float:
    values = np.asarray(counted["ns"])
    return float(values[-1]) if values.size else float("nan")
