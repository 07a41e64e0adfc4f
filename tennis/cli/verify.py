"""``tennis brickwall verify``: what a Brickwall says about delays that are known."""

import sys
from typing import Any, Literal

import click
from rich.table import Table

from tennis.cli.options import balls_option, port_option
from tennis.cli.tables import print_wide, table
from tennis.cli.words import aside, echo, echo_json
from tennis.kit.errors import UsageError
from tennis.kit.log import listening
from tennis.rally.text import plain


@click.command(short_help="Verify a Brickwall with known delays, ball by ball.")
@click.option(
    "--bench",
    type=click.Choice(["pi", "virtual"]),
    default="pi",
    show_default=True,
    help="The instrument: pi is a Brickwall on a port; virtual is its firmware on an emulated "
    "Pico, with its own generator on jumpers.",
)
@port_option("The Brickwall's serial port. [default: that of the only Pico]")
@click.option(
    "--generator-port",
    metavar="PORT",
    help="The port of a second Pico with the same firmware, which makes the delays in the "
    "target's place. Its GP6 is on the ping wire's far end, GP7 on the reply wire's, and "
    "grounds are joined.",
)
@click.option(
    "--source",
    type=click.Choice(["jumpers", "internal"]),
    default="jumpers",
    show_default=True,
    help="The connection of the Brickwall's own generator. jumpers: the far ends of the ping "
    "and the reply wire go to GP6 and GP7 instead of the target. internal: inside of the "
    "chip.",
)
@balls_option("How many balls of each delay. [default: 200; with --bench virtual: 20]")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object; times in ns.")
def verify(
    *,
    bench: Literal["pi", "virtual"],
    port: str | None,
    generator_port: str | None,
    source: Literal["jumpers", "internal"],
    balls: int | None,
    as_json: bool,
) -> None:
    """Verify a Brickwall with known delays, ball by ball, and keep a verification record.

    It plays the delays of the thesis' table 6.1, 25 delays from 2 ticks to 20 ms, and 5000 random
    ones. The verdict is pass, and the exit code 0, only if three things are true. The instrument
    alone, without wires and at half its clock, is right to the tick. Wires and pads delay all balls
    alike, by no more than such wires can. And no ball differs from the others by more than the
    rounding to ticks.

    A Pico alone verifies itself with its own clock, and its record says so. Graded work needs a
    record with a second Pico's delays (--generator-port): another crystal, any phase.

    \b
    Examples:
      tennis brickwall verify
      tennis brickwall verify --source internal --balls 1000
      tennis brickwall verify --port /dev/ttyACM0 --generator-port /dev/ttyACM1
      tennis brickwall verify --bench virtual --json
    """
    from tennis.bench.instruments.verifications import keep
    from tennis.play.verify import VerifyRequest

    if bench == "virtual" and (port or generator_port):
        raise UsageError("--port and --generator-port need --bench pi")
    if generator_port and source == "internal":
        raise UsageError("--source internal is the Brickwall's own generator: no --generator-port")
    with listening(lambda line: aside(f"verify: {line}")):
        verification, record = VerifyRequest(bench, port, generator_port, source, balls).verify()
    if as_json:
        echo_json(verification.as_json())
    else:
        if verification.points:
            print_wide(_table(verification))
        clock = f"{verification.hello.tick_hz} ticks a second, tolerance {verification.tolerance}"
        echo(f"Brickwall {verification.hello.unique_id}: {clock}.")
        echo(f"{verification.verdict}: {plain(verification.reason, 400)}")
    # last: the result is shown even if the disk is full
    path = keep(record)
    if path and not as_json:
        echo(f"verification record ({record.kind}): {path}")
        if record.verdict == "pass" and not record.independent:
            echo(
                "note: this Pico verified itself, with one crystal and at one phase. For graded "
                "work verify it with a second Pico: tennis brickwall verify --generator-port PORT"
            )
    if verification.verdict != "pass":
        sys.exit(1)


def _table(verification: Any) -> Table:
    """Return the points beside the errors of the thesis' instrument; all in microseconds."""
    columns = ["true", "error", "thesis"]
    if any(point.misses for point in verification.points):
        columns.append("missed")
    if any(point.wrong for point in verification.points):
        columns.append("wrong")
    kinds = ("interrupt", "scheduling")
    figures = [kind if row == "true" else row for kind in kinds for row in columns]
    made = table("µs", numbers=["balls", *figures], collapse=True)
    for interrupt, scheduling in zip(
        verification.points[::2], verification.points[1::2], strict=True
    ):
        cells = [_cells(point)[name] for point in (interrupt, scheduling) for name in columns]
        made.add_row(interrupt.what, str(interrupt.balls), *cells)
    return made


def _cells(point: Any) -> dict[str, str]:
    """Return a point's columns, for the ball with the largest error."""
    known, thesis = point.true_ns, point.thesis_error_us
    return {
        "true": "-" if known is None else f"{known / 1000:.3f}",
        "error": "-" if known is None else f"{(point.measured_ns - known) / 1000:+.3f}",
        "thesis": "" if thesis is None else f"{thesis:+.2f}",
        "missed": str(point.misses),
        "wrong": str(point.wrong),
    }
