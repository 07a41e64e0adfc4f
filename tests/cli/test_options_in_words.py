"""A message that advises an option names one that there is."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from tennis.cli import _command_of, cli
from tennis.cli.options import Grouped
from tennis.kit.checkout import ROOT
from tennis.rally.settings import SETTINGS, option_of, rows_of

# programs whose options messages and help name, too
OTHERS = r"(?:sigrok-cli|setup\.sh|ld -|apt-get|pip install)"


def options_of(command: click.Command) -> set[str]:
    """Return all options of a command and of those below it."""
    found = {"--help"}
    for option in command.params:
        found |= {*option.opts, *option.secondary_opts}
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            found |= options_of(below)
    return found


def sentences(path: Path) -> Iterator[str]:
    """Yield the texts of a module that are neither scripts nor styles."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    parts = {
        id(part)
        for node in ast.walk(tree)
        if isinstance(node, ast.JoinedStr)
        for part in node.values
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            pieces = [v.value if isinstance(v, ast.Constant) else "X" for v in node.values]
            text = "".join(map(str, pieces))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = "" if id(node) in parts else node.value
        else:
            continue
        if re.search(r"[a-z] [a-z]+ ", text) and not text.startswith(("#!", "\n")):
            yield text


@pytest.mark.parametrize("name", ["rally", "drill", "sweep"])
def test_what_plays_asks_for_the_settings_of_the_table(name):
    """Each of them, under a heading: a row reaches them without a line of theirs."""
    command = _command_of(name)
    assert isinstance(command, Grouped)
    asked = {option_of(row.name) for row in rows_of(name)}
    others = {option_of(row.name) for row in SETTINGS.values()} - asked
    assert asked <= options_of(command)
    assert not others & options_of(command)
    placed = [option for options in command.groups.values() for option in options]
    assert asked <= set(placed)
    assert len(placed) == len(set(placed))
    assert ("--processors" in options_of(command)) == (name == "rally")


def test_no_message_advises_an_option_that_does_not_exist():
    known = options_of(cli)
    assert {"--timeout-ms", "--source", "--replace"} <= known
    unknown = [
        (str(path.relative_to(ROOT)), option, text[:80])
        for path in sorted((ROOT / "tennis").rglob("*.py"))
        if path.name != "removed.py"
        for text in sentences(path)
        for option in re.findall(r"(?<![\w-])--[a-z][a-z-]+", text)
        if option not in known and not re.search(rf"{OTHERS}[^`]*{option}", text)
    ]
    assert unknown == []
