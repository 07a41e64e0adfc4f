# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""``tennis brickwall listen``: what comes on the reply wire while nobody serves."""

import json

import click
import numpy as np
from numpy.typing import NDArray

from tennis.cli.numbers import Whole
from tennis.cli.options import port_option
from tennis.cli.stop import Stop
from tennis.cli.words import aside, echo
from tennis.errors import BenchError
from tennis.listener import listening
from tennis.units import format_count, format_ns


@click.command(short_help="Listen to the reply wire, and say what pulses come.")
@port_option()
@click.option(
    "--seconds",
    type=click.FloatRange(0.1, 3600),
    default=5.0,
    show_default=True,
    help="How long to listen. Ctrl-C ends it earlier.",
)
@click.option(
    "--pulses", type=Whole(1, 10_000_000), help="End after this many pulses. [default: 10,000,000]"
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object; times in ns.")
def listen(port: str | None, seconds: float, pulses: int | None, *, as_json: bool) -> None:
    """Listen to the reply wire, serve nothing, and show the pulses that come.

    Use it for a first look at a target or a wire: do pulses come, how long are they, and how often?
    The times are exact to a tick of the instrument's clock. The exit code is 1 if nothing came.

    \b
    Examples:
      tennis brickwall listen
      tennis brickwall listen --port /dev/ttyACM1 --seconds 60 --json
    """
    from tennis.play.listening import PULSES_MAX
    from tennis.play.listening import listen as hear

    with listening(lambda line: aside(f"listen: {line}")):
        heard = hear(port, seconds, Stop(), pulses or PULSES_MAX)
    widths, periods = heard.widths_ns(), heard.periods_ns()
    if as_json:
        said = {
            "pulses": heard.pulses,
            "runts": heard.runts,
            "tick_hz": heard.tick_hz,
            "ended": heard.reason,
            "width_ns": _figures(widths),
            "period_ns": _figures(periods),
        }
        echo(json.dumps(said))
    else:
        echo(f"{format_count(heard.pulses, 'pulse')} on the reply wire, {heard.runts} of one tick")
        for name, times in (("long", widths), ("from rise to rise", periods)):
            if times.size:
                least, median, most = (format_ns(int(ns)) for ns in _three(times))
                echo(f"{median} {name} at the median, {least} to {most}")
    if not heard.pulses:
        raise BenchError(
            f"no pulse came within {seconds:g} s", next_step="`tennis doctor` looks at the wires"
        )
    if heard.reason == "instrument_fault":
        raise BenchError("pulses came faster than the Brickwall can store: some are missing")


def _three(times: NDArray[np.int64]) -> tuple[int, int, int]:
    """Return the least, the median (a value that came) and the most."""
    ordered = np.sort(times)
    return int(ordered[0]), int(ordered[(ordered.size - 1) // 2]), int(ordered[-1])


def _figures(times: NDArray[np.int64]) -> dict[str, int] | None:
    return dict(zip(("min", "median", "max"), _three(times), strict=True)) if times.size else None
