# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Lab 7: what can be computed from a student's own rallies."""

import numpy as np

from tennis.course.checks import Inconclusive, check, expect, near, number
from tennis.course.work import Work
from tennis.units import ticks_to_ns

BOOTS = ("boot-1", "boot-2", "boot-3", "boot-4")
LEAST = 10_000  # balls: ten beyond the level


@check(
    question="level",
    needs=["check_answered[level]", *(f"check_rally[{name}]" for name in BOOTS)],
)
def check_level(work: Work) -> None:
    """The level is that of your own four boots together, to 5 percent.

    Hint: put the balls of all boots into one list; the 99.9 % quantile of each boot is not it.
    """
    found = []
    for name in BOOTS:
        rally = work.rallies[name]
        for batch in rally.batches(["rise_ticks"]):
            ticks = batch.column(0).drop_null().cast("int64").to_numpy()
            found.append(ticks_to_ns(ticks, rally.tick_hz))
    latencies_ns = np.concatenate(found)
    if latencies_ns.size < LEAST:
        raise Inconclusive(f"{latencies_ns.size} answers: a level of 1 in 1,000 takes {LEAST:,}")
    value = number(work, "level")
    right_us = float(np.quantile(latencies_ns, 0.999)) / 1000
    expect(near(value, right_us, 5), f"{value:g} µs: your rallies say otherwise")
