# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Lines from the host, whatever it sends: bounded, and never waited for."""

import select
import sys

import micropython
import wire

# in one call; the rest waits in USB's buffers
_BYTES_A_CALL = 64
_ENDS = b"\r\n"
LEAVE = b"\x03"


class TooLongError(Exception):
    """A line longer than any command; all of it was dropped."""


class Lines:
    """Collects bytes to lines."""

    def __init__(self):
        self._poll = select.poll()
        self._poll.register(sys.stdin, select.POLLIN)
        self._byte = bytearray(1)
        self._line = bytearray(wire.LINE_MAX)
        self._length = 0

    @micropython.native
    def take(self):
        """Return a line without its end, or None. Raises TooLongError at the end of such a line."""
        byte, line = self._byte, self._line
        for _ in range(_BYTES_A_CALL):
            ready = False
            for _ in self._poll.ipoll(0):
                ready = True
            if not ready:
                return None
            sys.stdin.buffer.readinto(byte)
            if byte[0] in _ENDS:
                length, self._length = self._length, 0
                if length > len(line):
                    raise TooLongError
                if length:
                    return bytes(memoryview(line)[:length])
            elif self._length < len(line):
                line[self._length] = byte[0]
                self._length += 1
            else:
                self._length = len(line) + 1
        return None
