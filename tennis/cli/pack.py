# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""``tennis pack``: a late ball as one file that somebody else can play again."""

from pathlib import Path

import click

from tennis.cli.completion import Folder
from tennis.cli.progress import watching
from tennis.cli.settings import setting_option
from tennis.cli.words import echo
from tennis.rally.text import plain, quoted
from tennis.units import format_count


@click.command()
@click.argument("rally", type=Folder(), metavar="RALLY")
@click.option(
    "--ball",
    type=int,
    required=True,
    help="The ball's number, as in `tennis explain`; the first is 0.",
)
@click.option("--kernel", metavar="DIR", help="The built tree, if the rally was played on one.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The zip file; it must not exist.  [default: RALLY-ball-N.zip]",
)
@setting_option("program", "The program that answered, if it was not a Racquet.")
def pack(
    rally: Path, *, ball: int, kernel: str | None, out: Path | None, program: Path | None
) -> None:
    """Pack a late ball of a RALLY for somebody else, who gets the same one bit for bit.

    The rally is played again up to this ball, and explained. The zip file holds the rally, the
    ball's moments and call stacks, a text for a mail (README.txt), and a script (replay.sh). The
    script needs only this kit: it fetches the kernel and plays the ball. Its exit code says whether
    the ball is the same. `tennis check FILE` does so without unpacking it.

    \b
    Examples:
      tennis pack first --ball 3923
      tennis pack first --ball 3923 --out late.zip
      tennis check late.zip
    """
    from tennis.play.packing import README, pack

    out = out or Path(f"{rally.resolve().name}-ball-{ball}.zip")
    with watching("pack") as watch:
        packed = pack(rally, ball, out, kernel=kernel, program=program, watch=watch)
    echo(packed.story.sentence)
    echo(f"{quoted(out)}: {-(-out.stat().st_size // 1000):,} kB. To play it again:")
    echo(f"  tennis check {quoted(out)}")
    echo("The text for a mail:")
    echo(f"  unzip -p {quoted(out)} '*/{README}'")
    if name := packed.rally.manifest.operator:
        echo(f"(it says who played: {plain(name, 80)})")
    if packed.changed:
        changed = plain(", ".join(packed.changed))
        echo(f"({format_count(len(packed.changed), 'version')} differ, with no effect: {changed})")
