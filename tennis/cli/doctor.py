# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""``tennis doctor``: what works here, what does not, and what to do about it."""

import sys

import click
from rich.console import Console
from rich.text import Text

MARKS = {"good": ("ok  ", "green"), "note": ("note", "yellow"), "bad": ("BAD ", "bold red")}


@click.command()
@click.option(
    "--port",
    metavar="PORT",
    help="Look at the Brickwall on this port, and its wires, and at nothing else.",
)
def doctor(port: str | None) -> None:
    """Check this machine: say what works, what does not, and what to do about it.

    Picos that are plugged in are looked at, too: MicroPython, firmware, clock, certificate, wires.
    With a loop-back plug in place of the target, a dead ping wire is told from a dead reply wire.
    The exit code is 1 if a rally cannot be played on the virtual bench; with `--port`, there.

    \b
    Examples:
      tennis doctor
      tennis doctor --port /dev/ttyACM0
    """
    from tennis.play.doctor import examine  # noqa: PLC0415

    console = Console()
    bad = 0
    for finding in examine(port):
        bad += finding.verdict == "bad"
        mark, style = MARKS[finding.verdict]
        line = Text.assemble((mark, style), "  ", (f"{finding.what}: ", "bold"), finding.found)
        if finding.advice:
            line.append(f"\n      -> {finding.advice}", style)
        console.print(line, soft_wrap=True)
    if bad:
        console.print(f"\n{bad} to mend before a rally can be played here.")
        sys.exit(1)
    rally = f"--bench pi --port {port}" if port else "--kernel rt --load stress"
    console.print(f"\nReady: tennis rally {rally} --out first", markup=False, soft_wrap=True)
