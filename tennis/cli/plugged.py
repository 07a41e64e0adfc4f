# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Commands that other packages add."""

from collections.abc import Iterator

import click

from tennis.kit import entries
from tennis.kit.entries import Entry, EntryError

GROUP = "tennis.commands"
HEADING = "More"  # of commands that name none


def commands() -> Iterator[tuple[str, Entry]]:
    """Yield the heading and the entry of each command.

    ``tennis.commands.read`` lists a command under Read.
    """
    for entry in entries.entries(GROUP):
        yield entry.group.removeprefix(GROUP).removeprefix(".").capitalize() or HEADING, entry


def load(entry: Entry) -> click.Command:
    """Import and return a command. Raises EntryError."""
    command = entry.load()
    if not isinstance(command, click.Command):
        raise EntryError(f"{entry} is no command of click's", next_step=entry.repair)
    return command
