"""Lab 12: what can be computed from a student's own rallies, and from what was counted there."""

from math import isfinite

from tennis.course.checks import Inconclusive, NotRun, check, expect, figure_ns, near, number
from tennis.course.work import Work
from tennis.rally import Rally
from tennis.rally.statistics.balls import latencies_ns


@check(question="crowd", needs=["check_answered[crowd]", "check_rally[moved]"])
def check_crowd(work: Work) -> None:
    """The share is that of your own rally, within 5 percent.

    Hint: `tennis stats moved` says at how many of its balls processor 1 was at work.
    """
    counts = work.rallies["moved"].manifest.counts
    busy = next((one.busy for one in counts.where if one.processor == 1), None)
    if busy is None:
        raise NotRun("not counted: a board does not say what its processors do")
    value = number(work, "crowd")
    expect(near(value, 100 * busy / counts.balls, 5), f"{value:g} %: your rally says otherwise")


@check(question="worth", needs=["check_answered[worth]", "check_rally[shared]", "check_rally[own]"])
def check_worth(work: Work) -> None:
    """The factor is that of your own two rallies, within 10 percent.

    Hint: the row maximum, column interrupt; mind ms and µs.
    """
    shared, own = (figure_ns(work.rallies[name], "interrupt", "max") for name in ("shared", "own"))
    value = number(work, "worth")
    expect(near(value, shared / own, 10), f"{value:g} times: your rallies say otherwise")


@check(
    question="saved",
    needs=["check_answered[saved]", "check_rally[beside]", "check_rally[rt-beside]"],
)
def check_saved(work: Work) -> None:
    """The factor is that of your own two rallies, within 10 percent.

    Hint: the notebook adds both latencies of each ball.
    """
    mainline, rt = (_latest_ns(work.rallies[name]) for name in ("beside", "rt-beside"))
    value = number(work, "saved")
    expect(near(value, mainline / rt, 10), f"{value:g} times: your rallies say otherwise")


def _latest_ns(rally: Rally) -> float:
    """Return from ping to fall the time of the latest ball; ns."""
    whole = latencies_ns(rally, "interrupt") + latencies_ns(rally, "scheduling")
    latest = float(whole.max())
    if not isfinite(latest):
        raise Inconclusive(
            f"{rally.path.name}: a ball was missed, and nobody knows how late it was"
        )
    return latest
