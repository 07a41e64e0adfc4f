"""Lines for a person at a terminal."""

import json
import textwrap
from typing import Any

import click
from rich.console import Console
from rich.text import Text

from tennis.kit.units import finite

COLUMNS_MAX = 100  # longer lines are hard to read


def echo(message: object = "", *, err: bool = False, nl: bool = True) -> None:
    """Print words; escape control characters, which a name or a file may contain."""
    click.echo(_harmless(str(message)), err=err, nl=nl)


def warn(warning: str) -> None:
    """Say a line beside the progress."""
    echo(f"tennis: {warning}", err=True)


def aside(line: str) -> None:
    """Say a line of the work as it is, beside the results."""
    echo(line, err=True)


def echo_json(content: Any) -> None:
    """Print one JSON object or list; a missed ball, and no number, is null."""
    echo(json.dumps(finite(content), indent=2))


def _harmless(words: str) -> str:
    return "".join(c if c.isprintable() or c == "\n" else "�" for c in words)


def print_line(console: Console, words: str, style: str = "") -> None:
    """Print one line, however long."""
    console.print(Text(words, style=style), soft_wrap=True, highlight=False)


def paragraph(
    console: Console, words: str, lead: Text | None = None, style: str = "", columns: int = 0
) -> None:
    """Print a paragraph behind ``lead``, as wide as the terminal; lines hang below one another."""
    lead = lead or Text()
    room = max(20, min(columns or console.width, COLUMNS_MAX) - len(lead))
    lines = textwrap.wrap(_harmless(words), room, break_long_words=False, break_on_hyphens=False)
    for line in lines or [""]:
        console.print(lead + Text(line, style=style), soft_wrap=True, highlight=False)
        lead = Text(" " * len(lead))


def command_line(console: Console, lead: str, command: str) -> None:
    """Print a command in one line, however long, so that it can be copied."""
    console.print(
        Text(lead) + Text(_harmless(command), style="bold"), soft_wrap=True, highlight=False
    )
