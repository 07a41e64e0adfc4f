# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""A store in a bucket: the same folders there, and on this machine what was asked for.

A rally never changes. Its manifest's SHA-256 names it, and the manifest names that of each file. So
what was fetched once is kept in the cache folder, and nothing is believed that has another hash.
"""

import hashlib
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from tennis.checkout import cache_folder
from tennis.errors import BenchError, RallyError, UsageError
from tennis.listener import say
from tennis.rally.disk import writing
from tennis.rally.folder import MANIFEST, open_folder, read_manifest
from tennis.store.folder import (
    ABOUT,
    CATALOGUE,
    CONTENT,
    RALLIES,
    STORE,
    Store,
    check_content,
    id_of,
)
from tennis.store.place import PART, Place
from tennis.units import format_count

AT_ONCE = 8  # transfers
SAID_EVERY_S = 10.0
ID = re.compile(r"[0-9a-f]{16}")


@dataclass
class BucketStore(Store):
    """A store in a bucket that is open; ``path``: what of it is on this machine."""

    bucket: Place

    @property
    def name(self) -> str:
        """Return how it is named."""
        return self.bucket.url

    def ids(self) -> list[str]:
        """Return the ids of all rallies that are there, whole, sorted."""
        keys = (key.split("/") for key in self.bucket.keys(RALLIES))
        return sorted(
            key[1] for key in keys if len(key) == 3 and key[2] == MANIFEST and ID.fullmatch(key[1])
        )

    def has(self, name: str) -> bool:
        """Tell whether a rally is there."""
        return self.bucket.has_rally(f"{RALLIES}/{name}")

    def fetch(self, names: Iterable[str], wanted: Callable[[str], bool] = lambda _: True) -> None:
        """Bring files of rallies here, whatever is not here yet; the manifests in any case.

        Raises RallyError for what is damaged there, BenchError where the bucket cannot be reached.
        """
        missing = [name for name in names if not self._is_here(name, wanted)]
        if not missing:
            return
        say(f"{self.name}: fetching {format_count(len(missing), 'rally', 'rallies')}")
        last = time.monotonic()
        with ThreadPoolExecutor(AT_ONCE) as pool:
            done = pool.map(lambda name: self._bring(name, wanted), missing)
            try:
                for number, _ in enumerate(done, 1):
                    if time.monotonic() - last > SAID_EVERY_S:
                        last = time.monotonic()
                        say(f"{self.name}: {number:,} of {len(missing):,}")
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise

    def _is_here(self, name: str, wanted: Callable[[str], bool]) -> bool:
        place = self.place(name)
        if not (place / MANIFEST).is_file():
            return False
        files = read_manifest(place).files
        return all((place / file).is_file() for file in files if wanted(file))

    def _bring(self, name: str, wanted: Callable[[str], bool]) -> None:
        place = self.place(name)
        with writing(place):
            place.mkdir(parents=True, exist_ok=True)
        self._bring_file(name, MANIFEST, lambda sha256: sha256.startswith(name))
        for file, known in read_manifest(place).files.items():
            if wanted(file):
                if Path(file).name != file:
                    raise RallyError(f"{self.name}/{RALLIES}/{name}/{MANIFEST} is damaged")
                self._bring_file(name, file, known.__eq__)

    def _bring_file(self, name: str, file: str, right: Callable[[str], bool]) -> None:
        """Fetch one file, unless it is here; it appears once its hash is known to be right."""
        to = self.place(name) / file
        if to.is_file():
            return
        key = f"{RALLIES}/{name}/{file}"
        with writing(to), tempfile.TemporaryDirectory(prefix=f".{name}.", dir=to.parent) as scratch:
            fresh = Path(scratch) / "fresh"
            self.bucket.get(key, fresh)
            with fresh.open("rb") as data:
                sha256 = hashlib.file_digest(data, "sha256").hexdigest()
            if not right(sha256):
                raise RallyError(
                    f"{self.name}/{key} is damaged", next_step="`tennis store verify` looks at all"
                )
            fresh.rename(to)

    def _share(self, name: str, fresh: Path) -> None:
        """Store a rally that is here, its manifest last."""
        self.bucket.put(self.path / ABOUT / f"{name}.json", f"{ABOUT}/{name}.json")
        self.bucket.put_rally(fresh, f"{RALLIES}/{name}")
        shutil.rmtree(self.place(name), ignore_errors=True)  # of an earlier store of that name

    def rebuild(self) -> pa.Table:
        """Make the catalogue of the rallies, there and here."""
        names = self.ids()
        self.fetch(names, lambda _: False)
        with ThreadPoolExecutor(AT_ONCE) as pool:
            list(pool.map(self._bring_about, names))
        made = super().rebuild()
        try:
            self.bucket.put(self.path / CATALOGUE, CATALOGUE)
        except BenchError as error:  # whoever may only read has the catalogue here
            say(f"the new catalogue stays on this machine: {error.message}")
        return made

    def _bring_about(self, name: str) -> None:
        to = self.path / ABOUT / f"{name}.json"
        key = f"{ABOUT}/{name}.json"
        with writing(to), tempfile.TemporaryDirectory(prefix=".about.", dir=to.parent) as scratch:
            if self.bucket.has(key):
                self.bucket.get(key, Path(scratch) / "fresh")
                (Path(scratch) / "fresh").rename(to)
            else:
                to.unlink(missing_ok=True)

    def _known(self) -> pa.Table:
        if self.bucket.has(CATALOGUE):
            fresh = self.path / f".{CATALOGUE}{PART}"
            with writing(fresh):
                self.bucket.get(CATALOGUE, fresh)
                fresh.rename(self.path / CATALOGUE)
        return super()._known()

    def verify(self) -> Iterator[tuple[str, str]]:
        """Yield each rally's id, and what is wrong with it there; all of it is read anew."""
        for name in self.ids():
            with tempfile.TemporaryDirectory(prefix="tennis-verify-") as scratch:
                place = Path(scratch) / name
                try:
                    self.bucket.get_rally(f"{RALLIES}/{name}", place)
                    open_folder(place)
                    wrong = "" if id_of(place) == name else "its name is another rally's"
                except RallyError as error:
                    wrong = str(error).replace(str(place), f"{self.name}/{RALLIES}/{name}")
            yield name, wrong


def create(url: str) -> BucketStore:
    """Make an empty store in a bucket, or open the one that is there.

    Raises RallyError, UsageError; BenchError where the bucket cannot be reached or written to.
    """
    place = Place(url)
    place.look()
    if not place.has(STORE):
        if place.keys():
            raise UsageError(f"{url} exists and is no store", next_step="choose another place")
        with tempfile.TemporaryDirectory(prefix="tennis-store-") as scratch:
            (Path(scratch) / STORE).write_bytes(CONTENT)
            place.put(Path(scratch) / STORE, STORE)
    return open_there(url)


def open_there(url: str) -> BucketStore:
    """Open a store in a bucket. Raises RallyError where it is none, BenchError."""
    place = Place(url)
    place.look()
    content = b""
    if place.has(STORE):
        with tempfile.TemporaryDirectory(prefix="tennis-store-") as scratch:
            place.get(STORE, Path(scratch) / STORE)
            content = (Path(scratch) / STORE).read_bytes()
    check_content(content, url)
    here = cache_folder() / "stores" / hashlib.sha256(place.whose.encode()).hexdigest()[:16]
    with writing(here):
        for folder in (RALLIES, ABOUT):
            (here / folder).mkdir(parents=True, exist_ok=True)
    return BucketStore(here, place)
