"""``tennis brickwall flash``: put the Brickwall's firmware onto a Pico."""

import click

from tennis.cli.options import port_option
from tennis.cli.words import aside, echo
from tennis.kit.log import listening


@click.command(short_help="Put this checkout's firmware onto a Pico.")
@port_option()
@click.option(
    "--remove-others",
    is_flag=True,
    help="Remove other Python files from the Pico; without this option, flash refuses.",
)
def flash(port: str | None, *, remove_others: bool) -> None:
    """Put this checkout's firmware onto a Pico that has MicroPython, and check that it runs.

    Files that the Pico has already are not written again. If the Pico has no MicroPython, the
    command does not flash it, and tells you how to install MicroPython.

    \b
    Examples:
      tennis brickwall flash
      tennis brickwall flash --port /dev/ttyACM1
    """
    from tennis.bench.instruments.flash import flash as put

    with listening(lambda line: aside(f"flash: {line}")):
        hello = put(port, remove_others=remove_others)
    echo(
        f"Brickwall {hello.unique_id} ({hello.board}, MicroPython {hello.micropython}) runs "
        f"firmware {hello.firmware_sha256[:12]}; now: tennis doctor, then tennis brickwall verify"
    )
