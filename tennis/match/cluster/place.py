"""The folder in which a cluster's machines leave things for each other: all of them see it.

A thing that is there is whole: a file appears by one rename, and of a rally's folder the manifest
comes last.
"""

import shutil
import tarfile
import tempfile
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from tennis.kit.digests import sha256_of
from tennis.kit.errors import BenchError, RallyError
from tennis.rally.folder import MANIFEST
from tennis.rally.text import plain

TRIES = 4  # of each transfer; a network may be cut for a moment
WAIT_S = 1.0  # before the second, and twice as long before each other
PART = ".part"
FINAL = (FileNotFoundError, NotADirectoryError, PermissionError)  # a second try changes nothing

T = TypeVar("T")


class Place:
    """A folder that all machines see."""

    def __init__(self, folder: str) -> None:
        self.folder = Path(folder)

    def check(self) -> None:
        """Write and remove something. Raises BenchError if that is not allowed."""
        key = f".tennis-{uuid.uuid4().hex}"
        with tempfile.NamedTemporaryFile(prefix="tennis-store-") as probe:
            self.put(Path(probe.name), key)
        self._try("remove what was written to", (self.folder / key).unlink)

    def put(self, path: Path, key: str) -> None:
        """Store a file by one rename: nobody sees a part of it. Raises BenchError."""
        place = self.folder / key

        def write() -> None:
            fresh = place.with_name(f"{place.name}.{uuid.uuid4().hex}{PART}")
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, fresh)
            fresh.replace(place)

        self._try("write to", write)

    def get(self, key: str, path: Path) -> None:
        """Fetch a file. Raises BenchError."""
        self._try("read from", lambda: shutil.copyfile(self.folder / key, path))

    def put_rally(self, folder: Path, key: str) -> None:
        """Store a sealed rally, its manifest last. Raises BenchError."""
        files = sorted(path for path in folder.iterdir() if path.name != MANIFEST)
        for path in [*files, folder / MANIFEST]:
            self.put(path, f"{key}/{path.name}")

    def has_rally(self, key: str) -> bool:
        """Tell whether a whole rally is there."""
        return (self.folder / key / MANIFEST).exists()

    def get_rally(self, key: str, folder: Path) -> None:
        """Fetch a sealed rally; it appears as ``folder`` by one rename. Raises BenchError.

        It is not checked here: its reader does that.
        """
        fresh = folder.with_name(f".{folder.name}.incoming")
        shutil.rmtree(fresh, ignore_errors=True)
        fresh.mkdir(parents=True)
        for path in self._try("list", lambda: list((self.folder / key).iterdir())):
            if path.suffix != PART:  # of a worker that was killed while it wrote
                self.get(f"{key}/{path.name}", fresh / path.name)
        fresh.rename(folder)

    def remove_rally(self, key: str) -> None:
        """Remove a rally, its manifest first. Raises BenchError."""

        def remove() -> None:
            (self.folder / key / MANIFEST).unlink(missing_ok=True)
            shutil.rmtree(self.folder / key)

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
            if not (self.folder / "folders" / key).exists():
                self.put(archive, f"folders/{key}")
        return key

    def get_folder(self, key: str, folder: Path) -> None:
        """Fetch a folder that ``put_folder`` stored, into an empty one.

        Raises BenchError; RallyError if it is not what its name says.
        """
        with tempfile.TemporaryDirectory(prefix="tennis-store-") as scratch:
            archive = Path(scratch) / "folder.tar"
            self.get(f"folders/{key}", archive)
            if sha256_of(archive) != key:
                raise RallyError(
                    f"{self.folder}/folders/{key} is damaged",
                    next_step="remove it: the same command stores it again",
                )
            with tarfile.open(archive) as tar:
                # the archive is what this match stored: its SHA-256 came another way. Debian 12's
                # Python knows no filters yet
                tar.extraction_filter = getattr(tarfile, "tar_filter", None)
                tar.extractall(folder)  # noqa: S202

    def _try(self, what: str, action: Callable[[], T]) -> T:
        """Do something that a cut network may break off. Raises BenchError, one line."""
        wait_s = WAIT_S
        for left in range(TRIES - 1, -1, -1):
            try:
                return action()
            except OSError as error:
                if not left or isinstance(error, FINAL):
                    raise BenchError(
                        f"cannot {what} {plain(str(self.folder), 80)} ({type(error).__name__}: "
                        f"{plain(str(error), 200)}); nothing is lost",
                        next_step="check folder and rights, then use the same command",
                    ) from error
                time.sleep(wait_s)
                wait_s *= 2
        raise AssertionError  # the last try returns or raises


def _alike(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    """Leave out what differs from machine to machine."""
    entry.mtime = entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    return entry
