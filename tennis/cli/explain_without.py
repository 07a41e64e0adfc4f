"""``tennis explain without``: play one ball again without a cost of ``--memory``."""

from pathlib import Path

import click
from rich.console import Console

from tennis.cli.completion import Folder
from tennis.cli.progress import watching
from tennis.cli.tables import table
from tennis.cli.words import echo_json, print_line
from tennis.explain.stalls import COSTS
from tennis.explain.without_cost import without as played_without
from tennis.kit.units import format_ns
from tennis.rally import open_rally
from tennis.rally.shots import are_shots


@click.command()
@click.argument("rally", metavar="RALLY", type=Folder())
@click.argument("costs", metavar="COST...", type=click.Choice(list(COSTS)), nargs=-1, required=True)
@click.option(
    "--ball",
    type=int,
    metavar="NUMBER",
    help="Play this ball (the first is 0).  [default: the latest]",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object; times in ns.")
def without(rally: Path, costs: tuple[str, ...], *, ball: int | None, as_json: bool) -> None:
    """Play one ball again without the cost of memory.

    RALLY was played with --memory. From the ball's ping on, the COST takes no time: memory, tlb or
    registers. Each is left out by itself.

    \b
    Examples:
      tennis explain without cold memory
      tennis explain without cold memory tlb registers --ball 0
    """
    one_rally = open_rally(rally)
    with watching("without") as watch:
        story, found = played_without(one_rally, list(dict.fromkeys(costs)), ball=ball, watch=watch)
    if as_json:
        rows = [
            {
                "cost": one.cost,
                "rise_ns": one.now[0],
                "fall_ns": one.now[1],
                "share_ns": one.share_ns,
                "stalls_ns": one.stalls_ns,
            }
            for one in found
        ]
        was = {"ball": story.ball, "rise_ns": story.rise, "fall_ns": story.fall}
        echo_json({**was, "without": rows})
        return
    console = Console(highlight=False)
    print_line(console, story.sentence, "bold")
    numbers = ("to the rise", "to the fall", "its share", "its waits, summed")
    shown = table("from its ping on", numbers=numbers)
    shown.add_row("as it was", _edge(story.rise), _edge(story.fall), "", "")
    for one in found:
        share = "" if one.share_ns is None else _signed(one.share_ns)
        edges = map(_edge, one.now)
        shown.add_row(f"without {one.cost}", *edges, share, format_ns(one.stalls_ns))
    console.print(shown)
    note = (
        "Each share is what the ball waits less. It differs from the sum of the waits if the ball "
        "then meets other work."
    )
    if are_shots(one_rally.manifest.protocol):
        note += " All were played in one boot: the runs differ from the ping on."
    print_line(console, note, "dim")


def _edge(ns: int | None) -> str:
    return "missed" if ns is None else format_ns(ns)


def _signed(ns: int) -> str:
    return format_ns(ns) if ns >= 0 else f"-{format_ns(-ns)}"
