# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Lab 7: what can be computed from a student's own rallies."""

from tennis.course.checks import check, expect, level_ns, near, number
from tennis.course.work import Work

BOOTS = ("boot-1", "boot-2", "boot-3", "boot-4")


@check(
    question="level",
    needs=["check_answered[level]", *(f"check_rally[{name}]" for name in BOOTS)],
)
def check_level(work: Work) -> None:
    """The level is that of your own four boots together, to 5 percent.

    Hint: put the balls of all boots into one list; the 99.9 % quantile of each boot is not it.
    """
    right_us = level_ns((work.rallies[name] for name in BOOTS), 1000) / 1000
    value = number(work, "level")
    expect(near(value, right_us, 5), f"{value:g} µs: your rallies say otherwise")
