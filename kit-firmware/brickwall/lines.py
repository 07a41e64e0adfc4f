# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Lines from the host, whatever it sends: bounded, and never waited for."""

import select
import sys

import micropython
import wire
from micropython import const

# in one call; the rest waits in USB's buffers
_BYTES_A_CALL = 64
_LF = const(10)
_CR = const(13)
LEAVE = b"\x03"


class TooLongError(Exception):
    """A line longer than any command; all of it was dropped."""


class Lines:
    """Collects bytes to lines."""

    def __init__(self):
        poll = select.poll()
        poll.register(sys.stdin, select.POLLIN)
        self._waiting = poll.ipoll
        self._read = sys.stdin.buffer.readinto
        self._byte = bytearray(1)
        self._line = bytearray(wire.LINE_MAX)
        self._length = 0
        self.more = False  # there may be more at once

    @micropython.native
    def take(self):
        """Return a line without its end, or None. Raises TooLongError at the end of such a line."""
        waiting, read, byte, line = self._waiting, self._read, self._byte, self._line
        length = self._length
        self.more = True
        for _ in range(_BYTES_A_CALL):
            ready = False
            for _ in waiting(0):
                ready = True
            if not ready:
                self.more = False
                break
            read(byte)
            last = byte[0]
            if last in (_LF, _CR):
                self._length = 0
                if length > len(line):
                    raise TooLongError
                if length:
                    return bytes(memoryview(line)[:length])
                length = 0
            elif length < len(line):
                line[length] = last
                length += 1
            else:
                length = len(line) + 1
        self._length = length
        return None
