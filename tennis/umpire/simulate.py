# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""What a logic analyser would have seen of a rally: its sampling, its clock, its faults.

Edges are those of the rally, to the tick. So a planted bias is what the check must find, and with
none planted it must find none.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tennis.errors import UsageError
from tennis.rally import Rally
from tennis.rally.manifest import Protocol
from tennis.rally.shots import are_shots
from tennis.umpire.agreement.rally_balls import RallyBalls, batches_of
from tennis.umpire.analyser import Analyser
from tennis.umpire.captures.edges import MAX_TICKS, Edges, alternating, merged
from tennis.umpire.captures.srzip import write_levels
from tennis.units import NS_PER_S, tick_ns

RATE_MAX_HZ = NS_PER_S // 2  # at 1 GHz a session looks like one that was made of a VCD
GLITCH_NS = 100.0
# how long a reply stays up of which the rally does not know the end
UNKNOWN_WIDTH_NS = 1_000.0


@dataclass(frozen=True)
class SimulatedRally:
    """What was played, sealed or not yet."""

    protocol: Protocol
    tick_hz: int
    events: list[dict[str, Any]]
    balls: Callable[[], Iterator[RallyBalls]]
    pinged: bool = True  # a drill is not

    @classmethod
    def of(cls, rally: Rally) -> "SimulatedRally":
        """Return what a sealed rally holds."""
        manifest = rally.manifest
        return cls(
            manifest.protocol,
            rally.tick_hz,
            rally.events,
            lambda: batches_of(rally),
            pinged=manifest.drill is None,
        )


@dataclass(frozen=True)
class _Signal:
    """Changes of a wire: ns since the first ball (float64), and its level after each."""

    ns: NDArray[np.float64]
    up: NDArray[np.bool_]

    def cut(self, until: float) -> tuple["_Signal", "_Signal"]:
        """Return what comes before, and what comes from ``until`` on."""
        at = int(np.searchsorted(self.ns, until))
        return _Signal(self.ns[:at], self.up[:at]), _Signal(self.ns[at:], self.up[at:])

    def sorted(self) -> "_Signal":
        order = np.argsort(self.ns, kind="stable")
        return _Signal(self.ns[order], self.up[order])

    def and_more(self, ns: NDArray[np.float64], up: NDArray[np.bool_]) -> "_Signal":
        return _Signal(np.concatenate([self.ns, ns]), np.concatenate([self.up, up]))


GOOD = Analyser()
NOTHING = _Signal(np.zeros(0), np.zeros(0, np.bool_))


def simulate(rally: Rally | SimulatedRally, out: Path, analyser: Analyser = GOOD) -> None:
    """Write the capture of a rally as a sigrok session, which must not exist.

    Raises UsageError where it does or where the capture would be too long, RallyError.
    """
    if isinstance(rally, Rally) and are_shots(rally.manifest.protocol):
        raise UsageError(
            f"{rally.path} is a rally of shots: their edges are on no wire",
            next_step="simulate a rally of balls",
        )
    if out.exists() or out.is_symlink():
        raise UsageError(f"{out} exists", next_step="choose another name for the capture")
    if not 1000 <= analyser.rate_hz <= RATE_MAX_HZ:
        raise UsageError(f"the sample rate is from 1000 to {RATE_MAX_HZ} a second")
    sampled = Sampled(SimulatedRally.of(rally) if isinstance(rally, Rally) else rally, analyser)
    if sampled.length > MAX_TICKS:
        raise UsageError(
            f"{sampled.length} samples are too many",
            next_step="choose a lower rate, or a shorter rally",
        )
    try:
        write_levels(
            out, analyser.rate_hz, sampled.edges(), sampled.start_level, lambda: sampled.length
        )
    except BaseException:
        out.unlink(missing_ok=True)
        raise


class Sampled:
    """A rally's two wires as an analyser samples them."""

    def __init__(self, played: SimulatedRally, analyser: Analyser) -> None:
        self._played = played
        self._it = analyser
        self._random = np.random.default_rng(analyser.seed)
        first, last = _span(played)
        lead = analyser.lead_ms * 1e6
        # the analyser's time 0, and its end, on the Brickwall's clock
        self._origin = first
        self._begin = analyser.late_ms * 1e6 if analyser.late_ms else -lead
        last_ns = float(last - first)
        ended = last_ns + min(played.protocol.timeout_ns, 1e9)  # of the last ball, at the latest
        self._end = last_ns - analyser.early_ms * 1e6 if analyser.early_ms else ended + lead
        if self._end <= self._begin:
            raise UsageError(
                "nothing would be left of the rally", next_step="start earlier, or end later"
            )
        self._scale = analyser.rate_hz / NS_PER_S * (1 + analyser.clock_ppm * 1e-6)
        self._lost_at = (self._begin + self._end) / 2
        lost = analyser.lose_ms * 1e6
        self.length = int((self._end - self._begin - lost) * self._scale)
        self._bursts = self._glitches()
        wires = (analyser.invert_ping, analyser.invert_reply)
        if analyser.swapped:
            wires = (wires[1], wires[0])
        self.start_level = int(wires[0]) + 2 * int(wires[1])

    def edges(self) -> Iterator[Edges]:
        """Yield the edges in samples, a batch at a time."""
        level = [False, False]
        last = [0, 0]
        for pair in self._signals():
            wires = []
            for wire, signal in enumerate(pair):
                ticks = self._ticks(signal.ns)
                # jitter changes no order; what was before the start is the level at the start
                ticks = np.maximum(np.maximum.accumulate(ticks), last[wire])
                kept = alternating(ticks, signal.up, level[wire])
                ticks, up = ticks[kept], signal.up[kept]
                if up.size:
                    level[wire], last[wire] = bool(up[-1]), int(ticks[-1])
                inside = ticks < self.length
                wires.append((ticks[inside], up[inside]))
            if self._it.invert_ping:
                wires[0] = (wires[0][0], ~wires[0][1])
            if self._it.invert_reply:
                wires[1] = (wires[1][0], ~wires[1][1])
            if self._it.swapped:
                wires.reverse()
            yield merged(wires[0], wires[1])

    def _ticks(self, ns: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the first sample that shows an edge."""
        shown = (
            ns + self._random.normal(0, self._it.jitter_ns, ns.size) if self._it.jitter_ns else ns
        )
        if self._it.lose_ms:
            lost = self._it.lose_ms * 1e6
            gone = np.clip(shown - self._lost_at, 0, lost)
            shown = shown - gone
        return np.ceil((shown - self._begin) * self._scale).astype(np.int64)

    def _signals(self) -> Iterator[tuple[_Signal, _Signal]]:
        """Yield what happened on both wires, in batches that follow each other."""
        ping, reply = NOTHING, NOTHING
        odd = self._odd_edges()
        up_before = False
        pulse = self._played.protocol.pulse_ns
        tick = tick_ns(self._played.tick_hz)
        batches = self._played.balls()
        following = next(batches, None)
        count = 0
        while following is not None:
            balls, following = following, next(batches, None)
            served = (balls.served_ns - self._origin).astype(np.float64)
            seen = np.ones(served.size, np.bool_)
            if self._it.lose_every:
                every = np.arange(count, count + served.size)
                seen = every % self._it.lose_every != self._it.lose_every - 1
            count += served.size
            pinged = served[seen] if self._played.pinged else np.zeros(0)
            at = np.column_stack([pinged, pinged + pulse]).ravel()
            ping = ping.and_more(at, np.tile([True, False], at.size // 2))
            rose, fell = balls.rise >= 0, (balls.rise >= 0) & (balls.fall >= 0)
            interrupt = balls.rise * tick - self._it.interrupt_bias_ns
            width = (balls.fall - balls.rise) * tick - self._it.scheduling_bias_ns
            reply = reply.and_more((served + interrupt)[rose], np.ones(int(rose.sum()), np.bool_))
            ends = (served + interrupt + width)[fell]
            reply = reply.and_more(ends, np.zeros(ends.size, np.bool_))
            until = (
                float(following.served_ns[0] - self._origin) if following is not None else np.inf
            )
            now, odd = odd.cut(until)
            reply = reply.and_more(now.ns, now.up)
            ping_now, ping = ping.sorted().cut(until)
            reply_now, reply = reply.sorted().cut(until)
            whole = _closed(reply_now, up_before)
            if whole.up.size:
                up_before = bool(whole.up[-1])
            yield self._glitched(ping_now, 0, until), self._glitched(whole, 1, until)

    def _odd_edges(self) -> _Signal:
        """Return the strays and doubles that the rally recorded."""
        edges = [
            (float(event["at_ns"] - self._origin), bool(event.get("value")))
            for event in self._played.events
            if event.get("what") in {"stray", "double"} and isinstance(event.get("at_ns"), int)
        ]
        table = np.array(edges, np.float64).reshape(-1, 2)
        return _Signal(table[:, 0], table[:, 1] > 0).sorted()

    def _glitches(self) -> list[NDArray[np.float64]]:
        """Return when glitches begin, on each wire."""
        count = self._it.glitches
        begin = self._random.uniform(max(self._begin, 0), self._end, count)
        return [np.sort(begin[wire::2]) for wire in (0, 1)]

    def _glitched(self, signal: _Signal, wire: int, until: float) -> _Signal:
        """Put pulses into a signal: up where it is low, down where it is high."""
        at = int(np.searchsorted(self._bursts[wire], until))
        begin, self._bursts[wire] = self._bursts[wire][:at], self._bursts[wire][at:]
        place = np.searchsorted(signal.ns, begin)
        # where an edge is close there is no glitch
        free = place == np.searchsorted(signal.ns, begin + GLITCH_NS)
        begin, place = begin[free], place[free]
        level = np.concatenate([[False], signal.up])[place]
        at_ns = np.column_stack([begin, begin + GLITCH_NS]).ravel()
        return signal.and_more(at_ns, np.column_stack([~level, level]).ravel()).sorted()


def _span(played: SimulatedRally) -> tuple[int, int]:
    """Return when the first and the last ball were served (ns). Raises UsageError."""
    first: int | None = None
    last = 0
    for balls in played.balls():
        if balls.served_ns.size:
            first = int(balls.served_ns[0]) if first is None else first
            last = int(balls.served_ns[-1])
    if first is None:
        raise UsageError("the rally has no ball: there is nothing to see")
    return first, last


def _closed(signal: _Signal, up: bool) -> _Signal:
    """Put in the ends of pulses that nobody recorded: shortly after they began."""
    before = np.concatenate([[up], signal.up[:-1]])
    twice = np.flatnonzero((signal.up == before) & signal.up)
    if not twice.size:
        return signal
    since = np.concatenate([[-np.inf], signal.ns])[twice]
    ends = np.maximum(since, np.minimum(since + UNKNOWN_WIDTH_NS, (since + signal.ns[twice]) / 2))
    ends = np.where(np.isfinite(ends), ends, signal.ns[twice] - UNKNOWN_WIDTH_NS)
    return signal.and_more(ends, np.zeros(ends.size, np.bool_)).sorted()
