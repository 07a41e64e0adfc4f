# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""``tennis benches labels`` and ``commission``: before a lesson."""

import sys
from pathlib import Path

import click

from tennis.cli.completion import Folder
from tennis.cli.inventory import holder_option, inventory_option
from tennis.cli.options import balls_option
from tennis.cli.words import echo, warn
from tennis.listener import listening
from tennis.rally.text import plain, quoted


@click.command(short_help="Print a label for each bench.")
@click.option(
    "--out", type=click.Path(path_type=Path), required=True, help="The sheet, as HTML to print."
)
@click.option("--force", is_flag=True, help="Overwrite it.")
@inventory_option
@click.pass_obj
def labels(group: Path | None, out: Path, inventory: Path | None, *, force: bool) -> None:
    """Write a sheet with a label for each bench: its name, its Pico's serial number, its wires.

    The benches are asked for their Picos. One that does not answer, or has none or several, gets a
    line to write on.

    \b
    Examples:
      tennis benches labels --out labels.html
    """
    from tennis.pages.labels import page
    from tennis.play.commissioning import fleet
    from tennis.rally.disk import refuse_existing, write_whole

    refuse_existing(out, force=force)
    made = fleet.labels(inventory or group)
    write_whole(out, page(made).encode(), force=force)
    empty = [label.bench for label in made if not label.serial]
    echo(f"{quoted(out)}: {len(made)} labels")
    if empty:
        echo(f"no serial number: {plain(', '.join(empty), 400)}")


@click.command("commission", short_help="Commission all benches at the same time.")
@click.option("--out", type=Folder(), required=True, help="A folder; each bench has its own there.")
@click.option(
    "--wires",
    type=click.Choice(["jumpers", "target"]),
    default="target",
    show_default=True,
    help="The wires of the room: jumpers of the self-test, or wires to the targets.",
)
@click.option(
    "--targets",
    default="all",
    show_default=True,
    metavar="NAMES",
    help="Which benches of the inventory, as in bench-1,bench-2.",
)
@balls_option("Balls of a rally.", 10, default=2000)
@inventory_option
@holder_option
@click.pass_obj
def commission_benches(
    group: Path | None,
    *,
    out: Path,
    wires: str,
    targets: str,
    balls: int,
    inventory: Path | None,
    holder: str | None,
) -> None:
    """Commission all benches at the same time, as `tennis commission --yes` does one.

    The wires are plugged by hand, so a room takes two rounds: first as jumpers, then into the
    targets. Each bench's Pico is plugged into this machine; the inventory says at which port
    (tennis_port). A bench that fails does not stop the others. The exit code is 1 if one fails; the
    same command continues with it.

    \b
    Examples:
      tennis benches commission --wires jumpers --out room
      tennis benches commission --out room
      tennis benches commission --targets bench-3 --out room
    """
    from tennis.commissioning.request import CommissionRequest
    from tennis.play.commissioning.fleet import commission_all
    from tennis.play.fleet import fleet_of

    place = inventory or group
    benches = fleet_of(targets, place, holder)
    asked = CommissionRequest(inventory=place, balls=balls, holder=holder)
    bad = 0
    with listening(warn):
        for result in commission_all(benches, out, asked, wires):  # type: ignore[arg-type] # checked by click
            bad += bool(result.trouble)
            echo(f"{result.bench}: {plain(result.summary, 200)}")
            if result.trouble:
                echo(f"  {plain(result.trouble, 600)}")
    sys.exit(1 if bad else 0)
