# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Ticks to nanoseconds, and nanoseconds to words: the only place where units change."""

from fractions import Fraction
from typing import overload

import numpy as np
from numpy.typing import NDArray

NS_PER_S = 1_000_000_000
NS_PER_MS = 1_000_000
NS_PER_US = 1_000


@overload
def ticks_to_ns(ticks: int, tick_hz: int) -> int: ...
@overload
def ticks_to_ns(ticks: NDArray[np.int64], tick_hz: int) -> NDArray[np.int64]: ...
def ticks_to_ns(ticks: int | NDArray[np.int64], tick_hz: int) -> int | NDArray[np.int64]:
    """Convert whole ticks to whole nanoseconds, rounding half up.

    ``ticks`` may be one integer or an int64 array of any shape; the result has the same shape.
    Exact for every clock whose period is a whole number of nanoseconds (125 MHz, 1 GHz).
    """
    ratio = Fraction(NS_PER_S, tick_hz)
    return (ticks * ratio.numerator * 2 + ratio.denominator) // (2 * ratio.denominator)


def tick_ns(tick_hz: int) -> float:
    """Return the length of one tick in nanoseconds."""
    return NS_PER_S / tick_hz


def ns_to_ticks(ns: int, tick_hz: int) -> int:
    """Convert nanoseconds to whole ticks, rounding half up."""
    return (ns * tick_hz * 2 + NS_PER_S) // (2 * NS_PER_S)


def format_ns(ns: float | None) -> str:
    """Write a time for a person: ``1.33 us``, ``22.7 ms``, ``840 ns``; ``-`` for none."""
    if ns is None:
        return "-"
    for size, unit in ((NS_PER_S, "s"), (NS_PER_MS, "ms"), (NS_PER_US, "us")):
        if abs(ns) >= size:
            return f"{ns / size:.3g} {unit}" if abs(ns) / size < 1000 else f"{ns / size:.0f} {unit}"
    return f"{ns:.0f} ns" if ns == int(ns) else f"{ns:.3g} ns"
