# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""What this machine knows of files that it has read: their SHA-256, and what follows from it.

A hash is good for as long as its file stays as it was: the same inode, size and times, to the
nanosecond; nobody can set the time of an inode's last change. All of it lies in the cache folder,
out of reach for who may write to a store, and can be removed at any time: files are read again.
"""

import contextlib
import hashlib
import os
import sqlite3
import stat
import time
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from tennis.errors import RallyError
from tennis.listener import say
from tennis.rally.disk import open_regular

# A file that changed so recently may change again without another time: its hash is not kept. No
# file system's times are coarser than two seconds.
SETTLED_NS = 4_000_000_000
KEPT_EVERY_S = 5.0  # what was found is written so often
WAIT_S = 5.0  # for another process that writes
FORM = 1  # of the tables
TABLES = {
    "hashes": "inode TEXT PRIMARY KEY, state TEXT, sha256 TEXT",
    "facts": "sha256 TEXT, what TEXT, fact TEXT, PRIMARY KEY (sha256, what)",
}


@dataclass(frozen=True)
class Stamp:
    """What changes with a file."""

    inode: str
    state: str

    @classmethod
    def of(cls, status: os.stat_result) -> "Stamp":
        """Return a file's."""
        # texts: some file systems' numbers are larger than any of SQLite's
        return cls(
            f"{status.st_dev}.{status.st_ino}",
            f"{status.st_size}.{status.st_mtime_ns}.{status.st_ctime_ns}",
        )


class Memory:
    """Hashes of files, and facts about contents; one thread uses it."""

    def __init__(self, file: Path) -> None:
        """Open what is known; where that cannot be read, nothing is."""
        self._file = file
        self._hashes: dict[str, tuple[str, str]] = {}  # not kept yet: inode -> state, SHA-256
        self._facts: dict[tuple[str, str], str] = {}
        self._kept_s = time.monotonic()
        self._known: sqlite3.Connection | None = None
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            self._known = _opened(file)
        except (OSError, sqlite3.Error) as error:
            self._forget(error)

    def _forget(self, error: Exception) -> None:
        if self._known is not None:
            with contextlib.suppress(sqlite3.Error):
                self._known.close()
        self._known = None
        say(f"{self._file} cannot be used ({error}): every file is read again")

    def sha256(self, path: Path, limit: int) -> tuple[str, Stamp]:
        """Return a regular file's SHA-256, and the stamp that it had.

        It is read if it changed since it was read last. Raises RallyError, also for a file of more
        than ``limit`` bytes, and for one that changes meanwhile.
        """
        try:
            stamp = stamp_of(path)
            known = self._of(stamp)
            if known is not None:
                return known, stamp
            with open_regular(path, links=False) as file:
                return self._hashed(path, file, limit)
        except OSError as error:
            raise _unreadable(path, error) from error

    def content(self, path: Path, limit: int) -> tuple[str, bytes]:
        """Return a regular file's SHA-256 and the bytes that have it. Raises RallyError."""
        try:
            with open_regular(path, links=False) as file:
                data = file.read(limit + 1)
                file.seek(0)
                sha256, _ = self._hashed(path, file, limit)
        except OSError as error:
            raise _unreadable(path, error) from error
        if hashlib.sha256(data).hexdigest() != sha256:
            raise _changed(path)
        return sha256, data

    def _hashed(self, path: Path, file: BinaryIO, limit: int) -> tuple[str, Stamp]:
        before, began_ns = os.fstat(file.fileno()), time.time_ns()
        if before.st_size > limit:
            raise RallyError(
                f"{path} has {before.st_size:,} bytes, at most {limit:,} are read",
                next_step="`tennis store verify` looks at all",
            )
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]
        stamp = Stamp.of(before)
        if Stamp.of(os.fstat(file.fileno())) != stamp:
            raise _changed(path)
        if max(before.st_mtime_ns, before.st_ctime_ns) + SETTLED_NS < began_ns:
            self._hashes[stamp.inode] = stamp.state, sha256
            self._keep_sometimes()
        return sha256, stamp

    def _of(self, stamp: Stamp) -> str | None:
        found = self._hashes.get(stamp.inode) or self._one(
            "SELECT state, sha256 FROM hashes WHERE inode = ?", stamp.inode
        )
        return found[1] if found and found[0] == stamp.state else None

    def fact(self, sha256: str, what: str) -> str | None:
        """Return what is known about a content; None: nothing."""
        known = self._facts.get((sha256, what))
        if known is not None:
            return known
        found = self._one("SELECT fact FROM facts WHERE sha256 = ? AND what = ?", sha256, what)
        return found[0] if found else None

    def learn(self, sha256: str, what: str, fact: str) -> None:
        """Remember something that follows from a content."""
        self._facts[sha256, what] = fact
        self._keep_sometimes()

    def _one(self, sql: str, *words: str) -> tuple[str, ...] | None:
        if self._known is None:
            return None
        try:
            found: tuple[str, ...] | None = self._known.execute(sql, words).fetchone()
        except sqlite3.Error as error:
            self._forget(error)
            return None
        return found

    def _keep_sometimes(self) -> None:
        if time.monotonic() - self._kept_s > KEPT_EVERY_S:
            self.keep()

    def keep(self) -> None:
        """Write what was found."""
        self._kept_s = time.monotonic()
        if self._known is None or not (self._hashes or self._facts):
            return
        hashes = [(inode, *found) for inode, found in self._hashes.items()]
        facts = [(*key, fact) for key, fact in self._facts.items()]
        try:
            with self._known:
                self._known.executemany("INSERT OR REPLACE INTO hashes VALUES (?, ?, ?)", hashes)
                self._known.executemany("INSERT OR REPLACE INTO facts VALUES (?, ?, ?)", facts)
        except sqlite3.Error as error:
            self._forget(error)
            return
        self._hashes, self._facts = {}, {}


def stamp_of(path: Path) -> Stamp:
    """Return the stamp of a regular file. Raises OSError for anything else."""
    status = path.lstat()
    if not stat.S_ISREG(status.st_mode):
        raise OSError(0, "not a regular file", str(path))
    return Stamp.of(status)


def _opened(file: Path) -> sqlite3.Connection:
    """Open the tables; those of another form, or what is damaged, are made anew."""
    known = sqlite3.connect(file, timeout=WAIT_S)
    try:
        (form,) = known.execute("PRAGMA user_version").fetchone()
    except sqlite3.DatabaseError as error:
        known.close()
        if isinstance(error, sqlite3.OperationalError):  # somebody else writes, or it is no file
            raise
        file.unlink()
        return _opened(file)
    if form != FORM:
        with known:
            known.execute("BEGIN IMMEDIATE")  # another process may do the same
            for table, columns in TABLES.items():
                known.execute(f"DROP TABLE IF EXISTS {table}")
                known.execute(f"CREATE TABLE {table} ({columns})")
            known.execute(f"PRAGMA user_version = {FORM}")
    return known


def _unreadable(path: Path, error: OSError) -> RallyError:
    return RallyError(
        f"cannot read {path} ({error.strerror or error})",
        next_step="`tennis store verify` looks at all",
    )


def _changed(path: Path) -> RallyError:
    return RallyError(f"{path} changed while it was read", next_step="use the same command again")
