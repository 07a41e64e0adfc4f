# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Which tests wait for ``make test-all`` and for a release: tests/tiers.toml, as pytest's marks."""

import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from tennis.checkout import ROOT

TIERS = ROOT / "tests" / "tiers.toml"
ORDER = ("release", "more", "slow")
LATER = ("release", "more")  # not with `make test`


@dataclass(frozen=True)
class Line:
    """Some of a test's parameters, and the tier that they wait for."""

    tier: str
    file: str
    test: str
    parameters: str

    @property
    def name(self) -> str:
        """Return how pytest would call it."""
        return f"{self.test}[{self.parameters}]"

    def fits(self, item: pytest.Item) -> bool:
        """Tell whether a test is meant."""
        name, _, parameters = item.name.removesuffix("]").partition("[")
        return fnmatchcase(name, self.test) and fnmatchcase(parameters, self.parameters)


def lines(path: Path = TIERS) -> Iterator[Line]:
    """Yield all lines of the list."""
    for tier, files in tomllib.loads(path.read_text()).items():
        for file, tests in files.items():
            for test, parameters in tests.items():
                yield from (Line(tier, file, test, some) for some in parameters)


def mark(items: Iterable[pytest.Item], known: Iterable[Line], whole: set[str]) -> list[Line]:
    """Give each test the mark of its tier; return the lines that fit none of a ``whole`` file."""
    of: dict[str, list[pytest.Item]] = {}
    for item in items:
        of.setdefault(item.path.relative_to(ROOT).as_posix(), []).append(item)
    idle = []
    waiting: set[pytest.Item] = set()
    # what waits for a release does not wait for less
    for line in sorted(known, key=lambda line: ORDER.index(line.tier)):
        meant = [item for item in of.get(line.file, ()) if line.fits(item)]
        if not meant and line.file in whole:
            idle.append(line)
        for item in meant:
            if item not in waiting:
                waiting.add(item)
                item.add_marker(line.tier)
    return idle


def lost(items: Iterable[pytest.Item], known: Iterable[Line], whole: set[str]) -> list[str]:
    """Return the tests of ``whole`` files, marked, of which `make test` has no case by accident.

    A promise is in `make test` unless its test waits as a whole: with the parameters "*".
    """
    waits = {
        (line.file, line.test) for line in known if line.tier in LATER and line.parameters == "*"
    }
    here: dict[tuple[str, str], bool] = {}
    for item in items:
        name = item.path.relative_to(ROOT).as_posix(), item.name.partition("[")[0]
        later = any(map(item.get_closest_marker, LATER))
        here[name] = here.get(name, False) or not later
    return [
        f"{file}: {test}"
        for (file, test), some in here.items()
        if not some and file in whole and not {(file, test), (file, "*")} & waits
    ]
