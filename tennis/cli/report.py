# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""``tennis report``: one HTML page about one or more rallies."""

from pathlib import Path

import click

from tennis.cli.completion import Folder
from tennis.cli.words import echo
from tennis.pages.rally import write_report
from tennis.rally import open_rally
from tennis.rally.disk import refuse_existing


@click.command()
@click.argument("folders", metavar="DIR...", nargs=-1, required=True, type=Folder())
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("report.html"),
    show_default=True,
    help="The page to write.",
)
@click.option("--force", is_flag=True, help="Overwrite a page that exists.")
def report(folders: tuple[Path, ...], out: Path, *, force: bool) -> None:
    """Write one self-contained HTML page about the rallies in DIR...

    \b
    Examples:
      tennis report first
      tennis report mainline-stress rt-stress --out compared.html
    """
    refuse_existing(out, force=force)
    write_report([open_rally(folder) for folder in folders], out, force=force)
    echo(out)
