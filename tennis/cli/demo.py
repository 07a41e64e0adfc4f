# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""``tennis demo``: the thesis' main result, on real kernels, without hardware."""

from pathlib import Path

import click
from rich.console import Console

from tennis.cli.progress import shown
from tennis.cli.stop import Stop
from tennis.errors import BenchError


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

    Prints the results beside the thesis' tables 7.2 to 7.4 and writes report.html. Rallies that an
    earlier run finished with the same versions are kept; remove the folder to play anew.

    \b
    Examples:
      tennis demo
      tennis demo --balls 20000 --out long-demo
    """
    from tennis.cli.thesis import print_thesis_table  # noqa: PLC0415
    from tennis.play.demo import demo as play_demo  # noqa: PLC0415
    from tennis.play.demo import plans, story  # noqa: PLC0415
    from tennis.play.report import thesis_table  # noqa: PLC0415

    console = Console()
    wanted = plans(balls, seed)
    count = len(wanted)
    console.print(f"Playing {count} rallies of {balls:,} balls; every one boots its own kernel.")
    stop = Stop()
    rallies, report = play_demo(out, wanted, shown, stop, click.echo)
    rows = thesis_table(rallies)
    print_thesis_table(console, rows, rallies[0].manifest.time_note)
    for line in story(rows):
        console.print(f"- {line}", highlight=False)
    console.print(f"\nThe report with the pictures: {report}", soft_wrap=True)
    tainted = [rally for rally in rallies if rally.manifest.tainted]
    if tainted:
        raise BenchError(
            f"{len(tainted)} of {count} rallies are tainted, the first {tainted[0].path}: "
            f"{tainted[0].manifest.faults[0].message}; run it again to play them anew"
        )
    if len(rallies) < count:
        raise BenchError("interrupted: run it again to play the rest")
