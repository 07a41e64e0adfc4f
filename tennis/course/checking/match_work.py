"""A lab's match: the plan with a student's seed, and whether a match is the one that was asked for.

The marker plays all of it, as every rally of a lab.
"""

from tennis.course.checking.plays import ON_BOARD, Plays
from tennis.course.checks import Inconclusive, InDoubt, Wrong
from tennis.course.labs import Lab, LabError, LabMatch
from tennis.course.work import Work, plan_of_match
from tennis.kit.checkout import ROOT
from tennis.kit.errors import RallyError, TennisError
from tennis.kit.units import format_count
from tennis.match.folder import MatchFolder, another, open_match
from tennis.match.plan import MatchPlan, ScheduledRally, parse_plan
from tennis.match.player import unversioned
from tennis.match.schedule import scheduled_rallies
from tennis.rally.text import plain


def whole_match(work: Work, *, boards: bool = True) -> MatchFolder:
    """Return a student's match, all of it and as it was asked for. Raises Wrong, Inconclusive.

    ``boards``: the class has some.
    """
    asked = _match(work.lab)
    try:
        match = open_match(work.folder / asked.name)
        expected = _planned(work)[1]  # even if the plan's file was changed
    except RallyError as error:
        raise Wrong(plain(str(error).replace(f"{work.folder}/", ""), 200)) from error
    except TennisError as error:
        raise Inconclusive(plain(str(error), 200)) from error
    if match.bench == "replay":
        raise Inconclusive("it was not played here: its bench is replay")
    if match.bench != "virtual" and not boards:
        raise InDoubt(f"it says that its bench is {match.bench}: this class has no boards")
    listed, expected_rallies = _unversioned(match.scheduled), _unversioned(expected)
    if [rally.name for rally in listed] != [rally.name for rally in expected_rallies]:
        raise Wrong("it was played with another plan than plan.toml of your folder")
    for ours, wanted in zip(listed, expected_rallies, strict=True):
        if ours != wanted:
            difference = _difference(ours, wanted)
            of_seed = difference == "protocol seed"
            seed = f", and your seed is {work.seed}" if of_seed else ""
            kind = InDoubt if of_seed else Wrong
            raise kind(
                f"{ours.name} was played with another {difference} than plan.toml of your folder "
                f"asks for{seed}"
            )
    lacking: list[str] = []
    for entry in expected:
        rally = match.rally(entry.name)
        if rally is None:
            lacking.append(f"{entry.name} {match.trouble(entry.name)}")
        elif difference := another(rally, entry):
            raise InDoubt(f"{entry.name} is another rally: its {difference}")
        elif rally.manifest.suspect or rally.manifest.ended != "complete":
            raise Inconclusive(f"{entry.name} is suspect, or was interrupted: play it again")
    if lacking:
        raise Wrong(
            f"{format_count(len(lacking), 'rally', 'rallies')} of it cannot be used: {lacking[0]}"
        )
    return match


def match_here(work: Work, plays: Plays | None, *, boards: bool) -> MatchFolder:
    """Return the match that answers are compared with: the marker's.

    The student's own if nothing is played, or if it is from a board, which nobody can play again.
    Raises as ``whole_match`` does, and TennisError.
    """
    match = whole_match(work, boards=boards)
    if plays is None or match.bench != "virtual":
        return match
    return plays.match(*_planned(work))


def compare_match(work: Work, plays: Plays, *, boards: bool) -> str:
    """Compare each rally of a student's match with the marker's; describe the comparison.

    Raises InDoubt, Inconclusive.
    """
    match, ours = whole_match(work, boards=boards), match_here(work, plays, boards=boards)
    if match.bench != "virtual":
        return f"played on the bench {match.bench}: {ON_BOARD}"
    for entry in ours.scheduled:
        rally, played = match.rally(entry.name), ours.rally(entry.name)
        if rally is None or played is None:
            why = match.trouble(entry.name) or f"{ours.trouble(entry.name)} here"
            raise Inconclusive(f"{entry.name} {why}")
        if found := plays.difference(rally, unversioned(entry.plan), played):
            raise InDoubt(found.replace(f"{work.folder}/", ""))
    return f"all {len(ours.scheduled)} rallies are what they were here"


def _unversioned(rallies: list[ScheduledRally]) -> list[ScheduledRally]:
    """Return rallies by their names, without the versions with which they were played."""
    asked = [rally.model_copy(update={"plan": unversioned(rally.plan)}) for rally in rallies]
    return sorted(asked, key=lambda rally: rally.name)


def _difference(ours: ScheduledRally, planned: ScheduledRally) -> str:
    """Name the first thing in which two planned rallies differ."""
    for of, what in (("protocol ", ours.plan.protocol), ("", ours.plan)):
        other = planned.plan.protocol if of else planned.plan
        for name, value in dict(what).items():
            if value != getattr(other, name):
                return of + name.replace("_", " ")
    return "kernel or repetition"


def _match(lab: Lab) -> LabMatch:
    if lab.match is None:
        raise LabError(f"lab {lab.slug} has no match")
    return lab.match


def _planned(work: Work) -> tuple[MatchPlan, list[ScheduledRally]]:
    text = plan_of_match(work.lab, work.answers.student, work.answers.number)
    plan = parse_plan(text.encode(), ROOT / _match(work.lab).plan)
    return plan, scheduled_rallies(plan, {}, ROOT / "plans")[0]
