"""Turns on a machine of several accounts: work of one kind at once is limited, others wait.

A place is a lock of a file in /run/lock, which every account can lock and the kernel unlocks when
its process ends. An account may hold all of them: after ``WAIT_S`` nobody waits any more.
"""

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

LOCKS = Path("/run/lock")
WAIT_S = 600.0  # thirty of 40 s of processor time each need so long on two processors
LOOK_S = 0.2


@contextmanager
def turn(
    kind: str, places: int, waits: Callable[[], None] = lambda: None, *, wait_s: float = WAIT_S
) -> Iterator[float]:
    """Hold one of the machine's ``places`` for a ``kind`` of work; yield the seconds of waiting.

    ``waits`` is called once if all are taken. Without /run/lock nobody waits.
    """
    files = []
    try:
        for number in range(places):
            with suppress(OSError):
                files.append(_open(LOCKS / f"tennis-{kind}-{number}"))
        begin, asked = time.monotonic(), False
        while files and not any(map(_locked, files)) and time.monotonic() - begin < wait_s:
            if not asked:
                waits()
            asked = True
            time.sleep(LOOK_S)
        yield time.monotonic() - begin
    finally:
        for file in files:
            os.close(file)


def _open(path: Path) -> int:
    """Open a lock that anybody may have made: no link, and nothing that waits for a writer."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        return os.open(path, flags)
    except FileNotFoundError:
        with suppress(FileExistsError):
            file = os.open(path, flags | os.O_CREAT | os.O_EXCL, 0o444)
            os.fchmod(file, 0o444)  # independent of the umask
            return file
        return os.open(path, flags)


def _locked(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
