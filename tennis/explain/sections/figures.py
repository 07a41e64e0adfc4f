# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""How long pings at all instants of a run would have waited: pieces of time, grouped.

In a piece the latency stays, or falls by a nanosecond each nanosecond (a *ramp*). So pieces are an
exact histogram: of a ramp each latency from its first down to its last has a nanosecond.
"""

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tennis.explain.sections.model import WAYS, Met
from tennis.explain.sections.names import Named, Places, alike
from tennis.explain.sections.run import WHERE, Run, Times

GROUPS = pa.schema(
    [
        pa.field("way", pa.string(), nullable=False),  # how the ping is taken
        pa.field("where", pa.string(), nullable=False),  # where the interrupt finds the processor
        pa.field("began_in", pa.string(), nullable=False),  # the section: function that masked
        pa.field("ended_in", pa.string(), nullable=False),
        pa.field("task", pa.string(), nullable=False),  # that ran where it ended
        pa.field("longest_ns", pa.int64(), nullable=False),  # latency at a piece's first instant
        pa.field("shortest_ns", pa.int64(), nullable=False),  # behind its last; of no ramp the same
        pa.field("pieces", pa.int64(), nullable=False),
        pa.field("time_ns", pa.int64(), nullable=False),  # of all of these pieces
        pa.field("first_ns", pa.int64(), nullable=False),  # the first instant of the first of them
        pa.field("sure", pa.bool_(), nullable=False),
    ]
)
LONGEST = pa.schema(
    [
        pa.field("at_ns", pa.int64(), nullable=False),  # the worst instant, of virtual time
        pa.field("latency_ns", pa.int64(), nullable=False),  # of a ping there
        pa.field("masked_from_ns", pa.int64(), nullable=False),
        pa.field("masked_until_ns", pa.int64(), nullable=False),
        *(pa.field(name, pa.string(), nullable=False) for name in ("way", "where")),
        *(pa.field(name, pa.string(), nullable=False) for name in ("began_in", "ended_in")),
        *(pa.field(name, pa.string(), nullable=False) for name in ("began_task", "ended_task")),
    ]
)
LONGEST_KEPT = 1000
NO_SECTION, SLEEP = "interrupts on", "asleep"


@dataclass(frozen=True)
class Pieces:
    """All of [low, high), in pieces; arrays of one length, ordered by time."""

    at: Times
    length: Times
    longest: Times  # the latency at the first instant
    shortest: Times  # behind the last one
    way: NDArray[np.int8]
    where: NDArray[np.int8]
    section: Times
    sure: NDArray[np.bool_]


class Formula(Protocol):
    """What pings at some instants would have met, and where between two instants it changes."""

    def meet(self, at: Times) -> Met:
        """Return what pings at these instants would have met."""

    def edges(self, low: int, high: int) -> Times:
        """Return the instants in [low, high) at which the formula changes; low is the first."""


def pieces(model: Formula, low: int, high: int) -> Pieces:
    """Return the pieces of [low, high) in which the formula is one."""
    at = model.edges(low, high)
    at = at[_begins_anew(model.meet(at), at)]
    length = np.diff(np.append(at, high))
    met = model.meet(at)
    shortest = met.latency - np.where(met.ramp, length, 0)
    # a place whose constants no ball showed has none: no latency is made of what is missing
    longest, shortest = (
        np.where(met.sure, latency, np.maximum(latency, 0)) for latency in (met.latency, shortest)
    )
    return Pieces(at, length, longest, shortest, met.way, met.where, met.section, met.sure)


def _begins_anew(met: Met, at: Times) -> NDArray[np.bool_]:
    """Return at which edges what a ping meets is not what it would have met going on as before."""
    before, now = slice(None, -1), slice(1, None)
    goes_on = met.latency[now] == met.latency[before] - np.diff(at) * met.ramp[before]
    for of in (met.ramp, met.way, met.where, met.section, met.sure):
        goes_on &= of[now] == of[before]
    return np.concatenate([[True], ~goes_on])


class Code:
    """In which function each of a run's sections began, in which it ended, and in which task."""

    def __init__(self, run: Run, places: Places) -> None:
        self.began = places.of(run.began_place, run.began_caller, run.began_how)
        self.ended = places.of(run.place, run.caller, run.how)
        self.began_task = run.tasks_at(run.begin)
        self.ended_task = run.tasks_at(run.end)


def _names_of(named: Named, section: Times) -> list[str]:
    names, index = named
    return [names[i] for i in index[section].tolist()]


def grouped(run: Run, found: Pieces, code: Code) -> pa.Table:
    """Return the pieces as GROUPS: those that differ in their time only are one row."""
    section = found.section
    masked = found.at < run.end[section]
    asleep = masked & (found.longest == found.shortest)
    no_section = np.where(asleep, -2, -1)  # of NO_SECTION and SLEEP, from the end
    masked &= ~asleep
    keys = [
        found.way,
        found.where,
        *(
            np.where(masked, named[1][section], no_section)
            for named in (code.began, code.ended, code.ended_task)
        ),
        found.longest,
        found.shortest,
        found.sure,
    ]
    first, group = alike(keys)
    distinct = np.stack([key[first] for key in keys], axis=1).astype(np.int64)
    rows = distinct.tolist()
    columns = [
        [WAYS[row[0]] for row in rows],
        [WHERE[row[1]] if row[1] >= 0 else "" for row in rows],
        *(
            [(*named[0], SLEEP, NO_SECTION)[row[2 + n]] for row in rows]
            for n, named in enumerate((code.began, code.ended, code.ended_task))
        ),
        *distinct[:, 5:7].T,
        np.bincount(group),
        np.bincount(group, found.length).astype(np.int64),
        found.at[first],
        distinct[:, 7].astype(bool),
    ]
    return pa.table([pa.array(c, f.type) for c, f in zip(columns, GROUPS, strict=True)], GROUPS)


def longest(run: Run, found: Pieces, code: Code) -> pa.Table:
    """Return the worst sure instants as LONGEST: one a section, the longest LONGEST_KEPT."""
    order = np.argsort(-found.longest, kind="stable")
    order = order[found.sure[order]]
    _, first = np.unique(found.section[order], return_index=True)
    chosen = order[np.sort(first)][:LONGEST_KEPT]
    section = found.section[chosen]
    columns = [
        found.at[chosen],
        found.longest[chosen],
        run.begin[section],
        run.end[section],
        [WAYS[way] for way in found.way[chosen]],
        [WHERE[where] if where >= 0 else "" for where in found.where[chosen]],
        *(
            _names_of(named, section)
            for named in (code.began, code.ended, code.began_task, code.ended_task)
        ),
    ]
    return pa.table([pa.array(c, f.type) for c, f in zip(columns, LONGEST, strict=True)], LONGEST)


def time_over(groups: pa.Table, over_ns: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the ns in which a ping would wait longer than each of some times."""
    high, low, count, time = (
        groups.column(name).to_numpy()
        for name in ("longest_ns", "shortest_ns", "pieces", "time_ns")
    )
    ramp = high > low
    found = []
    for limit in over_ns.tolist():
        of_ramps = np.clip(high - limit, 0, high - low) * count
        found.append(float(np.where(ramp, of_ramps, np.where(high > limit, time, 0)).sum()))
    return np.array(found)


def chance(share: float, balls: int) -> float:
    """Return how likely at least one of so many balls at random instants meets that share."""
    return -math.expm1(balls * math.log1p(-share)) if share < 1 else 1.0


def balls_for(share: float, chance: float = 0.95) -> int | None:
    """Return how many balls at random instants meet that share with this chance; None: no time."""
    if share <= 0:
        return None
    return 1 if share >= 1 else math.ceil(math.log1p(-chance) / math.log1p(-share))
