"""A capture that is under way: sigrok-cli's samples, from a pipe to the disk.

Samples come as they are (``-O binary``) and are kept as a sigrok session, a chunk at a time.
sigrok-cli's own session output appends each of its packets to a zip file, whose directory it
writes again each time: that is slower the longer it takes, and a rally takes long.
"""

import contextlib
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

import numpy as np

from tennis.bench.instruments.sigrok import ANSWER_S, Settings, find_program
from tennis.kit import environment
from tennis.kit.errors import BenchError, TennisError
from tennis.rally.captures.edges import MAX_TICKS
from tennis.rally.captures.srzip import Writer
from tennis.rally.text import plain

FIRST_SAMPLES_S = 15
STARTS_S = 2  # from its program's start to its first sample
END_S = 10
READ_BYTES = 1 << 20
PROBE_SAMPLES = 1000
READ_OUT_S = 120  # what an analyser with a memory of its own may take, once that is full


class _Acquisition:
    """A capture that is under way: begun when this is made, kept when it is closed."""

    def __init__(self, chosen: Settings, out: Path) -> None:
        self._settings = chosen
        self.samples = 0
        self.trouble = ""  # why it ended early, in words
        names = [chosen.ping, chosen.reply]
        order = [name for name in chosen.analyser.channels if name in names]
        self._unit, self._bits = self._layout(order)
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 (closed with the rest)
        self._writer = Writer(out, chosen.rate_hz)
        self._first = threading.Event()
        self._began = time.monotonic()
        self._process = subprocess.Popen(
            [*self._command(), "--continuous"]
            if chosen.seconds is None
            else [*self._command(), "--samples", str(round(chosen.seconds * chosen.rate_hz))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env=environment.for_sigrok(),
            start_new_session=True,  # Ctrl-C is for us: the capture is kept
        )
        self._thread = threading.Thread(target=self._keep, name="umpire", daemon=True)
        self._thread.start()
        if not self._begins() or (self.trouble and not self.samples):
            self.close()
            out.unlink(missing_ok=True)
            why = self.trouble or "no sample comes"
            raise BenchError(
                f"{plain(chosen.analyser.name, 40)}: {why}", next_step="check the analyser"
            )

    def _begins(self) -> bool:
        """Wait for the first samples; a memory of its own gives none before it is full."""
        if self._settings.analyser.continuous:
            return self._first.wait(FIRST_SAMPLES_S)
        # it reports its errors at once
        ended = self._first.wait(STARTS_S) and not self.running
        return not ended or self.samples > 0

    def finish(self) -> None:
        """Let an analyser with a memory of its own fill it and give it: it cannot be stopped."""
        wanted = self._settings.seconds
        if not self._settings.analyser.continuous and wanted is not None:
            left_s = self._began + wanted + READ_OUT_S - time.monotonic()
            self._thread.join(max(0.0, left_s))

    def _command(self) -> list[str]:
        chosen = self._settings
        return [
            *(find_program(), "-d", chosen.analyser.spec),
            *("--config", f"samplerate={chosen.rate_hz}"),
            *("-C", f"{chosen.ping},{chosen.reply}", "-O", "binary"),
        ]

    def _layout(self, order: list[str]) -> tuple[int, tuple[int, int]]:
        """Return the bytes of a sample, and the bits of ping and reply in it."""
        chosen = self._settings
        with tempfile.TemporaryFile() as errors:
            try:
                done = subprocess.run(
                    [*self._command(), "--samples", str(PROBE_SAMPLES)],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=errors,
                    env=environment.for_sigrok(),
                    timeout=ANSWER_S,
                    check=False,
                )
            except subprocess.TimeoutExpired as error:
                raise BenchError(
                    f"{plain(chosen.analyser.name, 40)} does not sample",
                    next_step="plug it in again",
                ) from error
            errors.seek(0)
            why = plain(errors.read(4096).decode(errors="replace"), 200)
        unit = round(len(done.stdout) / PROBE_SAMPLES)
        if done.returncode or not 1 <= unit <= 8:
            raise BenchError(
                f"{plain(chosen.analyser.name, 40)} does not sample: {why or 'nothing came'}",
                next_step="check the analyser",
            )
        # a sample has a bit for each of the device's logic channels, in their order
        names = chosen.analyser.channels
        ping, reply = names.index(chosen.ping), names.index(chosen.reply)
        if max(ping, reply) >= 8 * unit:
            # only the channels that are in use
            ping, reply = order.index(chosen.ping), order.index(chosen.reply)
        return unit, (ping, reply)

    def _keep(self) -> None:
        """Take samples from the pipe to the disk, until there are no more."""
        assert self._process.stdout is not None  # noqa: S101
        left = b""
        try:
            while block := self._process.stdout.read1(READ_BYTES):  # type: ignore[attr-defined]
                block = left + block
                whole = len(block) - len(block) % self._unit
                left = block[whole:]
                if not whole:
                    continue
                if self.samples + whole // self._unit > MAX_TICKS:
                    self.trouble = "it took longer than any capture that is checked"
                    break
                self._writer.write(self._levels(block[:whole]))
                self.samples += whole // self._unit
                self._first.set()
        except (TennisError, ValueError) as error:
            self.trouble = str(error)
        finally:
            self._first.set()

    def _levels(self, block: bytes) -> bytes:
        ping, reply = self._bits
        table = np.frombuffer(block, np.uint8).reshape(-1, self._unit)
        levels = (table[:, ping // 8] >> np.uint8(ping % 8)) & np.uint8(1)
        levels |= ((table[:, reply // 8] >> np.uint8(reply % 8)) & np.uint8(1)) << np.uint8(1)
        return levels.tobytes()

    @property
    def seconds(self) -> float:
        """Return how much was captured."""
        return self.samples / self._settings.rate_hz

    @property
    def running(self) -> bool:
        """Say whether samples still come."""
        return self._thread.is_alive()

    def close(self) -> None:
        """End the capture and finish its file; safe to call twice."""
        if self._errors.closed:
            return
        ended = not self.running  # nobody stopped it yet
        wanted = self._settings.seconds
        self._stop()
        self._thread.join(END_S)
        try:
            self._writer.close()
        except TennisError as error:
            self.trouble = self.trouble or str(error)
        short = wanted is None or self.samples < round(wanted * self._settings.rate_hz)
        if ended and short and not self.trouble:
            self._errors.seek(0)
            why = plain(self._errors.read(4096).decode(errors="replace"), 200)
            self.trouble = f"the analyser stopped by itself ({why or 'it did not say why'})"
        self._errors.close()

    def _stop(self) -> None:
        """Press a key, which is how sigrok-cli is stopped; then less politely."""
        process = self._process
        assert process.stdin is not None  # noqa: S101
        with contextlib.suppress(OSError):
            if process.poll() is None:
                process.stdin.write(b"\n")
            process.stdin.close()
        # the rest of the pipe is still read
        for end in (process.terminate, process.kill):
            try:
                process.wait(END_S / 2)
                break
            except subprocess.TimeoutExpired:
                end()
        process.wait()


@contextlib.contextmanager
def capturing(chosen: Settings, out: Path) -> Iterator[_Acquisition]:
    """Capture while the block runs."""
    capture = _Acquisition(chosen, out)
    try:
        yield capture
        capture.finish()
    finally:
        capture.close()


def wait(capture: _Acquisition, stop: Callable[[], bool] = lambda: False) -> None:
    """Wait until a capture ends by itself, or ``stop`` says so."""
    while capture.running and not stop():
        time.sleep(0.05)
