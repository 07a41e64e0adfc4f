"""A control group for a box: one program's part of the processors' time, and memory with an end.

This process makes one if it may (root, or a delegated group; version 2 or 1), else systemd makes a
scope. If neither can, the box has no group: Tennis counts its memory and processes.
"""

import functools
import os
import shutil
import subprocess
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from tennis.kit.share import PROC, control_groups

# the usual one: all of a box counts as one program, however many processes it has. With less, a
# notebook's minutes would be over on a busy machine before it got its share of them
WEIGHT = 100
SHARES = 1024  # the same of version 1
PROBE_S = 20.0
GONE_S = 5.0
# contents of a group's files; those that a kernel lacks are left out
CPU = {"cpu.weight": str(WEIGHT), "cpu.shares": str(SHARES)}
SYSTEMD = Path("/run/systemd/system")


@dataclass
class Group:
    """A box's control group; ``folders``: those that were made, of each controller its own."""

    folders: list[Path] = field(default_factory=list)
    words: Sequence[str] = ()  # of a command that makes a scope, put before the box's
    environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def entries(self) -> list[Path]:
        """Return the files by which a process enters the group."""
        return [folder / "cgroup.procs" for folder in self.folders]

    @property
    def ended(self) -> bool:
        """Tell whether the kernel ended a process of it for lack of the group's memory."""
        return any(
            line.split()[:1] == ["oom_kill"] and line.split()[1:] > ["0"]
            for folder in self.folders
            for name in ("memory.events", "memory.oom_control")
            for line in _lines(folder / name)
        )


@contextmanager
def memory_group(memory_bytes: int, proc: Path = PROC) -> Iterator[Group]:
    """Yield a group with this memory limit; an empty one if none can be made."""
    memory = {
        **{"memory.max": str(memory_bytes), "memory.limit_in_bytes": str(memory_bytes)},
        **{"memory.swap.max": "0", "memory.oom.group": "1"},
    }
    name = f"tennis-box-{uuid.uuid4().hex[:16]}"
    folders: list[Path] = []
    try:
        for controller, settings in (("cpu", CPU), ("memory", memory)):
            folder = _controller_folder(controller, name, proc)
            if folder is not None and _set(folder, settings) and folder not in folders:
                folders.append(folder)
        yield Group(folders) if folders else _scope(memory_bytes)
    finally:
        _remove(folders)


def _controller_folder(controller: str, name: str, proc: Path) -> Path | None:
    """Return a folder for a controller in this process's own group; None if it cannot be made."""
    own = next(control_groups(proc, controller), None)
    if own is None:
        return None
    with suppress(OSError):  # only a group without processes of its own, or the first one, may
        (own / "cgroup.subtree_control").write_text(f"+{controller}")
    with suppress(OSError):
        (own / name).mkdir(exist_ok=True)
        return own / name
    return None


def _set(folder: Path, settings: Mapping[str, str]) -> bool:
    """Write settings of a controller; tell whether it took one. A folder of no use is removed."""
    taken = False
    for name, value in settings.items():
        with suppress(OSError):
            if (folder / name).exists():
                (folder / name).write_text(value)
                taken |= name.startswith(("cpu", "memory.max", "memory.limit"))
    if not taken:
        with suppress(OSError):
            folder.rmdir()
    return taken


def _remove(folders: Sequence[Path]) -> None:
    """Remove groups whose last process is gone; the kernel may need a moment for that."""
    until = time.monotonic() + GONE_S
    for folder in folders:
        while folder.exists() and time.monotonic() < until:
            try:
                folder.rmdir()
            except OSError:
                time.sleep(0.02)


def _scope(memory_bytes: int) -> Group:
    """Return the command by which systemd makes a scope; an empty group if it makes none."""
    words = ["systemd-run", "--scope", "--quiet", "--collect"]
    words += [] if os.geteuid() == 0 else ["--user"]
    for setting in (f"CPUWeight={WEIGHT}", f"MemoryMax={memory_bytes}", "MemorySwapMax=0"):
        words += ["-p", setting]
    # these name the user's systemd
    names = ("XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS")
    environment = {name: os.environ[name] for name in names if name in os.environ}
    if not SYSTEMD.is_dir() or not _makes_scopes(tuple(words), tuple(environment.items())):
        return Group()
    return Group([], [*words, "--"], environment)


@functools.cache
def _makes_scopes(words: tuple[str, ...], environment: tuple[tuple[str, str], ...]) -> bool:
    """Try it once: in a container or without a session, systemd may be there and make none."""
    if shutil.which(words[0]) is None:
        return False
    try:
        done = subprocess.run(
            [*words, "--", "true"],
            env={"PATH": os.environ.get("PATH", ""), **dict(environment)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=PROBE_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def _lines(path: Path) -> list[str]:
    with suppress(OSError, UnicodeError):
        return path.read_text().splitlines()
    return []
