"""Edges on two wires: all that Tennis keeps of a capture."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tennis.kit.errors import RallyError
from tennis.kit.units import NS_PER_S

# A code is the wire (0: ping, 1: reply) and twice the level after the edge. The smaller code comes
# first if edges share a sample: an answer ends before a ball begins, and begins after it.
PING_FALL, REPLY_FALL, PING_RISE, REPLY_RISE = range(4)

# Longer captures are refused, in ticks and in edges: 3 hours at 24 MHz, and 10 million balls, fit.
MAX_TICKS = 1 << 38
MAX_EDGES = 1 << 31

Ticks = NDArray[np.int64]


class CaptureError(RallyError):
    """A capture cannot be used; the message says why, and what to do."""


class MissingError(CaptureError):
    """A capture lacks a fact or some samples; nothing is known to be wrong."""


@dataclass(frozen=True)
class Edges:
    """Some edges in the order of their times: ``ticks`` (int64) and ``codes`` (uint8), 1-D."""

    ticks: Ticks
    codes: NDArray[np.uint8]


@dataclass
class Capture:
    """A capture that can be read, again and again, a batch of edges at a time."""

    path: Path
    tick_hz: Fraction
    ping: str  # the names of the channels
    reply: str
    read: Callable[["Capture"], Iterator[Edges]]
    names: list[str] = field(default_factory=list)  # of all channels
    resolution_ticks: Fraction = Fraction(1)  # how far apart two samples are
    # the user gave the sampling rate; False: the session has it
    rate_asked: bool = False
    counted: bool = False  # times are counts of samples; the user gave the rate
    notes: list[str] = field(default_factory=list)
    samples: int | None = None  # as many as a session says that it holds
    # what reading finds out
    end_ticks: int = 0  # so far

    @property
    def tick_ns(self) -> float:
        """Return the length of a tick in nanoseconds."""
        return float(NS_PER_S / self.tick_hz)

    @property
    def resolution_ns(self) -> float:
        """Return the time between two samples."""
        return float(NS_PER_S * self.resolution_ticks / self.tick_hz)

    def edges(self) -> Iterator[Edges]:
        """Read all edges. Raises CaptureError."""
        self.end_ticks = 0
        count = 0
        for batch in self.read(self):
            count += batch.ticks.size
            if count > MAX_EDGES:
                raise CaptureError(
                    f"{self.path} has more than {MAX_EDGES} edges",
                    next_step="capture a shorter rally",
                )
            if batch.ticks.size:
                yield batch

    def one_wire(self) -> "Capture":
        """Return a drill's capture: the reply wire is the ping wire, too, as nobody serves.

        So a repetition reads as a ball that was answered at once: its serve is the rise, its
        scheduling latency the time for which the line was up.
        """

        def read(outer: Capture) -> Iterator[Edges]:
            for batch in self.read(self):
                mine = (batch.codes & 1) == 1
                up = np.repeat(batch.codes[mine] == REPLY_RISE, 2)
                second = np.arange(up.size) % 2 == 1
                rises = np.where(second, REPLY_RISE, PING_RISE)
                falls = np.where(second, REPLY_FALL, PING_FALL)
                outer.end_ticks = self.end_ticks
                codes = np.where(up, rises, falls).astype(np.uint8)
                yield Edges(np.repeat(batch.ticks[mine], 2), codes)
            outer.end_ticks = self.end_ticks

        return replace(self, read=read, ping=self.reply)

    def rewired(self, wiring: "ProbeFault") -> "Capture":
        """Return a capture as it would be with other wires."""
        flip = np.array([2 * wiring.invert_ping, 2 * wiring.invert_reply], np.uint8)

        def read(outer: Capture) -> Iterator[Edges]:
            for batch in self.read(self):
                codes = batch.codes ^ np.uint8(1) if wiring.swapped else batch.codes
                codes = codes ^ flip[codes & 1]
                order = np.lexsort((codes, batch.ticks))
                outer.end_ticks = self.end_ticks
                yield Edges(batch.ticks[order], codes[order])
            outer.end_ticks = self.end_ticks

        names = (self.reply, self.ping) if wiring.swapped else (self.ping, self.reply)
        return replace(self, read=read, ping=names[0], reply=names[1])


def alternating(ticks: Ticks, up: NDArray[np.bool_], level: bool) -> NDArray[np.intp]:
    """Return the indices of edges that change a wire's level, in the order of their times.

    ``level`` is that before the first. Several edges in one tick count as the level at its end.
    """
    if not ticks.size:
        return np.zeros(0, np.intp)
    last = np.flatnonzero(np.diff(ticks, append=ticks[-1] + 1))
    before = np.concatenate([[level], up[last][:-1]])
    changes: NDArray[np.intp] = last[up[last] != before]
    return changes


def merged(ping: tuple[Ticks, NDArray[np.bool_]], reply: tuple[Ticks, NDArray[np.bool_]]) -> Edges:
    """Put the edges of both wires, each (ticks, up) in their order, into one order."""
    ticks = np.concatenate([ping[0], reply[0]])
    codes = np.concatenate([ping[1] * np.uint8(2), reply[1] * np.uint8(2) + np.uint8(1)])
    order = np.lexsort((codes, ticks))
    return Edges(ticks[order], codes[order].astype(np.uint8))


@dataclass(frozen=True)
class ProbeFault:
    """The possible faults of two probes."""

    swapped: bool = False
    invert_ping: bool = False
    invert_reply: bool = False
