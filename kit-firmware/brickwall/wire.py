# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""The frames an instrument sends: one file for both sides, CPython and MicroPython.

A frame is a header, a payload and a CRC-32 (little endian throughout)::

    magic "TN" | version u8 | kind u8 | sequence u32 | payload length u16 | payload | crc u32

The CRC covers header and payload. The sequence number counts frames from 0 in each rally. After
garbage a reader looks for the next magic whose CRC fits, so a broken byte costs one frame.

Kinds: HELLO (JSON about the instrument, first), BALLS (records of ``BALL``), EVENTS (records of
``EVENT``), END (``END``: why the rally ended, and the counters of the instrument), ANSWER (JSON:
the answer to a command; its sequence number is the command's, and it is no frame of the rally),
PLACES (records of ``PLACE``, one for each processor of the target: no Brickwall sends it, the
virtual bench adds it before the END of a whole rally on several processors).

A command is a line of ASCII from the host, at most ``LINE_MAX`` bytes, with the CRC-32 of all
before the space in front of the ``#``::

    NUMBER VERB key=value key=value #crc
"""

import binascii
import struct

MAGIC = b"TN"
VERSION = 1

HELLO = 1
BALLS = 2
EVENTS = 3
END = 4
ANSWER = 5
PLACES = 6

HEADER = "<2sBBIH"
HEADER_SIZE = struct.calcsize(HEADER)
CRC_SIZE = 4
PAYLOAD_MAX = 4096

# served (ticks since the instrument's clock began), rise - served, fall - served (ticks)
BALL = "<QII"
BALL_SIZE = struct.calcsize(BALL)
# in place of a rise or a fall that did not come in time
NONE_TICKS = 0xFFFFFFFF

# when (ticks), what, a value that depends on what
EVENT = "<QII"
EVENT_SIZE = struct.calcsize(EVENT)
EVENT_NAMES = {
    1: "ready",  # the target said that it is ready to play
    2: "stray",  # an edge without a ball; value: the level after it
    3: "double",  # an edge too many after a complete ball; value: the level after it
    4: "late_serve",  # the instrument served late; value: by how many ticks
    5: "held",  # the reply line was up already when a ball was served; once until it falls
    6: "overrun",  # an instrument fault; value: one of OVERRUNS
    7: "runt",  # a pulse of one tick, dropped; value: 0 on the ping line, 1 on the reply line
    8: "unlisted",  # runts that were counted as strays, with no room in the list; value: how many
}
OVERRUNS = {
    1: "fifo",  # an edge came faster than it could be stored: the clock lost time
    2: "ring",  # more edges than there is memory for
    3: "no_ping",  # the ping pad does not rise: it is held low or high from outside
    4: "undecided",  # closed loop: a ball was served while the last one waited for its answer
}

# balls that rose there, that fell there, that found this processor at work when they were served
PLACE = "<III"

# reason, balls, misses, strays, doubles, late serves, the clock (ticks)
END_FORMAT = "<IIIIIIQ"
END_REASONS = {
    0: "complete",
    1: "no_answer",  # too many misses one after the other
    2: "target_ended",  # the target powered off, or panicked
    3: "never_ready",
    4: "instrument_fault",
    5: "stopped",  # the host asked for it
}

# the bytes of a command line, without its newline
LINE_MAX = 500
# the number of a command that has none, and of a line that is no command
NO_NUMBER = 0xFFFFFFFF
# understood without a number and a checksum, for people at a terminal
BARE_VERBS = (b"hello", b"help")


class WireError(Exception):
    """A frame or a command that cannot be: too long a payload, records that do not fit."""


class ChecksumError(WireError):
    """A line that is no command: it broke on its way, or was never one."""


def encode(kind, sequence, payload):
    """Return the frame of a payload."""
    if len(payload) > PAYLOAD_MAX:
        raise WireError("payload of %d bytes, %d at most" % (len(payload), PAYLOAD_MAX))
    head = struct.pack(HEADER, MAGIC, VERSION, kind, sequence & 0xFFFFFFFF, len(payload))
    body = head + payload
    return body + struct.pack("<I", binascii.crc32(body) & 0xFFFFFFFF)


def decode_one(data, start=0):
    """Read the frame that begins at ``start``.

    Returns (kind, sequence, payload, end), None where the data end too early, and False where
    no frame begins there.
    """
    have = len(data) - start
    if have < HEADER_SIZE:
        return None if MAGIC.startswith(bytes(data[start : start + 2])) else False
    magic, version, kind, sequence, length = struct.unpack(
        HEADER, bytes(data[start : start + HEADER_SIZE])
    )
    if magic != MAGIC or version != VERSION or length > PAYLOAD_MAX:
        return False
    end = start + HEADER_SIZE + length + CRC_SIZE
    if end > len(data):
        return None
    body = bytes(data[start : end - CRC_SIZE])
    (crc,) = struct.unpack("<I", bytes(data[end - CRC_SIZE : end]))
    if binascii.crc32(body) & 0xFFFFFFFF != crc:
        return False
    return kind, sequence, body[HEADER_SIZE:], end


class Decoder:
    """Takes bytes as they come, gives frames, and steps over garbage."""

    def __init__(self):
        # bytes: MicroPython's bytearray has no find()
        self.buffer = b""
        self.garbage_bytes = 0

    def feed(self, data):
        """Return the (kind, sequence, payload) that ``data`` completed."""
        self.buffer += data
        frames = []
        at = 0
        while at < len(self.buffer):
            frame = decode_one(self.buffer, at)
            if frame is None:
                break
            if frame is False:
                nxt = self.buffer.find(MAGIC[:1], at + 1)
                nxt = len(self.buffer) if nxt < 0 else nxt
                self.garbage_bytes += nxt - at
                at = nxt
                continue
            kind, sequence, payload, at = frame
            frames.append((kind, sequence, payload))
        self.buffer = self.buffer[at:]
        return frames

    def finish(self):
        """No more data come: return the frames that a broken one still held back."""
        frames = []
        while self.buffer:
            nxt = self.buffer.find(MAGIC[:1], 1)
            nxt = len(self.buffer) if nxt < 0 else nxt
            self.garbage_bytes += nxt
            self.buffer = self.buffer[nxt:]
            frames += self.feed(b"")
        return frames


def encode_command(number, verb, parameters=None):
    """Return the line of a command, newline included."""
    fields = ["%d" % number, verb]
    fields += ["%s=%s" % pair for pair in (parameters or {}).items()]
    text = " ".join(fields)
    if len(text.split()) != len(fields) or "#" in text:
        raise WireError("a command's words contain no spaces and no #: %r" % text)
    body = text.encode()
    line = body + (" #%08x" % (binascii.crc32(body) & 0xFFFFFFFF)).encode()
    if len(line) > LINE_MAX:
        raise WireError("command of %d bytes, %d at most" % (len(line), LINE_MAX))
    return line + b"\n"


def parse_command(line):
    """Return (number, verb, parameters) of a command's line, all parameters as text."""
    # bytes as long as can be: MicroPython looks for every short text among all that it knows
    line = bytes(line).strip()
    if line in BARE_VERBS:
        return NO_NUMBER, line.decode(), {}
    body, mark, crc = line.rpartition(b" #")
    if not mark or len(line) > LINE_MAX:
        raise ChecksumError("not a command: no checksum; try: help")
    if crc != binascii.hexlify(struct.pack(">I", binascii.crc32(body) & 0xFFFFFFFF)):
        raise ChecksumError("the checksum does not fit the line")
    fields = body.split()
    if len(fields) < 2 or not fields[0].isdigit() or int(fields[0]) >= NO_NUMBER:
        raise WireError("a command is: NUMBER VERB key=value ... #crc")
    parameters = {}
    try:
        verb = fields[1].decode()
        for word in fields[2:]:
            key, equals, value = word.partition(b"=")
            key = key.decode()
            if not (key and equals and value) or key in parameters:
                raise WireError("not a parameter, or given twice: " + word.decode())
            parameters[key] = value.decode()
    except UnicodeError:
        raise WireError("a command has ASCII letters only") from None
    return int(fields[0]), verb, parameters
