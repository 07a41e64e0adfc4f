"""Lab 12: what can be computed from a student's own rallies, and from what was counted there."""

from math import isfinite

from tennis.course.checks import Inconclusive, NotRun, agrees, check, figures_ns
from tennis.course.work import Work
from tennis.rally import Rally
from tennis.rally.statistics.balls import latencies_ns


@check(question="crowd")
def check_crowd(work: Work) -> None:
    """The share is that of your own rally, within 5 percent.

    Hint: `tennis stats moved` says at how many of its balls processor 1 was at work.
    """
    counts = work.rallies["moved"].manifest.counts
    busy = next((one.busy for one in counts.where if one.processor == 1), None)
    if busy is None:
        raise NotRun("not counted: a board does not say what its processors do")
    agrees(work, "crowd", 100 * busy / counts.balls, 5, "your rally says otherwise")


@check(question="worth")
def check_worth(work: Work) -> None:
    """The factor is that of your own two rallies, within 10 percent.

    Hint: the row maximum, column interrupt; mind ms and µs.
    """
    shared, own = figures_ns(work, "worth", "interrupt", "max")
    agrees(work, "worth", shared / own, 10)


@check(question="saved")
def check_saved(work: Work) -> None:
    """The factor is that of your own two rallies, within 10 percent.

    Hint: the notebook adds both latencies of each ball.
    """
    mainline, rt = (_latest_ns(work.rallies[name]) for name in ("beside", "rt-beside"))
    agrees(work, "saved", mainline / rt, 10)


def _latest_ns(rally: Rally) -> float:
    """Return from ping to fall the time of the latest ball; ns."""
    whole = latencies_ns(rally, "interrupt") + latencies_ns(rally, "scheduling")
    latest = float(whole.max())
    if not isfinite(latest):
        raise Inconclusive(
            f"{rally.path.name}: a ball was missed, and nobody knows how late it was"
        )
    return latest
