# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""``tennis explain``: why a ball of the virtual bench was late."""

import json
import re
from decimal import Decimal
from pathlib import Path

import click
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tennis.cli.progress import shown
from tennis.cli.words import echo
from tennis.errors import UsageError
from tennis.explain.explanation import Explanation
from tennis.listener import listening
from tennis.pages.explain import PAGE, about, check_folder, write
from tennis.play.explain import explain as explained
from tennis.play.rally import Watch
from tennis.rally.text import plain
from tennis.units import format_count, format_ns

ROWS = 8


@click.command()
@click.argument("rally", metavar="RALLY", type=click.Path(path_type=Path))
@click.option("--ball", type=int, help="Explain this ball (the first is 0).")
@click.option("--worst", type=int, help="Explain this many of the latest balls.  [default: 20]")
@click.option(
    "--over", metavar="TIME", help="Explain all balls that waited longer, as in 100us or 1.5ms."
)
@click.option("--kernel", metavar="DIR", help="The built tree, where the rally was played on one.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object; times in ns.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="A new folder for the page with flame graph and timeline.",
)
def explain(
    rally: Path,
    *,
    ball: int | None,
    worst: int | None,
    over: str | None,
    kernel: str | None,
    as_json: bool,
    out: Path | None,
) -> None:
    """Name the kernel code that ran while the late balls of a RALLY waited.

    The rally is played again on the virtual bench up to the last ball that is asked about, with a
    profiler that counts every instruction and costs no virtual time. Every ball of the replay must
    be the rally's, tick for tick. The latest balls are those with the longest time from the ping
    to the reply's fall, missed ones first.

    \b
    Examples:
      tennis explain first
      tennis explain first --out why
      tennis explain first --ball 1234
      tennis explain first --over 100us
      tennis explain evl-idle --kernel ../linux-evl
    """
    if out is not None:
        check_folder(out)
    console = Console(stderr=True, highlight=False)

    def tell(line: str) -> None:
        console.print(Text(line), soft_wrap=True)

    with listening(tell), shown("explain") as observe:
        explanation = explained(
            rally,
            ball=ball,
            worst=worst,
            over_ns=None if over is None else _time_ns(over),
            kernel=kernel,
            watch=Watch(observe),
        )
    if out is not None:
        write(explanation, out)
    if as_json:
        echo(json.dumps(explanation.as_json(), indent=2))
        return
    _print(explanation, out)


def _time_ns(text: str) -> int:
    """Read a time as people write it: 100us, 1.5 ms."""
    match = re.fullmatch(r"([0-9]{1,9}(?:\.[0-9]{1,9})?) ?(ns|us|µs|ms|s)", text)
    if not match:
        raise UsageError(f"--over {plain(text, 40)}", next_step="say 100us, 1.5ms or 1s")
    per = {"ns": 1, "us": 1_000, "µs": 1_000, "ms": 1_000_000, "s": 1_000_000_000}
    return int(Decimal(match[1]) * per[match[2]])


def _print(explanation: Explanation, out: Path | None) -> None:
    console = Console(highlight=False)

    def line(text: str, style: str = "") -> None:
        console.print(Text(text, style=style), soft_wrap=True)

    line(explanation.story.sentence, "bold")
    line("")
    rule = explanation.rule[0].upper() + explanation.rule[1:]
    line(f"{rule}: {format_ns(explanation.waited)} of waiting.")
    console.print(_table(explanation))
    if len(explanation.stories) > 1:
        line("Their causes:")
        for cause, balls, ns in explanation.causes()[:ROWS]:
            line(f"  {format_count(balls, 'ball')}, {format_ns(ns)}: {cause}")
        line("")
    line(about(explanation), "dim")
    if out is not None:
        line(f"The flame graph and the timeline: {plain(str(out / PAGE))}")
    else:
        line("With --out DIR: a page with a flame graph and a timeline.", "dim")


def _table(explanation: Explanation) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for title in ("share", "time", "balls"):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("what ran")
    table.add_column("mostly in", overflow="fold")
    for share in explanation.shares()[:ROWS]:
        table.add_row(
            f"{100 * share.ns / explanation.waited:.1f} %",
            format_ns(share.ns),
            str(share.balls),
            Text(str(share.what)),
            Text(share.blame.short),
        )
    return table
