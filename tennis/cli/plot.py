# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""``tennis plot``: pictures of rallies as files."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import click

from tennis.cli.completion import Folder
from tennis.cli.words import echo
from tennis.errors import UsageError
from tennis.plots import KINDS, TOGETHER
from tennis.plots.picture import Format
from tennis.rally import open_rally
from tennis.rally.disk import refuse_existing, write_whole, writing

MAX = 16  # rows that one picture can hold


@click.command()
@click.argument("folders", metavar="DIR...", nargs=-1, required=True, type=Folder())
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="Folder for the pictures; default: beside the rally, DIR-plots, or for several rallies "
    "plots, here.",
)
@click.option(
    "--kind",
    "kinds",
    multiple=True,
    type=click.Choice(list(dict.fromkeys((*KINDS, *TOGETHER)))),
    help="May be repeated. Of one rally there are histogram, distribution and series, of several "
    "overview, histogram and distribution.  [default: all of them]",
)
@click.option(
    "--format",
    "kind",
    type=click.Choice(["svg", "png"]),
    default="svg",
    show_default=True,
    help="The pictures' file format.",
)
@click.option("--force", is_flag=True, help="Overwrite pictures that exist.")
def plot(
    folders: tuple[Path, ...], out: Path | None, kinds: tuple[str, ...], kind: str, *, force: bool
) -> None:
    """Draw the rally in DIR, or several on common axes, and print the names of the pictures.

    \b
    Examples:
      tennis plot first
      tennis plot first --kind histogram --format png --out pictures
      tennis plot mainline-stress rt-stress --out side-by-side
    """
    several = len(folders) > 1
    possible: Mapping[str, Any] = TOGETHER if several else KINDS
    if len(folders) > MAX:
        raise UsageError(f"{len(folders)} rallies are too many for one picture: at most {MAX}")
    for name in kinds:
        if name not in possible:
            of = "several rallies" if several else "one rally"
            raise UsageError(f"--kind {name}: of {of} there are {', '.join(possible)}")
    rallies = [open_rally(folder) for folder in folders]
    path = folders[0].resolve()
    out = out or (Path("plots") if several else path.with_name(path.name + "-plots"))
    wanted = {name: out / f"{name}.{kind}" for name in kinds or possible}
    for path in wanted.values():
        refuse_existing(path, force=force)
    with writing(out):
        out.mkdir(parents=True, exist_ok=True)
    for name, path in wanted.items():
        picture = TOGETHER[name](rallies) if several else KINDS[name](rallies[0])
        write_whole(path, picture.render(cast("Format", kind)), force=force)
    # only now: whoever reads the names may stop listening after the first
    for path in wanted.values():
        echo(path)
