"""The story of a match for a terminal: a small table, and sentences about it."""

from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tennis.cli.verdicts import STYLES
from tennis.kit.units import format_us
from tennis.rally.text import quoted
from tennis.replicate.story import MatchStory


def print_story(console: Console, story: MatchStory, match: Path) -> None:
    """Print the story of the match in a folder; nothing is wider than 80 columns but paths."""
    console.print()
    console.print(Text(f"When did the answer come? {story.head()}", style="bold"))
    table = Table(box=None, pad_edge=False, padding=(0, 1))
    table.add_column("", no_wrap=True)
    table.add_column("", no_wrap=True)
    for title in (
        "\nusually",
        "1 in 1,000\nafter",
        "\nthe latest",
        "thesis, latest\nof 10,000,000",
    ):
        table.add_column(title, justify="right", no_wrap=True)
    load = ""
    for line in story.lines:
        table.add_row(
            "" if line.load == load else line.load,
            line.kernel,
            line.format_level(line.median),
            Text(line.format_level(line.late), style="bold"),
            line.here.said("max") + (f", {line.misses} missed" if line.misses else ""),
            Text(format_us(line.published_us), style="dim"),
        )
        load = line.load
    console.print(table)
    console.print(Text("Usually, and 1 in 1,000: in the median boot.", style="dim"))
    console.print()
    for sentence in story.sentences:
        text = Text(sentence.text)
        if sentence.verdict:
            text.append(f" {sentence.verdict.upper()}", style=STYLES[sentence.verdict])
            text.append(f" {sentence.beside}" if sentence.beside else "")
        console.print(text)
        if sentence.explain:
            command = f"tennis explain {quoted(match / sentence.explain)}"
            console.print(Text(f"  Which code?  {command}"), soft_wrap=True)
