# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Levels of one boot, which one ball in N exceeds, and other figures of one boot.

A boot's level is a property of its kernel and load: it does not grow with the number of balls, as
the latest ball does.
"""

from math import ceil

import numpy as np

from tennis.compare.boots import Boot

LATER_MIN = 3  # balls of a boot that must be on either side of a level: else it is a guess
SAME_KIND = 2.0  # neighbours that differ by more are balls of two kinds, with nothing between


def has_level(boot: Boot, one_in: float) -> bool:
    """Tell whether a boot has enough balls for a level."""
    return boot.balls >= balls_for(one_in)


def balls_for(one_in: float) -> int:
    """Return how many balls a boot needs for a level."""
    rarer = max(one_in, one_in / (one_in - 1))  # of the balls on either side, those that are fewer
    return ceil(LATER_MIN * rarer * (1 - 1e-9))


def level(boot: Boot, one_in: float) -> float:
    """Return the latency that one ball in ``one_in`` exceeds, in ns; infinite if more were lost.

    It is at the rank whose median is the quantile for any distribution (R. J. Hyndman, Y. Fan,
    "Sample Quantiles in Statistical Packages", The American Statistician 50, 1996, definition 8),
    so that half of all boots have a higher one however many balls they have. Between two ranks it
    is interpolated in the logarithm, unless balls of two kinds meet there: then it is one of them.
    """
    rank = (boot.balls + 1 / 3) / one_in + 1 / 3
    place = max(1, int(rank))
    share = max(0.0, rank - place)
    later, sooner = from_top(boot, place), from_top(boot, min(place + 1, boot.balls))
    if sooner <= 0 or later > SAME_KIND * sooner:
        return later if share < 0.5 else sooner
    if np.isinf(sooner):
        return sooner
    return float(later ** (1 - share) * sooner**share)


def from_top(boot: Boot, place: int) -> float:
    """Return the latency that is the ``place``-th latest, in ns; infinite: that ball was lost."""
    if place <= boot.lost:
        return np.inf
    return float(boot.values[np.searchsorted(boot.reached, boot.balls - place, "right")])


def median(boot: Boot) -> float:
    """Return the median, ns; infinite if half of the balls were lost."""
    return level(boot, 2)
