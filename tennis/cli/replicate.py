# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""``tennis replicate``: a match against what was published."""

import json
from pathlib import Path

import click
from rich.console import Console

from tennis.cli.words import echo
from tennis.errors import RallyError
from tennis.rally.disk import refuse_existing


@click.command()
@click.argument("folder", metavar="MATCH", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
@click.option(
    "--out", type=click.Path(path_type=Path), metavar="FILE", help="Also write the HTML report."
)
@click.option("--force", is_flag=True, help="Overwrite a report that exists.")
def replicate(folder: Path, out: Path | None, *, as_json: bool, force: bool) -> None:
    """Say of each published claim and figure what the match in the folder MATCH shows.

    A verdict is confirmed, contradicted, inconclusive (with what to play to decide it) or not
    addressed (with the reason), and stands with its numbers, intervals and N.

    \b
    Examples:
      tennis replicate quick
      tennis replicate quick --json
      tennis replicate quick --out verdicts.html
    """
    from tennis.cli.verdicts import print_verdicts
    from tennis.match.folder import open_match
    from tennis.pages.match import write_match_report
    from tennis.replicate.verdicts import Replication

    if out is not None:
        refuse_existing(out, force=force)
    replication = Replication(open_match(folder))
    if as_json:
        echo(json.dumps(replication.as_json(), indent=2, allow_nan=False))
    else:
        print_verdicts(Console(), replication, every=True)
    if out is not None:
        write_match_report(replication, out, force=force)
        echo(out, err=as_json)
    damaged = replication.match.damaged()
    if damaged:
        name, why = next(iter(damaged.items()))
        count = len(damaged)
        raise RallyError(
            f"{count} of the match's rallies cannot be used, the first: {name} {why}"
            if count > 1
            else f"a rally of the match cannot be used: {name} {why}"
        )
