# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Where machines leave things for each other: a folder that all of them see, or a bucket.

fsspec knows how to get there (``/shared/tennis``, ``s3://bucket/tennis``). A thing that is there is
whole: files appear by one rename or one upload, and of a rally's folder the manifest comes last.
"""

import os
import shutil
import tarfile
import tempfile
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from tennis.credentials import refuse_credentials, without_credentials
from tennis.digests import sha256_of
from tennis.errors import BenchError, RallyError, UsageError
from tennis.rally.folder import MANIFEST
from tennis.rally.text import plain

TRIES = 4  # of each transfer; a network may be cut for a moment
WAIT_S = 1.0  # before the second, and twice as long before each other
PART = ".part"
S3 = "s3://"

T = TypeVar("T")


class Place:
    """A folder or bucket, by its URL."""

    def __init__(self, url: str) -> None:
        """Find the way. Raises UsageError where there is none, or where the URL holds a key."""
        refuse_credentials(url)
        try:
            import fsspec  # noqa: PLC0415 (only these need it)
        except ModuleNotFoundError as error:
            raise UsageError(
                "a cluster and a bucket need fsspec, which is not installed",
                next_step="scripts/setup.sh --cluster, or --store",
            ) from error
        self.url = url
        try:
            way = _way(url) if url.startswith(S3) else fsspec.core.url_to_fs(url)
        except (ValueError, ImportError, OSError) as error:
            raise UsageError(f"{plain(url, 80)}: {_error_text(error, 160)}") from error
        self._fs: Any = way[0]
        self._root: str = way[1]
        self._local = "file" in self._fs.protocol

    def where(self, key: str) -> str:
        """Return where something is."""
        return f"{self._root.rstrip('/')}/{key}"

    @property
    def whose(self) -> str:
        """Return what tells this place from all others: a bucket's name is its provider's only."""
        provider = os.environ.get("AWS_ENDPOINT_URL", "") if self.url.startswith(S3) else ""
        return f"{provider} {self._root.strip('/')}"

    def probe(self) -> None:
        """Check that anybody answers. Raises BenchError, after the first try."""
        self._try("look into", lambda: self._fs.exists(self.where("any")), tries=1)

    def keys(self, below: str = "") -> list[str]:
        """Return the keys of all files that are there, or below a key. Raises BenchError."""

        def find() -> list[str]:
            self._fs.invalidate_cache()
            root = self._root.strip("/")
            try:
                found = self._fs.find(self.where(below).rstrip("/"))
            except FileNotFoundError:
                return []
            return [place.strip("/").removeprefix(root).strip("/") for place in found]

        return self._try("list", find)

    def stamps(self, below: str) -> dict[str, str]:
        """Return the files below a key, and what changes with each. Raises BenchError."""

        def find() -> dict[str, str]:
            self._fs.invalidate_cache()
            try:
                found = self._fs.find(self.where(below), detail=True)
            except FileNotFoundError:
                return {}
            return {place: f"{told['size']} {told.get('mtime')}" for place, told in found.items()}

        return self._try("list", find)

    def check(self) -> None:
        """Write and remove something. Raises BenchError where that is not allowed."""
        self.probe()
        key = f".tennis-{uuid.uuid4().hex}"
        with tempfile.TemporaryDirectory(prefix="tennis-store-") as scratch:
            probe = Path(scratch) / "probe"
            probe.write_bytes(b"tennis\n")
            self.put(probe, key)
        self._try("remove what was written to", lambda: self._fs.rm_file(self.where(key)))

    def has(self, key: str) -> bool:
        """Tell whether something is there. Raises BenchError."""

        def is_there() -> bool:
            self._fs.invalidate_cache()
            return bool(self._fs.exists(self.where(key)))

        return self._try("look into", is_there)

    def put(self, path: Path, key: str) -> None:
        """Store a file. Raises BenchError."""
        place = self.where(key)

        def write() -> None:
            if not self._local:
                self._fs.put_file(str(path), place)
                return
            fresh = f"{place}.{uuid.uuid4().hex}{PART}"  # one rename: nobody sees a part of it
            self._fs.makedirs(place.rpartition("/")[0], exist_ok=True)
            self._fs.put_file(str(path), fresh)
            self._fs.mv(fresh, place)

        self._try("write to", write)

    def get(self, key: str, path: Path) -> None:
        """Fetch a file. Raises BenchError."""
        self._try("read from", lambda: self._fs.get_file(self.where(key), str(path)))

    def put_rally(self, folder: Path, key: str) -> None:
        """Store a sealed rally, its manifest last. Raises BenchError."""
        files = sorted(path for path in folder.iterdir() if path.name != MANIFEST)
        for path in [*files, folder / MANIFEST]:
            self.put(path, f"{key}/{path.name}")

    def has_rally(self, key: str) -> bool:
        """Tell whether a whole rally is there. Raises BenchError."""
        return self.has(f"{key}/{MANIFEST}")

    def get_rally(self, key: str, folder: Path) -> None:
        """Fetch a sealed rally; it appears as ``folder`` by one rename. Raises BenchError.

        What was fetched is not looked at: whoever opens it does.
        """
        fresh = folder.with_name(f".{folder.name}.incoming")
        shutil.rmtree(fresh, ignore_errors=True)
        fresh.mkdir(parents=True)

        def names() -> list[str]:
            self._fs.invalidate_cache()
            listed = self._fs.ls(self.where(key), detail=False)
            return [place.rstrip("/").rpartition("/")[2] for place in listed]

        for name in self._try("list", names):
            if name and not name.endswith(PART):  # of somebody who was killed while writing
                self.get(f"{key}/{name}", fresh / name)
        fresh.rename(folder)

    def remove_rally(self, key: str) -> None:
        """Remove a rally, its manifest first. Raises BenchError."""

        def remove() -> None:
            if self._fs.exists(self.where(f"{key}/{MANIFEST}")):
                self._fs.rm_file(self.where(f"{key}/{MANIFEST}"))
            self._fs.rm(self.where(key), recursive=True)

        self._try("remove from", remove)

    def put_folder(self, folder: Path, takes: Callable[[str], bool] = lambda _: True) -> str:
        """Store a folder of files and links; return its SHA-256, which names it.

        ``takes`` tells by a file's path in the folder whether it is taken. Raises BenchError.
        """
        with tempfile.TemporaryDirectory(prefix="tennis-store-") as scratch:
            archive = Path(scratch) / "folder.tar"
            with tarfile.open(archive, "w", format=tarfile.GNU_FORMAT) as tar:
                for path in sorted(folder.rglob("*")):
                    name = str(path.relative_to(folder))
                    if (path.is_symlink() or not path.is_dir()) and takes(name):
                        tar.add(path, arcname=name, recursive=False, filter=_alike)
            key = sha256_of(archive)
            if not self.has(f"folders/{key}"):
                self.put(archive, f"folders/{key}")
        return key

    def get_folder(self, key: str, folder: Path) -> None:
        """Fetch a folder that ``put_folder`` stored, into an empty one.

        Raises BenchError; RallyError where it is not what its name says.
        """
        with tempfile.TemporaryDirectory(prefix="tennis-store-") as scratch:
            archive = Path(scratch) / "folder.tar"
            self.get(f"folders/{key}", archive)
            if sha256_of(archive) != key:
                raise RallyError(
                    f"{self.url}/folders/{key} is damaged",
                    next_step="remove it: the same command stores it again",
                )
            with tarfile.open(archive) as tar:
                # what comes is what this match stored: its SHA-256 came another way. Debian 12's
                # Python knows no filters yet
                tar.extraction_filter = getattr(tarfile, "tar_filter", None)
                tar.extractall(folder)  # noqa: S202

    def _try(self, what: str, action: Callable[[], T], tries: int = TRIES) -> T:
        """Do something that a cut network may break off. Raises BenchError, one line."""
        wait_s = WAIT_S
        for left in range(tries - 1, -1, -1):
            try:
                return action()
            except Exception as error:
                if not left or isinstance(error, FileNotFoundError | PermissionError):
                    raise BenchError(
                        f"cannot {what} {plain(self.url, 80)} ({type(error).__name__}: "
                        f"{_error_text(error, 200)}); nothing is lost",
                        next_step="check address and rights, then use the same command",
                    ) from error
                time.sleep(wait_s)
                wait_s *= 2
        raise AssertionError  # the last try returns or raises


def _way(url: str) -> tuple[Any, str]:
    """Return fsspec's way into a bucket, and the place in it.

    It is Arrow's: fsspec's own takes packages that contradict those of the labs. Arrow reads the
    environment as AWS' tools do (AWS_ENDPOINT_URL, AWS_ACCESS_KEY_ID and others).
    """
    from fsspec.implementations.arrow import ArrowFSWrapper  # noqa: PLC0415
    from pyarrow.fs import FileSystem  # noqa: PLC0415

    if not url.removeprefix(S3).partition("/")[0]:
        raise ValueError("a bucket is missing: s3://BUCKET/PLACE")
    system, root = FileSystem.from_uri(url)
    return ArrowFSWrapper(system), root


def _error_text(error: Exception, limit: int) -> str:
    return plain(without_credentials(str(error)), limit)


def _alike(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    """Leave out what differs from machine to machine."""
    entry.mtime = entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    return entry
