"""Lab 9: the sweep is the one that was asked for; what can be computed from it and from rallies."""

from tennis.course.checking.plays import Plays
from tennis.course.checking.sweep_work import compare_sweep, sweep_here, whole_sweep
from tennis.course.checks import Note, NotRun, agrees, check
from tennis.course.work import Work
from tennis.rally.statistics.balls import latencies_ns
from tennis.rally.statistics.pairing import pairing


@check()
def check_sweep(work: Work, *, boards: bool) -> None:
    """The sweep is there, complete, and played as asked, with your seed.

    Hint: README.md in your folder has the command; the same command plays what is missing.
    """
    whole_sweep(work, boards=boards)


@check(needs=["check_sweep"])
def check_sweep_honest(work: Work, plays: Plays | None, *, boards: bool, note: Note) -> None:
    """The sweep is played here, with your seed, and yours must be the same, ball by ball.

    Hint: play the sweep yourself, with your own seed, and change nothing in its folder.
    """
    if plays is None:
        raise NotRun("your teacher plays it again")
    note(compare_sweep(work, plays, boards=boards))


@check(question="breaks", needs=["check_answered[breaks]", "check_sweep"])
def check_breaks(work: Work, plays: Plays | None, *, boards: bool) -> None:
    """The rate is that of your own sweep.

    Hint: `tennis stats rates` says between which two rates pairing breaks: the upper one. In Hz.
    """
    right = sweep_here(work, plays, boards=boards).breaking.breaks_hz
    if right is None:
        raise NotRun("pairing holds at all rates of this sweep")
    agrees(work, "breaks", right, 0.1, "your sweep says otherwise")


@check(question="unpaired")
def check_unpaired(work: Work) -> None:
    """The share is that of your own rally, within 5 percent.

    Hint: the notebook judges every ping; the last one is not judged.
    """
    right = 100 * (1 - pairing(work.rallies["open"]).share)
    agrees(work, "unpaired", right, 5, "your rally says otherwise")


@check(question="closed-share")
def check_closed_share(work: Work) -> None:
    """The share is that of your own rally, within 5 percent.

    Hint: the notebook counts balls above some limits.
    """
    rally = work.rallies["closed"]
    limit_us = float(str(work.lab.parameters["limit_us"]))
    right = 100 * float((latencies_ns(rally, "interrupt") > 1000 * limit_us).mean())
    agrees(work, "closed-share", right, 5, "your rally says otherwise")
