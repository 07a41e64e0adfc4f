"""The stages of every ball of a rally: ``stages.parquet`` beside ``balls.parquet``.

A row for each ball, in the balls' order. Times are in ns since the ping; null: it did not happen.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tennis.explain.between import Interrupt, LockHeld, Moved
from tennis.explain.story import Story
from tennis.explain.ways import woken_thread
from tennis.rally import Rally
from tennis.rally.beside import StrictAbout, read_table, write_table
from tennis.rally.columns import Column, Field, Table
from tennis.rally.folder import STAGES
from tennis.rally.memory import NONE

_TIMES = {
    "taken_ns": "interrupt taken",
    "woken_ns": "its thread is woken",
    "runs_ns": "its thread runs",
    "locked_ns": "the thread has the lock",
    "top_half_ns": "top half begins",
    "rise_ns": "reply rises",
    "bottom_half_ns": "bottom half begins",
    "fall_ns": "reply falls",
}
FIELDS = [
    Field("ball", "uint32", nullable=False),
    *(Field(name, "int64") for name in _TIMES),
    Field("masked_ns", "int64", nullable=False),
    Field("latency", "string", nullable=False),
    Field("cause", "string"),
    Field("cause_ns", "int64"),
    Field("answerer", "string", nullable=False),
]
# with several processors: the processor, the lock's owner, the interrupt and the move
SEVERAL = [
    Field("taken_on", "int8", nullable=False),
    Field("top_half_on", "int8"),
    Field("bottom_half_on", "int8"),
    Field("held_ns", "int64", nullable=False),
    Field("held_by", "string"),
    Field("sent_ns", "int64"),
    Field("sent_by", "string"),
    Field("moved_ns", "int64"),
    Field("moved_by", "string"),
]


# of a rally with a memory profile: how long the whole wait was for memory, and for what most of it
STALLED = [Field("stalled_ns", "int64", nullable=False), Field("stalled_by", "string")]


@dataclass(frozen=True)
class _Stage:
    """The time of one step since the ball's previous moment; ns."""

    until: str
    balls: int
    median: int
    p99: int
    latest: int


def row(story: Story, *, with_memory: bool = False) -> tuple[object, ...]:
    """Return a ball's row, in the order of the columns of its rally.

    ``with_memory``: the rally was played with a memory profile, and has columns of ``STALLED``.
    """
    cause = story.cause
    stalls = story.stalls() if with_memory else []
    return (
        story.ball,
        story.taken,
        story.thread_woken,
        story.thread_runs,
        story.thread_locks,
        story.top_half,
        story.rise,
        story.bottom_half,
        story.fall,
        story.masked_ns,
        story.latency,
        cause.short if cause else None,
        cause.ns if cause else None,
        story.answerer,
        *(_between(story) if story.lanes else ()),
        *((sum(one.ns for one in stalls), stalls[0].words if stalls else None) * with_memory),
    )


def _between(story: Story) -> tuple[object, ...]:
    """Return the processors that answered a ball, and the part of the others."""
    first, *rest = story.parts
    on_the_way = {part.processor for part in story.parts} | {first.woken_by}
    found = [(one.at, one.event) for one in story.between()]
    answering = {woken_thread(part, -1) for part in story.parts} - {None}
    held = [
        event
        for _, event in found
        if isinstance(event, LockHeld) and event.waiter in on_the_way
        if event.holder not in {None, event.waiter}
        # while another task sleeps until it has a lock, its processor does something else
        if not event.sleeps or event.thread in answering
    ]
    sent = [
        (at, event)
        for at, event in found
        if isinstance(event, Interrupt) and event.wakes_thread in answering
    ]
    moved = [
        (at, event) for at, event in found if isinstance(event, Moved) and event.thread in answering
    ]
    longest = max(held, key=lambda one: one.ns, default=None)
    return (
        first.woken_by,
        first.processor if story.top_half is not None else None,
        rest[0].processor if story.bottom_half is not None else None,
        sum(one.ns for one in held),
        f"{longest.owner} on processor {longest.holder}" if longest else None,
        sent[0][0] if sent else None,
        f"{sent[0][1].task} on processor {sent[0][1].sender}" if sent else None,
        moved[0][0] if moved else None,
        f"{moved[0][1].function} on processor {moved[0][1].by}" if moved else None,
    )


def _fields(rally: Rally) -> list[Field]:
    several = (rally.manifest.target.processors or 1) > 1
    return [*FIELDS, *SEVERAL * several, *STALLED * has_memory(rally)]


def has_memory(rally: Rally) -> bool:
    """Tell whether a rally was played with a memory profile."""
    return rally.manifest.target.memory not in {None, NONE}


def write(rally: Rally, rows: Sequence[tuple[object, ...]]) -> Path:
    """Write the rows of all balls of a rally into its folder; return the file."""
    fields = _fields(rally)
    columns = {
        field.name: Column.of(values, field.kind)
        for field, values in zip(fields, zip(*rows, strict=True), strict=True)
    }
    return write_table(rally, STAGES, Table(columns), fields)


def read(rally: Rally) -> Table | None:
    """Return the stages of a rally's balls; None if nobody recorded them.

    Raises RallyError if the file is not this rally's, or not what ``write`` wrote.
    """
    if not (rally.path / STAGES).exists():
        return None
    rows = range(rally.balls, rally.balls + 1)
    return read_table(rally, STAGES, _fields(rally), StrictAbout, rows)[0]


def stages(table: Table) -> list[_Stage]:
    """Return how long each step took; a step that no ball took is left out."""
    before: NDArray[np.float64] = np.zeros(len(table))
    found = []
    for column, name in _TIMES.items():
        at = table[column].filled(np.nan)
        took = (at - before)[~np.isnan(at - before)].astype(np.int64)
        if took.size:
            low, high = np.quantile(took, [0.5, 0.99], method="higher").tolist()
            found.append(_Stage(name, took.size, low, high, int(took.max())))
            before = np.where(np.isnan(at), before, at)
    return found


def held(table: Table) -> list[tuple[str, int, int]]:
    """Return who held locks that balls waited for: who, balls, ns of the wait; most time first."""
    if "held_by" not in table.columns:
        return []
    sums: dict[str, tuple[int, int]] = {}
    both = (table[name].tolist() for name in ("held_by", "held_ns"))
    for who, held_ns in zip(*both, strict=True):
        if who:
            count, ns = sums.get(who, (0, 0))
            sums[who] = count + 1, ns + held_ns
    return sorted(((who, *sum_of) for who, sum_of in sums.items()), key=lambda one: -one[2])


def stalled(table: Table) -> tuple[int, int, int] | None:
    """Return how long balls waited for memory: median, 99 %, latest, in ns; None: no profile."""
    if "stalled_ns" not in table.columns or not len(table):
        return None
    times = table["stalled_ns"].values
    low, high = np.quantile(times, [0.5, 0.99], method="higher").tolist()
    return int(low), int(high), int(times.max())


def causes(table: Table, latest: int) -> list[tuple[str, int, int]]:
    """Return the causes of the latest balls' waits: function, balls, ns in it; most time first."""
    falls = table["fall_ns"].filled(np.iinfo(np.int64).max)
    chosen = np.argsort(-falls, kind="stable")[:latest]
    sums: dict[str, tuple[int, int]] = {}
    both = (table[name][chosen].tolist() for name in ("cause", "cause_ns"))
    for cause, cause_ns in zip(*both, strict=True):
        count, ns = sums.get(cause or "unknown", (0, 0))
        sums[cause or "unknown"] = count + 1, ns + (cause_ns or 0)
    found: Iterable[tuple[str, int, int]] = ((name, *sum_of) for name, sum_of in sums.items())
    return sorted(found, key=lambda one: -one[2])
