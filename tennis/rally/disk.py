"""Files that are either there and whole, or not there at all."""

import contextlib
import errno
import fcntl
import os
import stat
from collections.abc import Iterable, Iterator
from io import BufferedReader
from pathlib import Path, PurePosixPath
from typing import IO

from tennis.kit.errors import DiskFullError, RallyError, UsageError

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


@contextlib.contextmanager
def writing(path: Path, then: str = "then try again") -> Iterator[None]:
    """Turn an OSError of the block into one line about ``path``; ``then`` says how to go on.

    Raises DiskFullError if no space is left, RallyError for everything else.
    """
    try:
        yield
    except OSError as error:
        if error.errno in _FULL:
            why = "a file grew past its limit" if error.errno == errno.EFBIG else "no space is left"
            raise DiskFullError(
                f"{why} for {path}", next_step=f"free some space, {then}"
            ) from error
        reason = os.strerror(error.errno) if error.errno else str(error).splitlines()[0]
        raise RallyError(
            f"cannot write {path} ({reason})", next_step="choose another place"
        ) from error


def lock(file: int | IO[bytes], path: Path) -> bool:
    """Lock a file that is open, without waiting; tell whether it is this process's now.

    False: another process has it. Raises RallyError if there are no locks at all: that passes
    with no waiting.
    """
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        raise RallyError(
            f"{path} cannot be locked ({error.strerror or error}): its file system has no locks",
            next_step="choose a folder on a local disk (`tennis doctor` tries the one you are in)",
        ) from error
    return True


def open_regular(path: Path) -> BufferedReader:
    """Open a plain file, or a link to one, that the user named.

    Nothing else is opened: a FIFO is waited for without end, a device may do something. Raises
    OSError; its ``strerror`` fits in parentheses.
    """
    return _open_plain(path, None, 0)


def open_below(folder: Path, place: str) -> BufferedReader:
    """Open a plain file of a folder that somebody else may have made: no link is followed.

    A link would show a file of the user's own to others. Raises OSError as ``open_regular``.
    """
    *folders, name = PurePosixPath(place).parts
    if ".." in folders or place.startswith("/"):
        raise OSError(errno.EINVAL, "it leads out of its folder", place)
    at = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for part in folders:
            flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
            deeper = os.open(part, flags, dir_fd=at)
            os.close(at)
            at = deeper
        return _open_plain(name, at, os.O_NOFOLLOW)
    finally:
        os.close(at)


def _open_plain(path: str | Path, at: int | None, follow: int) -> BufferedReader:
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | follow
    if stat.S_ISREG(os.stat(path, dir_fd=at, follow_symlinks=not follow).st_mode):
        file = os.fdopen(os.open(path, flags, dir_fd=at), "rb")
        if stat.S_ISREG(os.fstat(file.fileno()).st_mode):  # somebody may have changed it meanwhile
            return file
        file.close()
    raise OSError(errno.EINVAL, "not a plain file", str(path))


def read_source(path: Path, size_max: int) -> bytes:
    """Return a file that a person wrote for us to build, itself no link.

    Raises UsageError, also above a size.
    """
    try:
        with open_below(path.parent, path.name) as file:
            content: bytes = file.read(size_max + 1)
    except OSError as error:
        raise UsageError(f"{path} cannot be read ({error.strerror})") from error
    if len(content) > size_max:
        raise UsageError(f"{path} is larger than {size_max >> 10} kB")
    return content


def sync(path: Path) -> None:
    """Wait until a file or a folder (its names) is on the disk."""
    number = os.open(path, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


def refuse_existing(path: Path) -> None:
    """Raise UsageError if ``path`` exists already."""
    if os.path.lexists(path):
        raise UsageError(f"{path} exists", next_step="choose another name, or remove it")


def write_whole(path: Path, data: bytes, *, force: bool = False) -> None:
    """Write a file that appears complete under its name, or not at all.

    Raises UsageError if it exists (unless ``force``), DiskFullError, RallyError.
    """
    write_pieces(path, (data,), force=force)


def write_pieces(path: Path, pieces: Iterable[bytes], *, force: bool = False) -> None:
    """Write a file of any size as ``write_whole`` does, a piece at a time."""
    if not force:
        refuse_existing(path)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    with writing(path):
        try:
            temporary.unlink(missing_ok=True)
            with temporary.open("xb") as file:  # never through an existing link
                file.writelines(pieces)
            sync(temporary)
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
