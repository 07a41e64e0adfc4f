"""Lab 4: what can be computed from a student's own rallies."""

from tennis.course.checks import agrees, check, figures_ns
from tennis.course.work import Work


@check(question="growth")
def check_growth(work: Work) -> None:
    """The factor is that of your own two rallies, within 10 percent.

    Hint: `tennis stats` has both quantiles in the row 99.9 %, column interrupt. Divide.
    """
    idle, stress = figures_ns(work, "growth", "interrupt", "p999")
    agrees(work, "growth", stress / idle, 10)
