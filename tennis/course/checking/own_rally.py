# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""A student's own Racquet, or program, in a rally: judged by the rally that the marker plays.

What a student's folder holds shows that it was played. A Racquet that answers there, and not where
it is marked, answers nothing: its own play is the one that counts, beside one of the kit's Racquet
on the same machine, so that a machine in trouble accuses nobody. The same play shows who raised and
lowered the line, so that no Racquet answers in one way on trial and in another in its rally.
"""

from tennis.course.checking.played_here import PlayedHere
from tennis.course.checks import Inconclusive, Wrong, expect
from tennis.course.work import Work
from tennis.errors import BenchError, NotBuiltError
from tennis.rally import Rally
from tennis.rally.text import plain
from tennis.units import format_count

LOST_PERCENT = 1  # of the balls may be lost, as a kernel under load may lose one


def own_rally(work: Work, own: str, beside: str) -> Rally:
    """Return the rally of a student's Racquet, or program, of which each ball was answered once.

    ``own``, ``beside``: names of the lab's rallies, the second one with the kit's Racquet, or a
    program of the lab's. Raises Wrong where the student's fails, Inconclusive where the other does,
    too, BenchError where this machine plays neither.
    """
    rally, said = None, ""
    is_program = next(one for one in work.lab.rallies if one.name == own).program is not None
    what = "program" if is_program else "Racquet"
    try:
        rally = work.rallies[own]
    except NotBuiltError as error:
        raise Wrong(f"it is not built: {plain(str(error), 200)}") from error
    except BenchError as error:
        said = plain(str(error).replace(f"{work.folder}/", ""), 200)
    if rally is None:  # not within the handler: what follows is no fault of this machine
        _refuse_trouble(work, beside, what)
        raise Wrong(f"with your {what} the rally ends, with the kit's it does not: {said}")
    manifest = rally.manifest
    if manifest.suspect or manifest.ended != "complete":
        _refuse_trouble(work, beside, what)
        why = plain(manifest.faults[0].message, 200) if manifest.faults else manifest.ended
        raise Wrong(f"with your {what} the rally fails: {why}")
    counts = manifest.counts
    for lost, how in (
        (counts.misses, "not answered"),
        (counts.doubles, "answered twice"),
        (counts.strays, "answers without a ping"),
    ):
        expect(
            lost * 100 <= LOST_PERCENT * rally.balls,
            f"{lost} of {format_count(rally.balls, 'ball')}: {how}",
        )
    if isinstance(work.rallies, PlayedHere):
        expect(not (wrong := work.rallies.misplayed(own)), f"in the rally {wrong}")
    return rally


def _refuse_trouble(work: Work, beside: str, what: str) -> None:
    """Raise Inconclusive or BenchError where the kit's Racquet or program does not play, either."""
    if work.rallies[beside].manifest.suspect:
        raise Inconclusive(f"{beside}, with the kit's {what}, is suspect here, too")
