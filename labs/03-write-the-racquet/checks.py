"""Lab 3: a kernel module is built, tried on real kernels, and held beside the kit's."""

from tennis.bench.kernels import catalogue, debugging, own_module
from tennis.bench.kernels.kernel import Kernel
from tennis.course.checking.evidence import own_rally
from tennis.course.checking.module_trial import Pace, Trial, pace_of, trial
from tennis.course.checking.plays import Plays, draw_for
from tennis.course.checks import (
    Inconclusive,
    Note,
    NotHere,
    Wrong,
    agrees,
    check,
    figures_ns,
)
from tennis.course.work import Work
from tennis.kit.errors import TennisError

SOURCE = "racquet.c"
KERNELS = ("mainline", "rt")


@check(question="builds")
def check_builds(work: Work) -> None:
    """It builds for both kernels, and the compiler has nothing to say.

    Hint: the number behind racquet.c is a line. Correct the first error first.
    """
    for name in KERNELS:
        try:
            own = own_module.build(work.folder / SOURCE, catalogue.find(name))
        except TennisError as error:
            raise Inconclusive(str(error)) from error
        if own.errors:
            raise Wrong(f"{name}: {own.errors[0]}", own.errors)
        if own.warnings:
            raise Wrong(f"{name}: a warning: {own.warnings[0]}", own.warnings)


@check(question="builds", needs=["check_builds"])
def check_loads(work: Work, plays: Plays | None) -> None:
    """A module that builds, and does nothing, is no Racquet: it loads, and answers a ping.

    Hint: which gap is still empty? The console says whether the interrupt was asked for.
    """
    tried = _tried(work, plays, catalogue.find("mainline"), "mainline")[0]
    if not tried.answers:
        raise Wrong(f"it builds, and answers nothing: {tried.complaint}", tried.console)


@check(question="answers", needs=["check_builds"])
def check_answers(work: Work, plays: Plays | None, note: Note) -> None:
    """It loads, answers, and survives reloads while pings come, on a real mainline kernel.

    Hint: these lines are the target's console. If one names a line of your source, start there.
    """
    note(_try(work, plays, catalogue.find("mainline"), "mainline"))


@check(question="clean", needs=["check_answers"])
def check_clean(work: Work, plays: Plays | None, note: Note) -> None:
    """The same on a kernel that watches locks, memory, and code that must not sleep.

    Hint: read the first line of the complaint, then the first function of your own below it.
    """
    if not debugging.is_built():
        raise NotHere("the kernel that watches is not here: `tennis kernels fetch debug` builds it")
    kernel = debugging.find()
    note(_try(work, plays, kernel, str(kernel.build)))


def _try(work: Work, plays: Plays | None, kernel: Kernel, name: str) -> str:
    """Raise Wrong for what goes wrong in a trial; return its pace in words."""
    tried, pace = _tried(work, plays, kernel, name)
    if tried.complaint:
        where = f" ({tried.where})" if tried.where else ""
        raise Wrong(f"{tried.complaint}{where}", tried.console)
    return f"tried with {pace.said}"


def _tried(work: Work, plays: Plays | None, kernel: Kernel, name: str) -> tuple[Trial, Pace]:
    """Return what came of a trial, of which each hand-in has another pace."""
    source = work.folder / SOURCE
    try:
        pace = pace_of(draw_for(plays, source))
        return trial(source, kernel, name, pace), pace
    except TennisError as error:
        raise Inconclusive(str(error)) from error


@check(question="ratio", needs=["check_rally[tasklet]", "check_rally[own]"])
def check_own(work: Work) -> None:
    """In the rally, too, your Racquet answers each ping, and once.

    Hint: `tennis stats own` counts the balls that were missed. Your teacher plays it again.
    """
    own_rally(work, "own", beside="tasklet")


@check(question="ratio", needs=["check_answered[ratio]", "check_own"])
def check_ratio(work: Work) -> None:
    """The factor is that of your own two rallies, within 10 percent.

    Hint: `tennis stats` shows both quantiles in the row 99 %, column scheduling. Divide.
    """
    tasklet, own = figures_ns(work, "ratio", "scheduling", "p99")
    agrees(work, "ratio", tasklet / own, 10)
