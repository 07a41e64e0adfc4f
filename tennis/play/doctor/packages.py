# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Whether what packages add can be used: each entry, read as those who need it read it.

The kit's own entries are not looked at here: tests load each of them.
"""

from collections.abc import Callable, Iterator
from typing import Any

from tennis import entries
from tennis.bench.findings import Finding
from tennis.entries import OWN, Entry
from tennis.errors import TennisError

READERS = "tennis.readers"  # how a group's entry is read: a function that takes it
RUN = "tennis.doctor"  # these are called, and said to fail, by those who call them


def examine_packages() -> Iterator[Finding]:
    """Yield a note for each entry of somebody else's package that is broken."""
    for group in entries.groups("tennis"):
        if group in {RUN, entries.DAMAGED}:
            continue
        for entry in entries.entries(group):
            if entry.package != OWN:
                yield from _examine(entry)


def _examine(entry: Entry) -> Iterator[Finding]:
    try:
        _reader(entry.group)(entry)
    except TennisError as error:
        said = " ".join(error.message.split())
        named = said if str(entry) in said else f"{entry}: {said}"
        yield Finding("note", entry.package, named, error.next_step or entry.repair)
    except Exception as error:
        why = " ".join(f"{type(error).__name__}: {error}".split())
        yield Finding("note", entry.package, f"{entry} is broken ({why})", entry.repair)


def _reader(group: str) -> Callable[[Entry], Any]:
    """Return what reads an entry of a group: that of ``tennis.plots`` reads all pictures."""
    for reader in entries.entries(READERS):
        if group == reader.name or group.startswith(f"{reader.name}."):
            found: Callable[[Entry], Any] = reader.load()
            return found
    return Entry.load
