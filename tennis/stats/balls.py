# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""The latency of each ball, in the order of the balls. A missed ball is later than all others."""

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tennis.rally import Rally
from tennis.units import tick_ns


def latencies_ns(rally: Rally, name: Literal["interrupt", "scheduling"]) -> NDArray[np.float64]:
    """Return a latency of each ball; ns, infinite where its reply did not rise, or fall, in time.

    Shape (balls,). Raises RallyError.
    """
    columns = ["rise_ticks", "fall_ticks"]
    series = [np.zeros(0)]
    for batch in rally.batches(columns):
        rise, fall = (batch[c].to_numpy(zero_copy_only=False).astype(np.float64) for c in columns)
        ticks = rise if name == "interrupt" else fall - rise
        series.append(np.where(np.isnan(ticks), np.inf, ticks * tick_ns(rally.tick_hz)))
    return np.concatenate(series)
