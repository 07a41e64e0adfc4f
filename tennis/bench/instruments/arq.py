"""Frames in order, each once, over a line that may damage them: the host's half of the ARQ.

The instrument numbers its frames and holds them until they are acknowledged. This half notices and
counts broken, missing and repeated frames; ``acks`` and ``resends`` hold what the host must send.
Nothing here reads, writes or waits.
"""

import json
from collections import deque
from dataclasses import asdict, dataclass, field
from typing import Any

from tennis.kit import wire
from tennis.rally.journal import Frame

ACK_EVERY = 8  # frames
ASK_AGAIN_AFTER = 32  # frames behind a gap: the request itself got lost
HALF = 1 << 31


@dataclass
class LineCounts:
    """Errors of the line, all of them repaired."""

    broken: int = 0  # times that something else than a frame came
    garbage_bytes: int = 0
    gaps: int = 0
    duplicates: int = 0
    resends: int = 0  # asked for
    repeated_commands: int = 0
    reconnects: int = 0
    restarts: int = 0  # of the instrument

    def as_dict(self) -> dict[str, int]:
        """Return the counts by their names."""
        return asdict(self)


@dataclass
class Receiver:
    """Takes bytes as they come."""

    counts: LineCounts = field(default_factory=LineCounts)
    expected: int = 0  # the sequence number of the next frame
    # ids of commands and what they were answered, in the order in which they came
    answers: deque[tuple[int, dict[str, Any]]] = field(default_factory=deque)
    _rally: str | None = None  # frames are taken from its HELLO on
    _command: int = wire.NO_NUMBER  # that begins it
    _armed: bool = False  # frames from now on are of this rally
    _begun: bool = False  # its HELLO was here
    _acknowledged: int = 0
    _behind_gap: int = 0  # frames that came since one was missed
    _resend: bool = False
    _decoder: wire.Decoder = field(default_factory=wire.Decoder)

    def begin(self, rally: str, sequence: int, command: int) -> None:
        """Wait for the HELLO of the rally that ``command`` begins; other frames are not taken."""
        self._rally, self._command = rally, command
        self._armed = self._begun = False
        self.expected = self._acknowledged = sequence
        self._behind_gap, self._resend = 0, False

    @property
    def armed(self) -> bool:
        """Tell whether the rally has begun: its frames come, or are missing."""
        return self._armed

    def arm(self) -> None:
        """Say that the rally has begun, though neither the answer nor its HELLO came."""
        self._armed = True

    @property
    def in_frame(self) -> bool:
        """Tell whether a frame has begun and its end has not come."""
        return self._decoder.buffer.startswith(wire.MAGIC + bytes([wire.VERSION]))

    def feed(self, data: bytes) -> list[Frame]:
        """Return the frames that are next now."""
        before = self._decoder.garbage_bytes
        decoded = self._decoder.feed(data)
        return self._in_order(decoded, before)

    def quiet(self) -> list[Frame]:
        """Handle silence: an unfinished frame was only garbage."""
        before = self._decoder.garbage_bytes
        return self._in_order(self._decoder.finish(), before)

    def forget(self) -> None:
        """Drop the beginning of a frame that came before the line was lost."""
        self._decoder = wire.Decoder()
        self.answers.clear()
        self._behind_gap = 0

    def resend_due(self) -> bool:
        """Tell whether a frame is missing that must be asked for; asking is up to the caller."""
        due, self._resend = self._resend, False
        self.counts.resends += due
        return due

    def ack_due(self, *, at_once: bool = False) -> bool:
        """Tell whether to acknowledge all frames before ``expected`` now."""
        fresh = (self.expected - self._acknowledged) & 0xFFFFFFFF
        if not self._begun or fresh < (1 if at_once else ACK_EVERY):
            return False
        self._acknowledged = self.expected
        return True

    def _in_order(self, decoded: list[tuple[int, int, bytes]], garbage_before: int) -> list[Frame]:
        garbage = self._decoder.garbage_bytes - garbage_before
        self.counts.garbage_bytes += garbage
        self.counts.broken += garbage > 0
        taken = []
        for kind, sequence, payload in decoded:
            if kind == wire.ANSWER:
                self._answer(sequence, payload)
                self._armed |= sequence == self._command
            elif self._rally is not None and self._is_next(kind, sequence, payload):
                taken.append(Frame(kind, sequence, payload))
        return taken

    def _answer(self, command: int, payload: bytes) -> None:
        content = _object_of(payload)
        if content is not None:
            self.answers.append((command, content))

    def _is_next(self, kind: int, sequence: int, payload: bytes) -> bool:
        ahead = (sequence - self.expected) & 0xFFFFFFFF
        if not self._begun and ahead == 0:
            hello = _object_of(payload) if kind == wire.HELLO else None
            if hello is None or hello.get("rally") != self._rally:
                return False  # of an earlier rally
            self._begun = self._armed = True
        if ahead == 0:
            self.expected = (self.expected + 1) & 0xFFFFFFFF
            self._behind_gap = 0
            return True
        if not self._armed:
            return False
        if ahead >= HALF:
            self.counts.duplicates += 1
            return False
        # something between was lost: it must come again, and with it all behind
        self.counts.gaps += self._behind_gap == 0
        if self._behind_gap % ASK_AGAIN_AFTER == 0:
            self._resend = True
        self._behind_gap += 1
        return False


def _object_of(payload: bytes) -> dict[str, Any] | None:
    """Return the JSON object of a payload; None if it is something else."""
    try:
        content = json.loads(payload)
    except (ValueError, RecursionError):  # brackets in thousands of brackets
        return None
    return content if isinstance(content, dict) else None
