"""Lab 4: what can be computed from a student's own rallies."""

from tennis.course.checks import check, expect, figure_ns, near, number
from tennis.course.work import Work


@check(
    question="growth",
    needs=["check_answered[growth]", "check_rally[mainline-idle]", "check_rally[mainline-stress]"],
)
def check_growth(work: Work) -> None:
    """The factor is that of your own two rallies, within 10 percent.

    Hint: `tennis stats` has both quantiles in the row 99.9 %, column interrupt. Divide.
    """
    idle, stress = (
        figure_ns(work.rallies[name], "interrupt", "p999")
        for name in ("mainline-idle", "mainline-stress")
    )
    right = stress / idle
    value = number(work, "growth")
    expect(near(value, right, 10), f"{value:g} times: your rallies say otherwise")
