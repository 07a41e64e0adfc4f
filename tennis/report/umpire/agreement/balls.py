"""From edges to balls: the definitions of ball, miss, stray and double are the instruments'.

Nearly all balls are ping, reply's rise, reply's fall, in time: these are found all at once. The
other edges go through the same steps one at a time, as in target/virtual/instrument.c.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tennis.rally.captures.edges import (
    PING_FALL,
    PING_RISE,
    REPLY_FALL,
    REPLY_RISE,
    Capture,
    Edges,
    Ticks,
)

NONE = -1
# strays and doubles of which the time is kept; all are counted
KEPT = 10_000
WIDTHS = 4096  # pulses whose widths are kept

_IDLE, _SERVED, _RAISED = range(3)


@dataclass(frozen=True)
class Balls:
    """Balls in their order; int64 ticks of the capture, 1-D; ``NONE`` if an edge did not come.

    ``rise`` and ``fall`` count from ``served``, as in a rally folder.
    """

    served: Ticks
    rise: Ticks
    fall: Ticks

    @classmethod
    def joined(cls, parts: list["Balls"]) -> "Balls":
        """Put batches together."""
        none = np.zeros(0, np.int64)
        return cls(
            np.concatenate([none, *(part.served for part in parts)]),
            np.concatenate([none, *(part.rise for part in parts)]),
            np.concatenate([none, *(part.fall for part in parts)]),
        )

    def __getitem__(self, where: slice | NDArray[np.intp]) -> "Balls":
        return Balls(self.served[where], self.rise[where], self.fall[where])

    def backward(self) -> "Balls":
        """Return them from the last to the first, with times that run backwards."""
        return Balls(-self.served[::-1], self.rise[::-1], self.fall[::-1])

    def __len__(self) -> int:
        return int(self.served.size)


@dataclass
class _Odd:
    """Edges of no ball: their number, and the times of the first ones (ticks)."""

    count: int = 0
    ticks: list[int] = field(default_factory=list)

    def add(self, tick: int) -> None:
        """Count one."""
        self.count += 1
        if len(self.ticks) < KEPT:
            self.ticks.append(tick)


@dataclass
class _Pulses:
    """The widths of a wire's pulses."""

    count: int = 0
    widths: list[NDArray[np.int64]] = field(default_factory=list)  # of the first pulses
    short: int = 0  # of less than half the width that is expected
    _up_since: int | None = None

    def add(self, ticks: Ticks, up: NDArray[np.bool_], expected: float) -> None:
        """Take a wire's edges, which alternate."""
        if not ticks.size:
            return
        if self._up_since is not None and not up[0]:
            ticks = np.concatenate([[self._up_since], ticks])
            up = np.concatenate([[True], up])
        if not up[0]:
            ticks, up = ticks[1:], up[1:]
        self._up_since = int(ticks[-1]) if up.size and up[-1] else None
        whole = ticks.size // 2 * 2
        widths = ticks[1:whole:2] - ticks[0:whole:2]
        kept = sum(part.size for part in self.widths)
        if kept < WIDTHS:
            self.widths.append(widths[: WIDTHS - kept].copy())
        self.count += int(widths.size)
        self.short += int((widths < expected / 2).sum())

    @property
    def median(self) -> float | None:
        """Return the usual width; None if there was no pulse."""
        every = np.concatenate([np.zeros(0, np.int64), *self.widths])
        return float(np.median(every)) if every.size else None


class Decoder:
    """Turns edges into balls, a batch at a time."""

    def __init__(self, timeout_ticks: float, pulse_ticks: float = 0) -> None:
        self._timeout = int(timeout_ticks)
        self._pulse = pulse_ticks
        self.strays, self.doubles = _Odd(), _Odd()
        self.ping, self.reply = _Pulses(), _Pulses()
        self._state = _IDLE
        self._served = self._rise = 0
        self._counted_up = self._last_complete = False
        self._codes = np.zeros(0, np.uint8)  # not decided: their continuation is not there yet
        self._ticks = np.zeros(0, np.int64)
        self._out: list[tuple[int, int, int]] = []

    def decode(self, capture: Capture) -> Iterator[Balls]:
        """Yield the balls of a whole capture; the last one only if it was decided."""
        for edges in capture.edges():
            yield self.add(edges)
        yield self.finish(capture.end_ticks)

    def add(self, edges: Edges) -> Balls:
        """Take some edges; return the balls that are decided."""
        self._widths(edges)
        wanted = edges.codes != PING_FALL
        codes = np.concatenate([self._codes, edges.codes[wanted]])
        ticks = np.concatenate([self._ticks, edges.ticks[wanted]])
        return self._decide(codes, ticks, keep=True)

    def finish(self, end_ticks: int) -> Balls:
        """Return the remaining balls; a ball that is still under way at the end is left out."""
        balls = self._decide(self._codes, self._ticks, keep=False)
        if self._state != _IDLE and end_ticks - self._served > self._timeout:
            self._close(NONE)
            balls = Balls.joined([balls, self._take()])
        return balls

    def _widths(self, edges: Edges) -> None:
        for wire, pulses in ((0, self.ping), (1, self.reply)):
            mine = (edges.codes & 1) == wire
            expected = self._pulse if wire == 0 else 0
            pulses.add(edges.ticks[mine], edges.codes[mine] >= PING_RISE, expected)

    def _decide(self, codes: NDArray[np.uint8], ticks: Ticks, *, keep: bool) -> Balls:
        starts = np.zeros(0, np.intp)
        if codes.size >= 3:
            starts = np.flatnonzero(
                (codes[:-2] == PING_RISE)
                & (codes[1:-1] == REPLY_RISE)
                & (codes[2:] == REPLY_FALL)
                & (ticks[2:] - ticks[:-2] <= self._timeout)
            )
        whole = Balls(
            ticks[starts], ticks[starts + 1] - ticks[starts], ticks[starts + 2] - ticks[starts]
        )
        # decided now: all but the last two edges, which may begin a whole ball
        until = codes.size - 2 if keep else codes.size
        until = max(until, int(starts[-1]) + 3 if starts.size else 0, 0)
        self._codes, self._ticks = codes[until:], ticks[until:]
        # between two whole balls: how many edges are left over
        begins = np.concatenate([[0], starts + 3])
        ends = np.concatenate([starts, [until]])
        if starts.size and starts[0] == 0 and self._state != _IDLE:
            self._close(NONE)  # open since the last batch; a whole ball comes next
        for i in np.flatnonzero(ends > begins).tolist():
            if i > 0:
                self._reset_after_whole()
            between = slice(int(begins[i]), int(ends[i]))
            for code, tick in zip(codes[between].tolist(), ticks[between].tolist(), strict=True):
                self._edge(code, tick)
            if i < starts.size and self._state != _IDLE:
                self._close(NONE)  # a whole ball comes next: its ping ends this one
        if starts.size and ends[-1] == begins[-1]:
            self._reset_after_whole()
        other = self._take()
        if not len(other):
            return whole
        both = Balls.joined([other, whole])  # of two in one tick the whole one comes last
        order = np.argsort(both.served, kind="stable")
        return Balls(both.served[order], both.rise[order], both.fall[order])

    def _reset_after_whole(self) -> None:
        self._state = _IDLE
        self._counted_up = False
        self._last_complete = True

    def _take(self) -> Balls:
        table = np.array(self._out, np.int64).reshape(-1, 3)
        self._out = []
        return Balls(table[:, 0], table[:, 1], table[:, 2])

    def _close(self, fall: int) -> None:
        rise = self._rise if self._state == _RAISED else NONE
        self._out.append((self._served, rise, fall))
        self._last_complete = fall != NONE
        self._state = _IDLE

    def _edge(self, code: int, tick: int) -> None:
        if self._state != _IDLE and tick - self._served > self._timeout:
            self._close(NONE)
        if code == PING_RISE:
            if self._state != _IDLE:
                self._close(NONE)  # open loop: the next ball does not wait
            self._served, self._state = tick, _SERVED
        elif self._state == _SERVED and code == REPLY_RISE:
            self._rise, self._state, self._counted_up = tick - self._served, _RAISED, False
        elif self._state == _RAISED and code == REPLY_FALL:
            self._close(tick - self._served)
        else:
            up = code == REPLY_RISE
            if up or not self._counted_up:
                double = up and self._last_complete and self._state == _IDLE
                (self.doubles if double else self.strays).add(tick)
            self._counted_up = up
