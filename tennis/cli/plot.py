# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""``tennis plot``: pictures of a rally as files."""

from pathlib import Path
from typing import cast

import click

from tennis.cli.words import echo
from tennis.plots import KINDS
from tennis.plots.picture import Format
from tennis.rally import open_rally
from tennis.rally.disk import refuse_existing, write_whole, writing


@click.command()
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="Folder for the pictures; default: beside the rally, DIR-plots.",
)
@click.option(
    "--kind", "kinds", multiple=True, type=click.Choice(list(KINDS)), help="Default: all of them."
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
def plot(folder: Path, out: Path | None, kinds: tuple[str, ...], kind: str, *, force: bool) -> None:
    """Draw the rally in DIR and print the names of the pictures.

    \b
    Examples:
      tennis plot first
      tennis plot first --kind histogram --format png --out pictures
    """
    rally = open_rally(folder)
    out = out or folder.resolve().with_name(folder.resolve().name + "-plots")
    wanted = {name: out / f"{name}.{kind}" for name in kinds or KINDS}
    for path in wanted.values():
        refuse_existing(path, force=force)
    with writing(out):
        out.mkdir(parents=True, exist_ok=True)
    for name, path in wanted.items():
        write_whole(path, KINDS[name](rally).render(cast("Format", kind)), force=force)
    # only now: whoever reads the names may stop listening after the first
    for path in wanted.values():
        echo(path)
