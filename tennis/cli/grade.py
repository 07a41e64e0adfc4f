# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""``tennis grade``: mark what a class handed in."""

import os
from datetime import UTC, datetime
from pathlib import Path

import click

from tennis.cli.completion import Folder
from tennis.cli.numbers import Whole
from tennis.cli.stop import Stop
from tennis.cli.words import echo
from tennis.errors import UsageError
from tennis.listener import listening
from tennis.rally.text import plain, quoted
from tennis.units import format_count


def _time(text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        when = datetime.fromisoformat(text)
    except ValueError as error:
        raise UsageError(
            f"--deadline {plain(text, 40)}", next_step="write it as 2026-12-01T18:00"
        ) from error
    return when.astimezone(UTC)


@click.command()
@click.argument("submissions", type=Folder(), metavar="DIR")
@click.option("--lab", "number", required=True, metavar="LAB", help="Which lab it is: 01.")
@click.option(
    "--out",
    type=Folder(),
    metavar="DIR",
    help="Where marks and pages go; grading again goes on there. [default: DIR-marks]",
)
@click.option(
    "--replay/--no-replay",
    default=True,
    help="Play every rally of the virtual bench again, tick for tick, and run every notebook in "
    "a box. [default: --replay]",
)
@click.option(
    "--workers",
    type=Whole(1, 64),
    default=None,
    help="So many hand-ins at once. [default: as many as there are processors]",
)
@click.option(
    "--deadline", metavar="TIME", help="Whose file is later is late, by this machine's time."
)
def grade(
    submissions: Path,
    number: str,
    out: Path | None,
    replay: bool,
    workers: int | None,
    deadline: str | None,
) -> None:
    """Mark a folder of zip files that `tennis lab submit` made.

    OUT/class.html is yours: what to look at first, points by question and student. OUT/feedback
    has a page for each student, OUT/marks.csv is for a gradebook. Texts are read by a person: put
    points and words into OUT/marks.toml, and run this again; nothing in it is overwritten.

    \b
    Examples:
      tennis grade handed-in --lab 01
      tennis grade handed-in --lab 01 --no-replay --workers 4
      tennis grade handed-in --lab 01 --deadline 2026-12-01T18:00 --out marks-01
    """
    from tennis.course import grades, grading, work

    lab = work.find_lab(number)
    when = _time(deadline)
    with listening(lambda line: echo(f"tennis: {line}", err=True)):
        paths = grading.files(submissions)
    out = out or submissions.with_name(f"{submissions.resolve().name}-marks")
    if out.resolve() == submissions.resolve():
        raise UsageError("--out is the folder of the hand-ins", next_step="choose another")
    people = grading.read_sheet(out, lab)

    def observe(done: int, of: int, name: str) -> None:
        echo(f"tennis: {done} of {of}: {plain(name, 60)}", err=True)

    with listening(lambda line: echo(f"tennis: {line}", err=True)):
        graded = grading.grade(
            paths,
            lab,
            out,
            root=submissions,
            replays=replay,
            workers=workers or len(os.sched_getaffinity(0)),
            deadline=when,
            observe=observe,
            stop=Stop(),
        )
    grading.write_sheet(out, lab, graded, people)
    marked = grading.marked(graded, people)
    grades.write(out, lab, marked)
    refused = sum(bool(one.refused) for one in graded)
    waiting = sum(len(one.open) for one in marked)
    same = grading.equals(graded)
    echo(
        f"{format_count(len(graded), 'hand-in')}, {refused} that could not be marked, "
        f"{format_count(waiting, 'answer')} to be read: {quoted(out / grading.SHEET)}"
    )
    for words in same:
        echo(f"the same in two hand-ins: {words}")
    echo(f"look at {quoted(out / grades.CLASS)}")
