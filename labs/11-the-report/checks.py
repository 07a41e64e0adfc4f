"""Lab 11: the match is the one that was asked for, and it is played again."""

from tennis.course.checking.match_work import compare_match, match_here, whole_match
from tennis.course.checking.plays import Plays
from tennis.course.checks import (
    Inconclusive,
    Note,
    NotRun,
    Wrong,
    agrees,
    check,
    choice,
    expect,
    level_ns,
)
from tennis.course.work import Work
from tennis.match.folder import MatchFolder
from tennis.replicate.verdicts import Replication

CHOICES = {
    "confirmed": "confirmed",
    "another cause": "confirmed",
    "contradicted": "contradicted",
    "inconclusive": "inconclusive",
}
LEAST = 10_000  # balls: ten beyond the level
# of the cells that the claims are about: the fifth one has another driver, whose level is another
TOP_HALVES = {"mainline": "hard", "rt": "forced"}


@check()
def check_match(work: Work, *, boards: bool) -> None:
    """The match is there, complete, and played with the plan.toml of your folder and your seed.

    Hint: `tennis match plan.toml --out main-result` continues after an interruption.
    """
    whole_match(work, boards=boards)


@check(needs=["check_match"])
def check_match_honest(work: Work, plays: Plays | None, *, boards: bool, note: Note) -> None:
    """The match is played here, with your seed, and yours must be the same, ball by ball.

    Hint: play the match yourself, with your own plan, and change nothing in its folder.
    """
    if plays is None:
        raise NotRun("your teacher plays it again")
    note(compare_match(work, plays, boards=boards))


@check(question="idle", needs=["check_answered[idle]", "check_match"])
def check_idle(work: Work, plays: Plays | None, *, boards: bool) -> None:
    """The verdict is the one that your own match gives.

    Hint: `tennis replicate main-result`, the verdict before the title of c1.
    """
    _verdict(work, match_here(work, plays, boards=boards), "idle", "c1")


@check(question="growth", needs=["check_answered[growth]", "check_match"])
def check_growth(work: Work, plays: Plays | None, *, boards: bool) -> None:
    """The verdict is the one that your own match gives.

    Hint: `tennis replicate main-result`, the verdict before the title of c2.
    """
    _verdict(work, match_here(work, plays, boards=boards), "growth", "c2")


def _verdict(work: Work, match: MatchFolder, question: str, claim: str) -> None:
    verdict = Replication(match).claim("knutsson-2008", claim).verdict
    if verdict not in CHOICES:
        raise Inconclusive(f"{claim} is {verdict}: the match does not address it")
    chosen = choice(work, question)
    expect(chosen == CHOICES[verdict], f"{chosen} is not what your match says about {claim}")


@check(question="factor", needs=["check_answered[factor]", "check_match"])
def check_factor(work: Work, plays: Plays | None, *, boards: bool) -> None:
    """The factor is that of your own match, within 10 percent.

    Hint: put the balls of all boots of a cell into one list, as in lab 7; the notebook does it. The
    boots with the explicit top half are a cell of their own.
    """
    match = match_here(work, plays, boards=boards)
    right = _level_ns(match, "mainline") / _level_ns(match, "rt")
    agrees(work, "factor", right, 10, "your match says otherwise")


def _level_ns(match: MatchFolder, kernel: str) -> float:
    cell = kernel, TOP_HALVES[kernel], "stress"
    chosen = [
        rally
        for rally in match.rallies()
        if (rally.manifest.target.kernel, rally.manifest.target.top_half, rally.manifest.load.name)
        == cell
    ]
    balls = sum(rally.balls for rally in chosen)
    if balls < LEAST:
        raise Wrong(f"{balls} balls of {kernel} under stress: 1 in 1,000 takes more")
    return level_ns(chosen, 1000)
