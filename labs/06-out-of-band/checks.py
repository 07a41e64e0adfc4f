"""Lab 6: what can be computed from a student's own rallies, and from the recorded ones."""

from tennis.course.checks import agrees, check, figures_ns
from tennis.course.work import Work
from tennis.rally.statistics.balls import latencies_ns


@check(question="share")
def check_share(work: Work) -> None:
    """The share is that of your own rally, within 5 percent.

    Hint: the notebook counts balls above some limits; by hand, count `rise_ticks`.
    """
    rally = work.rallies["rt-hog"]
    limit_us = float(str(work.lab.parameters["limit_us"]))
    right = 100 * float((latencies_ns(rally, "interrupt") > 1000 * limit_us).mean())
    agrees(work, "share", right, 5, "your rally says otherwise")


@check(question="worth")
def check_worth(work: Work) -> None:
    """The factor is that of the two recorded rallies' latest balls, within 1 percent.

    Hint: `max` of both interrupt latencies, in the handout's table or by the notebook.
    """
    in_band, out_of_band = figures_ns(work, "worth", "interrupt", "max")
    agrees(work, "worth", in_band / out_of_band, 1, "the recordings say otherwise")
