# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""In which order boots were played on a board, and whether it drifted meanwhile.

A board gets warmer, a boot is like the one before it. If all boots of one side came first, what
changed with time looks like a difference between the sides. The virtual bench has no such time.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.stats import mannwhitneyu

from tennis.comparison.boots import Values

MIXED = 0.05  # sides whose places in time are less likely than this were not played in turns
DRIFT = 0.05  # so often a side without drift is said to drift
ORDERS = 2000  # drawn to see how alike neighbours are by chance
BOOTS_MIN = 5  # in fewer boots no order stands out


@dataclass(frozen=True)
class InTime:
    """In which order two sides were played, and where neighbours in time are too much alike."""

    in_turns: bool | None = True  # None: nobody knows
    drifts: Sequence[str] = ()  # in words

    @property
    def condition(self) -> str:
        """Say on what all statements depend; empty: on nothing."""
        return "" if self.in_turns else "if nothing drifted"

    @property
    def words(self) -> str:
        """Say in which order the sides were played; empty where it was in turns."""
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
    """Tell whether two sides were played in turns; None: their times do not say it.

    ``before``, ``after``: when each boot was played, ISO 8601 in one time zone.
    """
    times = [*before, *after]
    if not before or not after or len(set(times)) < len(times):
        return None
    place = {time: number for number, time in enumerate(sorted(times))}
    one, other = ([place[time] for time in side] for side in (before, after))
    if min(one) > max(other) or min(other) > max(one):
        return False
    return bool(mannwhitneyu(one, other).pvalue > MIXED)


def drift(values: Sequence[float] | Values) -> float:
    """Return how likely neighbours are as alike by chance; 1 where boots are too few.

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
