"""Entry points of other packages: benches, commands, loads, instruments and labs.

A package names them as entry points, in groups such as ``tennis.benches``;
``docs/how-it-is-built.md`` lists the groups. A package is imported when somebody asks for an entry.
"""

import importlib
import os
import select
import signal
import sys
import threading
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

from tennis.kit.checkout import DISTRIBUTION, IS_CHECKOUT
from tennis.kit.errors import TennisError

OWN = "tennis"  # the kit's own package
IMPORT_S = 60.0  # how long the import of a package may take
SURVIVED = 113  # the exit code of a process that tried an import
# Python module -> the extra of pyproject.toml that installs it, or the group of its development
OPTIONAL = {
    **dict.fromkeys(("ipykernel", "jupyterlab", "jupytext", "nbclient", "nbconvert"), "lab"),
    **dict.fromkeys(("nbformat", "pandas", "pytest", "weasyprint"), "lab"),
    "dask": "cluster",
    "distributed": "cluster",
    "littlefs": "pico",
    "matplotlib": "pictures",
    "mpremote": "boards",
    "serial": "boards",
}


_LIST = "entry_points.txt"


class EntryError(TennisError):
    """Something that a package adds cannot be used: the package is broken, or a part is missing."""


def load(value: str) -> Any:
    """Import and return what ``MODULE:ATTRIBUTE`` or ``MODULE`` names.

    Raises EntryError if an optional Python package is missing, and what the import raises.
    """
    module, _, attribute = value.partition(":")
    try:
        found: Any = importlib.import_module(module.strip())
    except ModuleNotFoundError as error:
        if _is_optional(error):
            raise lacking(error) from error
        raise
    for name in filter(None, attribute.partition("[")[0].strip().split(".")):
        found = getattr(found, name)
    return found


@dataclass(frozen=True)
class Entry:
    """One entry point of a package: ``name = value``, with MODULE:ATTRIBUTE as the value."""

    group: str
    name: str
    value: str
    package: str
    trouble: str = ""  # why a package's list of entries cannot be read

    def load(self) -> Any:
        """Import and return the named object. Raises EntryError.

        A process of its own tries the import, which may end it, and may take IMPORT_S. Then a
        thread of its own imports, so that its threads end with the command.
        """
        if self.trouble:
            raise EntryError(f"{self} {self.trouble}", next_step=self.repair)
        if why := _end_of_process(self.value):
            raise EntryError(f"{self} is broken ({why})", next_step=self.repair)
        ended: list[tuple[Any, BaseException | None]] = []

        def run() -> None:
            try:
                ended.append((load(self.value), None))
            except BaseException as error:  # it may end by sys.exit, too
                ended.append((None, error))

        thread = threading.Thread(target=run, daemon=True)
        with _kept_apart():
            thread.start()
            thread.join(IMPORT_S)
        if not ended:
            why = f"its import did not end within {IMPORT_S:g} s"
            raise EntryError(f"{self} is broken ({why})", next_step=self.repair)
        found, error = ended[0]
        if error is not None:
            self._refuse(error)
        return found

    def _refuse(self, ended: BaseException) -> NoReturn:
        """Raise EntryError for what ended an import."""
        try:
            raise ended
        except EntryError as error:
            raise EntryError(f"{self} {error.message}", next_step=error.next_step) from error
        except TennisError:
            raise
        except ModuleNotFoundError as error:
            raise lacking(error, f"{self} ") from error
        except BaseException as error:
            why = type(error).__name__
            with suppress(Exception):  # a text that cannot be made
                why += f": {error}"
            raise EntryError(f"{self} is broken ({why})", next_step=self.repair) from error

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
        """Raise EntryError if a loaded object lacks a part that such an entry needs."""
        if lacking := [name for name in names if not hasattr(found, name)]:
            why = f"it has no {', '.join(lacking)}"
            raise EntryError(f"{self} is broken ({why})", next_step=self.repair)

    @property
    def repair(self) -> str:
        """Say what to do about one that is broken."""
        return f"repair the package {self.package}, or remove it"

    def __str__(self) -> str:
        """Say which it is: its name, the kind of thing, the package."""
        group = self.group.removeprefix("tennis.").partition(".")[0]
        kind = "bench" if group == "benches" else group.removesuffix("s")
        return f"the {kind} {self.name} of the package {self.package}"


def lacking(error: ModuleNotFoundError, who: str = "") -> EntryError:
    """Return the error that names the missing module of a failed import."""
    words = f"{who}needs the Python module {error.name}, which is not installed"
    return EntryError(words, next_step=_how_to_get(error))


def _how_to_get(error: ModuleNotFoundError) -> str:
    """Say how to install a missing module."""
    if not _is_optional(error):
        return "install it, or the package that brings it"
    extra = OPTIONAL[(error.name or "").partition(".")[0]]
    if not IS_CHECKOUT and extra == "lab":
        return f"run 'pip install {error.name}'"
    if not IS_CHECKOUT:
        return f"run \"pip install '{DISTRIBUTION}[{extra}]'\""
    return f"run 'scripts/setup.sh{'' if extra in {'boards', 'pictures'} else f' --{extra}'}'"


def _is_optional(error: ModuleNotFoundError) -> bool:
    """Tell whether an extra of Tennis installs the missing module."""
    return (error.name or "").partition(".")[0] in OPTIONAL


def entries(group: str) -> tuple[Entry, ...]:
    """Return the entries of a group by their names; also of groups ``GROUP.MORE``."""
    return tuple(
        entry for entry in _every() if entry.group == group or entry.group.startswith(f"{group}.")
    )


def find(group: str, name: str) -> Entry | None:
    """Return the entry of this name; None: no package has it."""
    return next((entry for entry in entries(group) if entry.name == name), None)


@cache
def _every() -> tuple[Entry, ...]:
    return tuple(sorted(_installed(), key=lambda one: (one.name, one.package)))


def forget() -> None:
    """Forget the list, so that installed packages are read again."""
    _every.cache_clear()


def _installed() -> Iterator[Entry]:
    """Yield the entries of all packages that Python finds, each package once."""
    from importlib.metadata import distributions  # noqa: PLC0415 (many commands need none of it)

    seen = {DISTRIBUTION}  # one of an older version lists parts that are the kit's own now
    for one in distributions():
        name = ""
        try:
            text = one.read_text(_LIST)
            if not text or "[tennis." not in text:
                continue
            name = one.name
            points = [point for point in one.entry_points if point.group.startswith("tennis.")]
        except Exception as error:  # Python's reader may raise anything
            with suppress(Exception):
                name = one.name
            why = f"cannot be read ({type(error).__name__}: {error})"
            yield Entry("tennis.list", _LIST, "", name or str(one.locate_file("")), why)
            continue
        if name not in seen:
            seen.add(name)
            for point in points:
                yield Entry(point.group, point.name, point.value, name)


def _end_of_process(value: str) -> str:
    """Return how an import ends, or holds up, the process that tries it; empty: it does neither."""
    if not (child := os.fork()):
        with Path(os.devnull).open("w") as sink, suppress(BaseException):
            for stream in (0, 1, 2):
                os.dup2(sink.fileno(), stream)
            sys.stdout = sys.stderr = sink
            load(value)
        os._exit(SURVIVED)
    descriptor = os.pidfd_open(child)
    ready, _, _ = select.select([descriptor], [], [], IMPORT_S)
    os.close(descriptor)
    if not ready:
        os.kill(child, signal.SIGKILL)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if not ready:
        return f"its import did not end within {IMPORT_S:g} s"
    return "" if code == SURVIVED else f"its import ends the process, with exit code {code}"


@contextmanager
def _kept_apart() -> Iterator[None]:
    """Let what an import changes of the process be as before; it prints to standard error."""
    with suppress(ValueError, AttributeError):  # a stream that is closed
        sys.stdout.flush()
    folder, output = os.open(".", os.O_PATH | os.O_CLOEXEC), os.dup(1)
    mask = os.umask(0o077)
    os.umask(mask)
    try:
        os.dup2(2, 1)
        with redirect_stdout(sys.stderr), warnings.catch_warnings():
            yield
    finally:
        os.dup2(output, 1)
        os.fchdir(folder)
        os.umask(mask)
        os.close(folder)
        os.close(output)
