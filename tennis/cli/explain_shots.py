"""``tennis explain shots``: search for the worst instant of a rally's machine by shots."""

from functools import partial
from pathlib import Path

import click
from rich.console import Console

from tennis.cli.completion import Folder
from tennis.cli.numbers import Whole
from tennis.cli.progress import watching
from tennis.cli.settings import played_kernel_option
from tennis.cli.words import echo_json, print_line
from tennis.explain.worst_instant import SHOTS, SHOTS_MAX, find_worst
from tennis.rally import Rally, open_rally
from tennis.rally.folder import INSTANTS
from tennis.rally.instants import Instants, Until
from tennis.rally.text import plain
from tennis.report.instants_words import sentences


@click.command()
@click.argument("folder", metavar="RALLY", type=Folder())
@click.option(
    "--shots",
    "count",
    type=Whole(1, SHOTS_MAX),
    default=SHOTS,
    show_default=True,
    metavar="COUNT",
    help="How many instants are played in all.",
)
@click.option(
    "--until",
    type=click.Choice(["rise", "fall"]),
    default="rise",
    show_default=True,
    help="Search for the latest answer of the top half (rise), or of the bottom half (fall).",
)
@played_kernel_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object; times in ns.")
def shots(folder: Path, *, count: int, until: Until, kernel: str | None, as_json: bool) -> None:
    """Search for the worst instant by shots.

    Shots are balls at chosen instants of the RALLY's machine. Half of them are drawn at random. The
    others are played if their answer may be later than the latest one. The command prints the worst
    instant, and how late answers between the shots may be. It continues if it was interrupted, or
    if COUNT is larger than before. RALLY/instants.parquet has all shots.

    \b
    Examples:
      tennis explain shots first
      tennis explain shots first --shots 5000
    """
    rally = open_rally(folder)
    with watching("shots") as watch:
        found = find_worst(rally, count, until=until, kernel=kernel, watch=watch)
    if as_json:
        echo_json(_as_json(rally, found))
        return
    line = partial(print_line, Console(highlight=False))
    first, *others = sentences(found)
    line(first, "bold")
    for sentence in others:
        line(sentence)
    line(
        f"{plain(rally.manifest.time_note, 80)}; the machine without a ball before each of them. "
        "It says nothing about other runs.",
        "dim",
    )
    line(f"All instants: {plain(str(rally.path / INSTANTS))}", "dim")


def _as_json(rally: Rally, found: Instants) -> dict[str, object]:
    played = found.played()
    at_ns, rise_ns, fall_ns = found.rows[played.worst].tolist()
    return {
        "file": str(rally.path / INSTANTS),
        "until": found.about.until,
        "worst": {"at_ns": at_ns, "rise_ns": rise_ns, "fall_ns": fall_ns},
        "played": int(played.at.size),
        "drawn": played.drawn,
        "time_ns": played.time_ns,
        "later_share_at_most": played.later_share,
        "overtaken_ns": played.overtaken_ns,
        "open_share": played.open_share(),
        "may_be_as_late_as_ns": played.open_ns(),
    }
