"""Lab 5: what can be computed from a student's own rallies."""

from tennis.course.checks import agrees, check, figures_ns
from tennis.course.work import Work


@check(question="price")
def check_price(work: Work) -> None:
    """The difference is that of your own two rallies, within 5 percent.

    Hint: the row median, column interrupt, in microseconds.
    """
    hard, forced = figures_ns(work, "price", "interrupt", "median")
    agrees(work, "price", (forced - hard) / 1000, 5)


@check(question="bottom")
def check_bottom(work: Work) -> None:
    """The factor is that of your own two rallies, within 10 percent.

    Hint: the row 99 %, column scheduling; mind ms and µs.
    """
    tasklet, thread = figures_ns(work, "bottom", "scheduling", "p99")
    agrees(work, "bottom", tasklet / thread, 10)
