# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""``tennis doctor``: what works here, what does not, and what to do about it."""

import sys

import click
from rich.console import Console
from rich.text import Text

MARKS = {"good": ("ok  ", "green"), "note": ("note", "yellow"), "bad": ("BAD ", "bold red")}


@click.command()
def doctor() -> None:
    """Check this machine: say what works, what does not, and what to do about it.

    The exit code is 1 if a rally on the virtual bench cannot be played.
    """
    from tennis.play.doctor import examine  # noqa: PLC0415

    console = Console()
    bad = 0
    for finding in examine():
        bad += finding.verdict == "bad"
        mark, style = MARKS[finding.verdict]
        line = Text.assemble((mark, style), "  ", (f"{finding.what}: ", "bold"), finding.found)
        if finding.advice:
            line.append(f"\n      -> {finding.advice}", style)
        console.print(line, soft_wrap=True)
    if bad:
        console.print(f"\n{bad} to mend before a rally can be played here.")
        sys.exit(1)
    console.print("\nReady: tennis rally --kernel rt --load stress --out first")
