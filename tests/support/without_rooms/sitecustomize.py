# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Python as if the kit's rooms were not there: ``PYTHONPATH`` names this folder.

Which modules are rooms' says ``pyproject.toml``, in the contracts that let nobody else import them.
What the rooms need is not there either: their packages of ``[project.optional-dependencies]``.
"""

import sys
import tomllib
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from pathlib import Path
from types import ModuleType

PROJECT = Path(__file__).resolve().parents[3] / "pyproject.toml"
NEEDED = (
    "distributed",
    "littlefs",
    "mpremote",
    "serial",
)


def of_rooms() -> frozenset[str]:
    """Return the modules that are rooms', or the packages whose modules are."""
    contracts = tomllib.loads(PROJECT.read_text())["tool"]["importlinter"]["contracts"]
    rooms = (one["protected_modules"] for one in contracts if one["type"] == "room")
    return frozenset(module for room in rooms for module in room)


class Nowhere(MetaPathFinder):
    """Finds nothing in a room, so that an import fails as where it is not installed."""

    def __init__(self) -> None:
        self.rooms = of_rooms()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> None:
        """Refuse what is a room's; leave everything else to the others."""
        del path, target
        parts = fullname.split(".")
        for length in range(1, len(parts) + 1):
            if ".".join(parts[:length]) in self.rooms or parts[0] in NEEDED:
                raise ModuleNotFoundError(f"{fullname} is a room's", name=fullname)


if __name__ == "sitecustomize":  # a test that only reads the list has the rooms
    sys.meta_path.insert(0, Nowhere())
