# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""The median of some values, with an interval that ends at two of them.

It holds whatever the distribution is. One boot that differs from its brothers moves neither end.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tennis.comparison.boots import Values


@dataclass(frozen=True)
class Median:
    """The median of some boots' values, and where the median of all boots may be.

    ``low`` and ``high`` are nan if there are too few boots for an interval.
    """

    estimate: float
    low: float
    high: float


def median(values: Sequence[float] | Values, rank: int) -> Median:
    """Return the median of some values, which may be infinite; it is nan if one of them is.

    ``rank``: the ends are so many values from both ends of all; 0: there is no interval. Of an even
    number of values, the estimate is the geometric mean of both in the middle.
    """
    ordered = np.sort(np.asarray(values, np.float64))
    if not ordered.size or np.isnan(ordered).any():
        return Median(np.nan, np.nan, np.nan)
    upper = float(ordered[ordered.size // 2])
    lower = float(ordered[(ordered.size - 1) // 2])
    middle = float(np.sqrt(lower) * np.sqrt(upper)) if lower > 0 else (lower + upper) / 2
    if not rank:
        return Median(middle, np.nan, np.nan)
    return Median(middle, float(ordered[rank - 1]), float(ordered[-rank]))
