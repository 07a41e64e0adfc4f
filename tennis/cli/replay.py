"""``tennis replay``: a recorded rally, as if it were live."""

from pathlib import Path

import click

from tennis.cli import rally
from tennis.cli.completion import Folder
from tennis.cli.lab_folder import out_option
from tennis.cli.numbers import Real
from tennis.cli.progress import watching
from tennis.cli.words import warn


@click.command()
@click.argument("recording", type=Folder(), metavar="DIR")
@click.option(
    "--speed",
    type=Real(0.1, 1e6),
    default=1.0,
    show_default=True,
    help="The speed; 2 takes half of the time.",
)
@out_option("The rally's folder; it must not exist.", required=True)
def replay(recording: Path, *, speed: float, out: Path) -> None:
    """Play the recorded rally DIR as if it were live, for a session without a working bench.

    Kernel, load and balls are those of the recording, and the new folder says so.

    \b
    Examples:
      tennis replay recorded/04-under-load/mainline-stress --out mainline-stress
      tennis replay recorded --speed 10 --out again
    """
    from tennis.play import rally as player
    from tennis.play.planning import replay_of

    with watching(say=warn) as watch:
        bench, plan = replay_of(recording, speed)
        played = player.play(bench, plan, out, watch)
    rally.tell(played)
