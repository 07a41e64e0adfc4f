"""The latency of each ball, in the order of the balls. A missed ball is later than all others."""

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tennis.kit.units import tick_ns
from tennis.rally import Rally


def ball_table(rally: Rally, none: int = -1) -> NDArray[np.int64]:
    """Return served_ns, and rise and fall in ticks since then; int64, shape (balls, 3).

    ``none``: in place of an edge that did not come. Raises RallyError.
    """
    names = ["served_ns", "rise_ticks", "fall_ticks"]
    rows = [
        np.stack([batch[name].filled(none) for name in names], axis=1)
        for batch in rally.batches(names)
    ]
    return np.concatenate([np.zeros((0, 3), np.int64), *rows])


def edges_ns(rally: Rally) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """Return when each ball was served, and its rise and its fall since then; ns.

    NaN: the edge did not come. Raises RallyError.
    """
    served, rise, fall = ball_table(rally).T
    tick = tick_ns(rally.tick_hz)
    rise_ns, fall_ns = (np.where(ticks < 0, np.nan, ticks * tick) for ticks in (rise, fall))
    return served, rise_ns, fall_ns


def latencies_ns(rally: Rally, name: Literal["interrupt", "scheduling"]) -> NDArray[np.float64]:
    """Return a latency of each ball; ns, infinite if its reply did not rise, or fall, in time.

    Shape (balls,). Raises RallyError.
    """
    columns = ["rise_ticks", "fall_ticks"]
    series = [np.zeros(0)]
    for batch in rally.batches(columns):
        rise, fall = (batch[name].filled(np.nan) for name in columns)
        ticks = rise if name == "interrupt" else fall - rise
        series.append(np.where(np.isnan(ticks), np.inf, ticks * tick_ns(rally.tick_hz)))
    return np.concatenate(series)
