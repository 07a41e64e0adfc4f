# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""What all browsers see: one thread looks at the folders, another one asks the benches."""

import threading
from pathlib import Path

from tennis.bench.fleet.inventory import read_inventory
from tennis.errors import TennisError
from tennis.play import benches
from tennis.scoreboard.hall import Hall, Score, Sealed

POLL_S = 1.0


class Board:
    """Looks until it is closed."""

    def __init__(self, places: list[Path], inventory: Path | None, ask_every_s: float) -> None:
        """``inventory``: None asks no bench.

        Raises UsageError where a place is no folder, or the inventory cannot be read.
        """
        if inventory is not None:
            read_inventory(inventory)
        self._hall = Hall(places)
        self._hall.scan()
        self._inventory, self._ask_every_s = inventory, ask_every_s
        self._over = threading.Event()
        self.failure = ""
        self.benches: list[benches.BenchRow] | str | None = None  # a line: why they are not known
        self._threads = [threading.Thread(target=self._poll, daemon=True)]
        if inventory is not None:
            self._threads.append(threading.Thread(target=self._ask, daemon=True))
        for thread in self._threads:
            thread.start()

    @property
    def asks_benches(self) -> bool:
        """Tell whether benches are asked at all."""
        return self._inventory is not None

    @property
    def score(self) -> Score:
        """Return what there was at the last scan."""
        return self._hall.score

    def sealed(self, name: str) -> Sealed | None:
        """Return a sealed rally of the last scan, by its name. Raises RallyError."""
        return self._hall.sealed(name)

    def close(self) -> None:
        """Stop scanning."""
        self._over.set()

    def closed(self, wait_s: float) -> bool:
        """Tell whether nobody is asked any more."""
        for thread in self._threads:
            thread.join(wait_s)
        return not any(thread.is_alive() for thread in self._threads)

    def _poll(self) -> None:
        while not self._over.wait(POLL_S):
            try:
                self._hall.scan()
                self.failure = ""
            except Exception as error:  # said on the page: an old one must not look new
                self.failure = f"the folders cannot be read: {error}"

    def _ask(self) -> None:
        while True:
            try:
                self.benches = benches.rows(self._inventory)
            except TennisError as error:
                self.benches = str(error)
            if self._over.wait(self._ask_every_s):
                return
