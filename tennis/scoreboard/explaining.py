# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Why a ball was late, asked from a page: `tennis explain` runs on this machine, one at a time."""

import os
import subprocess
import sys
import tempfile
from collections import OrderedDict
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Literal

from tennis import environment

SAID_MAX = 1 << 16  # bytes
KEPT = 32  # answers
COLUMNS = "100"
AGAIN = "The rally is played again up to this ball."
END_S = 15.0  # it ends QEMU, which may take a moment
# the kernel ends it with the server, however that ends; it ends QEMU then, as at Ctrl-C
COMMAND = (
    "import ctypes, signal, sys; signal.signal(signal.SIGTERM, signal.default_int_handler); "
    "ctypes.CDLL(None).prctl(1, signal.SIGTERM); from tennis.cli import main; sys.exit(main())"
)

BallKey = tuple[Path, str, int]  # a rally, its seal, a ball


@dataclass
class _Run:
    """A process that plays a rally again, and what it says."""

    ball_key: BallKey
    process: "subprocess.Popen[bytes]"
    output: IO[bytes]
    progress: IO[bytes]


@dataclass(frozen=True)
class Answer:
    """What is known of why a ball was late; while it is found out, what the process says."""

    text: str
    state: Literal["known", "running", "failed", "refused"]


@dataclass
class Explaining:
    """Who asks twice gets the answer that is there; who asks meanwhile is told to wait."""

    _run: _Run | None = None
    _answers: "OrderedDict[BallKey, Answer]" = field(default_factory=OrderedDict)

    def ask(self, ball_key: BallKey) -> Answer:
        """Have a ball explained, unless it is, or another one is being explained."""
        known = self.answer_to(ball_key)
        if known is not None and known.state != "failed":
            return known
        if self._run is not None:
            path, _, ball = self._run.ball_key
            return Answer(
                f"Ball {ball:,} of {path.name} is being explained: ask again then.", "refused"
            )
        path, _, ball = ball_key
        output, progress = (tempfile.TemporaryFile() for _ in range(2))  # noqa: SIM115 (kept open)
        process = subprocess.Popen(
            [sys.executable, "-P", "-c", COMMAND, "explain", "--ball", str(ball), "--", str(path)],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=progress,
            env=environment.for_tennis(COLUMNS=COLUMNS),
            start_new_session=True,  # Ctrl-C is for the server, which then ends it
        )
        self._run = _Run(ball_key, process, output, progress)
        return Answer(AGAIN, "running")

    def answer_to(self, ball_key: BallKey) -> Answer | None:
        """Return what is known; None: nobody asked, or it was long ago."""
        self._end_if_done()
        if self._run is not None and self._run.ball_key == ball_key:
            lines = _text(self._run.progress).strip().splitlines()
            return Answer(lines[-1] if lines else AGAIN, "running")
        return self._answers.get(ball_key)

    def close(self) -> None:
        """End what runs, and what that started."""
        if self._run is not None:
            process = self._run.process
            process.terminate()
            try:
                process.wait(END_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            self._end_if_done()

    def _end_if_done(self) -> None:
        run = self._run
        if run is None or run.process.poll() is None:
            return
        failed = run.process.returncode != 0
        lines = _text(run.progress).strip().splitlines()
        text = (lines[-1] if lines else "it ended") if failed else _text(run.output).strip()
        self._answers[run.ball_key] = Answer(text, "failed" if failed else "known")
        while len(self._answers) > KEPT:
            self._answers.popitem(last=False)
        run.output.close()
        run.progress.close()
        self._run = None


def _text(file: IO[bytes]) -> str:
    """Return what is in a file that another process writes: its end, if it is long."""
    size = os.fstat(file.fileno()).st_size
    start = max(0, size - SAID_MAX)
    return os.pread(file.fileno(), SAID_MAX, start).decode(errors="replace")
