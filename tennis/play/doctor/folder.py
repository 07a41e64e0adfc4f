"""Checks of the current folder: it tries the operations that Tennis relies on.

A home on a network, a shared folder of a virtual machine or a USB stick may lack one of these, and
an error then shows far from its cause.
"""

import contextlib
import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

from tennis.bench.findings import Finding
from tennis.kit.errors import RallyError
from tennis.kit.scratch import owned
from tennis.rally.disk import lock
from tennis.rally.text import quoted

INODES_MIN = 1000  # files of a match
MB_MIN = 200
LOCAL = "play in a folder on a local disk"
SCRATCH = ".tennis-doctor-"
FORMS = ("e\N{COMBINING ACUTE ACCENT}", "\N{LATIN SMALL LETTER E WITH ACUTE}")


def examine_folder(folder: Path) -> Iterator[Finding]:
    """Yield what there is to say about a folder: what works, and what does not and matters."""
    name = f"folder {quoted(folder)}"
    try:
        with owned(folder, SCRATCH, SCRATCH) as scratch:
            lacking = list(_lacking(scratch))
    except OSError as error:
        yield Finding("note", name, f"nothing can be written there ({error.strerror})", LOCAL)
        return
    yield from (Finding("note", name, found, advice) for found, advice in lacking)
    if not lacking:
        yield Finding("good", name, "locks, links, renames and sockets work")


def _lacking(scratch: Path) -> Iterator[tuple[str, str]]:
    """Yield what does not work in a folder, and what to do."""
    for found, advice, attempt in (
        ("no locks: nothing keeps a second process out of a rally", LOCAL, _locks),
        ("a file is not replaced by a rename: no rally can be sealed", LOCAL, _renames),
        ("no hard links: hand-ins are made without", "nothing needs to be done", _links),
        ("no symbolic links", "build kernels elsewhere: TENNIS_CACHE", _symbolic_links),
        ("no sockets: the virtual bench has its own in TMPDIR", "nothing needs to be done",
         _sockets),
    ):  # fmt: skip
        reason = _tried(attempt, scratch)
        if reason:
            yield f"{found} ({reason})", advice
    (scratch / "case").touch()
    if (scratch / "CASE").exists():
        yield "names in capitals are the same files", "give rallies names that differ in more"
    (scratch / FORMS[0]).touch()
    if (scratch / FORMS[1]).exists():
        yield (
            "names in both forms of Unicode are the same files",
            "give rallies names of plain letters",
        )
    told = os.statvfs(scratch)
    if told.f_files and told.f_favail < INODES_MIN:
        yield f"{told.f_favail} files more may be made", "remove files there: a match makes many"
    free_mb = told.f_bavail * told.f_frsize >> 20
    if free_mb < MB_MIN:
        yield f"{free_mb} MB free", "free some space"


def _tried(attempt: Callable[[Path], None], scratch: Path) -> str:
    """Return why something does not work; empty: it does."""
    try:
        attempt(scratch)
    except RallyError as error:
        cause = error.__cause__
        return (cause.strerror if isinstance(cause, OSError) else "") or "refused"
    except OSError as error:
        return error.strerror or str(error)
    return ""


def _locks(scratch: Path) -> None:
    path = scratch / "lock"
    with path.open("wb") as one, path.open("wb") as other:
        if not lock(one, path) or lock(other, path):
            raise OSError(0, "a lock that is held is given once more")


def _renames(scratch: Path) -> None:
    (scratch / "old").write_bytes(b"old")
    (scratch / "new").write_bytes(b"new")
    (scratch / "new").replace(scratch / "old")
    if (scratch / "old").read_bytes() != b"new":
        raise OSError(0, "the old file is still there")


def _links(scratch: Path) -> None:
    (scratch / "file").touch()
    (scratch / "link").hardlink_to(scratch / "file")


def _symbolic_links(scratch: Path) -> None:
    (scratch / "points").symlink_to("file")


def _sockets(scratch: Path) -> None:
    # by its number: a way to a socket has 107 bytes at most
    where = os.open(scratch, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with contextlib.closing(socket.socket(socket.AF_UNIX)) as one:
            one.bind(f"/proc/self/fd/{where}/socket")
    finally:
        os.close(where)
