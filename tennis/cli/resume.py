# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""``tennis resume``: go on with what was interrupted."""

from pathlib import Path

import click

from tennis.cli import rally
from tennis.cli.completion import Folder, kernels
from tennis.cli.lab_folder import prediction_sealed
from tennis.cli.progress import quiet_option, shown
from tennis.cli.stop import Stop
from tennis.cli.words import warn
from tennis.listener import listening


@click.command()
@click.argument("folder", type=Folder(), metavar="DIR")
@click.option(
    "--kernel",
    metavar="DIR",
    shell_complete=kernels,
    help="The kernel tree that it was begun with. A tree that only the folder names is not built.",
)
@click.option(
    "--racquet",
    type=click.Path(path_type=Path),
    metavar="FILE.c",
    help="The Racquet of your own that it was begun with.",
)
@click.option("--port", metavar="PORT", help="The Brickwall's serial port, with a board.")
@click.option("--target", metavar="HOST", help="The board that it was begun on.")
@click.option(
    "--as",
    "holder",
    metavar="NAME",
    help="The player, for a --target with leases. [default: TENNIS_HOLDER, or USER@MACHINE]",
)
@quiet_option
def resume(
    folder: Path,
    *,
    kernel: str | None,
    racquet: Path | None,
    port: str | None,
    target: str | None,
    holder: str | None,
) -> None:
    """Continue a rally or a drill that was interrupted or killed, or whose disk got full.

    The plan is in the folder. Name again only what somebody else's folder must not decide: a kernel
    tree, a Racquet, a port, a board. To continue a sweep, a match or a comparison, repeat the
    command that began it.

    \b
    Examples:
      tennis resume rt-stress
      tennis resume on-the-board --target bench1
      tennis resume from-a-tree --kernel ../linux
    """
    from tennis.play import rally as player
    from tennis.play.planning import bench_again

    stop = Stop()
    plan = player.begun_plan(folder)
    tell, label = rally.tell, "rally"
    if plan.drill:
        from tennis.cli import drill

        tell, label = drill.tell, "drill"
    with listening(warn), shown(label) as observe, rally.ended_at_once(folder):
        bench = bench_again(
            folder, plan, kernel=kernel, racquet=racquet, port=port, target=target, holder=holder
        )
        with prediction_sealed(folder):
            played = player.resume(bench, folder, player.Watch(observe, stop))
    tell(played)
