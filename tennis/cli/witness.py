# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""``tennis witness``: what a witness inside the target saw, beside what the Brickwall saw."""

from functools import partial
from pathlib import Path

import click
from rich.console import Console
from rich.text import Text

from tennis.cli.completion import Folder
from tennis.cli.progress import watching
from tennis.cli.tables import latency_rows, table
from tennis.cli.words import echo_json, print_line
from tennis.explain.witness import InsideAndOutside, Sight
from tennis.play.remedy_trial import Tried
from tennis.rally.text import plain, quoted
from tennis.units import format_count, format_ns


@click.command()
@click.argument("rally", metavar="RALLY", type=Folder())
@click.option(
    "--cost",
    is_flag=True,
    help="Play the same seed without the witness, beside RALLY, and show what the witness cost.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object; times in ns.")
def witness(rally: Path, *, cost: bool, as_json: bool) -> None:
    """Show what a witness inside the target saw, beside what the Brickwall saw.

    RALLY was played with --witness: cyclictest, timerlat or osnoise. The command shows both
    distributions, and how many of the latest balls the witness saw, too. With --cost it also shows
    the witness's own cost.

    \b
    Examples:
      tennis rally --kernel rt --load stress --witness cyclictest --out inside
      tennis witness inside
      tennis witness inside --cost
    """
    from tennis.explain.witness import compare as compared
    from tennis.play.remedy_trial import try_setting
    from tennis.rally import open_rally

    opened = open_rally(rally)
    comparison = compared(opened)
    tried = None
    if cost:
        with watching("witness") as watch:
            tried = try_setting(opened, ["witness=none"], over_ns=None, boots=1, watch=watch)
    if as_json:
        content = comparison.as_json()
        if tried:
            content["cost"] = {
                "over_ns": tried.over_ns,
                "late_with": tried.late_before,
                "late_without": tried.late_after,
                "without": str(tried.after.path),
            }
        echo_json(content)
        return
    _print(comparison, tried)


def _print(comparison: InsideAndOutside, tried: Tried | None) -> None:
    console = Console(highlight=False)
    line = partial(print_line, console)
    seen = table("", numbers=("N", "median", "99 %", "99.9 %", "latest"))
    for one in comparison.distributions:
        times = (one.format_time(ns) for ns in (*one.levels, one.latest))
        seen.add_row(one.name, f"{one.count:,}", *times)
    console.print(seen)
    for sight in comparison.sights:
        line(_sentence(sight))
    line("")
    if tried:
        _print_cost(console, tried)
    else:
        path = quoted(comparison.rally.path)
        line(f"What the witness itself costs: tennis witness {path} --cost", "dim")
    line(plain(comparison.rally.manifest.time_note, 80), "dim")


def _sentence(sight: Sight) -> str:
    balls = format_count(sight.late, "latest ball", "latest balls")
    return (
        f"{sight.kind} saw {sight.seen:,} of the {balls} (over {format_ns(sight.late_over)}, ping "
        f"to end): {sight.sampled:,} waited while it took a sample, {sight.seen:,} while it took "
        f"one of its own latest (over {format_ns(sight.sample_over)}). By chance it would have "
        f"seen {sight.late * sight.chance:.2g}."
    )


def _print_cost(console: Console, tried: Tried) -> None:
    from tennis.stats.summary import summarize

    pair = table("the same seed", numbers=("with", "without"))
    for name, cells in latency_rows([summarize(one) for one in (tried.before, tried.after)]):
        pair.add_row(name, *cells)
    console.print(pair)
    if tried.over_ns is not None:
        console.print(
            Text(
                f"Later than {format_ns(tried.over_ns)}, ping to end: {tried.late_before:,} balls "
                f"with it, {tried.late_after:,} without: one pair of boots, which decides nothing.",
            ),
            soft_wrap=True,
        )
    console.print(Text(f"The rally without: {plain(str(tried.after.path))}", style="dim"))
