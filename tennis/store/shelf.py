# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Where a store's rallies are: in a folder, or (``bucket``) in a bucket."""

import os
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from tennis.errors import RallyError
from tennis.listener import say
from tennis.rally.opening import open_folder
from tennis.store.layout import ID, RALLIES, id_of


class Shelf(Protocol):
    """A place for rallies; what was asked for can be read at ``path``."""

    @property
    def path(self) -> Path:
        """Return the folder in which ``rallies`` and ``about`` of this machine are."""

    @property
    def name(self) -> str:
        """Return how the store is named."""

    @property
    def mend(self) -> str:
        """Return what to do about a damaged file of this machine's."""

    def ids(self) -> list[str]:
        """Return the ids of all rallies that are there, sorted."""

    def has(self, name: str) -> bool:
        """Tell whether a rally is there."""

    def fetch(self, names: Iterable[str], files: Collection[str] | None = None) -> None:
        """See to it that files of rallies can be read at ``path``.

        ``files``: the names of those that are needed beside the manifest; None: all.
        """

    def fetch_abouts(self) -> None:
        """See to it that what was said of rallies can be read at ``path``."""

    def share(self, name: str, fresh: Path) -> None:
        """Take a rally that was copied and is whole to where others look for it."""

    def damage(self, name: str) -> str:
        """Say what is wrong with a rally there; empty: all of its hashes are right."""


@dataclass(frozen=True)
class FolderShelf:
    """A store in a folder: everything is here."""

    path: Path

    mend = "put the original rally there, or remove it"

    @property
    def name(self) -> str:
        """Return how the store is named."""
        return str(self.path)

    def ids(self) -> list[str]:
        """Return the ids of all rallies that are there, sorted."""
        with os.scandir(self.path / RALLIES) as entries:
            found = sorted(entry.name for entry in entries if not entry.name.startswith(".")
                           and entry.is_dir(follow_symlinks=False))  # fmt: skip
        ids = [name for name in found if ID.fullmatch(name)]
        if strange := [name for name in found if not ID.fullmatch(name)]:
            more = f" and {len(strange) - 1:,} more" if len(strange) > 1 else ""
            place = self.path / RALLIES / strange[0]
            say(f"left out: {place}{more}: no rally of this store is called so; move it elsewhere")
        return ids

    def has(self, name: str) -> bool:
        """Tell whether a rally is there."""
        return (self.path / RALLIES / name).is_dir()

    def fetch(self, names: Iterable[str], files: Collection[str] | None = None) -> None:
        """Do nothing: they are here."""

    def fetch_abouts(self) -> None:
        """Do nothing: they are here."""

    def share(self, name: str, fresh: Path) -> None:
        """Do nothing: others look here."""

    def damage(self, name: str) -> str:
        """Say what is wrong with a rally; empty: all of its hashes are right."""
        place = self.path / RALLIES / name
        try:
            open_folder(place)
            return "" if id_of(place) == name else f"{place}: its name is another rally's"
        except RallyError as error:
            return str(error)
