# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""``tennis demo``: the thesis' main result, on real kernels, without hardware."""

from pathlib import Path

import click
from rich.console import Console

from tennis.cli.progress import shown
from tennis.cli.stop import Stop
from tennis.cli.words import echo
from tennis.errors import BenchError
from tennis.listener import listening


@click.command()
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default="demo",
    show_default=True,
    help="The folder for the rallies and report.html.",
)
@click.option(
    "--balls",
    type=click.IntRange(1, 1_000_000),
    default=5000,
    show_default=True,
    help="A rally's balls.",
)
@click.option(
    "--seed", type=click.IntRange(0, 2**32 - 1), default=1, show_default=True, help="The seed."
)
def demo(out: Path, balls: int, seed: int) -> None:
    """Play mainline and PREEMPT_RT, idle and under stress, with and without priorities.

    A match without a plan's file: it prints the results beside the thesis' tables 7.2 to 7.4 and
    the verdicts, and writes report.html. The same command goes on with what was interrupted.

    \b
    Examples:
      tennis demo
      tennis demo --balls 20000 --out long-demo
    """
    from tennis.cli.thesis import print_thesis_table
    from tennis.cli.verdicts import print_verdicts
    from tennis.pages.match import write_match_report
    from tennis.pages.rally import thesis_table
    from tennis.play.demo import demonstration
    from tennis.play.match import play_match
    from tennis.replicate.verdicts import Replication

    console = Console()
    wanted = demonstration(balls, seed)
    count = len(wanted.scheduled)
    console.print(f"Playing {count} rallies of {balls:,} balls; every one boots its own kernel.")
    with listening(echo):
        outcome = play_match(wanted, out, shown, Stop())
    if outcome.interrupted:
        raise BenchError("interrupted; nothing is lost", next_step="run it again to play the rest")
    rallies = outcome.folder.rallies()
    if rallies:
        print_thesis_table(console, thesis_table(rallies), rallies[0].manifest.time_note)
    replication = Replication(outcome.folder)
    page = write_match_report(replication)
    print_verdicts(console, replication)
    echo(f"\nThe report with the pictures: {page}")
    if outcome.bad:
        name, why = next(iter(outcome.bad.items()))
        raise BenchError(
            f"{len(outcome.bad)} of {count} rallies are not sound, the first {name}: {why}; "
            f"move {out} away and run it again"
        )
