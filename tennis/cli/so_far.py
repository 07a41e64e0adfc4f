"""A match's figures while it is played: a table that is refined in place, or lines in a pipe."""

import contextlib
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from tennis.cli.progress import LIVE_COLUMNS, quiet
from tennis.cli.words import echo
from tennis.kit.errors import RallyError
from tennis.rally import open_rally
from tennis.replicate.so_far import ONE_IN, LineSoFar, SoFar, format_time

# after how many boots of each cell a pipe gets all figures again; the last ones are the story's
SAID_AFTER = frozenset({2, 3, 5, 8, 13, 20, 50, 100})
THERE = re.compile(r"(\d+)/(\d+) (\S+): (played|kept),(?!.*SUSPECT)")
NOTE = f"1 in {ONE_IN:,} of the median boot, which lies between two boots' with that chance."


@contextlib.contextmanager
def figures_so_far(
    out: Path, boots: int, cells: int, *, live: bool
) -> Iterator[Callable[[str], None]]:
    """Yield a listener for the lines of a match of ``cells`` and ``boots``, played into ``out``.

    ``live``: no other display of the terminal is open.
    """
    console = Console(highlight=False)
    known = SoFar()
    wide = console.is_terminal and not console.is_dumb_terminal and console.width >= LIVE_COLUMNS
    if live and wide and not quiet():
        with Live(console=console, auto_refresh=False, transient=True) as display:

            def refine(line: str) -> None:
                if _take(known, line, out) is None:
                    display.console.print(Text(line), soft_wrap=True)
                else:
                    display.update(Group(_table(known), Text(line, style="dim")), refresh=True)

            yield refine
        return
    told = {boots}  # these many the story tells
    begun = set()  # cells whose first boot was printed

    def tell(line: str) -> None:
        if not (quiet() and THERE.match(line)):
            echo(line)
        if not _take(known, line, out) or quiet():
            return
        lines = known.lines()
        refined = known.boots in SAID_AFTER - told and len(lines) == cells
        told.update({known.boots} if refined else ())
        for one in lines:
            if refined or (boots > 1 and (one.load, one.kernel) not in begun):
                begun.add((one.load, one.kernel))
                echo(_words(one))

    yield tell


def _words(one: LineSoFar) -> str:
    middle, late, latest = map(format_time, (one.median, one.late, one.latest))
    return (
        f"  so far, {one.load}, {one.kernel}: usually {middle}, 1 in {ONE_IN:,} "
        f"after {late} ({one.said_interval}), the latest {latest}"
    )


def _take(so_far: SoFar, line: str, out: Path) -> str | None:
    """Take the rally that a line is about; return its name, None for any other line."""
    found = THERE.match(line)
    if found is None:
        return None
    try:
        so_far.take(open_rally(out / found[3]))
    except RallyError:
        return None  # its fault is printed at the end
    return found[3]


def _table(so_far: SoFar) -> Group:
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    for title in ("", "so far"):
        table.add_column(title, no_wrap=True)
    for title in (
        "boots",
        "usually",
        f"1 in {ONE_IN:,}\nafter",
        "the median boot lies\nin",
        "the\nlatest",
    ):
        table.add_column(title, justify="right", no_wrap=True)
    load = ""
    for one in so_far.lines():
        table.add_row(
            "" if one.load == load else one.load,
            one.kernel,
            str(one.boots),
            format_time(one.median),
            Text(format_time(one.late), style="bold"),
            one.said_interval,
            format_time(one.latest),
        )
        load = one.load
    return Group(table, Text(NOTE, style="dim"))
