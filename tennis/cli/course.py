# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""``tennis course``: what those who teach prepare."""

from pathlib import Path

import click

from tennis.cli.completion import Folder
from tennis.cli.options import balls_option
from tennis.cli.progress import watching
from tennis.cli.release import release
from tennis.cli.words import echo, warn
from tennis.rally.text import quoted
from tennis.units import format_count


@click.group()
def course() -> None:
    """Prepare the course: the students' tree, and the labs' rallies to be replayed.

    \b
    Examples:
      tennis course release student --out ../tennis-2026
      tennis course record --out recorded
    """


course.add_command(release)


@course.command(short_help="Give this class seeds of its own.")
@click.option("--force", is_flag=True, help="Write another nonce in place of the one there is.")
def nonce(*, force: bool) -> None:
    """Write a nonce into labs/course.toml: with it, last year's rallies have other seeds.

    Run it once, before you release the students' tree, which has the nonce then.

    \b
    Examples:
      tennis course nonce
      tennis course release student --out ../tennis-2026
    """
    from tennis.course.authoring.nonce import write_nonce
    from tennis.course.labs import COURSE, LABS

    written = write_nonce(force=force)
    echo(f"{quoted(LABS / COURSE)}: the nonce is {written}; release the students' tree now")


@course.command(short_help="Play the labs' rallies once, to be replayed.")
@click.option(
    "--out", type=Folder(), required=True, help="The folder for them, with a folder for each lab."
)
@click.option("--lab", "number", metavar="LAB", help="Only this one. [default: all]")
@balls_option("Fewer balls than a lab asks for.", most=10**7)
def record(out: Path, number: str | None, balls: int | None) -> None:
    """Play the labs' rallies with the course's own seed, for sessions without a working bench.

    Rallies that are there already stay. After Ctrl-C, the same command continues.

    \b
    Examples:
      tennis course record --out recorded
      tennis course record --lab 04 --out recorded
      tennis replay recorded/04-under-load/mainline-stress --out mainline-stress
    """
    from tennis.course import work
    from tennis.course.authoring import recording
    from tennis.course.labs import every_lab

    labs = [work.find_lab(number)] if number else every_lab()
    with watching("course", lambda _: None) as watch:
        played = sum(
            recording.record(lab, out, balls=balls, watch=watch, tell=warn) for lab in labs
        )
    there = sum(len(lab.to_play) for lab in labs)
    echo(f"{quoted(out)}: {format_count(there, 'rally', 'rallies')}, {played} of them played now")
