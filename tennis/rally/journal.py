"""``frames.bin``: the frames of a rally that is being played, kept as they came.

Append-only; every frame has its own check sum. After a crash all whole frames are there, and the
one that was being written is cut off.
"""

import time
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

from tennis.kit import wire
from tennis.kit.errors import RallyError
from tennis.rally.disk import lock, sync, writing
from tennis.rally.folder import JOURNAL

SYNC_EVERY_S = 1.0


class Frame(NamedTuple):
    """A frame of the wire format (docs/wire-format.md)."""

    kind: int
    sequence: int
    payload: bytes

    @property
    def size(self) -> int:
        """Return how many bytes it takes in the journal."""
        return wire.HEADER_SIZE + len(self.payload) + wire.CRC_SIZE


class Journal:
    """The journal in the folder ``part``, locked against a second player."""

    def __init__(self, part: Path, out: Path) -> None:
        self.path = part / JOURNAL
        self._then = f"then continue with `tennis resume {out}`"
        with writing(self.path, self._then):
            self._file = self.path.open("a+b", buffering=0)
        try:
            if not lock(self._file, self.path):
                raise RallyError(
                    f"{out} is being played by another process", next_step="let it finish"
                )
        except BaseException:
            self._file.close()
            raise
        self._size = self.path.stat().st_size
        self._synced = time.monotonic()

    @property
    def size(self) -> int:
        """Return how many bytes of frames there are."""
        return self._size

    def truncate(self, size: int) -> None:
        """Cut the journal down to its first ``size`` bytes."""
        with writing(self.path, self._then):
            self._file.truncate(size)
        self._size = size

    def append(self, frame: Frame) -> None:
        """Keep a frame. Raises DiskFullError; then the journal ends with a whole frame."""
        encoded = wire.encode(*frame)
        try:
            with writing(self.path, self._then):
                left = encoded
                while left:  # a disk that gets full takes a part first; the rest says why
                    left = left[self._file.write(left) or 0 :]
                self._size += len(encoded)
                if time.monotonic() - self._synced > SYNC_EVERY_S:
                    sync(self.path)
                    self._synced = time.monotonic()
        except BaseException:
            self._file.truncate(self._size)
            raise

    def frames(self) -> Iterator[Frame]:
        """Read the frames back, one at a time, in bounded memory; stop at a broken one."""
        with self.path.open("rb") as file:
            held = b""
            while chunk := file.read(1 << 20):
                held += chunk
                at = 0
                while decoded := wire.decode_one(held, at):
                    kind, sequence, payload, end = decoded
                    yield Frame(kind, sequence, payload)
                    at = end
                if decoded is False:
                    return
                held = held[at:]

    def payloads(self, kind: int) -> Iterator[bytes]:
        """Read back the payloads of one kind of frames."""
        return (frame.payload for frame in self.frames() if frame.kind == kind)

    def close(self) -> None:
        """Close the file and give up the lock."""
        self._file.close()

    def __enter__(self) -> "Journal":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
