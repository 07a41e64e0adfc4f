"""``tennis check``: play a rally again, and compare."""

from pathlib import Path

import click

from tennis.cli.completion import Folder
from tennis.cli.progress import watching
from tennis.cli.settings import played_kernel_option, setting_option
from tennis.cli.words import echo
from tennis.rally.text import plain, quoted


@click.command()
@click.argument("folder", type=Folder(), metavar="DIR")
@played_kernel_option
@setting_option("racquet", "The Racquet that it was played with, if it was not the kit's.")
@setting_option("program", "The program that answered, if it was not a Racquet.")
def check(folder: Path, *, kernel: str | None, racquet: Path | None, program: Path | None) -> None:
    """Play a rally or a drill of the virtual bench again, and compare.

    Is it what it claims to be? Every ball, event and file is compared, or named as not compared. (A
    hash in the folder shows only damage.) The exit code is 1 if anything differs.

    \b
    Examples:
      tennis check from-a-student
      tennis check own-kernel --kernel ../linux
    """
    from tennis.play.check import check_rally

    with watching("check", lambda _: None) as watch:
        checked = check_rally(folder, kernel=kernel, racquet=racquet, program=program, watch=watch)
    echo(
        f"{quoted(folder)} is what it claims to be: {checked.again} played again, every tick the "
        "same, and so is all else that was compared"
    )
    for what in checked.not_compared:
        echo(f"(not compared: {what})")
    if checked.changed:
        echo(f"(versions differ, with no effect: {plain(', '.join(checked.changed))})")
