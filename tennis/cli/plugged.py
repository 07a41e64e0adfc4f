# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Commands that packages add: the kit's rooms and others, listed without being imported."""

import importlib.util
import re
from collections.abc import Iterator
from pathlib import Path

import click

from tennis import entries
from tennis.entries import Entry, EntryError

GROUP = "tennis.commands"
HEADING = "More"  # of commands that name none
SHORT_HELP = re.compile(r'short_help="([^"\n]+)"')
DOCSTRING = re.compile(r'\).*?:\n\s+"""([^"\n]+)', re.DOTALL)


def commands() -> Iterator[tuple[str, Entry]]:
    """Yield the heading and the entry of each command.

    The heading is what is behind ``tennis.commands`` in the group's name, as in
    ``tennis.commands.read``. A name with a dot is a command's own: ``kernels.uf2``.
    """
    for group in entries.groups(GROUP):
        heading = group.removeprefix(GROUP).removeprefix(".").capitalize() or HEADING
        yield from ((heading, entry) for entry in entries.entries(group))


def find(name: str) -> Entry | None:
    """Return the entry of a command; None: no package has it."""
    return next((entry for _, entry in commands() if entry.name == name), None)


def load(entry: Entry) -> click.Command:
    """Import and return a command. Raises EntryError."""
    command = entry.load()
    if not isinstance(command, click.Command):
        raise EntryError(f"{entry} is no command of click's", next_step=entry.repair)
    return command


def help_line(entry: Entry) -> str:
    """Return the line that says what a command does, out of its source: nothing is imported.

    Raises EntryError where there is no such source; a command of another shape is imported.
    """
    package = entry.module.partition(".")[0]
    try:
        found = importlib.util.find_spec(package)
        text = _source(found.submodule_search_locations, found.origin, entry) if found else ""
    except (ImportError, ValueError, OSError):
        text = ""
    before, define, after = text.partition(f"\ndef {entry.attribute}(")
    if define:
        said = SHORT_HELP.findall(before.rpartition("\n\n\n")[2])
        if line := said[-1] if said else getattr(DOCSTRING.search(after), "group", str)(1):
            return str(line).strip()
    return load(entry).get_short_help_str(limit=80)


def _source(places: list[str] | None, origin: str | None, entry: Entry) -> str:
    """Return the text of a module; only its outermost package is ever looked for."""
    names = entry.module.split(".")[1:]
    if not names:
        return Path(origin or "").read_text(encoding="utf-8")
    for place in places or []:
        path = Path(place, *names)
        for file in (path.with_suffix(".py"), path / "__init__.py"):
            if file.is_file():
                return file.read_text(encoding="utf-8")
    return ""


class PluggedGroup(click.Group):
    """A command whose own commands come from packages, too: entries called NAME.COMMAND."""

    def _added(self) -> dict[str, Entry]:
        beginning = f"{self.name}."
        return {
            entry.name.removeprefix(beginning): entry
            for _, entry in commands()
            if entry.name.startswith(beginning)
        }

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return its own commands, and those of packages."""
        return sorted({*super().list_commands(ctx), *self._added()})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command; one of a package is imported now. Raises EntryError."""
        entry = self._added().get(cmd_name)
        return super().get_command(ctx, cmd_name) or (load(entry) if entry else None)
