# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""A control chart tells whether a figure that is measured again and again begins to change.

An exponentially weighted moving average (S. W. Roberts, Technometrics 1, 1959; NIST/SEMATECH
e-Handbook of Statistical Methods, 6.3.2.4) of single observations. The centre is the mean of the
first observations, their spread is the mean moving range divided by 1.128 (6.3.2.2).

The limits are five spreads and not the usual three: twelve observations know a spread badly, and a
class has hundreds of charts. Of charts of 60 observations that do not change, 6 % leave the limits
at some time (15 % with Student's t of 4 degrees of freedom), and 0.6 % (1 %) are outside at their
end. A step of 2 spreads is found by half of the charts within 7 observations, one of 3 within 3.
tests/stats holds the code against these.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

BASELINE = 12  # observations from which the usual is learned
WEIGHT = 0.2  # of the newest one
WIDTH = 5.0  # spreads
AT_CENTRE = 0.1  # spreads: an average that near has not left the centre
RANGE_TO_SPREAD = 1.128  # the mean range of two observations, in standard deviations


@dataclass(frozen=True)
class Chart:
    """What became of some observations; arrays of their shape."""

    values: NDArray[np.float64]
    averages: NDArray[np.float64]  # NaN within the baseline
    low: NDArray[np.float64]  # the limits of the averages, NaN within the baseline
    high: NDArray[np.float64]
    centre: float
    spread: float
    found: int | None  # the first observation whose average is outside
    outside_now: bool  # whether the newest one's is
    since: int | None  # where that probably began: where the average left the centre


def chart(values: NDArray[np.float64], resolution: float) -> Chart | None:
    """Judge observations in their order; None where there are too few to learn the usual.

    ``resolution``: the smallest spread that is believed, the unit in which the figure is read.
    """
    if values.size <= BASELINE:
        return None
    usual = values[:BASELINE]
    centre = float(usual.mean())
    spread = max(float(np.abs(np.diff(usual)).mean()) / RANGE_TO_SPREAD, resolution)
    averages = np.full(values.size, np.nan)
    average = centre
    for number in range(BASELINE, values.size):
        average = WEIGHT * float(values[number]) + (1 - WEIGHT) * average
        averages[number] = average
    after = np.arange(1, values.size - BASELINE + 1)
    half = np.full(values.size, np.nan)
    half[BASELINE:] = WIDTH * spread * np.sqrt(
        WEIGHT / (2 - WEIGHT) * (1 - (1 - WEIGHT) ** (2 * after))
    )  # fmt: skip
    outside = np.flatnonzero(np.abs(averages - centre) > half)
    found = int(outside[0]) if outside.size else None
    return Chart(
        values=values,
        averages=averages,
        low=centre - half,
        high=centre + half,
        centre=centre,
        spread=spread,
        found=found,
        outside_now=bool(outside.size and outside[-1] == values.size - 1),
        since=None if found is None else _began(averages, centre, spread, found),
    )


def _began(averages: NDArray[np.float64], centre: float, spread: float, found: int) -> int:
    """Return the first observation since which the averages are on the side of ``found``."""
    side = 1 if averages[found] > centre else -1
    number = found
    while number > BASELINE and side * (averages[number - 1] - centre) > spread * AT_CENTRE:
        number -= 1
    return number
