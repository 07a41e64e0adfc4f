"""The ``tennis`` command as a user types it, in a terminal that is wide enough.

Each command is a process of its own. To import what it needs takes longer than most of them do: so
one process imports it for all commands of a worker, and forks for each.
"""

import functools
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO

TENNIS = str(Path(sys.executable).with_name("tennis"))
MESSAGE_MAX = 1 << 17
LIMIT_S = 900.0  # of the wall, for a command that would never end
# what commands import while they run
MORE = ("matplotlib.backends.backend_agg", "pandas", "scipy.stats", "tennis.api")
PREPARED = f"""
import atexit, contextlib, gc, importlib, json, os, socket, sys, threading
from tennis.cli import _command_of, _names, main
from tennis.kit.errors import TennisError
# a command that needs what is not installed says so
for name in _names():
    with contextlib.suppress(TennisError):
        _command_of(name)
for name in {MORE}:
    with contextlib.suppress(ModuleNotFoundError):
        importlib.import_module(name)
gc.freeze()
asking = socket.socket(fileno=int(sys.argv[1]))
while True:
    asked, streams, *_ = socket.recv_fds(asking, {MESSAGE_MAX}, 2)
    if not asked:
        sys.exit()
    if not (child := os.fork()):
        break
    for stream in streams:
        os.close(stream)
    asking.send(str(child).encode())
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    asking.send(str(code).encode())
asking.close()
for number, stream in enumerate(streams, 1):
    os.dup2(stream, number)
    os.close(stream)
words, folder, environment = json.loads(asked)
os.chdir(folder)
os.environ.clear()
os.environ.update(environment)
sys.argv = ["tennis", *words]
code = 0
try:
    main()
except SystemExit as ended:
    code = ended.code or 0
threading._shutdown()
atexit._run_exitfuncs()
for stream in (sys.stdout, sys.stderr):
    stream.flush()
os._exit(code)  # without taking all down that was imported
"""


@dataclass(frozen=True)
class Done:
    """The end of a command, with both of its streams."""

    exit_code: int
    output: str


class Prepared:
    """The process that has imported ``tennis``; it ends with this one."""

    def __init__(self) -> None:
        self._asking, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, "-P", "-c", PREPARED, str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                # threads of it would not be there in what it forks
                env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
            )

    def run(self, words: list[str], out: IO[str], errors: IO[str]) -> int:
        """Run a command in this process' folder and environment; return its exit code."""
        asked = json.dumps([words, str(Path.cwd()), dict(os.environ)]).encode()
        socket.send_fds(self._asking, [asked], [out.fileno(), errors.fileno()])
        command = int(self._asking.recv(MESSAGE_MAX))
        self._asking.settimeout(LIMIT_S)
        try:
            answer = self._asking.recv(MESSAGE_MAX)
        except TimeoutError:
            os.kill(command, signal.SIGKILL)
            self._asking.settimeout(None)
            self._asking.recv(MESSAGE_MAX)
            raise subprocess.TimeoutExpired(words, LIMIT_S) from None
        self._asking.settimeout(None)
        return int(answer)


@functools.cache
def prepared() -> Prepared:
    """Return the process that is there from the first command on."""
    return Prepared()


def tennis(*words: object) -> subprocess.CompletedProcess[str]:
    """Run ``tennis`` with these words; return the text of both streams."""
    asked = list(map(str, words))
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as errors:
        code = prepared().run(asked, out, errors)
        said = [stream.seek(0) or stream.read() for stream in (out, errors)]
    return subprocess.CompletedProcess(asked, code, *said)


def run(*words: object) -> Done:
    """Run ``tennis`` with these words."""
    before = os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = "200"
    try:
        with tempfile.TemporaryFile("w+") as output:
            code = prepared().run(list(map(str, words)), output, output)
            output.seek(0)
            return Done(code, output.read())
    finally:
        os.environ.pop("COLUMNS")
        os.environ.update({} if before is None else {"COLUMNS": before})
