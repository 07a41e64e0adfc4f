# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Questions to a store, in SQL or by name: every figure comes from balls that were checked.

A question in SQL is answered by a process of its own (``answering``), within its time and memory.
"""

import json
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tennis import environment
from tennis.errors import RallyError, TennisError, UsageError
from tennis.rally.folder import BALLS
from tennis.rally.tally import Tally
from tennis.rally.text import plain
from tennis.share import free_memory_bytes, processors
from tennis.store.store import Store
from tennis.units import NS_PER_S

SECONDS = 60  # that a question in SQL may take
MEMORY_MB = 2000
MEMORY_LEAST_MB = 100
THREADS_MAX = 4
STARTS_S = 60  # until the process that answers begins to count its time
# different latencies of a group: they and their counts take a quarter of a gigabyte
DIFFERENT_MAX = 1 << 24
JOINED_AT = 1 << 20  # values that wait to be added up
LEVELS = (0.5, 0.99, 0.999, 0.9999)
# in what rallies of one kind are alike: others are never in one line, one chart with them
KIND = (
    *("bench", "kernel", "beneath", "processors", "load"),
    *("top_half", "bottom_half", "priorities", "settings"),
)
# by what a store may be filtered and grouped
AXES = (
    *("kernel", "load", "bench_name", "student", "week", "bench", "bottom_half", "priorities"),
    *("top_half", "beneath", "drill", "processors", "settings"),
)


def ask(store: Store, sql: str, seconds: int = SECONDS, memory_mb: int = MEMORY_MB) -> pa.Table:
    """Return what a question in SQL gives; its views are ``rallies`` and ``balls``.

    It gets ``memory_mb``, or what is free of this process's share if that is less. Raises
    UsageError where it cannot be answered, or not within its time and memory, RallyError for a
    rally that is damaged, TennisError where DuckDB is not installed.
    """
    free = free_memory_bytes()
    if free is not None:  # beyond it, the kernel would end a process of this share, any of them
        memory_mb = min(memory_mb, max(MEMORY_LEAST_MB, free >> 20))
    rallies = store.catalogue()
    # who does not ask for balls need not wait until all are looked at
    played = rallies.filter(pc.is_null(rallies["drill"])) if "balls" in sql.lower() else []
    with ExitStack() as unchanged:
        files = [str(path.absolute()) for path in _checked(store, played, unchanged)]
        query = {"sql": sql, "seconds": seconds, "memory_mb": memory_mb, "files": files}
        query["threads"] = min(THREADS_MAX, processors())
        return _answer(query, rallies)


def _checked(store: Store, rows: pa.Table, unchanged: ExitStack) -> Iterator[Any]:
    """Yield the balls' files of some rows; they must stay as they are until ``unchanged`` ends."""
    some = rows.select(["id", "balls_sha256"]).to_pylist() if len(rows) else []
    store.fetch([row["id"] for row in some], [BALLS])
    for row in some:
        store.see_to(row)
        yield unchanged.enter_context(store.checked(row["id"], BALLS, row["balls_sha256"]))
    store.memory.keep()


def _answer(query: Mapping[str, Any], rallies: pa.Table) -> pa.Table:
    """Let a process of its own answer."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rallies.schema) as stream:
        stream.write_table(rallies)
    request = json.dumps(query).encode() + b"\n" + sink.getvalue().to_pybytes()
    process = subprocess.Popen(
        # by its path, as it starts sooner without this package; no module beside it is imported
        [sys.executable, "-P", Path(__file__).with_name("answering.py")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        # a heap for each thread, or a gigabyte reserved for Arrow, would count as memory
        env=environment.for_tennis(MALLOC_ARENA_MAX="2", ARROW_DEFAULT_MEMORY_POOL="system"),
    )
    with process:
        try:
            output, _ = process.communicate(request, timeout=query["seconds"] + STARTS_S)
        except BaseException as error:
            process.kill()
            if isinstance(error, subprocess.TimeoutExpired):
                raise _too_long(query["seconds"]) from error
            raise
    if process.returncode == -signal.SIGALRM:
        raise _too_long(query["seconds"])
    head, newline, rest = output.partition(b"\n")
    if process.returncode or not newline:  # DuckDB may end a process for which no memory is left
        raise UsageError(
            f"the query was not answered: it ended the process that answers "
            f"({process.returncode}), maybe because memory ran out",
            next_step="ask for less, or see --memory-mb",
        )
    told = json.loads(head)
    if told["missing"]:
        raise TennisError(
            "a query needs DuckDB, which is not installed", next_step="scripts/setup.sh --store"
        )
    if told["wrong"]:
        raise UsageError(plain(told["wrong"], 400), next_step=told["next_step"])
    return pa.ipc.open_stream(rest).read_all()


def _too_long(seconds: int) -> UsageError:
    return UsageError(
        f"the query was not answered within {seconds} s",
        next_step="ask for less, or give it more time: --seconds",
    )


def chosen(store: Store, parts: Mapping[str, str]) -> pa.Table:
    """Return the catalogue's rows that are as wanted: name of a column -> value.

    Raises UsageError for another column than AXES.
    """
    rows = store.catalogue()
    for name, value in parts.items():
        if name not in AXES:
            raise UsageError(
                f"{name} is not a column to choose by", next_step=f"use {', '.join(AXES)}"
            )
        rows = rows.filter(pc.equal(rows[name].cast(pa.string()), value))  # null: it is not
    return rows


# latencies in rising order (``ns``; infinite: missed), and how often each came (``count``): to the
# rise, and from rise to fall
Counted = tuple[Mapping[str, Any], Mapping[str, Any]]


@dataclass(frozen=True)
class Group:
    """Balls of all rallies that are alike in some columns; nanoseconds."""

    of: dict[str, str]
    rallies: int
    balls: int
    misses: int
    # a missed ball's interrupt latency is above this; None: none was missed, or nobody knows
    later_than_ns: int | None
    # level -> the latency that so many balls do not exceed, infinite: it is among the missed
    interrupt_ns: dict[float, float]
    scheduling_ns: dict[float, float]
    interrupt_max_ns: float
    scheduling_max_ns: float
    copies: int = 0  # rallies that were left out: they have the balls of another one


def quantiles(store: Store, rows: pa.Table, by: Iterable[str]) -> list[Group]:
    """Return exact quantiles of each group, in the order of its values.

    A quantile is a latency that some ball had: the smallest that a share of the balls does not
    exceed; missed balls are later than all others, infinite. Drills and suspect rallies are left
    out, and so are copies: of rallies with the same balls the earliest one counts. How often each
    latency came is counted, not sorted: memory grows with the number of different latencies of a
    group, and not with that of balls. Raises UsageError for another
    column than AXES.
    """
    axes = list(by)
    for name in axes:
        if name not in AXES:
            raise UsageError(
                f"{plain(name, 40)} is not a column to group by", next_step=f"use {', '.join(AXES)}"
            )
    played = rows.filter(pc.is_null(rows["drill"]))
    played = played.filter(pc.invert(played["suspect"]))
    keys: dict[tuple[str, ...], list[int]] = {}
    for number, row in enumerate(played.select(axes).to_pylist() if axes else [{}] * len(played)):
        keys.setdefault(tuple(str(row[name] or "-") for name in axes), []).append(number)
    groups = []
    for key, numbers in sorted(keys.items()):
        some, copies = without_copies(store, played.take(pa.array(numbers)))
        of, balls = dict(zip(axes, key, strict=True)), counted(store, some)
        groups.append(_group(of, some, balls, _later_than_ns(store, some), copies))
    return groups


def without_copies(store: Store, rows: pa.Table) -> tuple[pa.Table, int]:
    """Return rows of which each boot is in one, the earliest; and how many were left out.

    Raises RallyError.
    """
    if len(rows) < 2:
        return rows, 0
    store.fetch(rows["id"].to_pylist(), [BALLS])
    seen: set[str] = set()
    kept = []
    some = rows.select(["created", "id"]).to_pylist()
    for number in sorted(range(len(some)), key=lambda one: (some[one]["created"], some[one]["id"])):
        prints = store.prints(some[number])
        if seen.isdisjoint(prints):
            kept.append(number)
        seen.update(prints)
    return rows.take(pa.array(sorted(kept))), len(rows) - len(kept)


def counted(store: Store, rows: pa.Table) -> Counted:
    """Return how often each latency came in some rallies: to the rise, and from rise to fall.

    Every ball is checked. Raises RallyError for a rally that is damaged.
    """
    sums: dict[int, tuple[_Sum, _Sum]] = {}
    store.fetch(rows["id"].to_pylist(), [BALLS])
    for row in rows.select(["id", "tick_hz"]).to_pylist():
        some = sums.setdefault(row["tick_hz"], (_Sum(), _Sum()))
        for total, tally in zip(some, store.count(row), strict=True):
            total.add(tally)
    store.memory.keep()
    rise, width = (
        joined([each[number].counted(tick_hz) for tick_hz, each in sums.items()])
        for number in range(2)
    )
    return rise, width


class _Sum:
    """Adds tallies of one clock up."""

    def __init__(self) -> None:
        self._joined, self._waiting = Tally.joined([]), list[Tally]()

    def add(self, tally: Tally) -> None:
        self._waiting.append(tally)
        # joined when they have doubled, so the work stays in proportion
        if sum(each.values.size for each in self._waiting) > max(
            JOINED_AT, self._joined.values.size
        ):
            self._join()

    def _join(self) -> None:
        self._joined, self._waiting = Tally.joined([self._joined, *self._waiting]), []
        if self._joined.values.size > DIFFERENT_MAX:
            raise RallyError(
                f"more than {DIFFERENT_MAX:,} different latencies in one line",
                next_step="choose fewer rallies: --where, --by",
            )

    def counted(self, tick_hz: int) -> dict[str, Any]:
        self._join()
        ns, counts = self._joined.values * (NS_PER_S / tick_hz), self._joined.counts
        if self._joined.missed:
            ns, counts = np.append(ns, np.inf), np.append(counts, self._joined.missed)
        return {"ns": ns, "count": counts}


def joined(parts: list[Mapping[str, Any]]) -> dict[str, Any]:
    """Add counts up; the same latency may be in several."""
    if not parts:
        return {"ns": np.zeros(0), "count": np.zeros(0, np.int64)}
    values, where = np.unique(
        np.concatenate([np.asarray(part["ns"], np.float64) for part in parts]), return_inverse=True
    )
    counts = np.zeros(values.size, np.int64)
    np.add.at(counts, where, np.concatenate([np.asarray(p["count"], np.int64) for p in parts]))
    return {"ns": values, "count": counts}


def _later_than_ns(store: Store, rows: pa.Table) -> int | None:
    """Return what the latency of each missed ball of some rallies is above."""
    some = rows.filter(pc.greater(rows["misses"], 0))["id"].to_pylist()
    limits = [store.manifest(name).given_up_ns for name in some]
    known = [limit for limit in limits if limit is not None]
    return min(known) if known and len(known) == len(limits) else None


def _group(
    of: dict[str, str], rows: pa.Table, count: Counted, later_than_ns: int | None, copies: int
) -> Group:
    rise, width = count
    return Group(
        of=of,
        rallies=len(rows),
        balls=int(np.sum(rows["balls"].to_numpy())),
        misses=int(np.sum(rows["misses"].to_numpy())),
        later_than_ns=later_than_ns,
        interrupt_ns=_levels(rise),
        scheduling_ns=_levels(width),
        interrupt_max_ns=_max(rise),
        scheduling_max_ns=_max(width),
        copies=copies,
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
