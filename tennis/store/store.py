# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""A term's rallies, wherever they are: one rule, and a row for each.

The rule: a figure comes from bytes whose hash was checked since they last changed. What was checked
is remembered outside of the store (``memory``).
"""

import datetime
import fcntl
import hashlib
import json
import os
import shutil
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Annotated, Any

import pyarrow as pa
from pydantic import Field, ValidationError

from tennis.checkout import cache_folder
from tennis.errors import BenchError, RallyError, UsageError
from tennis.listener import say
from tennis.rally import manifest as manifests
from tennis.rally import settings as table
from tennis.rally.copies import prints_of
from tennis.rally.disk import open_regular, sync, write_whole, writing
from tennis.rally.folder import BALLS, MANIFEST, Rally
from tennis.rally.manifest import Manifest, StrictModel, Text
from tennis.rally.opening import SIZE_LIMITS, count_balls, manifest_of, open_folder
from tennis.rally.settings import SETTINGS, unusual
from tennis.rally.tally import Tally
from tennis.store.layout import ABOUT, ABOUT_MAX, ID, RALLIES, id_of
from tennis.store.memory import Memory, stamp_of
from tennis.store.shelf import Shelf

DEPTH_MAX = 4  # folders below the one that is named, in which rallies are looked for
COPY_S = 600.0  # another process may take to copy a rally
LOOK_S = 0.1
COUNTED = "every ball was checked"  # a fact about a manifest, and the balls that it names
PRINTS = "what only copies share, 1"  # of these balls; the number changes with what is compared

COLUMNS = pa.schema(
    [
        ("id", pa.string()),
        ("created", pa.timestamp("ms", tz="UTC")),
        ("week", pa.string()),  # ISO 8601: 2026-W48
        ("bench_name", pa.string()),
        ("student", pa.string()),
        ("bench", pa.string()),  # its kind
        ("kernel", pa.string()),
        ("release", pa.string()),
        ("beneath", pa.string()),
        ("processors", pa.int64()),  # of the virtual target; null: one, or those that a board has
        ("load", pa.string()),
        ("top_half", pa.string()),
        ("bottom_half", pa.string()),
        ("priorities", pa.string()),
        # what else is not as usual, in words; empty: nothing
        ("settings", pa.string()),
        ("drill", pa.string()),
        ("seed", pa.int64()),
        ("balls", pa.int64()),
        ("misses", pa.int64()),
        ("ended", pa.string()),
        ("suspect", pa.bool_()),
        ("serial", pa.string()),
        ("tick_hz", pa.int64()),
        ("balls_sha256", pa.string()),
    ]
)


# settings that have a column of their own
IN_COLUMNS = frozenset(SETTINGS) & frozenset(COLUMNS.names)


class About(StrictModel):
    """What whoever adds a rally says of it; the sealed folder stays as it is."""

    bench_name: Annotated[Text | None, Field(max_length=80)] = None
    student: Annotated[Text | None, Field(max_length=80)] = None


@dataclass(frozen=True)
class Added:
    """What became of a folder that was to be added."""

    path: Path
    id: str | None  # None: it was refused
    words: str


@dataclass
class Store:
    """A store that is open."""

    shelf: Shelf

    @property
    def path(self) -> Path:
        """Return the folder in which what was asked for can be read."""
        return self.shelf.path

    def place(self, name: str) -> Path:
        """Return where a rally is."""
        return self.path / RALLIES / name

    @property
    def name(self) -> str:
        """Return how it is named."""
        return self.shelf.name

    def has(self, name: str) -> bool:
        """Tell whether a rally is there."""
        return self.shelf.has(name)

    @cached_property
    def memory(self) -> Memory:
        """Return what this machine knows of files."""
        return Memory(cache_folder() / "files.sqlite3")

    def fetch(self, names: Iterable[str], files: Collection[str] | None = None) -> None:
        """See to it that files of rallies can be read at ``place``.

        ``files``: the names of those that are needed beside the manifest; None: all.
        """
        self.shelf.fetch(names, files)

    def ids(self) -> list[str]:
        """Return the ids of all rallies that are there, sorted."""
        return self.shelf.ids()

    def add(self, path: Path, about: About) -> Iterator[Added]:
        """Add all sealed rallies in a folder; yield what became of each.

        A rally that is there already stays as it is. Raises UsageError where there is none.
        """
        found = False
        for folder in _rallies_in(path):
            found = True
            yield self._add(folder, about)
        if not found:
            raise UsageError(f"{path} holds no rally", next_step="name a sealed rally, or a match")

    def _add(self, folder: Path, about: About) -> Added:
        try:
            rally = open_folder(folder)
            name = id_of(folder)
        except RallyError as error:
            return Added(folder, None, f"refused: {error}")
        with writing(self.place(name)), self._alone(name) as fresh:
            if self.has(name):
                return Added(folder, name, "there already")
            return self._copy(rally, name, fresh, about)

    @contextmanager
    def _alone(self, name: str) -> Iterator[Path]:
        """Yield an empty folder in which a rally is copied, once no other process copies it.

        Raises BenchError where that one does not end.
        """
        fresh = self.place(name).with_name(f".{name}.part")
        until = time.monotonic() + COPY_S
        while True:
            fresh.mkdir(exist_ok=True)
            number = os.open(fresh, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                if _is_alone(number, fresh):
                    _empty(fresh)  # somebody may have been killed while copying
                    try:
                        yield fresh
                    finally:
                        if _is_here(number, fresh):  # it did not become the rally's
                            shutil.rmtree(fresh, ignore_errors=True)
                    return
            finally:
                os.close(number)
            if time.monotonic() > until:
                raise BenchError(
                    f"another process has copied {fresh} for {COPY_S / 60:g} min",
                    next_step="end it, then use the same command again",
                )
            time.sleep(LOOK_S)

    def _copy(self, rally: Rally, name: str, fresh: Path, about: About) -> Added:
        """Copy a rally that is not there yet. Raises OSError, RallyError."""
        folder, place = rally.path, self.place(name)
        with writing(place):
            for file in (MANIFEST, *rally.manifest.files):
                shutil.copyfile(folder / file, fresh / file)
                sync(fresh / file)
            text = json.dumps(about.model_dump(exclude_none=True)) + "\n"
            write_whole(self.path / ABOUT / f"{name}.json", text.encode(), force=True)
        open_folder(fresh)  # what was copied is whole, too
        if id_of(fresh) != name:
            return Added(folder, None, "refused: it changed while it was copied")
        self.shelf.share(name, fresh)
        fresh.rename(place)
        return Added(folder, name, f"{rally.label}, {rally.balls:,} balls")

    def catalogue(self) -> pa.Table:
        """Return a row for each rally, made of its manifest.

        A manifest is read again only if its file changed since it was read last. Raises RallyError
        for a damaged one, BenchError if a bucket cannot be reached.
        """
        names = self.ids()
        self.shelf.fetch(names, ())
        self.shelf.fetch_abouts()
        return self.rows(names)

    def rows(self, names: Iterable[str]) -> pa.Table:
        """Return the rows of some rallies whose manifests are at ``place``. Raises RallyError.

        A rally is left out, and that is said, where the note on it cannot be read: nobody knows
        whose it is. The others are as they were.
        """
        rows = []
        for name in names:
            try:
                about = self._about(name)
            except RallyError as error:
                say(f"left out: {error}")
                continue
            rows.append(self._row(name, about))
        self.memory.keep()
        return pa.Table.from_pylist(rows, schema=COLUMNS)

    def manifest(self, name: str) -> Manifest:
        """Return a rally's manifest, the one that its ID names. Raises RallyError."""
        sha256, text = self.memory.content(self.place(name) / MANIFEST, SIZE_LIMITS[MANIFEST])
        self._check_name(name, sha256)
        return manifest_of(self.place(name), text)

    def _check_name(self, name: str, sha256: str) -> None:
        if not ID.fullmatch(name) or not sha256.startswith(name):
            raise RallyError(
                f"{self.place(name) / MANIFEST} is damaged: it is not the one that its rally is "
                "named by",
                next_step=self.shelf.mend,
            )

    @contextmanager
    def checked(self, name: str, file: str, sha256: str) -> Iterator[Path]:
        """Yield the path of a rally's file, which has this hash, and still has it in the end.

        Raises RallyError if it has another one, or changes meanwhile.
        """
        path = self.place(name) / file
        found, stamp = self.memory.sha256(path, SIZE_LIMITS[file])
        if found != sha256:
            raise RallyError(
                f"{path} is damaged: it has not the hash that its manifest names",
                next_step=self.shelf.mend,
            )
        yield path
        if stamp_of(path) != stamp:
            raise RallyError(
                f"{path} changed while it was read", next_step="use the same command again"
            )

    def count(self, row: Mapping[str, Any]) -> tuple[Tally, Tally]:
        """Check and count every ball of a row of the catalogue: interrupt, scheduling latencies.

        Raises RallyError.
        """
        name = row["id"]
        manifest = self.manifest(name)
        with self.checked(name, BALLS, manifest.files[BALLS]):
            counted = count_balls(self.place(name), manifest)
            if self.memory.fact(name, PRINTS) is None:
                prints = prints_of(Rally(self.place(name), manifest, *counted))
                self.memory.learn(name, PRINTS, json.dumps(prints))
        self.memory.learn(name, COUNTED, manifest.files[BALLS])
        return counted

    def prints(self, row: Mapping[str, Any]) -> list[str]:
        """Return what only copies of a boot share (``tennis.rally.copies``). Raises RallyError."""
        if self.memory.fact(row["id"], PRINTS) is None:
            self.count(row)
        known: list[str] = json.loads(self.memory.fact(row["id"], PRINTS) or "[]")
        return known

    def see_to(self, row: Mapping[str, Any]) -> None:
        """Check every ball of a row of the catalogue, unless that was done. Raises RallyError."""
        if self.memory.fact(row["id"], COUNTED) != row["balls_sha256"]:
            self.count(row)

    def open(self, name: str) -> Rally:
        """Open a rally and check all of it, also that it is the one of this name.

        Raises RallyError.
        """
        rally = open_folder(self.place(name))
        if id_of(self.place(name)) != name:
            raise RallyError(f"{self.place(name)}: its name is another rally's")
        return rally

    def _row(self, name: str, about: About) -> dict[str, Any]:
        file = self.place(name) / MANIFEST
        sha256, _ = self.memory.sha256(file, SIZE_LIMITS[MANIFEST])
        self._check_name(name, sha256)
        known = self.memory.fact(sha256, _form())
        if known is None:
            known = json.dumps(_manifest_columns(self.manifest(name)))
            self.memory.learn(sha256, _form(), known)
        row: dict[str, Any] = json.loads(known)
        row["created"] = datetime.datetime.fromisoformat(row["created"])
        row["student"] = about.student or row["student"]
        return row | {"id": name, "bench_name": about.bench_name}

    def _about(self, name: str) -> About:
        try:
            with open_regular(self.path / ABOUT / f"{name}.json", links=False) as file:
                return About.model_validate_json(file.read(ABOUT_MAX))
        except FileNotFoundError:
            return About()
        except (OSError, ValidationError) as error:
            raise RallyError(
                f"{self.path / ABOUT / name}.json cannot be read", next_step="remove it"
            ) from error

    def verify(self) -> Iterator[tuple[str, str]]:
        """Yield each rally's id, and what is wrong with it; empty: all of its hashes are right."""
        for name in self.ids():
            yield name, self.shelf.damage(name)


def _is_alone(number: int, folder: Path) -> bool:
    """Lock a folder that is open; tell whether nobody else has it, and it still has its name."""
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # no locks there: of two that copy at once, one is refused
        return True
    return _is_here(number, folder)


def _is_here(number: int, folder: Path) -> bool:
    """Tell whether a folder that is open is the one of this name."""
    with suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(number), folder.stat(follow_symlinks=False))
    return False


def _empty(folder: Path) -> None:
    for left in folder.iterdir():
        if left.is_dir() and not left.is_symlink():
            shutil.rmtree(left)
        else:
            left.unlink()


def _rallies_in(path: Path, depth: int = DEPTH_MAX) -> Iterator[Path]:
    """Yield the sealed rallies at or below a folder, in the order of their names."""
    if path.is_symlink() or not path.is_dir():
        return
    if (path / MANIFEST).is_file():
        yield path
    elif depth and not path.name.endswith(".part"):
        for below in sorted(path.iterdir()):
            yield from _rallies_in(below, depth - 1)


@cache
def _form() -> str:
    """Return what names the rows of ``_manifest_columns``: another version may make others."""
    code = [Path(__file__), Path(manifests.__file__), Path(table.__file__)]
    return "row " + hashlib.sha256(b"".join(path.read_bytes() for path in code)).hexdigest()[:16]


def _manifest_columns(manifest: Manifest) -> dict[str, Any]:
    """Return what a manifest says for the catalogue."""
    target = manifest.target
    year, week, _ = datetime.datetime.fromisoformat(manifest.created).isocalendar()
    return {
        "created": manifest.created,
        "week": f"{year}-W{week:02}",
        "student": manifest.operator,
        "bench": manifest.bench,
        "kernel": target.kernel,
        "release": target.release,
        "beneath": target.beneath,
        "processors": target.processors,
        "load": manifest.load.name,
        "top_half": target.top_half,
        "bottom_half": target.bottom_half,
        "priorities": target.priorities,
        "settings": unusual(manifest, IN_COLUMNS),
        "drill": manifest.drill.name if manifest.drill else None,
        "seed": manifest.protocol.seed,
        "balls": manifest.counts.balls,
        "misses": manifest.counts.misses,
        "ended": manifest.ended,
        "suspect": manifest.suspect,
        "serial": manifest.instrument.serial,
        "tick_hz": manifest.instrument.tick_hz,
        "balls_sha256": manifest.files[BALLS],
    }
