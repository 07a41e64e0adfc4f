# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""``tennis scoreboard``: a page for the wall."""

import importlib.util
import secrets
import socket
from pathlib import Path

import click

from tennis.cli.completion import Folder
from tennis.cli.words import aside, echo
from tennis.errors import UsageError
from tennis.listener import listening

NEEDED = ("bokeh", "datashader", "pandas", "tornado")
HERE = ("127.0.0.1", "localhost", "::1")
EVERYWHERE = ("0.0.0.0", "::")  # noqa: S104


@click.command(short_help="Show on a page who plays, what waits and what failed.")
@click.argument("places", metavar="[FOLDER]...", nargs=-1, type=Folder())
@click.option(
    "--inventory",
    type=click.Path(path_type=Path),
    help="Show the benches of this Ansible inventory, too, and who holds them.",
)
@click.option(
    "--ask-every",
    "ask_every_s",
    metavar="SECONDS",
    type=click.IntRange(10, 86_400),
    default=120,
    show_default=True,
    help="How often to query the benches. Each query takes some of their processor time.",
)
@click.option(
    "--listen",
    metavar="ADDRESS",
    default="127.0.0.1",
    show_default=True,
    help="The address to listen on; 0.0.0.0 is everywhere. Other machines need a token: it is "
    "in the address that is printed.",
)
@click.option("--port", type=click.IntRange(0, 65535), default=8585, show_default=True,
              help="0: any that is free.")  # fmt: skip
@click.option(
    "--host",
    "hosts",
    metavar="NAME",
    multiple=True,
    help="The name by which browsers find this machine. May be repeated. [default: its host name]",
)
@click.option(
    "--explain",
    is_flag=True,
    help="Let the page explain balls: a button runs `tennis explain` on this machine, one at a "
    "time. Needs the token.",
)
@click.option("--token", is_flag=True, help="Ask for a token on this machine, too.")
def scoreboard(
    places: tuple[Path, ...],
    inventory: Path | None,
    ask_every_s: int,
    listen: str,
    port: int,
    hosts: tuple[str, ...],
    explain: bool,
    token: bool,
) -> None:
    """Show on a web page who plays, how well, what waits and what failed.

    Each FOLDER (default: this one) is searched for rallies and matches, four folders deep. A rally
    that is being played has a card with its histogram and its worst ball. For a sealed rally the
    page shows all balls, down to each single one. The page changes nothing.

    \b
    Examples:
      tennis scoreboard
      tennis scoreboard chapter-7 --explain
      tennis scoreboard /srv/rallies --inventory ansible/inventory
      tennis scoreboard /srv/rallies --listen 0.0.0.0 --host lab.example.org
    """
    for name in NEEDED:
        if importlib.util.find_spec(name) is None:
            raise UsageError(
                f"the scoreboard needs {name}, which is not installed",
                next_step="scripts/setup.sh --scoreboard",
            )
    from tennis.scoreboard.board import Board
    from tennis.scoreboard.explaining import Explaining
    from tennis.scoreboard.server import Scoreboard

    if listen in EVERYWHERE and not hosts:
        hosts = (socket.gethostname(),)
    wanted = token or explain or listen not in HERE
    board = Board(list(places) or [Path()], inventory, ask_every_s)
    key = secrets.token_urlsafe(24) if wanted else None
    server = Scoreboard(board, listen, port, hosts, key, Explaining() if explain else None)
    with listening(aside):
        server.serve(lambda address: echo(f"The scoreboard is at {address} (Ctrl-C ends it)"))
