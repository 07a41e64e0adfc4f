"""``tennis demo``: the thesis' main result, on real kernels, without hardware."""

from pathlib import Path

import click
from rich.console import Console
from rich.text import Text

from tennis.cli.numbers import Whole
from tennis.cli.options import balls_option, workers_option
from tennis.cli.progress import progress_line
from tennis.cli.stop import Stop
from tennis.cli.words import echo
from tennis.kit.errors import BenchError
from tennis.kit.log import listening

PICTURE = "overview.png"
MACHINES = (
    "The thesis' machine was a 520 MHz PXA270 with Linux 2.6.25: compare who is earlier, and by "
    "which order of magnitude, never microseconds."
)


@click.command()
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default="demo",
    show_default=True,
    help="The folder for the rallies and report.html.",
)
@balls_option(
    "How many balls to play in each boot; a cycle of stress takes some 5,000.", default=6000
)
@click.option(
    "--boots",
    type=Whole(1, 1000),
    metavar="COUNT",
    default=10,
    show_default=True,
    help="How many boots of each kernel to play for each load; a verdict needs ten.",
)
@workers_option("How many rallies to play at once.")
def demo(out: Path, balls: int, boots: int, workers: int) -> None:
    """Play mainline and PREEMPT_RT, idle and under stress, and show the result.

    PREEMPT_RT is played as the thesis had it: the handler forced into a thread, the answering
    threads with priorities. Under stress it also plays a driver as people write it today: it asks
    for its thread itself. It plays ten boots of each, in eight minutes on two idle cores. It ends
    with the story in a few lines, and writes report.html. The same command continues after an
    interruption. A table shows what is known so far, from the first boots on. A verdict needs ten
    boots, so it does not end earlier.

    \b
    Examples:
      tennis demo
      tennis demo --boots 20 --out long-demo
    """
    from tennis.cli.so_far import figures_so_far
    from tennis.cli.story import print_story
    from tennis.match.demo import demonstration
    from tennis.match.workers import Workers
    from tennis.play.printed import as_printed
    from tennis.rally.disk import write_whole
    from tennis.replicate.match_page import write_match_report
    from tennis.replicate.story import cells, story
    from tennis.replicate.verdicts import Replication
    from tennis.report.pictures import drawing

    console = Console(highlight=False)
    wanted = demonstration(balls, boots)
    count = len(wanted.scheduled)
    console.print(f"Playing {count} rallies of {balls:,} balls; every one boots its own kernel.")
    # a single worker is this process, and shows each rally's balls
    with figures_so_far(out, boots, count // boots, live=workers > 1) as tell, listening(tell):
        outcome = wanted.play(out, progress_line, Stop(), Workers(workers) if workers > 1 else None)
    if outcome.interrupted:
        raise BenchError("interrupted; nothing is lost", next_step="run it again to play the rest")
    replication = Replication(outcome.folder)
    page = write_match_report(replication)
    played = cells(replication)
    if played and (picture := drawing("compare:overview")(played)):
        write_whole(out / PICTURE, picture.render("png"), force=True)
    told = story(replication)
    if told:
        print_story(console, told, out)
        note = f"{replication.match.bench} bench: {replication.match.time_note}"
        console.print(Text(f"\n{note[:1].upper()}{note[1:]}. {MACHINES}", style="dim"))
    echo(f"\nThe picture, the verdicts and their reasons: {page}")
    if same := as_printed(outcome.folder.rallies()):
        echo(f"As in the README: {same}")
    if outcome.bad:
        name, why = next(iter(outcome.bad.items()))
        raise BenchError(
            f"{len(outcome.bad)} of {count} rallies are not sound, the first {name}: {why}",
            next_step=f"move {out} away and run it again",
        )
