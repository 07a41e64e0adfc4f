"""Ticks to nanoseconds, and nanoseconds to words: the only place where units change."""

import math
from fractions import Fraction
from typing import Any, overload

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
    # whole periods first: at 133,333,333 Hz, 35 s of ticks times a billion is beyond 64 bits
    periods, rest = divmod(ticks, ratio.denominator)
    rounded = (rest * ratio.numerator * 2 + ratio.denominator) // (2 * ratio.denominator)
    return periods * ratio.numerator + rounded


def tick_ns(tick_hz: int) -> float:
    """Return the length of one tick in nanoseconds."""
    return NS_PER_S / tick_hz


def format_ns(ns: float | None) -> str:
    """Write a time for a person, with three digits: ``7.10 µs``, ``22.7 ms``; ``-`` for none.

    Whole nanoseconds below a microsecond, and seconds from a thousand on, keep all their digits.
    """
    if ns is None:
        return "-"
    if abs(ns) < NS_PER_US and ns == int(ns):
        return f"{int(ns)} ns"
    for size, unit in ((1, "ns"), (NS_PER_US, "µs"), (NS_PER_MS, "ms"), (NS_PER_S, "s")):
        for decimals in (2, 1, 0):
            text = f"{ns / size:.{decimals}f}"
            if abs(float(text)) < 10 ** (3 - decimals):
                return f"{text} {unit}"
    return f"{ns / NS_PER_S:.0f} s"


def format_round_ns(ns: float | None) -> str:
    """Write a time that somebody chose, without zeros at its end: ``1 µs``, ``1.5 ms``."""
    number, _, unit = format_ns(ns).partition(" ")
    return f"{number.rstrip('0').rstrip('.')} {unit}" if "." in number else format_ns(ns)


def format_us(us: float | None) -> str:
    """Write a time that was published in whole microseconds: ``51 µs``, ``17.2 ms``."""
    if us is None:
        return "-"
    return f"{us} µs" if abs(us) < NS_PER_MS // NS_PER_US else format_ns(us * NS_PER_US)


def format_count(count: int, one: str, more: str = "") -> str:
    """Write how many there are: ``1 ball``, ``2 balls``; ``more`` if an s is not enough."""
    return f"{count} {one if count == 1 else more or one + 's'}"


def format_bytes(count: int) -> str:
    """Write a size for a person: ``64 B``, ``8 KiB``, ``1 MiB``; a whole number of each."""
    for size, unit in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if count >= size and count % size == 0:
            return f"{count // size} {unit}"
    return f"{count} B"


def finite(value: Any) -> Any:
    """Return a value as JSON has it: null for a missed ball, and for no number."""
    if isinstance(value, dict):
        return {name: finite(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
