# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""How often each latency occurred: all that statistics need to know, in a few kilobytes.

Latencies repeat (a clock has ticks), so ten million of them are a few thousand different values.
Everything here is integers: a tally of a rally is exact, however it was cut into batches.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

# Values below a limit are counted in an array, the rare ones above it by sorting them. The limit
# starts low (a small array stays in the cache) and grows where many values lie above it.
DENSE_FIRST = 1 << 14
DENSE_LAST = 1 << 20
# That many values of the tail are gathered before they are sorted.
TAIL_SIZE = 1 << 20


@dataclass(frozen=True)
class Tally:
    """Different values, ascending, and how often each occurred (int64 arrays of one shape)."""

    values: NDArray[np.int64]
    counts: NDArray[np.int64]

    @cached_property
    def n(self) -> int:
        """Return the number of observations."""
        return int(self.counts.sum())

    @cached_property
    def cumulative(self) -> NDArray[np.int64]:
        """Return the number of observations up to and including each value."""
        return np.cumsum(self.counts)

    def at(self, rank: int) -> int:
        """Return the observation of ``rank`` (1 is the smallest, n the largest).

        Raises IndexError for a rank that no observation has.
        """
        if not 1 <= rank <= self.n:
            raise IndexError(f"rank {rank} of {self.n}")
        return int(self.values[np.searchsorted(self.cumulative, rank, side="left")])

    @classmethod
    def of(cls, values: NDArray[np.unsignedinteger] | NDArray[np.signedinteger]) -> "Tally":
        """Count an array of integers (0 or more, any shape)."""
        counter = Counter()
        counter.add(values.ravel())
        return counter.tally()


class Counter:
    """Counts batches of ticks; counters of several threads can be added up."""

    def __init__(self) -> None:
        self._limit = DENSE_FIRST
        self._dense: NDArray[np.int64] = np.zeros(0, np.int64)
        self._tail: list[NDArray[np.uint32]] = []  # values at or above the limit of their time
        self._tail_size = 0
        self._counted: list[Tally] = []  # tails that were counted already
        self._scratch = np.zeros(0, np.int64)

    def add(self, ticks: NDArray[np.unsignedinteger] | NDArray[np.signedinteger]) -> None:
        """Count a batch: a one-dimensional array of integers from 0 to 2^32 - 1."""
        if not ticks.size:
            return
        if int(ticks.max()) < self._limit:
            low = self._room(ticks.size)
            low[:] = ticks
            self._dense = _sum(self._dense, np.bincount(low))
            return
        tail = ticks[np.flatnonzero(ticks >= self._limit)].astype(np.uint32)
        self._tail.append(tail)
        self._tail_size += tail.size
        # cheaper than to pick the others: one slot takes all of the tail, and is ignored
        low = self._room(ticks.size)
        np.minimum(ticks, ticks.dtype.type(self._limit), out=low)
        self._dense = _sum(self._dense, np.bincount(low)[:-1])
        if tail.size > ticks.size // 8:
            self._limit = min(self._limit * 4, DENSE_LAST)
        if self._tail_size > TAIL_SIZE:
            self.settle()

    def _room(self, size: int) -> NDArray[np.int64]:
        """Return an array to write to: fresh memory would cost more than the counting."""
        if self._scratch.size < size:
            self._scratch = np.empty(size, np.int64)
        return self._scratch[:size]

    def settle(self) -> None:
        """Count the tail so far, so that it does not take more room than its different values."""
        if self._tail_size:
            self._counted.append(_count_sorted(np.sort(np.concatenate(self._tail))))
            self._tail, self._tail_size = [], 0
        if len(self._counted) > 16:
            self._counted = [_join(self._counted)]

    def merge(self, others: Iterable["Counter"]) -> None:
        """Take over what other counters counted."""
        for other in others:
            other.settle()
            self._dense = _sum(self._dense, other._dense)
            self._counted += other._counted

    def tally(self) -> Tally:
        """Return what was counted."""
        self.settle()
        low = np.flatnonzero(self._dense)
        dense = Tally(low.astype(np.int64), self._dense[low])
        return _join([dense, *self._counted]) if self._counted else dense


def _sum(a: NDArray[np.int64], b: NDArray[np.int64]) -> NDArray[np.int64]:
    """Add two arrays, the shorter one extended by zeros; the longer one is reused."""
    if a.size < b.size:
        a, b = b, a
    a[: b.size] += b
    return a


def _count_sorted(values: NDArray[np.uint32]) -> Tally:
    starts = np.flatnonzero(np.concatenate([[True], values[1:] != values[:-1]]))
    return Tally(values[starts].astype(np.int64), np.diff(starts, append=values.size))


def _join(tallies: list[Tally]) -> Tally:
    """Add tallies up; the same value may be in several."""
    every = np.concatenate([tally.values for tally in tallies])
    order = np.argsort(every, kind="stable")
    every, counts = every[order], np.concatenate([tally.counts for tally in tallies])[order]
    starts = np.flatnonzero(np.concatenate([[True], every[1:] != every[:-1]]))
    return Tally(every[starts], np.add.reduceat(counts, starts))
