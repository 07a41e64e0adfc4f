"""The order in which boots were played on a board, and drift during them.

A board gets warmer, and a boot resembles the one before it. If all boots of one side came first,
what changed with time looks like a difference between the sides. The virtual bench has no such
time.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.polynomial import Legendre

from tennis.compare.boots import Values

DEGREES = 4  # of slow waves: a trend, a warm middle, and so on
APART = 2.5  # standard deviations of a shuffled order: sides that are more like a wave are no turns
DRIFT = 0.05  # the chance that a side without drift is called drifting
ORDERS = 2000  # drawn to see how alike neighbours are by chance
BOOTS_MIN = 5  # in fewer boots no order stands out


@dataclass(frozen=True)
class InTime:
    """The order in which two sides were played, and sides whose neighbours are too much alike."""

    in_turns: bool | None = True  # None: nobody knows
    drifts: Sequence[str] = ()  # in words

    @property
    def condition(self) -> str:
        """Say on what all statements depend; empty: on nothing."""
        return "" if self.in_turns else "if nothing drifted"

    @property
    def words(self) -> str:
        """Say in which order the sides were played; empty if it was in turns."""
        if self.in_turns:
            return ""
        if self.in_turns is None:
            return "it is not known in which order the boots were played"
        return "the sides were not played in turns: what changed with time is in the difference"

    @property
    def undecided(self) -> bool:
        """Tell whether a difference may be one of time."""
        return bool(self.condition and self.drifts)


def in_turns(before: Sequence[str], after: Sequence[str]) -> bool | None:
    """Tell whether two sides were played in turns; None: their times do not show it.

    They were not if a side's places could have another cause: first or last, in the middle, or each
    second place. ``before``, ``after``: the time of each boot, ISO 8601 in one time zone.
    """
    times = [*before, *after]
    if not before or not after or len(set(times)) < len(times):
        return None
    mine = set(before)
    sides = np.array([1.0 if time in mine else -1.0 for time in sorted(times)])
    place = np.linspace(-1, 1, len(times))
    waves = [Legendre.basis(degree)(place) for degree in range(1, DEGREES + 1)]
    waves.append((-1.0) ** np.arange(len(times)))
    sides -= sides.mean()
    alike = [
        abs(float(sides @ (wave - wave.mean())))
        / (float(np.linalg.norm(sides) * np.linalg.norm(wave - wave.mean())) or 1.0)
        for wave in waves
    ]
    return bool(max(alike) * (len(times) - 1) ** 0.5 <= APART)


def drift(values: Sequence[float] | Values) -> float:
    """Return how likely neighbours are as alike by chance; 1 for too few boots.

    ``values``: one for each boot, in the order of play. It is von Neumann's ratio of their ranks
    (R. Bartels, "The Rank Version of von Neumann's Ratio Test for Randomness", Journal of the
    American Statistical Association 77, 1982), compared with that of orders drawn at random.
    """
    if len(values) < BOOTS_MIN or len(set(values)) == 1:
        return 1.0
    ranks = np.argsort(np.argsort(values, kind="stable"), kind="stable").astype(np.float64)
    random = np.random.default_rng(1982)
    orders = random.permuted(np.tile(ranks, (ORDERS, 1)), axis=1)
    apart = (np.diff(orders, axis=1) ** 2).sum(axis=1)
    here = sum((one - other) ** 2 for one, other in pairwise(ranks))
    return float((1 + (apart <= here).sum()) / (1 + ORDERS))
