"""Tables for a terminal: columns of words and of numbers."""

from collections.abc import Iterable

from rich import box
from rich.console import Console
from rich.table import Table

WIDTH_MAX = 10_000  # columns of a terminal


def table(
    *words: str,
    numbers: Iterable[str] = (),
    rest: Iterable[str] = (),
    ruled: bool = True,
    collapse: bool = False,
) -> Table:
    """Return an empty table: columns of words, then of numbers, which are never cut, then words.

    ``ruled``: with lines. ``collapse``: with one blank between columns in place of two.
    """
    lines = box.SIMPLE_HEAD if ruled else None
    made = Table(box=lines, pad_edge=False, collapse_padding=collapse)
    for title in words:
        made.add_column(title, overflow="fold")
    for title in numbers:
        made.add_column(title, justify="right", no_wrap=True)
    for title in rest:
        made.add_column(title, overflow="fold")
    return made


def needed(made: Table, console: Console) -> int:
    """Return the columns of a terminal that a table needs, however many there are."""
    return made.__rich_measure__(console, console.options.update(width=WIDTH_MAX)).maximum


def print_wide(made: Table) -> None:
    """Print a table in its full width: a cut-off part may be what the reader looks for."""
    console = Console()
    width = max(console.width, needed(made, console))
    Console(width=width, markup=False, highlight=False).print(made)
