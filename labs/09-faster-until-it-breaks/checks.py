# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Lab 9: the sweep is the one that was asked for; what can be computed from it and from rallies."""

from tennis.course.checking.sweep_work import play_some_again, whole_sweep
from tennis.course.checks import NotRun, check, expect, near, number
from tennis.course.work import Work
from tennis.stats.balls import latencies_ns
from tennis.stats.pairing import pairing


@check()
def check_sweep(work: Work) -> None:
    """The sweep is there, complete, and played as asked, with your seed.

    Hint: README.md in your folder has the command; the same command plays what is missing.
    """
    whole_sweep(work)


@check(needs=["check_sweep"])
def check_sweep_honest(work: Work, replays: bool) -> None:
    """Some rates of the sweep are played again, and every ball must be what it was.

    Hint: play the sweep yourself, with your own seed, and change nothing in its folder.
    """
    if not replays:
        raise NotRun("your teacher plays some of it again")
    play_some_again(work)


@check(question="breaks", needs=["check_answered[breaks]", "check_sweep"])
def check_breaks(work: Work) -> None:
    """The rate is that of your own sweep.

    Hint: `tennis stats rates` says between which two rates pairing breaks: the upper one. In Hz.
    """
    right = whole_sweep(work).breaking.breaks_hz
    value = number(work, "breaks")
    if right is None:
        raise NotRun("pairing holds at all rates of this sweep")
    expect(near(value, right, 0.1), f"{value:g} Hz: your sweep says otherwise")


@check(question="unpaired", needs=["check_answered[unpaired]", "check_rally[open]"])
def check_unpaired(work: Work) -> None:
    """The share is that of your own rally, within 5 percent.

    Hint: the notebook judges every ping; the last one is not judged.
    """
    right = 100 * (1 - pairing(work.rallies["open"]).share)
    value = number(work, "unpaired")
    expect(near(value, right, 5), f"{value:g} %: your rally says otherwise")


@check(question="closed-share", needs=["check_answered[closed-share]", "check_rally[closed]"])
def check_closed_share(work: Work) -> None:
    """The share is that of your own rally, within 5 percent.

    Hint: the notebook counts balls above some limits.
    """
    rally = work.rallies["closed"]
    limit_us = float(str(work.lab.parameters["limit_us"]))
    right = 100 * float((latencies_ns(rally, "interrupt") > 1000 * limit_us).mean())
    value = number(work, "closed-share")
    expect(near(value, right, 5), f"{value:g} %: your rally says otherwise")
