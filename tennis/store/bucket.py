# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""A store in a bucket: the same folders there, and on this machine what was asked for.

A rally never changes. Its manifest's SHA-256 names it, and the manifest names that of each file. So
what was fetched once is kept in the cache folder, and nothing is believed that has another hash.
"""

import hashlib
import json
import shutil
import tempfile
import time
from collections.abc import Callable, Collection, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tennis.checkout import cache_folder
from tennis.errors import RallyError, UsageError
from tennis.listener import say
from tennis.rally.disk import write_whole, writing
from tennis.rally.folder import MANIFEST
from tennis.rally.opening import open_folder, read_manifest
from tennis.store.layout import ABOUT, CONTENT, ID, RALLIES, STORE, check_content, id_of
from tennis.store.place import Place
from tennis.units import format_count

AT_ONCE = 8  # transfers
SAID_EVERY_S = 10.0
ABOUTS = "about.json"  # which of the bucket's were fetched


@dataclass(frozen=True)
class BucketShelf:
    """A store in a bucket; ``path``: what of it is on this machine."""

    path: Path
    bucket: Place

    def place(self, name: str) -> Path:
        """Return where a rally is on this machine."""
        return self.path / RALLIES / name

    @property
    def name(self) -> str:
        """Return how the store is named."""
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

    def fetch(self, names: Iterable[str], files: Collection[str] | None = None) -> None:
        """Bring files of rallies here, whatever is not here yet; the manifests in any case.

        Raises RallyError for what is damaged there, BenchError where the bucket cannot be reached.
        """
        missing = [name for name in names if not self._is_here(name, files)]
        if missing:
            what = f"fetching {format_count(len(missing), 'rally', 'rallies')}"
            if files is not None and not files:
                what = f"fetching {format_count(len(missing), 'manifest')}"
            self._at_once(what, missing, lambda name: self._bring(name, files))

    def _at_once(self, what: str, names: list[str], bring: Callable[[str], None]) -> None:
        say(f"{self.name}: {what}")
        last = time.monotonic()
        with ThreadPoolExecutor(AT_ONCE) as pool:
            done = pool.map(bring, names)
            try:
                for number, _ in enumerate(done, 1):
                    if time.monotonic() - last > SAID_EVERY_S:
                        last = time.monotonic()
                        say(f"{self.name}: {number:,} of {len(names):,}")
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise

    def _is_here(self, name: str, files: Collection[str] | None) -> bool:
        place = self.place(name)
        if not (place / MANIFEST).is_file():
            return False
        needed = read_manifest(place).files if files is None else files
        return all((place / file).is_file() for file in needed)

    def _bring(self, name: str, files: Collection[str] | None) -> None:
        place = self.place(name)
        with writing(place):
            place.mkdir(parents=True, exist_ok=True)
        self._bring_file(name, MANIFEST, lambda sha256: sha256.startswith(name))
        for file, known in read_manifest(place).files.items():
            if files is None or file in files:
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

    def share(self, name: str, fresh: Path) -> None:
        """Store a rally that is here, its manifest last."""
        self.bucket.put(self.path / ABOUT / f"{name}.json", f"{ABOUT}/{name}.json")
        self.bucket.put_rally(fresh, f"{RALLIES}/{name}")
        shutil.rmtree(self.place(name), ignore_errors=True)  # of an earlier store of that name

    def fetch_abouts(self) -> None:
        """Fetch what was said of rallies, as far as it changed there."""
        there = {
            Path(key).stem: stamp
            for key, stamp in self.bucket.stamps(ABOUT).items()
            if ID.fullmatch(Path(key).stem) and Path(key).suffix == ".json"
        }
        try:
            here = json.loads((self.path / ABOUTS).read_bytes())
        except (FileNotFoundError, ValueError):
            here = {}
        if here == there:
            return
        for name in here.keys() - there.keys():
            (self.path / ABOUT / f"{name}.json").unlink(missing_ok=True)
        changed = sorted(name for name, stamp in there.items() if here.get(name) != stamp)
        if changed:
            what = f"fetching the notes on {format_count(len(changed), 'rally', 'rallies')}"
            self._at_once(what, changed, self._bring_about)
        write_whole(self.path / ABOUTS, json.dumps(there).encode(), force=True)

    def _bring_about(self, name: str) -> None:
        to = self.path / ABOUT / f"{name}.json"
        with writing(to), tempfile.TemporaryDirectory(prefix=".about.", dir=to.parent) as scratch:
            self.bucket.get(f"{ABOUT}/{name}.json", Path(scratch) / "fresh")
            (Path(scratch) / "fresh").rename(to)

    @property
    def mend(self) -> str:
        """Return what to do about a damaged file of this machine's."""
        return f"remove {self.path}: it is fetched again"

    def damage(self, name: str) -> str:
        """Say what is wrong with a rally there, empty: nothing; all of it is read again."""
        with tempfile.TemporaryDirectory(prefix="tennis-verify-") as scratch:
            place = Path(scratch) / name
            try:
                self.bucket.get_rally(f"{RALLIES}/{name}", place)
                open_folder(place)
                return "" if id_of(place) == name else "its name is another rally's"
            except RallyError as error:
                return str(error).replace(str(place), f"{self.name}/{RALLIES}/{name}")


def create(url: str) -> BucketShelf:
    """Make an empty store in a bucket, or open the one that is there.

    Raises RallyError, UsageError; BenchError where the bucket cannot be reached or written to.
    """
    place = Place(url)
    place.probe()
    if not place.has(STORE):
        if place.keys():
            raise UsageError(f"{url} exists and is not a store", next_step="choose another place")
        with tempfile.TemporaryDirectory(prefix="tennis-store-") as scratch:
            (Path(scratch) / STORE).write_bytes(CONTENT)
            place.put(Path(scratch) / STORE, STORE)
    return open_there(url)


def open_there(url: str) -> BucketShelf:
    """Open a store in a bucket. Raises RallyError where it is none, BenchError."""
    place = Place(url)
    place.probe()
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
    return BucketShelf(here, place)
