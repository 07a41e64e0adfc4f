# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""A box for what students hand in: bubblewrap, without network, with limits on everything.

In the box are the system's programs and libraries, the Python environment, Tennis' own modules and
the labs' questions; all of that can only be read. The hand-in is copied into memory there. Nothing
of the grader's, of other students' or of the solutions is in it.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ValidationError

from tennis.checkout import ROOT
from tennis.course.labs import LABS
from tennis.course.work import NOTEBOOK
from tennis.errors import BenchError
from tennis.rally.disk import open_regular
from tennis.rally.text import plain

FIRST_USER = 30_000  # a user for each box: what one takes is not the others'
LIMIT_S = 300.0
TMP_BYTES, HOME_BYTES = 64 << 20, 384 << 20  # in memory
ADDRESSES_BYTES = 3 << 30  # of each process; all of them together have no limit of their own
FILE_BYTES = 64 << 20
PROCESSES = 256
SAID_MAX = 1 << 16
GONE_S = 60.0  # the kernel ends what a box leaves behind, as quickly as it can
RESULT = "result.json"


class Told(BaseModel):
    """What the notebook's runner said."""

    cells: int
    cell: int | None = None
    error: str = ""


@dataclass(frozen=True)
class Ran:
    """How a notebook ended: ``error`` is empty where it ran through."""

    cells: int
    error: str


def run_notebook(folder: Path, *, limit_s: float = LIMIT_S) -> Ran:
    """Execute a hand-in's notebook. Raises BenchError where there can be no box."""
    with tempfile.TemporaryDirectory(prefix="tennis-box-") as scratch:
        out = Path(scratch) / "out"
        out.mkdir()
        inside = Path(scratch) / "in"
        shutil.copytree(folder, inside, symlinks=True)
        for path in (Path(scratch), inside, out):
            path.chmod(0o755)
        user = _user()
        if os.geteuid() == 0:
            os.chown(out, user, user)
        script = 'cp -r /in "$HOME/work" && cd "$HOME/work" && exec "$@"'
        program = ["/bin/sh", "-c", script, "box", sys.executable]
        program += ["-P", "-m", "tennis.course.notebook_runner", NOTEBOOK, f"/out/{RESULT}"]
        with tempfile.TemporaryFile() as said:
            done = subprocess.run(
                [*_limits(limit_s, user), *_box(inside, out), *program],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=said,
                env={"PATH": "/usr/bin:/bin"},
                check=False,
            )
            _wait_until_gone(user)
            said.seek(0)
            words = said.read(SAID_MAX).decode(errors="replace")
        told = _told(out / RESULT)
    if told is not None:
        where = f"cell {told.cell} of {told.cells}: " if told.cell is not None else ""
        return Ran(told.cells, plain(f"{where}{told.error}", 300) if told.error else "")
    if "bwrap: " in words:
        reason = next(line for line in words.splitlines() if "bwrap: " in line)
        raise BenchError(
            f"notebooks cannot be run in a box here ({plain(reason, 200)})",
            next_step="run the grader where unprivileged user namespaces are allowed",
        )
    if done.returncode in {124, 137, 152}:
        return Ran(0, f"it did not end within {limit_s:g} s, or used too much of the processor")
    last = words.strip().splitlines()[-1:] or [f"exit code {done.returncode}"]
    return Ran(0, f"it could not be run: {plain(last[0], 200)}")


def _told(path: Path) -> Told | None:
    """Read what was written in the box: by the runner, or by anybody there."""
    try:
        with open_regular(path) as file:
            return Told.model_validate_json(file.read(SAID_MAX))
    except (OSError, ValidationError, ValueError):
        return None


def _user() -> int:
    """Return whose processes a box' are: nobody's else where root may say so, else one's own."""
    own = os.geteuid()
    return own or FIRST_USER + os.getpid() % FIRST_USER


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
    """Wait until the last process of the box is gone: the next box may have the same user."""
    deadline = time.monotonic() + GONE_S
    while os.geteuid() == 0 and _tasks(user) and time.monotonic() < deadline:
        time.sleep(0.05)


def _limits(limit_s: float, user: int) -> list[str]:
    """Return what the processes of a box may take; root's are not counted, so it takes a user."""
    if shutil.which("bwrap") is None:
        raise BenchError(
            "notebooks are run in a box, and bubblewrap is missing",
            next_step="apt-get install bubblewrap",
        )
    drop = ["setpriv", "--reuid", str(user), "--regid", str(user), "--clear-groups"]
    return [
        *(drop if os.geteuid() == 0 else []),
        *("timeout", "--kill-after=2", f"{limit_s:g}"),
        *("prlimit", f"--cpu={int(limit_s) + 1}", f"--as={ADDRESSES_BYTES}", "--core=0"),
        *(f"--fsize={FILE_BYTES}", f"--nproc={PROCESSES + _tasks(user)}", "--nofile=512"),
    ]


def _box(inside: Path, out: Path) -> list[str]:
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
    words += ["--size", str(HOME_BYTES), "--tmpfs", "/home", "--dir", "/home/s"]
    for path, source in _readable().items():
        words += ["--ro-bind", str(source), str(path)]
    words += ["--ro-bind", str(inside), "/in", "--bind", str(out), "/out"]
    words += ["--clearenv"]
    for name, value in {
        "HOME": "/home/s",
        "PATH": f"{Path(sys.prefix) / 'bin'}:/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "OPENBLAS_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
        "MPLBACKEND": "agg",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONPATH": str(ROOT),
    }.items():
        words += ["--setenv", name, value]
    return [*words, "--chdir", "/home/s"]


def _readable() -> dict[Path, Path]:
    """Return what may be read besides the system, by its path there: nothing that knows answers."""
    venv = Path(sys.prefix)
    own = [ROOT / "tennis", ROOT / "kit-firmware" / "brickwall", LABS / "course.toml"]
    shared = {path: path for path in [*own, *sorted(LABS.glob("*/lab.toml"))]}
    # of a checkout whose environment is a link to another's: both names
    return {**shared, venv: venv.resolve(), venv.resolve(): venv.resolve()}
