"""``tennis brickwall``: the instrument itself."""

import click

from tennis.cli.flash import flash
from tennis.cli.verify import verify


@click.group()
def brickwall() -> None:
    """Put the Brickwall's firmware onto a Pico, and verify it with known delays.

    \b
    Examples:
      tennis brickwall flash
      tennis brickwall verify
    """


brickwall.add_command(flash)
brickwall.add_command(verify)
