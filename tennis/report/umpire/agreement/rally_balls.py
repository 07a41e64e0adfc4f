"""A rally's balls as plain arrays."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tennis.rally import Rally
from tennis.rally.columns import Table

NONE = -1
MOST = 4_000_000  # balls that are compared; each takes some hundred bytes


@dataclass(frozen=True)
class RallyBalls:
    """Balls in their order, int64, 1-D; ``rise`` and ``fall``: ticks since served, or ``NONE``."""

    number: NDArray[np.int64]
    served_ns: NDArray[np.int64]
    rise: NDArray[np.int64]
    fall: NDArray[np.int64]

    def __len__(self) -> int:
        return int(self.served_ns.size)

    def __getitem__(self, where: slice | NDArray[np.intp]) -> "RallyBalls":
        return RallyBalls(
            self.number[where], self.served_ns[where], self.rise[where], self.fall[where]
        )

    def backward(self) -> "RallyBalls":
        """Return them from the last to the first, with times that run backwards."""
        back = self[::-1]
        return RallyBalls(back.number, -back.served_ns, back.rise, back.fall)

    @classmethod
    def joined(cls, parts: list["RallyBalls"]) -> "RallyBalls":
        """Put batches together."""
        none = np.zeros(0, np.int64)
        return cls(
            np.concatenate([none, *(part.number for part in parts)]),
            np.concatenate([none, *(part.served_ns for part in parts)]),
            np.concatenate([none, *(part.rise for part in parts)]),
            np.concatenate([none, *(part.fall for part in parts)]),
        )


def balls_of(rally: Rally) -> RallyBalls:
    """Return a rally's first balls."""
    return plain_balls(rally.batches(["served_ns", "rise_ticks", "fall_ticks"]))


def plain_balls(batches: Iterable[Table]) -> RallyBalls:
    """Turn tables with the columns of ``balls.parquet`` into arrays: the first ``MOST``."""
    parts, count = [], 0
    for batch in batches:
        rows = batch.part(0, MOST - count)
        rise, fall = (rows[name].filled(NONE) for name in ("rise_ticks", "fall_ticks"))
        number = np.arange(count, count + len(rows))
        parts.append(RallyBalls(number, rows["served_ns"].values, rise, fall))
        count += len(rows)
        if count == MOST:
            break
    return RallyBalls.joined(parts)
