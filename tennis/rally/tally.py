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

# Values below this are counted in an array, the rare ones above it by sorting them.
DENSE = 1 << 17


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
        self._dense: NDArray[np.int64] = np.zeros(0, np.int64)
        self._tails: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []

    def add(self, ticks: NDArray[np.unsignedinteger] | NDArray[np.signedinteger]) -> None:
        """Count a batch: a one-dimensional array of integers, 0 or more."""
        if not ticks.size:
            return
        largest = int(ticks.max())
        low = ticks
        if largest >= DENSE:
            tail = ticks[ticks >= DENSE]
            values, counts = np.unique(tail, return_counts=True)
            self._tails.append((values.astype(np.int64), counts.astype(np.int64)))
            # cheaper than to pick the others: one slot takes all of the tail, and is ignored
            low = np.minimum(ticks, ticks.dtype.type(DENSE))
        counted = np.bincount(low)[:DENSE]
        if counted.size > self._dense.size:
            counted[: self._dense.size] += self._dense
            self._dense = counted
        else:
            self._dense[: counted.size] += counted

    def merge(self, others: Iterable["Counter"]) -> None:
        """Take over what other counters counted."""
        for other in others:
            size = max(self._dense.size, other._dense.size)
            total = np.zeros(size, np.int64)
            total[: self._dense.size] += self._dense
            total[: other._dense.size] += other._dense
            self._dense = total
            self._tails += other._tails

    def tally(self) -> Tally:
        """Return what was counted."""
        low = np.flatnonzero(self._dense)
        values, counts = low.astype(np.int64), self._dense[low]
        if self._tails:
            every = np.concatenate([tail[0] for tail in self._tails])
            tail_values, where = np.unique(every, return_inverse=True)
            tail_counts = np.zeros(tail_values.size, np.int64)
            np.add.at(tail_counts, where, np.concatenate([tail[1] for tail in self._tails]))
            values = np.concatenate([values, tail_values])
            counts = np.concatenate([counts, tail_counts])
        return Tally(values, counts)
