# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""A box for what students hand in: bubblewrap, without network, with limits on everything.

In the box are the system's programs and libraries and what the caller lets it read; what is handed
in is copied into memory there. Nothing of the grader's, of other students' or of the solutions is
in it.
"""

import itertools
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tennis.errors import BenchError
from tennis.rally.text import plain

_boxes = itertools.count()

HOME = Path("/home/s")
WORK = HOME / "work"  # where the copy of what was handed in is, always the same place
OUT = Path("/out")  # what is written there is the caller's
# a user for each box: what one takes is not the others'. The kernel needs a moment to end one
FIRST_USER, USERS, USERS_EACH = 30_000, 30_000, 64
TMP_BYTES, HOME_BYTES = 64 << 20, 384 << 20  # in memory
ADDRESSES_BYTES = 3 << 30  # of each process; all of them together have no limit of their own
FILE_BYTES = 64 << 20
PROCESSES = 256
SAID_MAX = 1 << 16
GONE_S = 60.0  # the kernel ends what a box leaves behind, as quickly as it can
ENDED = (124, 137, 152)  # by timeout, by kill, by the limit on processor time
REFUSALS = ("bwrap: ", "unshare: ", "mount: ", "setpriv: ")  # who could make no box
# root's box belongs to another user, who may not reach everything that root may read
BIND = 'while [ "$1" != -- ]; do mount --bind "$1" "$2" || exit 1; shift 2; done; shift; exec "$@"'


@dataclass(frozen=True)
class Ended:
    """How a command in a box ended: ``words`` are what it said to standard error."""

    code: int
    words: str

    @property
    def too_long(self) -> bool:
        """Tell whether it was ended."""
        return self.code in ENDED


def run(  # noqa: PLR0913, PLR0917 (what a box is made of)
    command: Sequence[str],
    folder: Path,
    out: Path,
    readable: Mapping[Path, Path],
    environment: Mapping[str, str],
    limit_s: float,
) -> Ended:
    """Run a command in a box, in a copy of ``folder``; what it writes to ``/out`` is in ``out``.

    ``readable``: path in the box -> file or folder here. Raises BenchError where there can be no
    box.
    """
    user = _user()
    with tempfile.TemporaryDirectory(prefix="tennis-box-") as scratch:
        inside = Path(scratch) / "in"
        shutil.copytree(folder, inside, symlinks=True)
        for path in (Path(scratch), inside, out):
            path.chmod(0o755)
        if os.geteuid() == 0:
            os.chown(out, user, user)
        copied = f'cp -r /in "{WORK}" && cd "{WORK}" && exec "$@"'
        reachable, mounted = _reachable({**readable, Path("/in"): inside}, Path(scratch))
        box = _box(reachable, out, environment)
        with tempfile.TemporaryFile() as said:
            done = subprocess.run(
                [*mounted, *_limits(limit_s, user), *box, "/bin/sh", "-c", copied, "box", *command],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=said,
                env={"PATH": "/usr/bin:/bin"},
                check=False,
            )
            if done.returncode:  # who knows what it left behind
                _wait_until_gone(user)
            said.seek(0)
            words = said.read(SAID_MAX).decode(errors="replace")
    reason = next((line for line in words.splitlines() if line.startswith(REFUSALS)), "")
    if reason:
        raise BenchError(
            f"what is handed in cannot be run in a box here ({plain(reason, 200)})",
            next_step="run the grader where unprivileged user namespaces are allowed",
        )
    return Ended(done.returncode, words)


def _reachable(
    readable: Mapping[Path, Path], scratch: Path
) -> tuple[dict[Path, Path], Sequence[str]]:
    """Return the sources as the box's user reaches them, and what must be run before for that.

    Root's home is nobody else's: what lies there is mounted elsewhere, for the box alone.
    """
    if os.geteuid() != 0:
        return dict(readable), []
    found: dict[Path, Path] = {}
    pairs: list[str] = []
    for number, (place, source) in enumerate(readable.items()):
        found[place] = scratch / str(number)
        if source.is_dir():
            found[place].mkdir()
        else:
            found[place].touch()
        pairs += [str(source), str(found[place])]
    return found, ["unshare", "--mount", "/bin/sh", "-c", BIND, "mount", *pairs, "--"]


def _user() -> int:
    """Return whose processes a box' are: nobody's else where root may say so, else one's own."""
    number = os.getpid() * USERS_EACH + next(_boxes) % USERS_EACH
    return os.geteuid() or FIRST_USER + number % USERS


def _tasks(user: int) -> int:
    """Return how many tasks a user has: the limit counts all of them, also outside of the box."""
    count = 0
    for path in Path("/proc").glob("[0-9]*"):
        try:
            count += len(list((path / "task").iterdir())) if path.stat().st_uid == user else 0
        except OSError:  # it ended
            continue
    return count


def _wait_until_gone(user: int) -> None:
    """Wait until the last process of the box is gone, and takes nothing from the next one."""
    deadline = time.monotonic() + GONE_S
    while os.geteuid() == 0 and _tasks(user) and time.monotonic() < deadline:
        time.sleep(0.05)


def _limits(limit_s: float, user: int) -> list[str]:
    """Return what the processes of a box may take; root's are not counted, so it takes a user."""
    if shutil.which("bwrap") is None:
        raise BenchError(
            "what is handed in is run in a box, and bubblewrap is missing",
            next_step="apt-get install bubblewrap",
        )
    drop = ["setpriv", "--reuid", str(user), "--regid", str(user), "--clear-groups"]
    return [
        *(drop if os.geteuid() == 0 else []),
        *("timeout", "--kill-after=2", f"{limit_s:g}"),
        *("prlimit", f"--cpu={int(limit_s) + 1}", f"--as={ADDRESSES_BYTES}", "--core=0"),
        *(f"--fsize={FILE_BYTES}", f"--nproc={PROCESSES + _tasks(user)}", "--nofile=512"),
    ]


def _box(readable: Mapping[Path, Path], out: Path, environment: Mapping[str, str]) -> list[str]:
    """Return bubblewrap's part of the command."""
    words = ["bwrap", "--unshare-all", "--unshare-user", "--uid", "1000", "--gid", "1000"]
    words += ["--new-session", "--die-with-parent", "--cap-drop", "ALL", "--hostname", "box"]
    words += ["--ro-bind", "/usr", "/usr", "--proc", "/proc", "--dev", "/dev"]
    for name in ("bin", "sbin", "lib", "lib64"):
        link = Path("/") / name
        if link.is_symlink():
            words += ["--symlink", str(link.readlink()), str(link)]
        elif link.is_dir():
            words += ["--ro-bind", str(link), str(link)]
    words += ["--size", str(TMP_BYTES), "--tmpfs", "/tmp"]  # noqa: S108 (the box's own)
    words += ["--size", str(HOME_BYTES), "--tmpfs", "/home", "--dir", str(HOME)]
    for path, source in readable.items():
        words += ["--ro-bind", str(source), str(path)]
    words += ["--bind", str(out), str(OUT), "--clearenv"]
    usual = {"HOME": str(HOME), "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}
    for name, value in {**usual, **environment}.items():
        words += ["--setenv", name, value]
    return [*words, "--chdir", str(HOME)]
