"""The rows of ``balls.parquet``: checked against each other and the manifest, and counted."""

import itertools
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from tennis.kit.units import NS_PER_S
from tennis.rally.balls import BATCH_ROWS, Reading, TableError
from tennis.rally.columns import Table
from tennis.rally.parquet import Reader
from tennis.rally.tally import Counter

NUMBERS = np.arange(BATCH_ROWS, dtype=np.uint32)
# a serve's time is rounded to whole nanoseconds, either way, and so is the next one's
ROUNDING_NS = 1.5
LONGEST_NS = 2**63 - 1

Ticks = NDArray[np.uint32]


@dataclass(frozen=True)
class BallRules:
    """The manifest's rules for every ball."""

    tick_hz: int
    timeout_ns: int
    ordered: bool = True  # no ball was served before the one before it was over
    alone: bool = False  # each was played as if there were no other: they may overlap (shots)

    @property
    def latest_ticks(self) -> int:
        """Return the latest tick of an answer: instruments round the timeout by a tick or two."""
        return -(-self.timeout_ns * self.tick_hz // NS_PER_S) + 2

    def check_spans(self, spans: dict[int, "_Span"]) -> None:
        """Check that no row group begins before the one before it is over. Raises TableError."""
        ordered = [spans[number] for number in sorted(spans)]
        if self.ordered and any(b.served_ns < a.over_ns for a, b in itertools.pairwise(ordered)):
            _refuse("a ball that was served before the one before it was over")


@dataclass(frozen=True)
class _Span:
    """When the first ball of a row group was served, and when the last one was over; ns."""

    served_ns: int
    over_ns: float


@dataclass(frozen=True)
class _RowGroup:
    """The balls of a row group, in their order; latencies are uint32 ticks."""

    interrupt: Ticks  # of the balls that rose
    scheduling: Ticks  # of the balls that rose and fell
    balls: int
    misses: int


def _refuse(what: str) -> NoReturn:
    raise TableError(f"holds {what}: it was damaged or made up", "use the original folder")


def _check_rows(rows: Table, first: int, before: _Span, rules: BallRules) -> _Span:
    """Check rows against each other, the ball before them and the manifest. Raises TableError."""
    if rows["ball"].nulls or rows["served_ns"].nulls:
        _refuse("a ball without a number or a time")
    ball, served = rows["ball"].values, rows["served_ns"].values
    if ball[0] != first or not np.array_equal(ball - ball[0], NUMBERS[: ball.size]):
        _refuse(f"balls that are not numbered one after the other, near ball {first}")
    if served.min() < 0:
        _refuse("a ball that was served before the rally began")
    rise, no_rise = rows["rise_ticks"].values, rows["rise_ticks"].missing
    fall, no_fall = rows["fall_ticks"].values, rows["fall_ticks"].missing
    if no_rise is not None:
        if no_fall is None or np.any(no_rise > no_fall):
            _refuse("a reply that fell and never rose")
        rise = np.where(no_rise, np.uint32(0), rise)
    if no_fall is not None:
        fall = np.where(no_fall, np.uint32(0), fall)
    if max(rise.max(), fall.max()) > rules.latest_ticks:
        _refuse(f"an answer later than the timeout of {rules.timeout_ns} ns")
    last_ns = float(served[-1] + fall[-1] * (NS_PER_S / rules.tick_hz) - ROUNDING_NS)
    rounding_ns = ROUNDING_NS
    if rules.alone:
        fall, last_ns, rounding_ns = np.zeros_like(fall), float(served[-1]), 0
    # both times are rounded; most batches need no look at each ball
    tick_ns = NS_PER_S / rules.tick_hz
    steps = np.subtract(served[1:], served[:-1])
    shortest = steps.min(initial=LONGEST_NS)
    if (rules.ordered and served[0] < before.over_ns) or (
        rules.ordered
        and shortest < fall.max() * tick_ns - rounding_ns
        and np.any(steps < fall[:-1] * tick_ns - rounding_ns)
    ):
        _refuse("a ball that was served before the one before it was over")
    return _Span(int(served[0]), last_ns)


def _group(rows: Table, room: Ticks) -> _RowGroup:
    rise, no_rise = rows["rise_ticks"].values, rows["rise_ticks"].missing
    fall, no_fall = rows["fall_ticks"].values, rows["fall_ticks"].missing
    interrupt = rise if no_rise is None else rise[~no_rise]
    nulls = [null for null in (no_rise, no_fall) if null is not None]
    if nulls:
        whole = ~np.logical_or.reduce(nulls)
        rise, fall = rise[whole], fall[whole]
    scheduling = np.subtract(fall, rise, out=room[: rise.size])
    # a fall before its rise wraps around: to a large difference, or it comes from a large rise
    large = scheduling.size and max(scheduling.max(), rise.max()) >= 2**31
    if large and np.any(fall < rise):
        raise TableError("holds a reply that fell before it rose", "play the rally again")
    return _RowGroup(interrupt, scheduling, len(rows), rows["fall_ticks"].nulls)


@dataclass
class _RowCounts:
    """The counts of some row groups."""

    interrupt: Counter
    scheduling: Counter
    balls: int = 0
    misses: int = 0
    spans: dict[int, _Span] = field(default_factory=dict)  # of each row group


def count(path: Path, groups: Iterable[int], begins: list[int], rules: BallRules) -> _RowCounts:
    """Check and count the balls of some row groups, which begin at ``begins``.

    Raises RallyError.
    """
    counted = _RowCounts(Counter(), Counter())
    room = np.empty(BATCH_ROWS, np.uint32)
    with Reading(path), Reader(path) as file:
        for number in groups:
            first, began, span = begins[number], -1, _Span(0, 0.0)
            for rows in file.batches(BATCH_ROWS, groups=[number]):
                span = _check_rows(rows, first, span, rules)
                began = span.served_ns if began < 0 else began
                group = _group(rows, room)
                counted.interrupt.add(group.interrupt)
                counted.scheduling.add(group.scheduling)
                counted.balls += group.balls
                counted.misses += group.misses
                first += group.balls
            if first != begins[number + 1]:
                _refuse(f"{first} balls where its list says {begins[number + 1]}")
            counted.spans[number] = _Span(began, span.over_ns)
    counted.interrupt.settle()
    counted.scheduling.settle()
    return counted
