"""Objects made once for all workers of a test run: pytest makes a fixture once for each."""

import fcntl
import os
from collections.abc import Callable
from pathlib import Path

import pytest


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """Return a folder that one worker makes, while the others wait for it; nobody may change it.

    Its name is one of the module that makes it: another module's of the same name is another.
    """
    name = f"{make.__module__.removeprefix('tests.')}-{name}"
    base = factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        base = base.parent
    folder = base / f"once-{name}"
    with (base / f"once-{name}.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            fresh = factory.mktemp(name)
            make(fresh)
            fresh.rename(folder)
    return folder
