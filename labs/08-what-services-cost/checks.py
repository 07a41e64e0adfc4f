"""Lab 8: what can be computed from a student's own drills."""

import numpy as np

from tennis.course.checks import agrees, check, expect, number
from tennis.course.work import Work
from tennis.rally import Rally
from tennis.rally.statistics.drill import spans_of


@check(question="apart")
def check_apart(work: Work) -> None:
    """The factor is that of your own drills, within 5 percent.

    Hint: `tennis stats beat-user` has a line *off the period*; take the column *outside*.
    """
    user, user_rt = (_off_ns(work.rallies[name]) for name in ("beat-user", "beat-user-rt"))
    agrees(work, "apart", user / user_rt, 5, "your drills say otherwise")


@check(question="late-inside")
def check_late_inside(work: Work) -> None:
    """The count is that of the target's own clock.

    Hint: the notebook has both series, in ns.
    """
    _count(work, "late-inside", 0)


@check(question="late-outside")
def check_late_outside(work: Work) -> None:
    """The count is that of the instrument's clock.

    Hint: each clock has its own median: the instrument's also contains the line's cost.
    """
    _count(work, "late-outside", 1)


def _off_ns(rally: Rally) -> int:
    period_ns = rally.manifest.drill.period_ns if rally.manifest.drill else 0
    return int(np.abs(spans_of(rally).intervals[1] - period_ns).max())


def _count(work: Work, question: str, side: int) -> None:
    took_ns = spans_of(work.rallies["switch"]).durations[side]
    over_ns = 1000 * float(str(work.lab.parameters["over_us"]))
    right = int((took_ns > np.median(took_ns) + over_ns).sum())
    value = number(work, question)
    expect(abs(value - right) < 1, f"{value:g} switches: your drill says otherwise")
