"""``tennis resume``: continue an interrupted rally or sweep."""

from pathlib import Path

import click

from tennis.cli import rally
from tennis.cli.completion import Folder
from tennis.cli.lab_folder import seal
from tennis.cli.progress import watching
from tennis.cli.settings import played_kernel_option, setting_option
from tennis.cli.words import warn


@click.command()
@click.argument("folder", type=Folder(), metavar="DIR", callback=seal)
@played_kernel_option
@setting_option("racquet", "The Racquet of your own that it was begun with.")
@setting_option("program", "The program of your own that it was begun with.")
@setting_option("port", "The Brickwall's serial port, with a board.")
@setting_option("target", "The board that it was begun on.")
def resume(
    folder: Path,
    *,
    kernel: str | None,
    racquet: Path | None,
    program: Path | None,
    port: str | None,
    target: str | None,
) -> None:
    """Continue a rally or a drill that was interrupted or killed, or whose disk was full.

    The plan is in the folder. Name again only what somebody else's folder must not decide: a kernel
    tree, a Racquet, a program, a port, a board. To continue a sweep, a match or a comparison,
    repeat the command that began it.

    \b
    Examples:
      tennis resume rt-stress
      tennis resume on-the-board --target bench1
      tennis resume from-a-tree --kernel ../linux
    """
    from tennis.play import rally as player
    from tennis.play.planning import bench_again

    plan = player.begun_plan(folder)
    tell, label = rally.tell, "rally"
    if plan.drill:
        from tennis.cli import drill

        tell, label = drill.tell, "drill"
    with watching(label, warn) as watch:
        bench = bench_again(
            folder, plan, kernel=kernel, racquet=racquet, program=program, port=port, target=target
        )
        played = player.resume(bench, folder, watch)
    tell(played)
