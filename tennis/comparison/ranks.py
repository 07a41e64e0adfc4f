# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Which values, counted from the end, bound a median: of boots, and of all pairs of two sides.

That the median lies below the k-th smallest of n has the probability of fewer than k heads in n
tosses (W. J. Conover, "Practical Nonparametric Statistics", Wiley 1999, section 3.2). Of all pairs
of two independent sides it is the distribution of Mann and Whitney's U (section 5.4 there).
"""

from functools import cache
from math import comb, sqrt

from scipy.special import bdtr, ndtri

EXACT_MAX = 20  # boots of the smaller side; with more, U is as good as normal


def rank(boots: int, tail: float) -> int:
    """Return which value from either end is an end of the interval; 0: too few boots.

    ``tail``: the median of all boots may lie beyond one end with at most this probability.
    """
    found = 0
    while found < boots // 2 and bdtr(found, boots, 0.5) <= tail:
        found += 1
    return found


@cache
def rank_of_pairs(of: int, to: int, tail: float) -> int:
    """Return which ratio of all ``of`` times ``to`` pairs, from either end, ends the interval.

    0: too few boots. The interval is exact if both sides have one form, by Mann and Whitney; and it
    is no narrower than it must be if one of them has no variance, as then it is a sign test.
    """
    alone = min(to * rank(of, tail), of * rank(to, tail))
    return min(_mann_whitney(of, to, tail), alone)


def _mann_whitney(of: int, to: int, tail: float) -> int:
    if min(of, to) > EXACT_MAX:
        middle, spread = of * to / 2, sqrt(of * to * (of + to + 1) / 12)
        return max(0, int(middle + spread * float(ndtri(tail)) - 0.5) + 1)
    reached, most = 0, tail * comb(of + to, of)
    for found, ways in enumerate(_ways(of, to)):
        reached += ways
        if reached > most:
            return found
    return of * to // 2


def _ways(of: int, to: int) -> list[int]:
    """Return in how many orders of two sides U has each value: the Gaussian binomial's terms."""
    terms = [1] + [0] * (of * to)
    for number in range(1, of + 1):
        for place in range(len(terms) - 1, to + number - 1, -1):
            terms[place] -= terms[place - to - number]
        for place in range(number, len(terms)):
            terms[place] += terms[place - number]
    return terms
