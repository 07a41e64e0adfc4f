# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""How far apart two samples are, where a file lists only changes: said, asked, or found out.

All changes fall on samples, so the steps between them are whole multiples of one interval. That
shows the interval of a file that says none, and whether what is said can be true. The longest pause
shows nothing, and the least step only that the interval is not longer.
"""

import re
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from fractions import Fraction
from itertools import islice
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from tennis.umpire.captures.edges import Capture, CaptureError, Edges, Ticks

EDGES_USED = 1 << 13  # edges from which the interval is found
BATCHES = 16  # of edges that are read for it, at most
MIN_STEPS = 8  # different ones, or nothing can be found
# A rate is three digits, or a part of it: 24 MHz, 12.5, 16.667 (100/6), 6.857 (48/7)
DIGITS = range(100, 1000)
PARTS = (1, 2, 3, 4, 6, 7, 9)
DRIFT = 1e-6  # of a step: how exactly times are computed that somebody wrote
ROUNDED = 1e-3  # of a step: how exactly a rate is said
CHANCE = 1e-10  # that steps fit an interval which is not theirs
EXCEPT = 0.02  # of the steps may not fit what is asked for

UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9}
RATE = re.compile(
    r"(?:\bat|sample[ _]?rate|sampling[ _](?:rate|frequency))[\"':=,;\s]{0,8}"
    r"([0-9]{1,15}(?:\.[0-9]{1,9})?(?:e\+?[0-9]{1,2})?)\s?([kMG]?)(?:Hz|S/s|Sa/s|SPS)\b",
    re.IGNORECASE,
)


def sampling_rate(path: Path, hz: Fraction) -> Fraction:
    """Return a sample rate that can be: 1 Hz to 1 THz. Raises CaptureError."""
    if not 1 <= hz <= 10**12:
        raise CaptureError(f"{path} says that it was sampled at {float(hz):g} Hz: that cannot be")
    return hz


def said_rate(text: str) -> Fraction | None:
    """Return the sample rate that a heading or a comment says, Hz; None where it says none."""
    match = RATE.search(text)
    if not match:
        return None
    hz = Fraction(match[1]) * UNITS[match[2].lower()]
    return hz if 1 <= hz <= 10**12 else None


def rate_words(hz: Fraction | float) -> str:
    """Return a rate as people say it."""
    return f"{float(hz) / 1e6:.6g} MHz"


def agree(path: Path, recorded: Fraction, requested: Fraction | None) -> None:
    """Raise CaptureError if a file says another rate than was asked for."""
    if requested is not None and abs(requested / recorded - 1) > ROUNDED:
        raise CaptureError(
            f"{path} was sampled at {rate_words(recorded)}, not at {rate_words(requested)}: "
            "it says so",
            next_step="leave out --rate-mhz",
        )


def resolve(
    capture: Capture, quantum: Fraction, recorded: Fraction | None, requested: Fraction | None
) -> None:
    """Find a capture's resolution from its first changes; write it, and from where, into it.

    ``quantum``: of how many ticks its times are multiples as they are written. ``recorded`` and
    ``requested`` are rates (Hz) from file and user. Raises CaptureError where the changes
    contradict what was asked for.
    """
    steps = _steps(capture)
    hz = capture.tick_hz
    # as fine as they are written, or as they are
    common = int(np.gcd.reduce(steps)) if steps.size else 0
    fine = max(quantum, Fraction(common)) if steps.size >= MIN_STEPS else quantum
    found = _interval(steps, float(fine), hz)
    least = Fraction(int(steps[0])) if steps.size else quantum
    if found is None and steps.size >= MIN_STEPS and least <= 2 * fine:
        found = least
    if recorded is not None and not _multiples(steps, float(hz / recorded), float(fine)):
        shown = f", its changes {rate_words(hz / found)}" if found else ""
        capture.notes.append(
            f"its heading says {rate_words(recorded)}{shown}: the steps between its changes are no "
            "multiples of that, so it is not believed"
        )
        recorded = None
    if requested is not None:
        if recorded is not None:
            agree(capture.path, recorded, requested)
        if not _multiples(steps, float(hz / requested), float(fine)):
            shown = f": they fit {rate_words(hz / found)}" if found else ""
            raise CaptureError(
                f"{capture.path} was not sampled at {rate_words(requested)}: the steps between its "
                f"changes are no multiples of {float(10**9 / requested):.4g} ns{shown}",
                next_step="leave out --rate-mhz, or name the rate at which it was captured",
            )
    told = recorded if recorded is not None else requested
    if told is not None:
        capture.resolution_ticks = max(hz / told, quantum)
        capture.resolution_source = "said" if recorded is not None else "asked"
        if found is not None and found > capture.resolution_ticks * Fraction(11, 10):
            capture.resolution_ticks, capture.resolution_source = found, "found"
    elif found is not None:
        capture.resolution_ticks, capture.resolution_source = max(found, quantum), "found"
    else:
        capture.resolution_ticks, capture.resolution_source = max(least, quantum), "unknown"


def _steps(capture: Capture) -> Ticks:
    """Return the steps between the first changes: ticks, each once, the least first."""
    parts: list[Ticks] = []
    count = 0
    # a generator: what it holds open is closed at once
    with closing(cast("Generator[Edges]", capture.read(capture))) as batches:
        for batch in islice(batches, BATCHES):
            parts.append(batch.ticks)
            count += batch.ticks.size
            if count >= EDGES_USED:
                break
    ticks = np.concatenate([np.zeros(0, np.int64), *parts])[:EDGES_USED]
    steps = np.unique(np.diff(ticks))
    return cast("Ticks", steps[steps > 0])


def _off(steps: NDArray[np.float64], interval: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how far each step (row) is from a multiple of each interval (column)."""
    parts = steps[:, None] / interval
    return np.asarray(np.abs(parts - np.rint(parts)) * interval, np.float64)


def _multiples(steps: Ticks, interval: float, fine: float) -> bool:
    """Say whether steps may be multiples of an interval, as far as they are exact enough."""
    if not steps.size:
        return True
    if interval > float(steps[0]) + fine:
        return False
    slack = fine + ROUNDED * steps
    telling = steps[slack < interval / 4].astype(np.float64)
    if not telling.size:
        return True
    off = _off(telling, np.array([interval]))[:, 0] > fine + ROUNDED * telling
    return bool(off.mean() <= EXCEPT)


def _interval(steps: Ticks, fine: float, hz: Fraction) -> Fraction | None:
    """Return the longest interval (ticks) of a usual rate that all steps are multiples of."""
    if steps.size < MIN_STEPS:
        return None
    lengths = steps.astype(np.float64)
    slack = fine + DRIFT * lengths
    for interval, exact in _candidates(float(steps[0]) + fine, 4 * fine, hz):
        # most are refused by the shortest steps
        some = min(64, steps.size)
        telling = slack[:some, None] < interval / 4
        fits = ((_off(lengths[:some], interval) <= slack[:some, None]) | ~telling).all(axis=0)
        for place in np.flatnonzero(fits):
            width = float(interval[place])
            all_telling = slack < width / 4
            off = _off(lengths[all_telling], np.array([width]))[:, 0]
            chance = np.log(2 * slack[all_telling] / width).sum()
            counts = np.rint(lengths[all_telling] / width).astype(np.int64)
            # counts with a common factor are those of a longer interval, of an odd rate
            whole = counts.size > 0 and int(np.gcd.reduce(counts)) == 1
            if whole and (off <= slack[all_telling]).all() and chance < np.log(CHANCE):
                return hz / exact(int(place))
    return None


def _candidates(
    longest: float, shortest: float, hz: Fraction
) -> Iterator[tuple[NDArray[np.float64], Callable[[int], Fraction]]]:
    """Yield intervals of usual rates, the longest first: ticks, and what gives the exact rate."""
    digits = np.array([m for m in DIGITS for _ in PARTS])
    parts = np.array([d for _ in DIGITS for d in PARTS])
    decade = int(np.floor(np.log10(float(hz) / longest))) - 2
    while float(hz) / 10.0**decade / DIGITS[0] * max(PARTS) > shortest and decade < 13:
        intervals = float(hz) * parts / digits / 10.0**decade
        order = np.argsort(-intervals, kind="stable")
        some = order[(intervals[order] <= longest) & (intervals[order] >= shortest)]

        def exact(place: int, order: Any = some, decade: int = decade) -> Fraction:
            of = order[place]
            return Fraction(int(digits[of]), int(parts[of])) * Fraction(10) ** decade

        yield intervals[some], exact
        decade += 1
