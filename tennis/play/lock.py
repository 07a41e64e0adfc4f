"""One player at a time in a folder of several rallies."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from tennis.kit.errors import RallyError, UsageError
from tennis.rally.disk import lock, writing

LOCK = ".lock"


@contextlib.contextmanager
def locked(out: Path) -> Iterator[None]:
    """Keep a second player out of the folder. Raises RallyError if there is one, or no locks."""
    with writing(out):
        # the folder may come from somebody else: neither through a link, nor wait for a FIFO
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK
        number = os.open(out / LOCK, flags, 0o644)
    with os.fdopen(number, "rb"):
        if not lock(number, out / LOCK):
            raise RallyError(f"{out} is being played by another process", next_step="let it finish")
        yield


def check_folder(out: Path, record: str, what: str) -> None:
    """Raise UsageError if ``out`` holds other things than ``what``, whose file is ``record``."""
    if out.exists() and not out.is_dir():
        raise UsageError(f"{out} is not a folder", next_step="choose another --out")
    strange = out.exists() and not (out / record).exists()
    if strange and any(path.name != LOCK for path in out.iterdir()):
        raise UsageError(
            f"{out} holds something else than {what}", next_step="choose another --out"
        )
