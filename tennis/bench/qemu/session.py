"""A rally with the instrument that is a plugin of QEMU's: it writes its frames into a pipe."""

import os
import select
from collections.abc import Iterator
from pathlib import Path

from tennis.kit import wire
from tennis.rally.journal import Frame

SHARED = Path(__file__).parent
TICK_S = 0.2  # how often None comes while nothing happens


def shared() -> list[Path]:
    """Return the files of this folder: what every rally in QEMU depends on."""
    return sorted(SHARED.glob("*.py"))


class PipedSession:
    """A session of a QEMU with the built-in instrument; a bench adds what runs inside.

    Its constructor starts QEMU with ``self.writer``, then calls ``self.started``.
    """

    doing = ""

    def __init__(self) -> None:
        self._decoder = wire.Decoder()
        self._reader, self.writer = os.pipe()

    def started(self) -> None:
        """Leave the pipe's other end to QEMU alone: it ends when QEMU does."""
        os.close(self.writer)

    @property
    def garbage_bytes(self) -> int:
        """Return how many bytes were of no frame."""
        return self._decoder.garbage_bytes

    def frames(self) -> Iterator[Frame | None]:
        """Yield the instrument's frames; None now and then while none comes."""
        while True:
            ready, _, _ = select.select([self._reader], [], [], TICK_S)
            data = os.read(self._reader, 1 << 16) if ready else b""
            if ready and not data:
                yield from (Frame(*frame) for frame in self._decoder.finish())
                return
            self.look_after()
            decoded = self._decoder.feed(data)
            yield from (Frame(*frame) for frame in decoded)
            if not decoded:
                yield None

    def look_after(self) -> None:
        """Raise BenchError if the target will not come any more."""

    def stop(self) -> None:
        """Ask QEMU to end; the instrument sends what it holds."""
        raise NotImplementedError

    def close(self) -> None:
        """Let go of the pipe. Safe to call twice."""
        if self._reader >= 0:
            os.close(self._reader)
            self._reader = -1
