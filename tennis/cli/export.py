"""``tennis export``: the balls of a rally for a spreadsheet, or those of a drill or a sweep."""

import sys
from collections.abc import Iterator
from pathlib import Path

import click

from tennis.cli import streams
from tennis.cli.completion import Folder
from tennis.cli.words import echo
from tennis.match.sweep.folder import is_sweep, open_sweep
from tennis.rally import open_folder
from tennis.rally.disk import refuse_existing, write_pieces
from tennis.rally.text import quoted


@click.command()
@click.argument("folder", metavar="DIR", type=Folder())
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The file to write. [default: standard output]",
)
def export(folder: Path, out: Path | None) -> None:
    """Print the balls in DIR for a spreadsheet: one line each, times in nanoseconds.

    For a drill it prints the repetitions by both clocks, for a sweep the rates. The first lines
    begin with # and name bench, kernel, load and seed. A cell is empty if no edge came.

    \b
    Examples:
      tennis export first --out first.csv
      tennis export rates | head
    """
    if out is not None:
        refuse_existing(out)
    pieces = _pieces(folder)
    if out is not None:
        write_pieces(out, pieces)
        echo(quoted(out))
        return
    output = sys.stdout.buffer
    for piece in pieces:
        output.write(piece)
        output.flush()
        if streams.lost() is not None:  # nobody takes the others
            break


def _pieces(folder: Path) -> Iterator[bytes]:
    from tennis.match import spreadsheet

    if is_sweep(folder):
        return spreadsheet.of_sweep(open_sweep(folder))
    opened = open_folder(folder)
    if opened.manifest.drill is not None:
        return spreadsheet.of_drill(opened)
    return spreadsheet.of_rally(opened)
