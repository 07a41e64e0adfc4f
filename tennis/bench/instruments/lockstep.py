"""A line to an emulated Pico that runs only while the host waits: no host timing enters.

Messages, little endian: kind u8, length u32, payload (kit-firmware/emulator).
"""

import contextlib
import os
import select
import struct
from collections.abc import Callable

from tennis.bench.instruments.link import LinkLostError
from tennis.kit.errors import BenchError

HEAD = struct.Struct("<BI")
U64 = struct.Struct("<Q")
WRITE, GO, AT_READY, QUIT, RESPOND = 1, 2, 3, 4, 5  # to the emulator
DATA, TIME, FAULT, NOTE = 1, 2, 3, 4  # from it
PAYLOAD_MAX = 1 << 24


class LockstepLink:
    """The emulator's end is a process: ``to_pico`` and ``from_pico`` are pipes to it.

    ``ended`` is called once when the line is closed: it ends the process.
    """

    def __init__(
        self,
        to_pico: int,
        from_pico: int,
        clock_hz: int,
        *,
        name: str = "the emulated Pico",
        ended: Callable[[], None] = lambda: None,
    ) -> None:
        self.name = name
        self.cycle = 0  # as last heard
        self.faults: list[str] = []
        # called every second in which nothing comes; what it raises ends the wait
        self.waiting: Callable[[], None] = lambda: None
        self.notes: list[str] = []  # the emulator's other messages: "target_ended"
        self._to, self._from = to_pico, from_pico
        self._clock_hz = clock_hz
        self._ended = ended
        self._open = True

    def read(self, timeout_s: float) -> bytes:
        """Let the Pico run until it sends something, or for ``timeout_s`` of its own time."""
        limit = max(1, round(timeout_s * self._clock_hz))
        self._send(GO, U64.pack(limit))
        while True:
            kind, payload = self._receive()
            if kind == DATA:
                return payload
            if kind == TIME:
                (self.cycle,) = U64.unpack(payload)
                return b""
            if kind == NOTE:
                self.notes.append(payload.decode(errors="replace"))
                continue
            if kind == FAULT:
                self.faults.append(payload.decode(errors="replace"))
                raise BenchError(f"{self.name}: {self.faults[-1]}")
            raise BenchError(f"{self.name} sent a message of the unknown kind {kind}")

    def write(self, data: bytes) -> None:
        """Send bytes to the Pico's serial port at this moment of its time."""
        self._send(WRITE, data)

    def at_ready(self, data: bytes) -> None:
        """Let ``data`` reach the Pico at the moment in which the target gets ready."""
        self._send(AT_READY, data)

    def respond(self, script: bytes) -> None:
        """Let a scripted target (JSON) be at the Pico's pads from this moment on."""
        self._send(RESPOND, script)

    def reopen(self) -> None:
        """Say that an emulator does not come back."""
        raise LinkLostError(f"{self.name} has ended")

    def close(self) -> None:
        """End the emulator."""
        if not self._open:
            return
        with contextlib.suppress(LinkLostError):
            self._send(QUIT, b"")
        self._open = False
        os.close(self._to)
        os.close(self._from)
        self._ended()

    def _send(self, kind: int, payload: bytes) -> None:
        if not self._open:
            raise LinkLostError(f"{self.name} is closed")
        data = memoryview(HEAD.pack(kind, len(payload)) + payload)
        try:
            while data:
                data = data[os.write(self._to, data) :]
        except OSError as error:
            raise LinkLostError(f"{self.name} has ended") from error

    def _receive(self) -> tuple[int, bytes]:
        kind, length = HEAD.unpack(self._exactly(HEAD.size))
        if length > PAYLOAD_MAX:
            raise BenchError(f"{self.name} sent a message of {length} bytes: it is out of step")
        return kind, self._exactly(length)

    def _exactly(self, size: int) -> bytes:
        received = b""
        while len(received) < size:
            try:
                while not select.select([self._from], [], [], 1.0)[0]:
                    self.waiting()
                piece = os.read(self._from, size - len(received))
            except OSError as error:
                raise LinkLostError(f"{self.name} has ended") from error
            if not piece:
                raise LinkLostError(f"{self.name} has ended")
            received += piece
        return received
