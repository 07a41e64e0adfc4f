"""Lab 6: what can be computed from a student's own rallies, and from the recorded ones."""

from tennis.course.checks import check, expect, figure_ns, near, number
from tennis.course.work import Work
from tennis.rally.statistics.balls import latencies_ns


@check(question="share", needs=["check_answered[share]", "check_rally[rt-hog]"])
def check_share(work: Work) -> None:
    """The share is that of your own rally, within 5 percent.

    Hint: the notebook counts balls above some limits; by hand, count `rise_ticks`.
    """
    rally = work.rallies["rt-hog"]
    limit_us = float(str(work.lab.parameters["limit_us"]))
    right = 100 * float((latencies_ns(rally, "interrupt") > 1000 * limit_us).mean())
    value = number(work, "share")
    expect(near(value, right, 5), f"{value:g} %: your rally says otherwise")


@check(
    question="worth",
    needs=["check_answered[worth]", "check_rally[evl-in-band-stress]", "check_rally[evl-stress]"],
)
def check_worth(work: Work) -> None:
    """The factor is that of the two recorded rallies' latest balls, within 1 percent.

    Hint: `max` of both interrupt latencies, in the handout's table or by the notebook.
    """
    in_band, out_of_band = (
        figure_ns(work.rallies[name], "interrupt", "max")
        for name in ("evl-in-band-stress", "evl-stress")
    )
    value = number(work, "worth")
    expect(near(value, in_band / out_of_band, 1), f"{value:g} times: the recordings say otherwise")
