# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""A rally that is being played, read from its journal as that grows.

The journal may be cut (a rally that is gone on with loses its last, short frame) or replaced
between two polls. Then it is read from its beginning: what was counted must never be counted twice.
"""

import os
import stat
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from tennis import wire
from tennis.errors import RallyError
from tennis.rally.balls import records
from tennis.rally.folder import JOURNAL
from tennis.rally.journal import tick_hz_of
from tennis.rally.plan import Plan
from tennis.units import NS_PER_S

# the histogram's bins, the same for every rally: an eye compares cards
DECADES = (2, 8)  # 100 ns to 100 ms
PER_DECADE = 12
EDGES_NS = np.logspace(*DECADES, (DECADES[1] - DECADES[0]) * PER_DECADE + 1)
READ_MAX = 1 << 22  # bytes of a poll: those of 30 rallies take turns
RATE_S = 6.0  # the rate is that of the last seconds


@dataclass
class JournalCounts:
    """What a journal held so far; latencies are interrupt latencies."""

    size: int = 0  # bytes of whole frames
    crc: bytes = b""  # the last ones of these
    frames: int = 0
    tick_hz: int = NS_PER_S
    balls: int = 0
    misses: int = 0
    worst_ns: int | None = None
    worst_ball: int | None = None
    ended: bool = False
    # of each bin; what is below the first or above the last edge is in the first or last bin
    bins: NDArray[np.int64] = field(default_factory=lambda: np.zeros(EDGES_NS.size - 1, np.int64))

    def add(self, payload: bytes) -> None:
        """Count the balls of a BALLS frame."""
        balls = records(payload)
        rose = balls["rise"] != wire.NONE_TICKS
        rise_ns = balls["rise"][rose].astype(np.int64) * NS_PER_S // self.tick_hz
        if rise_ns.size:
            latest = int(rise_ns.argmax())
            if self.worst_ns is None or rise_ns[latest] > self.worst_ns:
                self.worst_ns = int(rise_ns[latest])
                self.worst_ball = self.balls + int(np.flatnonzero(rose)[latest])
            places = np.searchsorted(EDGES_NS, rise_ns, side="right") - 1
            np.add.at(self.bins, places.clip(0, self.bins.size - 1), 1)
        self.balls += balls.size
        self.misses += int((balls["fall"] == wire.NONE_TICKS).sum())


class Playing:
    """A rally whose ``OUT.part`` is there; ``poll`` reads what came since the last time."""

    def __init__(self, part: Path, now: float) -> None:
        self.part = part
        self.plan: Plan | None = None
        self.trouble = ""
        self.counted = JournalCounts()
        self.grew = now  # when something came last
        self.behind = False  # there is more than one poll reads
        self.rate = 0.0  # balls a second of the last seconds
        self._file_number = 0
        self._history: deque[tuple[float, int]] = deque()

    def poll(self, now: float) -> None:
        """Read what came. Trouble is kept as a line: other rallies are looked at all the same."""
        self.trouble = ""
        try:
            self.plan = self.plan or Plan.read(self.part)
            if self._read():
                self.grew = now
        except RallyError as error:
            self.trouble = str(error)
        except OSError as error:
            self.trouble = f"{self.part / JOURNAL} cannot be read ({error.strerror})"
        if not self.behind:  # reading up on the past is no rate
            self._history.append((now, self.counted.balls))
            while self._history[0][0] < now - RATE_S:
                self._history.popleft()
            (first, before), (last, balls) = self._history[0], self._history[-1]
            self.rate = (balls - before) / (last - first) if last > first else 0.0

    def _read(self) -> bool:
        """Read frames; tell whether there were any."""
        try:
            descriptor = os.open(self.part / JOURNAL, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except FileNotFoundError:
            return False  # it has not begun
        with os.fdopen(descriptor, "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise RallyError(f"{self.part / JOURNAL} is not a plain file")
            if status.st_ino != self._file_number or not self._continues(file, status.st_size):
                self._file_number = status.st_ino
                self.counted = JournalCounts()
                self._history.clear()
            file.seek(self.counted.size)
            data = file.read(READ_MAX)
        self.behind = len(data) == READ_MAX
        return self._take(data)

    def _continues(self, file: BinaryIO, size: int) -> bool:
        """Tell whether the journal still holds what was counted: its last check sum says so."""
        counted = self.counted
        if size < counted.size:
            return False
        file.seek(counted.size - len(counted.crc))
        return file.read(len(counted.crc)) == counted.crc

    def _take(self, data: bytes) -> bool:
        at = 0
        while decoded := wire.decode_one(data, at):
            kind, sequence, payload, end = decoded
            if sequence < self.counted.frames:
                raise RallyError(f"{self.part / JOURNAL} holds frame {sequence} twice")
            self.counted.frames = sequence + 1
            if kind == wire.HELLO:
                tick_hz = tick_hz_of(payload)
                if tick_hz is None:
                    raise RallyError("the instrument does not say how long a tick is")
                self.counted.tick_hz = tick_hz
            elif kind == wire.BALLS:
                self.counted.add(payload)
            self.counted.ended = kind == wire.END
            self.counted.crc = data[end - wire.CRC_SIZE : end]
            at = end
        self.counted.size += at
        if decoded is False:
            self.behind = False
            raise RallyError(
                f"{self.part / JOURNAL} is damaged at byte {self.counted.size:,}: "
                "what came before it is shown"
            )
        return at > 0
