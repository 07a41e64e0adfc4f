# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""The clock of an emulated Pico: timeouts count its own time, not the wall's.

On a busy machine an emulated Pico may run at a tenth of its speed, or stand still for seconds.
"""

import contextlib
import socket
import struct
import time
from urllib.parse import parse_qs, urlsplit

from tennis.bench.instruments.link import LinkLostError

TIME = struct.Struct("<d")  # seconds since the emulated board was powered on
STANDSTILL_S = 120  # of the wall: an emulator that is no further by then has hung
POLL_S = 0.05


def parted(url: str) -> tuple[str, tuple[str, int] | None]:
    """Part ``socket://HOST:PORT?clock=PORT`` into what pyserial opens and the clock's address."""
    parts = urlsplit(url)
    clock = parse_qs(parts.query).get("clock", [""])[0]
    if parts.scheme != "socket" or not (clock.isdigit() and len(clock) <= 5):
        return url, None
    return f"socket://{parts.netloc}", (parts.hostname or "", int(clock))


class EmulatedClock:
    """The clock of an emulated Pico, asked over TCP. Raises OSError if nothing answers."""

    def __init__(self, address: tuple[str, int]) -> None:
        self._line = socket.create_connection(address, timeout=STANDSTILL_S)

    def now_s(self) -> float:
        """Return the emulated time. Raises LinkLostError if the emulator has ended."""
        try:
            self._line.sendall(b"?")
            answer = b""
            while len(answer) < TIME.size:
                piece = self._line.recv(TIME.size - len(answer))
                if not piece:
                    raise LinkLostError("the emulated Pico has ended")
                answer += piece
        except OSError as error:
            raise LinkLostError("the emulated Pico has ended") from error
        (now,) = TIME.unpack(answer)
        return float(now)

    def close(self) -> None:
        """Give the line up."""
        with contextlib.suppress(OSError):
            self._line.close()


class ClockWait:
    """Waits until a time of the instrument's has passed; on a real one, the wall's."""

    def __init__(self, clock: EmulatedClock | None, wait_s: float) -> None:
        self._clock, self._wait_s = clock, wait_s
        self._end_s = clock.now_s() + wait_s if clock else 0.0
        self._hung_s = time.monotonic() + STANDSTILL_S
        self._first = True

    def next_wait_s(self) -> float | None:
        """Return how long to wait at most before asking again, or None if the time has passed."""
        if self._clock is None:
            wait_s = self._wait_s if self._first else None
            self._first = False
            return wait_s
        left_s = self._end_s - self._clock.now_s()
        if left_s <= 0 or time.monotonic() > self._hung_s:
            return None
        return min(max(left_s, 0.001), POLL_S)
