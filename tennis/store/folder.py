# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""A store is a folder: ``rallies/ID/`` are sealed rallies, ``about/ID.json`` what was said of them.

``catalogue.parquet`` is made of these and can be made again at any time: it is never the only copy
of anything. Where it and the folders contradict each other, the folders are right.
"""

import datetime
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import Field, ValidationError

from tennis.errors import RallyError, UsageError
from tennis.rally.disk import sync, write_whole, writing
from tennis.rally.folder import BALLS, MANIFEST, open_folder, read_manifest
from tennis.rally.manifest import StrictModel, Text

STORE = "store.json"
RALLIES, ABOUT, CATALOGUE = "rallies", "about", "catalogue.parquet"
SCHEMA_VERSION = 1
ID_DIGITS = 16  # of the SHA-256 of a rally's manifest
DEPTH_MAX = 4  # folders below the one that is named, in which rallies are looked for
ABOUT_MAX = 1 << 12  # bytes
CONTENT = (json.dumps({"schema_version": SCHEMA_VERSION}) + "\n").encode()  # of STORE

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
        ("load", pa.string()),
        ("top_half", pa.string()),
        ("bottom_half", pa.string()),
        ("priorities", pa.string()),
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


class _StoreFile(StrictModel):
    schema_version: Literal[1]


class About(StrictModel):
    """What whoever adds a rally says of it; the sealed folder stays as it is."""

    bench_name: Annotated[Text | None, Field(max_length=80)] = None
    student: Annotated[Text | None, Field(max_length=80)] = None


@dataclass(frozen=True)
class Added:
    """What became of a folder that was to be added."""

    path: Path
    id: str | None  # None: it was refused
    said: str


@dataclass
class Store:
    """A store that is open."""

    path: Path

    def place(self, name: str) -> Path:
        """Return where a rally is."""
        return self.path / RALLIES / name

    @property
    def name(self) -> str:
        """Return how it is named."""
        return str(self.path)

    def has(self, name: str) -> bool:
        """Tell whether a rally is there."""
        return self.place(name).is_dir()

    def fetch(self, names: Iterable[str], wanted: Callable[[str], bool] = lambda _: True) -> None:
        """See to it that files of rallies can be read at ``place``: in a folder they can."""

    def ids(self) -> list[str]:
        """Return the ids of all rallies that are there, sorted."""
        with os.scandir(self.path / RALLIES) as entries:
            return sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False)
                          and not entry.name.startswith("."))  # fmt: skip

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
        place = self.place(name)
        if self.has(name):
            return Added(folder, name, "there already")
        fresh = place.with_name(f".{name}.part")
        with writing(place):
            shutil.rmtree(fresh, ignore_errors=True)
            fresh.mkdir()
            for file in (MANIFEST, *rally.manifest.files):
                shutil.copyfile(folder / file, fresh / file)
                sync(fresh / file)
            text = json.dumps(about.model_dump(exclude_none=True)) + "\n"
            write_whole(self.path / ABOUT / f"{name}.json", text.encode(), force=True)
        open_folder(fresh)  # what was copied is whole, too
        self._share(name, fresh)
        fresh.rename(place)
        return Added(folder, name, f"{rally.label}, {rally.balls:,} balls")

    def _share(self, name: str, fresh: Path) -> None:
        """Take a rally that was copied and is whole to where others look for it."""

    def catalogue(self, say: Callable[[str], None] = lambda _: None) -> pa.Table:
        """Return the catalogue; made anew, and said, where it does not fit the folders."""
        try:
            known = self._known()
            fits = known["id"].to_pylist() == self.ids()
        except FileNotFoundError:
            return self.rebuild()
        except (OSError, pa.ArrowException):
            fits = False
        if not fits:
            say(
                f"{self.name}/{CATALOGUE} contradicts the folders, which are right: it is made anew"
            )
            return self.rebuild()
        return known

    def _known(self) -> pa.Table:
        return pq.read_table(self.path / CATALOGUE, schema=COLUMNS)

    def rebuild(self) -> pa.Table:
        """Make the catalogue of the folders. Raises RallyError for a rally that is damaged."""
        rows = [self._row(name) for name in self.ids()]
        made = pa.Table.from_pylist(rows, schema=COLUMNS)
        fresh = self.path / f".{CATALOGUE}.part"
        with writing(self.path / CATALOGUE):
            pq.write_table(made, fresh, compression="zstd")
            sync(fresh)
            fresh.rename(self.path / CATALOGUE)
        return made

    def _row(self, name: str) -> dict[str, Any]:
        manifest = read_manifest(self.place(name))
        target = manifest.target
        created = datetime.datetime.fromisoformat(manifest.created)
        year, week, _ = created.isocalendar()
        about = self._about(name)
        return {
            "id": name,
            "created": created,
            "week": f"{year}-W{week:02}",
            "bench_name": about.bench_name,
            "student": about.student or manifest.operator,
            "bench": manifest.bench,
            "kernel": target.kernel,
            "release": target.release,
            "beneath": target.beneath,
            "load": manifest.load.name,
            "top_half": target.top_half,
            "bottom_half": target.bottom_half,
            "priorities": target.priorities,
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

    def _about(self, name: str) -> About:
        try:
            with (self.path / ABOUT / f"{name}.json").open("rb") as file:
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
            try:
                open_folder(self.place(name))
                wrong = "" if id_of(self.place(name)) == name else "its name is another rally's"
            except RallyError as error:
                wrong = str(error)
            yield name, wrong


def create(path: Path | str) -> Store:
    """Make an empty store, or open the one that is there; a text is a bucket's URL.

    Raises RallyError, UsageError; BenchError where a bucket cannot be reached or written to.
    """
    if isinstance(path, str):
        from tennis.store import bucket  # noqa: PLC0415 (it is a kind of Store)

        return bucket.create(path)
    if (path / STORE).is_file():
        return open_store(path)
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise UsageError(f"{path} exists and is no store", next_step="choose another folder")
    with writing(path):
        for folder in (RALLIES, ABOUT):
            (path / folder).mkdir(parents=True, exist_ok=True)
        write_whole(path / STORE, CONTENT)
    return Store(path)


def open_store(path: Path | str) -> Store:
    """Open a store; a text is a bucket's URL.

    Raises RallyError where it is none, or a newer one; BenchError where a bucket cannot be reached.
    """
    if isinstance(path, str):
        from tennis.store import bucket  # noqa: PLC0415 (it is a kind of Store)

        return bucket.open_there(path)
    try:
        with (path / STORE).open("rb") as file:
            content = file.read(ABOUT_MAX)
    except OSError:
        content = b""
    check_content(content, str(path))
    return Store(path)


def check_content(content: bytes, name: str) -> None:
    """Raise RallyError where this is not what makes a folder a store (STORE), or a newer one."""
    try:
        said = json.loads(content)
    except ValueError as error:
        raise RallyError(
            f"{name} is no store", next_step=f"make one: tennis store add {name} RALLY"
        ) from error
    version = said.get("schema_version") if isinstance(said, dict) else None
    if isinstance(version, int) and version > SCHEMA_VERSION:
        raise RallyError(
            f"{name} is of a newer tennis (schema {version}, this one reads {SCHEMA_VERSION})",
            next_step="update tennis",
        )
    try:
        _StoreFile.model_validate(said)
    except ValidationError as error:
        raise RallyError(f"{name}/{STORE} is damaged", next_step="restore it") from error


def _rallies_in(path: Path, depth: int = DEPTH_MAX) -> Iterator[Path]:
    """Yield the sealed rallies at or below a folder, in the order of their names."""
    if path.is_symlink() or not path.is_dir():
        return
    if (path / MANIFEST).is_file():
        yield path
    elif depth and not path.name.endswith(".part"):
        for below in sorted(path.iterdir()):
            yield from _rallies_in(below, depth - 1)


def id_of(folder: Path) -> str:
    """Return a rally's name in a store: the beginning of its manifest's SHA-256."""
    return hashlib.sha256((folder / MANIFEST).read_bytes()).hexdigest()[:ID_DIGITS]
