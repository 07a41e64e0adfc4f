# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Lab 7: what can be computed from a student's own rallies."""

from tennis.course.checks import check, expect, level_ns, near, number
from tennis.course.work import Work
from tennis.stats.balls import latencies_ns

BOOTS = ("boot-1", "boot-2", "boot-3", "boot-4")


@check(
    question="level",
    needs=["check_answered[level]", *(f"check_rally[{name}]" for name in BOOTS)],
)
def check_level(work: Work) -> None:
    """The 99.9 % quantile is that of your own four boots together, within 5 percent.

    Hint: put the balls of all boots into one list. Do not average the boots' quantiles.
    """
    right_us = level_ns((work.rallies[name] for name in BOOTS), 1000) / 1000
    value = number(work, "level")
    expect(near(value, right_us, 5), f"{value:g} µs: your rallies say otherwise")


@check(question="late", needs=["check_answered[late]", "check_rally[open]"])
def check_late(work: Work) -> None:
    """The share is that of your own rally, within 2 percent; missed balls are late.

    Hint: a missing edge is null in the table, and no comparison finds it.
    """
    limit_ns = 1000 * float(str(work.lab.parameters["limit_us"]))
    late = latencies_ns(work.rallies["open"], "interrupt") > limit_ns  # a missed one is infinite
    value = number(work, "late")
    expect(near(value, 100 * float(late.mean()), 2), f"{value:g} %: your rally says otherwise")
