# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""How a table's rows become ticks: at one interval, or each at its own time."""

from dataclasses import dataclass
from fractions import Fraction
from math import floor

import numpy as np
from numpy.typing import NDArray

from tennis.umpire.captures.edges import MAX_SECONDS, CaptureError, MissingError
from tennis.umpire.captures.heading import DAMAGED, UNITS, Heading, cannot_time
from tennis.umpire.captures.resolution import sampling_rate

EVEN = 0.02  # of an interval: rows that are less off come at one interval
MIN_EVEN = 4  # rows that show it
PS_PER_S = 10**12


@dataclass(frozen=True)
class Clock:
    """How rows become ticks."""

    hz: Fraction  # ticks a second
    rows: bool  # each row is a tick
    per_tick: float = 1.0  # else: of the time column
    counted: bool = False  # at a rate that the user said

    def ticks(self, times: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the ticks of times since the first."""
        return np.rint(times / self.per_tick).astype(np.int64)


def find_clock(
    form: Heading, times: NDArray[np.float64] | None, stated_rate_hz: Fraction | None
) -> Clock:
    """Find out what a tick is, from the times of the first rows (None: there are no times).

    Raises CaptureError, MissingError where it is not said.
    """
    path = form.path
    if form.times in {"rows", "counts"} or times is None:
        rate = 1 / form.interval_s if form.interval_s else stated_rate_hz
        if rate is None:
            what = "counts its rows" if form.times == "counts" else "has no times"
            raise cannot_time(form, f"{what} and does not say how fast it was sampled")
        counted = form.interval_s is None
        return Clock(sampling_rate(path, rate), form.times != "counts", counted=counted)
    span = float(times[-1] - times[0])
    if not span > 0:
        raise CaptureError(f"{path}: its time does not go on", next_step=DAMAGED)
    said = form.interval_s
    if said is not None and (stretched := _stretched(form, times, said)) is not None:
        return Clock(sampling_rate(path, 1 / said), rows=False, per_tick=stretched)
    even = _even(form, times)
    if said is not None and even and form.per_s is None:
        return Clock(sampling_rate(path, 1 / said), rows=True)
    if form.per_s is None:
        raise MissingError(
            f"{path} does not say in which unit its times are",
            next_step="write it into the heading of their column, as in Time [ns]",
        )
    if span > MAX_SECONDS:
        raise CaptureError(f"{path} is longer than any rally", next_step=DAMAGED)
    if even:
        interval = span / (times.size - 1)
        if said is not None and abs(interval / float(said) - 1) < EVEN:
            return Clock(sampling_rate(path, 1 / said), rows=True)
        rounded = Fraction(round(interval * PS_PER_S * 10**3), PS_PER_S * 10**3)
        return Clock(sampling_rate(path, 1 / max(rounded, Fraction(1, PS_PER_S))), rows=True)
    return Clock(Fraction(PS_PER_S), rows=False, per_tick=1 / PS_PER_S)


def _even(form: Heading, times: NDArray[np.float64]) -> bool:
    """Say whether rows come at one interval, as exactly as their times are written."""
    if times.size < MIN_EVEN:
        return False
    interval = float(times[-1] - times[0]) / (times.size - 1)
    off = np.abs(times - times[0] - np.arange(times.size) * interval).max()
    least = 4 * np.finfo(np.float64).eps * float(np.abs(times).max())
    return bool(off <= 1.01 * float(form.quantum_s) + EVEN * interval + least)


def _stretched(form: Heading, times: NDArray[np.float64], recorded: Fraction) -> float | None:
    """Return how long a sample is in the times of sigrok's tables, if they count too few units.

    At 24 MHz it adds 41 ns a sample instead of 41.67, and may not even name the unit.
    """
    units = [form.per_s] if form.per_s else sorted(set(UNITS.values()))
    raw = times * (form.per_s or 1)
    whole = np.rint(raw)
    if np.abs(raw - whole).max() > 1e-3 or np.abs(whole).max() > 2.0**53:
        return None
    common = int(np.gcd.reduce(np.diff(whole).astype(np.int64)))
    for per_s in units:
        if common and common == floor(recorded * per_s) and common != recorded * per_s:
            return common / (form.per_s or 1)
    return None
