# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""A lab's match: the plan with a student's seed, and whether a match is the one that was asked for.

A match has more rallies than anybody wants to play again for each student: some are, which follow
from the balls themselves, so that nobody knows them before the match is played.
"""

from tennis.checkout import ROOT
from tennis.course.checking.replays import chosen, play_again
from tennis.course.checks import Inconclusive, InDoubt, Wrong
from tennis.course.labs import Lab, LabError, LabMatch
from tennis.course.work import Work, plan_of_match
from tennis.errors import RallyError, TennisError
from tennis.match.folder import MatchFolder, another, open_match
from tennis.match.plan import ScheduledRally, parse_plan
from tennis.play.player import unversioned
from tennis.play.schedule import scheduled_rallies
from tennis.rally.folder import BALLS
from tennis.rally.text import plain
from tennis.units import format_count


def whole_match(work: Work) -> MatchFolder:
    """Return a student's match, all of it and as it was asked for. Raises Wrong, Inconclusive."""
    asked = _match(work.lab)
    try:
        match = open_match(work.folder / asked.name)
        expected = _expected(work)
    except RallyError as error:
        raise Wrong(plain(str(error).replace(f"{work.folder}/", ""), 200)) from error
    except TennisError as error:
        raise Inconclusive(plain(str(error), 200)) from error
    if match.bench == "replay":
        raise Inconclusive("it was not played here: its bench is replay")
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


def play_some_again(work: Work) -> list[str]:
    """Play some rallies of a match again; return their names. Raises as checks do."""
    match = whole_match(work)
    rallies = {rally.path.name: rally for rally in match.rallies()}
    balls = "".join(sorted(rally.manifest.files[BALLS] for rally in rallies.values()))
    names = chosen(balls, rallies, _match(work.lab).replays)
    play_again(work, match.bench, [rallies[name].path for name in names])
    return names


def _unversioned(rallies: list[ScheduledRally]) -> list[ScheduledRally]:
    """Return rallies by their names, without the versions with which they were played."""
    asked = [rally.model_copy(update={"plan": unversioned(rally.plan)}) for rally in rallies]
    return sorted(asked, key=lambda rally: rally.name)


def _difference(ours: ScheduledRally, wanted: ScheduledRally) -> str:
    """Name the first thing in which two planned rallies differ."""
    for of, what in (("protocol ", ours.plan.protocol), ("", ours.plan)):
        other = wanted.plan.protocol if of else wanted.plan
        for name, value in dict(what).items():
            if value != getattr(other, name):
                return of + name.replace("_", " ")
    return "kernel or repetition"


def _match(lab: Lab) -> LabMatch:
    if lab.match is None:
        raise LabError(f"lab {lab.slug} has no match")
    return lab.match


def _expected(work: Work) -> list[ScheduledRally]:
    """Return the rallies of the plan that the student was given, whatever its file says now."""
    text = plan_of_match(work.lab, work.answers.student, work.answers.number)
    plan = parse_plan(text.encode(), ROOT / _match(work.lab).plan)
    return scheduled_rallies(plan, {}, ROOT / "plans")[0]
