"""Waiting for a process on a busy machine: by the processor time that it got, not by the wall."""

import subprocess
import time
from collections.abc import Callable

from tennis.course.checking.budget import _processor_s

STANDSTILL_S = 300.0  # of the wall: a process that got no time by then hangs


class _Limit:
    """Ends a process, and the test, after ``limit_s`` of processor time or a standstill."""

    def __init__(self, process: subprocess.Popen[str], limit_s: float) -> None:
        self.process, self.limit_s = process, limit_s
        self.began_s = self.last_s = _processor_s(process.pid)
        self.moved = self.checked = time.monotonic()

    def check(self) -> None:
        if time.monotonic() < self.checked + 1:
            return  # to ask costs some time, too
        self.checked = time.monotonic()
        now_s = _processor_s(self.process.pid)
        if now_s != self.last_s:
            self.last_s, self.moved = now_s, time.monotonic()
        ran_s = now_s - self.began_s
        still_s = time.monotonic() - self.moved
        if ran_s > self.limit_s or still_s > STANDSTILL_S:
            self.process.kill()
            raise AssertionError(f"it ran for {ran_s:.0f} s, and stood still for {still_s:.0f} s")


def wait_until(
    done: Callable[[], bool], process: subprocess.Popen[str], *, limit_s: float = 120
) -> None:
    """Wait until something is so; the process must live on until then."""
    limit = _Limit(process, limit_s)
    while not done():
        if process.poll() is not None:
            said = process.stderr.read() if process.stderr else ""
            raise AssertionError(f"it ended with {process.returncode}: {said}")
        limit.check()
        time.sleep(0.02)


def end_of(process: subprocess.Popen[str], *, limit_s: float = 60) -> tuple[str, str]:
    """Wait until a process ends; return what it printed and what it complained about."""
    limit = _Limit(process, limit_s)
    while True:
        try:
            return process.communicate(timeout=0.5)
        except subprocess.TimeoutExpired:
            limit.check()
