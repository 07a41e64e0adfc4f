"""Run another program, and say clearly when it failed."""

import ctypes
import os
import re
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from tennis.bench import programs
from tennis.kit import environment
from tennis.kit.checkout import cache_folder
from tennis.kit.errors import BenchError, DiskFullError

LIMIT_S = 4 * 3600  # a kernel is built on a small machine
FULL = re.compile(r"No space left on device|Disk quota exceeded")  # strerror(3)


STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
PR_SET_PDEATHSIG = 1
_prctl = ctypes.CDLL(None).prctl


def _started(arguments: Sequence[str], cwd: Path | None) -> "subprocess.Popen[str]":
    """Start a program that ends if we are killed: apt-get would keep its lock.

    A signal waits until it runs: its handler would else run in a hook of fork (logging has one),
    where Python drops what is raised.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, STOPS)

    def begin() -> None:
        _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)

    try:
        return subprocess.Popen(
            arguments,
            cwd=cwd,
            env=environment.for_programs(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,  # a signal to the group is for us
            preexec_fn=begin,  # noqa: PLW1509 (it makes two system calls)
        )
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def run(
    command: Sequence[str | Path],
    *,
    what: str,
    cwd: Path | None = None,
    limit_s: float = LIMIT_S,
    downloads: bool = False,
) -> str:
    """Run a command and return its output; ``what`` names it in the error.

    ``downloads``: if it fails, the network may be the reason. Raises BenchError with the last lines
    of its output if it fails, does not exist or does not end within ``limit_s``, DiskFullError if
    it says that a disk is full.
    """
    arguments = [str(word) for word in command]
    try:
        process = _started(arguments, cwd)
        try:
            output, _ = process.communicate(timeout=limit_s)
        except BaseException:
            with suppress(ProcessLookupError):  # it has just ended
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            raise
    except subprocess.TimeoutExpired:
        raise BenchError(
            f"{what} did not end within {limit_s:g} s ({arguments[0]})",
            next_step="check what keeps the machine busy, then try again",
        ) from None
    except FileNotFoundError:
        how = programs.how_to_get(arguments[0])
        raise BenchError(f"{what}: {arguments[0]} is not installed; {how}") from None
    if process.returncode:
        if FULL.search(output):
            places = f"{cwd or cache_folder()} and {tempfile.gettempdir()}"
            raise DiskFullError(
                f"{what}: the disk is full",
                next_step=f"free some room below {places}, or set TENNIS_CACHE to another disk, "
                "then run this again",
            )
        lines = [line.strip() for line in output.splitlines() if line.strip()]
        errors = [
            line for line in lines if re.search(r"\berror\b|\bError: |^E: ", line)
        ]  # make's come later
        tail = " | ".join(errors[:3] or lines[-3:])
        raise BenchError(
            f"{what} failed ({arguments[0]} gave {process.returncode}): {tail}",
            next_step="check the network, the proxy and the mirror" if downloads else "",
        )
    return output


def says_of_itself(program: str | Path, *, what: str) -> str:
    """Return what a program prints as its version; ``what`` names it in the error.

    A process asks a file once: each boot of a match asks for a dozen of them. Raises BenchError.
    """
    return _says(program, what, identity(program))


@lru_cache(maxsize=64)
def _says(program: str | Path, what: str, _identity: object) -> str:
    return run([program, "--version"], what=what)


def identity(program: str | Path) -> tuple[object, ...]:
    """Return what changes if a program is another file, or another one of its name comes first."""
    found = programs.find(str(program))
    try:
        status = Path(found or program).stat()
    except OSError:
        return (found,)
    return (found, status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)
