"""Lab 5: what can be computed from a student's own rallies."""

from tennis.course.checks import check, expect, figure_ns, near, number
from tennis.course.work import Work


@check(
    question="price",
    needs=["check_answered[price]", "check_rally[rt-hard]", "check_rally[rt-forced]"],
)
def check_price(work: Work) -> None:
    """The difference is that of your own two rallies, within 5 percent.

    Hint: the row median, column interrupt, in microseconds.
    """
    hard, forced = (
        figure_ns(work.rallies[name], "interrupt", "median") for name in ("rt-hard", "rt-forced")
    )
    value = number(work, "price")
    expect(near(value, (forced - hard) / 1000, 5), f"{value:g} µs: your rallies say otherwise")


@check(
    question="bottom",
    needs=["check_answered[bottom]", "check_rally[rt-hard]", "check_rally[rt-thread-chrt]"],
)
def check_bottom(work: Work) -> None:
    """The factor is that of your own two rallies, within 10 percent.

    Hint: the row 99 %, column scheduling; mind ms and µs.
    """
    tasklet, thread = (
        figure_ns(work.rallies[name], "scheduling", "p99") for name in ("rt-hard", "rt-thread-chrt")
    )
    value = number(work, "bottom")
    expect(near(value, tasklet / thread, 10), f"{value:g} times: your rallies say otherwise")
