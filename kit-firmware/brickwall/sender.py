# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""The frames of a rally, kept until the host says that it has them, and the answers to commands.

USB does not promise that what was written arrives: the host may be away, or not read. So frames
are numbered, at most ``WINDOW`` of them are held, and any of them is sent again when asked for.
"""

import binascii
import json
import select
import struct
import sys

import micropython
import wire

WINDOW = 20
# besides: the frames being filled (balls, events), and the last one of the rally
_SLOTS = WINDOW + 3
PAYLOAD_MAX = 2048
# records are written as words: behind the header of 10 bytes they begin at a multiple of 4
_FRAME_AT = 2
_PAYLOAD_AT = _FRAME_AT + wire.HEADER_SIZE


class Slot:
    """The memory of one frame."""

    def __init__(self):
        self._memory = bytearray(_PAYLOAD_AT + PAYLOAD_MAX + wire.CRC_SIZE)
        self.payload = memoryview(self._memory)[_PAYLOAD_AT:]
        self.frame = memoryview(self._memory)[_FRAME_AT:]
        self.size = 0

    @micropython.native
    def seal(self, kind, sequence, length):
        """Make a frame of the payload's first ``length`` bytes."""
        struct.pack_into(
            wire.HEADER, self.frame, 0, wire.MAGIC, wire.VERSION, kind, sequence, length
        )
        self.size = wire.HEADER_SIZE + length + wire.CRC_SIZE
        crc = binascii.crc32(self.frame[: wire.HEADER_SIZE + length])
        struct.pack_into("<I", self.frame, wire.HEADER_SIZE + length, crc)


class Sender:
    """What goes to the host."""

    window = WINDOW

    def __init__(self):
        self._free = [Slot() for _ in range(_SLOTS)]
        self._held = []  # sealed, oldest first
        self.oldest = 0  # the sequence number of the first one held
        self._sent = 0  # how many of those held were sent
        self._answers = []
        self._now = None  # what is being sent, and from where on
        self._at = self._end = 0
        self._write = sys.stdout.buffer.write
        self._stalled = True  # the host took less than it was given: it may not be there
        self._poll = select.poll()
        self._poll.register(sys.stdout, select.POLLOUT)

    def begin(self, sequence):
        """Forget all frames; the next one has this number."""
        self._free += self._held
        self._held.clear()
        self._sent = 0
        self.oldest = sequence

    @property
    def next(self):
        """The number of the next frame."""
        return self.oldest + len(self._held)

    @micropython.native
    def room(self):
        """Return how many frames may still be sealed."""
        return WINDOW - len(self._held)

    @micropython.native
    def slot(self):
        """Return memory to fill; it comes back by ``seal`` or ``give_back``."""
        return self._free.pop()

    def give_back(self, slot):
        """Take a slot that was not needed."""
        self._free.append(slot)

    @micropython.native
    def seal(self, slot, kind, length):
        """Give a frame its number, and send it as soon as can be."""
        slot.seal(kind, self.oldest + len(self._held), length)
        self._held.append(slot)

    def send(self, kind, payload):
        """Send a frame of a payload."""
        if len(payload) > PAYLOAD_MAX:
            raise wire.WireError("payload of %d bytes" % len(payload))
        slot = self.slot()
        slot.payload[: len(payload)] = payload
        self.seal(slot, kind, len(payload))

    @micropython.native
    def acknowledge(self, before):
        """Forget the frames before this number: the host has them."""
        while self._held and self.oldest < before:
            slot = self._held.pop(0)
            if slot.frame is self._now:
                self._now = None  # half sent again: the host has it already
            self._free.append(slot)
            self.oldest += 1
            self._sent = max(self._sent - 1, 0)

    def resend(self, sequence):
        """Send again from this number on."""
        self._sent = min(max(sequence - self.oldest, 0), self._sent)

    def answer(self, number, answer):
        """Answer a command."""
        self._answers.append(wire.encode(wire.ANSWER, number, json.dumps(answer).encode()))

    @micropython.native
    def pump(self):
        """Write a frame. Says whether there is more that can be written at once.

        It waits while the frame is on its way (two milliseconds: USB moves on only while
        MicroPython waits for it, so smaller pieces would take longer), and half a second once
        where the host stops reading.
        """
        now = self._now
        if now is None:
            if not self._take():
                return False
            now = self._now
        if self._stalled and not self._writable():
            return False
        at = self._at
        end = self._end
        wrote = self._write(now[at:end]) or 0
        at += wrote
        self._at = at
        self._stalled = stalled = at < end
        if stalled:
            return False
        self._now = None
        return self._sent < len(self._held) or bool(self._answers)

    def _writable(self):
        for _ in self._poll.ipoll(0):
            return True
        return False

    @micropython.native
    def _take(self):
        self._at = 0
        if self._answers:
            answer = self._answers.pop(0)
            self._now, self._end = memoryview(answer), len(answer)
        elif self._sent < len(self._held):
            slot = self._held[self._sent]
            self._now, self._end = slot.frame, slot.size
            self._sent += 1
        else:
            return False
        return True
