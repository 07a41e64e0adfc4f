"""The counts of each latency: all that statistics need, in a few kilobytes.

Latencies repeat (a clock has ticks), so ten million of them are a few thousand different values.
Everything here is integers: a tally of a rally is exact, however it was cut into batches.
"""

import threading
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tennis.kit.errors import RallyError

# Most values are below a limit and counted in an array, the rare ones above it by sorting them.
DENSE = 1 << 14
# That many values are looked at together.
AT_ONCE = 1 << 18
TAIL_SIZE = 1 << 20
# Different values that a rally may hold: each tick of 8 ns up to a latency of 16 ms, say. It bounds
# the memory that somebody else's rally takes.
MAX_DISTINCT = 1 << 21
# joining takes several times what it joins: one thread after the other
_JOINING = threading.Lock()

# a value in the upper 32 bits and how often it occurred in the lower ones; ascending
Packed = NDArray[np.uint64]
COUNT_BITS = np.uint64(32)
COUNT_MASK = np.uint64(0xFFFFFFFF)


@dataclass(frozen=True)
class Tally:
    """Different values, ascending, and how often each occurred (int64 arrays of one shape).

    ``missed`` observations have no value: they are later than all that have one.
    """

    values: NDArray[np.int64]
    counts: NDArray[np.int64]
    missed: int = 0

    @cached_property
    def n(self) -> int:
        """Return the number of observations that have a value."""
        return int(self.counts.sum())

    @property
    def balls(self) -> int:
        """Return the number of all observations, those without a value among them."""
        return self.n + self.missed

    @cached_property
    def cumulative(self) -> NDArray[np.int64]:
        """Return the number of observations up to and including each value."""
        return np.cumsum(self.counts)

    def at(self, rank: int) -> int | None:
        """Return the observation of ``rank`` (1 is the smallest); None: it is among the missed.

        Raises IndexError for a rank that no observation has.
        """
        if not 1 <= rank <= self.balls:
            raise IndexError(f"rank {rank} of {self.balls}")
        if rank > self.n:
            return None
        return int(self.values[np.searchsorted(self.cumulative, rank, side="left")])

    @classmethod
    def of(cls, values: NDArray[np.unsignedinteger] | NDArray[np.signedinteger]) -> "Tally":
        """Count an array of integers (0 to 2^32 - 1, any shape)."""
        counter = Counter()
        counter.add(values.ravel().astype(np.uint32))
        return counter.tally()

    @classmethod
    def joined(cls, tallies: Iterable["Tally"]) -> "Tally":
        """Add tallies of the same clock up."""
        every = list(tallies)
        missed = sum(tally.missed for tally in every)
        some = [tally for tally in every if tally.n]
        if not some:
            return cls(np.zeros(0, np.int64), np.zeros(0, np.int64), missed)
        return replace(_join(some), missed=missed)


class Counter:
    """Counts batches of ticks; counters of several threads can be added up."""

    def __init__(self) -> None:
        # how often each value below the limit occurred; the last slot counts all others
        self._dense = np.zeros(DENSE + 1, np.int64)
        self._low = np.empty(AT_ONCE, np.intp)
        self._high = np.empty(AT_ONCE, np.bool_)
        self._tail: list[NDArray[np.uint32]] = []  # not counted yet, at or above the limit
        self._tail_size = 0
        self._counted: list[Packed] = []  # tails that were counted already

    def add(self, ticks: NDArray[np.uint32]) -> None:
        """Count a batch: a one-dimensional array."""
        for begin in range(0, ticks.size, AT_ONCE):
            self._count(ticks[begin : begin + AT_ONCE])
            if self._tail_size > TAIL_SIZE:
                self.settle()

    def _count(self, ticks: NDArray[np.uint32]) -> None:
        # quicker than to part them: those of the tail stay as the limit, whose slot is ignored
        low = np.minimum(ticks, np.uint32(DENSE), out=self._low[: ticks.size])
        self._dense += np.bincount(low, minlength=DENSE + 1)
        # the same memory again and again: fresh pages would cost more than the comparison
        high = np.greater_equal(ticks, DENSE, out=self._high[: ticks.size])
        tail = ticks[np.flatnonzero(high)]
        self._tail.append(tail)
        self._tail_size += tail.size

    def settle(self) -> None:
        """Count the rare values so far, so that they take no more room than the different ones."""
        if self._tail_size:
            self._counted.append(_packed(np.concatenate(self._tail)))
            # joined when they have doubled, so the work stays in proportion
            fresh = sum(packed.size for packed in self._counted[1:])
            if fresh > max(TAIL_SIZE, self._counted[0].size):
                self._counted = [_joined(self._counted)]
            _bound(self._counted[0].size)
        self._tail, self._tail_size = [], 0

    def merge(self, others: Iterable["Counter"]) -> None:
        """Take over what other counters counted."""
        for other in others:
            other.settle()
            self._dense += other._dense
            self._counted += other._counted

    def tally(self) -> Tally:
        """Return the counts."""
        self.settle()
        low = np.flatnonzero(self._dense[:DENSE])
        dense = Tally(low.astype(np.int64), self._dense[low])
        if not self._counted:
            return dense
        # every value of the tail is above the dense ones
        tail = _joined(self._counted)
        _bound(tail.size)
        return Tally(
            np.concatenate([dense.values, (tail >> COUNT_BITS).astype(np.int64)]),
            np.concatenate([dense.counts, (tail & COUNT_MASK).astype(np.int64)]),
        )


def _bound(different: int) -> None:
    if different > MAX_DISTINCT:
        raise RallyError(
            f"more than {MAX_DISTINCT} different latencies: it was not written by tennis",
            next_step="use the original folder",
        )


def _packed(values: NDArray[np.uint32]) -> Packed:
    """Count values in any order."""
    values.sort()
    starts = np.flatnonzero(np.concatenate([[True], values[1:] != values[:-1]]))
    counts = np.diff(starts, append=values.size).astype(np.uint64)
    return values[starts].astype(np.uint64) << COUNT_BITS | counts


def _joined(some: list[Packed]) -> Packed:
    """Add counts up; the same value may be in several."""
    if len(some) == 1:
        return some[0]
    with _JOINING:
        every = np.concatenate(some)
        every.sort()
        values = (every >> COUNT_BITS).astype(np.uint32)
        starts = np.flatnonzero(np.concatenate([[True], values[1:] != values[:-1]]))
        every &= COUNT_MASK
        sums = np.add.reduceat(every, starts)
        return values[starts].astype(np.uint64) << COUNT_BITS | sums


def _join(tallies: list[Tally]) -> Tally:
    """Add tallies up; the same value may be in several."""
    every = np.concatenate([tally.values for tally in tallies])
    order = np.argsort(every, kind="stable")
    every, counts = every[order], np.concatenate([tally.counts for tally in tallies])[order]
    starts = np.flatnonzero(np.concatenate([[True], every[1:] != every[:-1]]))
    return Tally(every[starts], np.add.reduceat(counts, starts))
