"""Temporary folders that are locked while their owner lives: what a kill leaves goes later."""

import fcntl
import glob
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

PREFIX = f".tennis-{os.geteuid()}-"  # of a command's own folder, in which its others are
YOUNG_S = 60.0  # one that was just made may not be locked yet


@contextmanager
def held(folder: Path, how: int = fcntl.LOCK_SH) -> Iterator[None]:
    """Lock a folder for the length of a block. Raises OSError if others have it."""
    number = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(number, how | fcntl.LOCK_NB)
        yield
    finally:
        os.close(number)


def left(home: Path, prefix: str = ".", young_s: float = YOUNG_S) -> Iterator[Path]:
    """Yield this user's folders that nobody holds, each locked meanwhile."""
    for path in sorted(home.glob(f"{glob.escape(prefix)}*")):
        with suppress(OSError):
            about = path.lstat()
            mine = stat.S_ISDIR(about.st_mode) and about.st_uid == os.geteuid()
            if mine and time.time() - about.st_mtime > young_s:
                with held(path, fcntl.LOCK_EX):
                    yield path


@contextmanager
def owned(home: Path, prefix: str, others: str = ".") -> Iterator[Path]:
    """Yield a new folder in ``home``; those that begin with ``others`` and nobody holds go."""
    for path in left(home, others):
        shutil.rmtree(path, ignore_errors=True)
    with (
        tempfile.TemporaryDirectory(prefix=prefix, dir=home, ignore_cleanup_errors=True) as name,
        ExitStack() as stack,
    ):
        with suppress(OSError):  # a file system without locks
            stack.enter_context(held(Path(name)))
        yield Path(name)


@contextmanager
def of_a_command() -> Iterator[None]:
    """Keep all temporary files of a command, and of its programs, in one folder of its own."""
    with ExitStack() as stack:
        before = os.environ.get("TMPDIR")
        with suppress(OSError):  # nowhere to write: what needs a folder says so
            folder = stack.enter_context(owned(Path(tempfile.gettempdir()), PREFIX, PREFIX))
            folder.chmod(0o711)  # a box of another user's finds its own folder in it
            os.environ["TMPDIR"] = tempfile.tempdir = str(folder)
        try:
            yield
        finally:
            tempfile.tempdir = None
            os.environ.pop("TMPDIR", None)
            os.environ.update({"TMPDIR": before} if before else {})
