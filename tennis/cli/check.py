# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""``tennis check``: play a rally again, and compare."""

from pathlib import Path

import click

from tennis.cli.completion import Folder
from tennis.cli.progress import quiet_option, shown
from tennis.cli.stop import Stop
from tennis.cli.words import echo
from tennis.rally.text import plain, quoted
from tennis.units import format_count


@click.command()
@click.argument("folder", type=Folder(), metavar="DIR")
@click.option(
    "--kernel",
    metavar="DIR",
    help="The kernel tree that it was played on. A tree that only the folder names is not built.",
)
@click.option(
    "--racquet",
    type=click.Path(path_type=Path),
    metavar="FILE.c",
    help="The Racquet that it was played with, if it was not the kit's.",
)
@quiet_option
def check(folder: Path, *, kernel: str | None, racquet: Path | None) -> None:
    """Play a rally or a drill of the virtual bench again, and compare.

    Is it what it claims to be? Every ball, event and file is compared, or named as not compared. (A
    hash in the folder shows only damage.) The exit code is 1 if anything differs.

    \b
    Examples:
      tennis check from-a-student
      tennis check own-kernel --kernel ../linux
    """
    from tennis.play import checking
    from tennis.play.rally import Watch

    with shown("check") as observe:
        watch = Watch(observe, Stop())
        checked = checking.check_rally(folder, kernel=kernel, racquet=racquet, watch=watch)
    echo(
        f"{quoted(folder)} is what it claims to be: {format_count(checked.balls, 'ball')} "
        "played again, every tick the same, and so is all else that was compared"
    )
    for what in checked.not_compared:
        echo(f"(not compared: {what})")
    if checked.changed:
        echo(f"(versions differ, with no effect: {plain(', '.join(checked.changed))})")
