"""The instants of a boot that were played, their latencies, and bounds for all others.

Three things are known, each under its own condition:

- The latency of a played instant is known. That alone says nothing about another one.
- The first instants were drawn at random. So with 95 % of chance at most a certain share of the
  time is later than the worst of them, whatever the target does (the rule of three).
- An answer to a later ping does not come before that to an earlier ping, because one interrupt
  handler answers both. Then between two played instants, a ping is answered no later than that at
  the second one. How far the played ones fall short of this rule (one "overtook" another) is
  measured, and added.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Times = NDArray[np.int64]
CHANCE = 0.95


@dataclass(frozen=True)
class Played:
    """Instants of [low, high) that were played, rising, and the latency at each; ns.

    ``drawn``: the number drawn at random before anything was known; ``step_ns``: the time of an
    instruction, the least distance of two instants.
    """

    at: Times
    latency: Times
    drawn: int
    low_ns: int
    high_ns: int
    step_ns: int

    @property
    def time_ns(self) -> int:
        """Return how long all of it is."""
        return self.high_ns - self.low_ns

    @property
    def worst(self) -> int:
        """Return the place of the latest instant; the first of equal ones."""
        return int(np.argmax(self.latency))

    @property
    def worst_ns(self) -> int:
        """Return the latest latency."""
        return int(self.latency[self.worst])

    @property
    def overtaken_ns(self) -> int:
        """Return the most by which an answer came before that to an earlier ping; 0: none did."""
        answered = self.at + self.latency
        return int((np.maximum.accumulate(answered) - answered).max())

    @property
    def later_share(self) -> float:
        """Return the share of time that is later than the worst at most, with ``CHANCE``."""
        return float(-np.expm1(np.log1p(-CHANCE) / self.drawn)) if self.drawn else 1.0

    def may_be(self) -> Times:
        """Return how late a ping behind each played instant, and before the next, may be.

        Shape (instants - 1,): the first instant that was not played there is the latest. 0: none
        lies between.
        """
        answered = (self.at + self.latency)[1:] + self.overtaken_ns
        inside = np.diff(self.at) > self.step_ns
        return np.where(inside, answered - self.at[:-1] - self.step_ns, 0)

    def ends_left(self) -> Times:
        """Return the first and the last instant, unless they were played: nothing bounds those."""
        last = self.low_ns + ((self.high_ns - self.low_ns) // self.step_ns - 1) * self.step_ns
        return np.setdiff1d(np.array([self.low_ns, last], np.int64), self.at)

    def open_ns(self) -> int | None:
        """Return how late an instant that was not played may be; None: no later than the worst.

        If nothing overtakes by more than was seen, and if both ends were played.
        """
        most = int(self.may_be().max(initial=0))
        return most if most > self.worst_ns else None

    def open_share(self) -> float:
        """Return the share of time in which a ping may be later than the worst, on that rule."""
        first = self.at[:-1] + self.step_ns
        # from here on up to the next played instant nothing is later than the worst
        closed = (self.at + self.latency)[1:] + self.overtaken_ns - self.worst_ns
        open_ns = np.clip(np.minimum(closed, self.at[1:]) - first, 0, None)
        return float(open_ns.sum()) / self.time_ns

    def with_more(self, at: Times, latency: Times) -> "Played":
        """Return the same with more instants; those that are there already stay."""
        every = np.concatenate([self.at, at])
        order, first = np.unique(every, return_index=True)
        return Played(
            order,
            np.concatenate([self.latency, latency])[first],
            self.drawn,
            self.low_ns,
            self.high_ns,
            self.step_ns,
        )
