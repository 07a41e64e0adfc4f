# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""What can be said of worst cases when balls are not independent: statistics of blocks of balls.

Late balls come in bursts, so an interval that takes each ball for a new observation is too
narrow, and the largest of all balls is a single observation. Here a rally is cut into blocks of as
many consecutive balls; the worst ball of a block is one observation. A burst is inside a block, so
blocks are nearly independent (``alike`` looks whether they are), and the median of their worst
cases has an interval that holds for any distribution. Source: block maxima in S. Coles, "An
Introduction to Statistical Modeling of Extreme Values", Springer 2001, chapter 3; order-statistic
intervals as in ``intervals``.
"""

from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from math import isqrt, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tennis.rally import Rally
from tennis.stats.intervals import quantile_rank, quantile_ranks

Values = NDArray[np.float64]
Statistic = Callable[[Values], Values]
# standard deviations: one rally in a hundred whose blocks are independent is taken for one whose
# blocks are not
ALIKE_SD = 2.326


class Median(NamedTuple):
    """A median of blocks, and the interval that holds the true one."""

    value: float
    low: float
    high: float


def round_size(balls: int) -> int:
    """Return the largest of 1, 2, 5, 10, 20, 50, ... that is not above ``balls`` (at least 1)."""
    size = 1
    while 10 * size <= balls:
        size *= 10
    return next((step * size for step in (5, 2) if step * size <= balls), size)


def size_for(balls: int, blocks: int, root: int) -> int:
    """Return how many balls a block of a rally of ``balls`` has: a round number.

    There are at least ``blocks`` of them, and each has at most sqrt(``root`` * ``balls``) balls: so
    a longer rally has both more blocks and longer ones.
    """
    return round_size(min(balls // blocks, isqrt(root * balls)))


def series(rally: Rally, latency: str) -> Iterator[Values]:
    """Yield a rally's latencies (ns) in the order of the balls; infinite where there was no answer.

    ``latency`` is ``interrupt`` (rise - ping) or ``scheduling`` (fall - rise).
    """
    columns = ["rise_ticks", "fall_ticks"]
    tick_ns = 1e9 / rally.tick_hz
    for batch in rally.batches(columns):
        rise, fall = (
            batch[name].to_numpy(zero_copy_only=False).astype(np.float64) for name in columns
        )
        values = rise if latency == "interrupt" else fall - rise
        yield np.where(np.isnan(values), np.inf, values * tick_ns)


def block_values(arrays: Iterable[Values], size: int, statistic: Statistic) -> Values:
    """Return ``statistic`` of each whole block of ``size`` balls; the rest at the end is left out.

    ``statistic`` takes an array of shape (blocks, size) and returns one of shape (blocks,).
    """
    values: list[Values] = []
    held = np.zeros(0)
    for array in arrays:
        held = np.concatenate([held, array])
        blocks = held.size // size
        values.append(statistic(held[: blocks * size].reshape(blocks, size)))
        held = held[blocks * size :]
    return np.concatenate([np.zeros(0), *values])


def worst(blocks: Values) -> Values:
    """Return the largest value of each block."""
    return blocks.max(axis=1) if blocks.size else np.zeros(0)


def quartile_distance(blocks: Values) -> Values:
    """Return q3 - q1 of each block, both of them observed values."""
    if not blocks.size:
        return np.zeros(0)
    n = blocks.shape[1]
    ranks = [quantile_rank(n, Fraction(share, 4)) - 1 for share in (1, 3)]
    parted = np.partition(blocks, ranks, axis=1)
    q1, q3 = parted[:, ranks[0]], parted[:, ranks[1]]
    with np.errstate(invalid="ignore"):
        return np.where(np.isinf(q3), np.inf, q3 - q1)


def concentration(blocks: Values) -> Values:
    """Return (q3 - q1) / (max - min) of each block; 0 where all are equal, infinite with misses."""
    if not blocks.size:
        return np.zeros(0)
    with np.errstate(invalid="ignore"):  # infinite minus infinite: all were missed
        width = blocks.max(axis=1) - blocks.min(axis=1)
    concentration = np.where(np.isfinite(width), 0.0, np.inf)
    some = np.isfinite(width) & (width > 0)
    concentration[some] = quartile_distance(blocks[some]) / width[some]
    return concentration


def median(values: Values, confidence: Fraction) -> Median | None:
    """Return the median of blocks with its interval; None where they are too few for one."""
    ranks = quantile_ranks(values.size, Fraction(1, 2), confidence)
    if ranks is None:
        return None
    ordered = np.sort(values)
    middle = ordered[quantile_rank(values.size, Fraction(1, 2)) - 1]
    return Median(float(middle), float(ordered[ranks[0] - 1]), float(ordered[ranks[1] - 1]))


def alike(values: Values) -> bool:
    """Tell whether neighbouring blocks are more alike than chance has it.

    The correlation of the ranks of neighbours (von Neumann's, on ranks: Bartels, JASA 77, 1982), of
    mean -1/n and variance about 1/n, is ``ALIKE_SD`` standard deviations above its mean.
    """
    n = values.size
    if n < 4:
        return False
    # equal values share their middle rank
    ordered = np.sort(values)
    ranks = np.searchsorted(ordered, values, "left") + np.searchsorted(ordered, values, "right")
    centred = ranks - ranks.mean()
    spread = float((centred**2).sum())
    if not spread:
        return False
    return float((centred[1:] * centred[:-1]).sum()) / spread > ALIKE_SD / sqrt(n) - 1 / n


def larger_share(ours: Values, theirs: Values) -> float:
    """Return how often a block of ``ours`` is above one of ``theirs``; equal ones count half."""
    ordered = np.sort(theirs)
    below = np.searchsorted(ordered, ours, "left") + np.searchsorted(ordered, ours, "right")
    return float(below.sum()) / (2 * ours.size * theirs.size)
