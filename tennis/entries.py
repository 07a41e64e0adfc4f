# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""What packages add to Tennis: entry points, the kit's own rooms like anybody else's.

A package names its benches, commands, loads and so on in its ``pyproject.toml``, under
``[project.entry-points."tennis.benches"]`` and so on, and pip writes them into
``entry_points.txt`` of what it installs. ``docs/how-it-is-built.md`` lists the groups.

Nothing is imported until somebody asks for an entry. ``importlib.metadata`` would read the same
files; to import it takes a third of the time after which ``tennis --help`` answers.
"""

import importlib
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from tennis.checkout import DISTRIBUTION, IS_CHECKOUT, SETUP, project
from tennis.errors import TennisError
from tennis.log import log

OWN = "tennis"  # the kit's own package
DAMAGED = "tennis.damaged"  # the group of files that cannot be read
# what is imported -> the room that brings it, an extra in pyproject.toml and a stage of setup
ROOMS = {
    "dask": "cluster",
    "distributed": "cluster",
    "littlefs": "pico",
    "mpremote": "boards",
    "serial": "boards",
}
# stages of scripts/setup.sh; what is no stage comes with each of them
STAGES = ("cluster", "pico")


class EntryError(TennisError):
    """Something that a package adds cannot be used: the package is broken, or a part is missing."""


@dataclass(frozen=True)
class Entry:
    """One line of a package's entry points: ``name = value``, where value is MODULE:ATTRIBUTE."""

    group: str
    name: str
    value: str
    package: str

    @property
    def module(self) -> str:
        """Return the module that is imported."""
        return self.value.partition(":")[0].strip()

    @property
    def attribute(self) -> str:
        """Return what is taken of the module; empty: the module itself."""
        return self.value.partition(":")[2].partition("[")[0].strip()

    def load(self) -> Any:
        """Import and return what was named. Raises EntryError."""
        try:
            found: Any = importlib.import_module(self.module)
            for name in filter(None, self.attribute.split(".")):
                found = getattr(found, name)
        except TennisError:
            raise
        except ModuleNotFoundError as error:
            raise EntryError(f"{self} {missing(error)}", next_step=how_to_get(error)) from error
        except Exception as error:
            why = f"{type(error).__name__}: {error}"
            raise EntryError(f"{self} is broken ({why})", next_step=self.repair) from error
        return found

    def folder(self, *files: str) -> Path:
        """Return the folder that was named, as a Python package or a path; it has one of the files.

        Raises EntryError.
        """
        found = self.load()
        try:
            folder = Path(found.__path__[0] if isinstance(found, ModuleType) else found)
        except (AttributeError, IndexError, TypeError) as error:
            raise EntryError(f"{self} is no folder", next_step=self.repair) from error
        if not any((folder / file).is_file() for file in files):
            raise EntryError(f"{self} has no {files[0]} in {folder}", next_step=self.repair)
        return folder

    def check_has(self, found: Any, names: Iterable[str]) -> None:
        """Raise EntryError where what was loaded does not have all that such an entry has."""
        if lacking := [name for name in names if not hasattr(found, name)]:
            why = f"it has no {', '.join(lacking)}"
            raise EntryError(f"{self} is broken ({why})", next_step=self.repair)

    @property
    def repair(self) -> str:
        """Say what to do about one that is broken."""
        if self.package == OWN:
            return f"run '{SETUP}'; if that does not help, please report it"
        return f"repair the package {self.package}, or remove it"

    def __str__(self) -> str:
        """Say which it is: its name, the kind of thing, the package."""
        kind = self.group.removeprefix("tennis.").partition(".")[0].removesuffix("s")
        kind = {"benche": "bench", "doctor": "check", "beneath": "system", "plot": "picture"}.get(
            kind, kind
        )
        return f"the {kind} {self.name} of the package {self.package}"


def missing(error: ModuleNotFoundError) -> str:
    """Say what is missing where an import failed."""
    if (error.name or "").startswith("tennis."):
        return f"needs a part of Tennis that is not here, {error.name}"
    return f"needs the Python module {error.name}, which is not installed"


def how_to_get(error: ModuleNotFoundError) -> str:
    """Say what installs a module that an import did not find."""
    if (error.name or "").startswith("tennis."):
        return f"take the whole of Tennis, then run '{SETUP}'"
    if not is_of_a_room(error):
        return "install it, or the package that brings it"
    room = ROOMS[(error.name or "").partition(".")[0]]
    if not IS_CHECKOUT:
        return f"run \"pip install '{DISTRIBUTION}[{room}]'\""
    stage = f" --{room}" if room in STAGES else ""
    return f"run 'scripts/setup.sh{stage}'"


def is_of_a_room(error: ModuleNotFoundError) -> bool:
    """Tell whether what was not found is what a stage of setup installs for one room."""
    return (error.name or "").partition(".")[0] in ROOMS


def entries(group: str) -> tuple[Entry, ...]:
    """Return the entries of a group: the kit's own as it lists them, others by their names."""
    return _every().get(group, ())


def groups(beginning: str) -> Iterator[str]:
    """Yield the groups that have entries and are called so, or so with a dot and more behind."""
    for group in _every():
        if group == beginning or group.startswith(f"{beginning}."):
            yield group


def find(group: str, name: str) -> Entry | None:
    """Return the entry of this name; None: no package has it."""
    return next((entry for entry in entries(group) if entry.name == name), None)


def need(group: str, name: str, why: str, read: Callable[[Entry], Any] = Entry.load) -> Any:
    """Load what must be there; ``why`` begins the line that is said if it is not.

    ``read``: how an entry of the group is read. Raises EntryError.
    """
    entry = find(group, name)
    if entry is None:
        raise EntryError(f"{why} needs a package that is not installed", next_step="install it")
    try:
        return read(entry)
    except EntryError as error:
        raise EntryError(f"{why}: {error.message}", next_step=error.next_step) from error


def loaded(group: str) -> dict[str, Any]:
    """Return what a group has, by name; what cannot be loaded is left out, and said in a line."""
    found = {}
    for entry in entries(group):
        try:
            found[entry.name] = entry.load()
        except EntryError as error:
            log.info(str(error))
    return found


@cache
def _every() -> dict[str, tuple[Entry, ...]]:
    found: dict[str, list[Entry]] = {}
    for entry in [*_own(), *sorted(_others(), key=lambda one: (one.name, one.package))]:
        found.setdefault(entry.group, []).append(entry)
    return {group: tuple(listed) for group, listed in found.items()}


def forget() -> None:
    """Look again at what is installed."""
    _every.cache_clear()


def _own() -> Iterator[Entry]:
    """Yield the kit's own, as the checkout names them now: nobody need install it again."""
    for group, own in project().get("entry-points", {}).items():
        yield from (Entry(group, name, value, OWN) for name, value in own.items())


def places() -> list[str]:
    """Return the folders in which packages are looked for."""
    return list(dict.fromkeys(sys.path))


def _others() -> Iterator[Entry]:
    """Yield those of all packages that Python finds, each package once: the first that it finds."""
    seen = {OWN, DISTRIBUTION}  # what the kit lists itself is not read twice
    for place in places():
        try:
            names = sorted(os.listdir(place or "."))  # noqa: PTH208 (quick: most have no entries)
        except OSError:
            continue
        for name in names:
            package = re.sub(r"[-_.]+", "-", name.split("-")[0]).lower()
            if name.endswith((".dist-info", ".egg-info")) and package not in seen:
                seen.add(package)
                yield from _read(package, os.path.join(place, name, "entry_points.txt"))  # noqa: PTH118


def _read(package: str, path: str) -> Iterator[Entry]:
    """Yield the entries of one package that are for Tennis."""
    try:
        with open(path, encoding="utf-8") as file:  # noqa: PTH123
            text = file.read()
    except OSError:  # it has none, as nearly all
        return
    except UnicodeError:
        text = ""
    if "[tennis." not in text:
        return
    import configparser  # noqa: PLC0415 (where no package adds anything, nobody waits for it)

    parser = configparser.ConfigParser(delimiters="=", interpolation=None, strict=False)
    parser.optionxform = str  # type: ignore[assignment,method-assign] # names keep their case
    try:
        parser.read_string(text)
    except configparser.Error:
        yield Entry(DAMAGED, path, "", package)
        return
    for group in parser.sections():
        if group.startswith("tennis."):
            yield from (Entry(group, name, value, package) for name, value in parser[group].items())
