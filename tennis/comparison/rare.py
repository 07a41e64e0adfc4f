# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""What happens in some boots only: a ball far later than all others, a miss, a suspect boot.

No level shows one ball in 5,000. So boots are counted, those that have it and those that do not.
If both sides are alike, every choice of so many of all boots is as likely as another (R. A. Fisher,
"The Design of Experiments", 1935): exact for boots without partners. Pairs are more alike than
that, and err less often.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.stats import hypergeom

from tennis.comparison.boots import Boot
from tennis.comparison.kinds import NEAR, STRADDLE_MIN
from tennis.comparison.levels import SAME_KIND

HINT = 0.05  # by chance in so many comparisons: not shown, but nobody may call it nothing
SURE = 0.95  # what is not seen is rarer than is said, as sure as this

Seen = Literal["more", "fewer", "undecided", "no more"]
ORDER: tuple[Seen, ...] = ("more", "undecided", "fewer", "no more")  # what shows most first


@dataclass(frozen=True)
class Boots:
    """How many boots of each side have something: ``what`` says what, for people."""

    cell: str
    latency: str  # empty: it is of the whole boot
    what: str
    before: int
    after: int
    of_before: int
    of_after: int
    change: Seen
    beyond_ns: float | None = None  # an answer later than this is what they have; infinite: a miss

    @property
    def quantity(self) -> str:
        """Name what is counted."""
        return f"boots {self.what}"

    @property
    def counts(self) -> tuple[str, str]:
        """Say how many of how many boots, of both sides."""
        return f"{self.before} of {self.of_before}", f"{self.after} of {self.of_after}"


def likely(count: int, of: int, other: int, of_other: int) -> float:
    """Return how likely chance gives a side that many, or more, of the boots that have it."""
    return float(hypergeom.sf(count - 1, of + of_other, count + other, of))


def compare_counts(  # noqa: PLR0913 (how many of how many, before and after)
    before: int, of_before: int, after: int, of_after: int, *, tail: float, few: int
) -> Seen:
    """Say what the numbers of boots show.

    More than ``few`` boots of after alone are at least undecided, as is what chance hardly gives.
    """
    more = likely(after, of_after, before, of_before)
    if more <= tail:
        return "more"
    if likely(before, of_before, after, of_after) <= tail:
        return "fewer"
    if (not before and after > few) or more <= HINT:
        return "undecided"
    return "no more"


def latest_balls(
    before: Sequence[Boot], after: Sequence[Boot], *, margin: float, tail: float
) -> tuple[float, tuple[int, int], Seen] | None:
    """Count boots whose latest answer is far beyond that of other boots, of either side.

    Returns the time that parts them, ns, how many are beyond it before and after, and what that
    shows; None: no boot's latest answer is far from that of the next one. Of several gaps it is
    the one that shows most; each has its share of ``tail``.
    """
    sides = [
        np.array([boot.values[-1] if boot.values.size else 0.0 for boot in side])
        for side in (before, after)
    ]
    gaps = list(_gaps(np.sort(np.concatenate(sides)), SAME_KIND * (1 + margin)))
    found = []
    for middle, width in gaps:
        one, other = (int((side > middle).sum()) for side in sides)
        few = 0 if width > NEAR * (1 + margin) else STRADDLE_MIN - 1
        said = compare_counts(one, len(before), other, len(after), tail=tail / len(gaps), few=few)
        found.append((ORDER.index(said), -width, (middle, (one, other), said)))
    return min(found)[2] if found else None


def _gaps(ordered: NDArray[np.float64], factor: float) -> Iterator[tuple[float, float]]:
    """Yield the middle and the width of each gap that is wider than a factor."""
    for lower, upper in pairwise(ordered):
        if lower > 0 and upper > factor * lower:
            yield float(np.sqrt(lower) * np.sqrt(upper)), float(upper / lower)


def unseen(balls: int, boots: int) -> tuple[int, float]:
    """Return what is too rare to have been seen: one in so many balls, one in so many boots.

    What happens more often was met at least once in ``SURE`` of comparisons.
    """
    return int(balls / -np.log(1 - SURE)), float(1 / (1 - (1 - SURE) ** (1 / boots)))
