"""Simulate a logic analyser's capture of a rally: its sampling, its clock, its faults.

Edges are those of the rally, to the tick. So a planted bias is what the check must find, and with
none planted it must find none.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tennis.kit.errors import UsageError
from tennis.kit.units import NS_PER_S, tick_ns
from tennis.rally import Rally
from tennis.rally.captures.edges import MAX_TICKS, Edges, alternating, merged
from tennis.rally.captures.srzip import write_levels
from tennis.rally.manifest import Protocol
from tennis.rally.shots import are_shots
from tennis.report.umpire.agreement.rally_balls import RallyBalls, balls_of
from tennis.report.umpire.analyser import Analyser

RATE_MAX_HZ = NS_PER_S // 2  # at 1 GHz a session looks like one that was made of a VCD
GLITCH_NS = 100.0
# how long a reply stays up of which the rally does not know the end
UNKNOWN_WIDTH_NS = 1_000.0


@dataclass(frozen=True)
class SimulatedRally:
    """The balls and events of a rally, sealed or not yet."""

    protocol: Protocol
    tick_hz: int
    events: list[dict[str, Any]]
    balls: RallyBalls
    pinged: bool = True  # a drill is not

    @classmethod
    def of(cls, rally: Rally) -> "SimulatedRally":
        """Return the balls and events of a sealed rally."""
        manifest = rally.manifest
        pinged = manifest.drill is None
        return cls(manifest.protocol, rally.tick_hz, rally.events, balls_of(rally), pinged)


@dataclass(frozen=True)
class _Signal:
    """Changes of a wire: ns since the first ball (float64), and its level after each."""

    ns: NDArray[np.float64]
    up: NDArray[np.bool_]

    def sorted(self) -> "_Signal":
        order = np.argsort(self.ns, kind="stable")
        return _Signal(self.ns[order], self.up[order])

    def and_more(self, ns: NDArray[np.float64], up: NDArray[np.bool_]) -> "_Signal":
        return _Signal(np.concatenate([self.ns, ns]), np.concatenate([self.up, up])).sorted()


GOOD = Analyser()


def simulate(rally: Rally | SimulatedRally, out: Path, analyser: Analyser = GOOD) -> None:
    """Write the capture of a rally as a sigrok session, which must not exist.

    Raises UsageError if it does or if the capture would be too long, RallyError.
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
    played = SimulatedRally.of(rally) if isinstance(rally, Rally) else rally
    if not len(played.balls):
        raise UsageError("the rally has no ball: there is nothing to see")
    sampled = _Sampled(played, analyser)
    if sampled.length > MAX_TICKS:
        raise UsageError(
            f"{sampled.length} samples are too many",
            next_step="choose a lower rate, or a shorter rally",
        )
    edges, start_level = sampled.edges()
    try:
        write_levels(out, analyser.rate_hz, edges, start_level, sampled.length)
    except BaseException:
        out.unlink(missing_ok=True)
        raise


class _Sampled:
    """A rally's two wires as an analyser samples them."""

    def __init__(self, played: SimulatedRally, analyser: Analyser) -> None:
        self._played = played
        self._it = analyser
        self._random = np.random.default_rng(analyser.seed)
        served = played.balls.served_ns
        lead = analyser.lead_ms * 1e6
        # the analyser's time 0, and its end, on the Brickwall's clock
        self._origin = int(served[0])
        self._begin = analyser.late_ms * 1e6 if analyser.late_ms else -lead
        last_ns = float(served[-1] - served[0])
        ended = last_ns + min(played.protocol.timeout_ns, 1e9)  # of the last ball, at the latest
        self._end = last_ns - analyser.early_ms * 1e6 if analyser.early_ms else ended + lead
        self._scale = analyser.rate_hz / NS_PER_S * (1 + analyser.clock_ppm * 1e-6)
        self.length = int((self._end - self._begin - analyser.lose_ms * 1e6) * self._scale)
        if self.length <= 0:
            raise UsageError(
                "nothing would be left of the rally", next_step="start earlier, or end later"
            )

    def edges(self) -> tuple[Edges, int]:
        """Return the edges in samples, and both levels at the start."""
        wires = []
        signals = self._ping(), self._reply()
        bursts = self._random.uniform(max(self._begin, 0), self._end, self._it.glitches)
        for wire, plain in enumerate(signals):
            signal = _glitched(plain, np.sort(bursts[wire::2]))
            # jitter changes no order; earlier edges give the level at the start
            ticks = np.maximum(np.maximum.accumulate(self._ticks(signal.ns)), 0)
            kept = alternating(ticks, signal.up, level=False)
            kept = kept[ticks[kept] < self.length]
            inverted = (self._it.invert_ping, self._it.invert_reply)[wire]
            wires.append((ticks[kept], signal.up[kept] ^ inverted, inverted))
        if self._it.swapped:
            wires.reverse()
        (ping, up, high), (reply, reply_up, reply_high) = wires
        return merged((ping, up), (reply, reply_up)), int(high) + 2 * int(reply_high)

    def _ticks(self, ns: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the first sample that shows an edge."""
        jitter = self._it.jitter_ns
        shown = ns + self._random.normal(0, jitter, ns.size) if jitter else ns
        if self._it.lose_ms:
            lost_at = (self._begin + self._end) / 2
            shown = shown - np.clip(shown - lost_at, 0, self._it.lose_ms * 1e6)
        return np.ceil((shown - self._begin) * self._scale).astype(np.int64)

    @property
    def _served(self) -> NDArray[np.float64]:
        return (self._played.balls.served_ns - self._origin).astype(np.float64)

    def _ping(self) -> _Signal:
        served = self._served if self._played.pinged else np.zeros(0)
        if every := self._it.lose_every:
            served = served[np.arange(served.size) % every != every - 1]
        at = np.column_stack([served, served + self._played.protocol.pulse_ns]).ravel()
        return _Signal(at, np.tile([True, False], served.size)).sorted()

    def _reply(self) -> _Signal:
        balls, tick = self._played.balls, tick_ns(self._played.tick_hz)
        rose, fell = balls.rise >= 0, (balls.rise >= 0) & (balls.fall >= 0)
        rises = self._served + balls.rise * tick - self._it.interrupt_bias_ns
        falls = rises + (balls.fall - balls.rise) * tick - self._it.scheduling_bias_ns
        # strays and doubles, as the rally recorded them
        odd = [
            (float(event["at_ns"] - self._origin), bool(event.get("value")))
            for event in self._played.events
            if event.get("what") in {"stray", "double"} and isinstance(event.get("at_ns"), int)
        ]
        table = np.array(odd, np.float64).reshape(-1, 2)
        ns = np.concatenate([rises[rose], falls[fell], table[:, 0]])
        up = np.repeat([True, False], [int(rose.sum()), int(fell.sum())])
        return _closed(_Signal(ns, np.concatenate([up, table[:, 1] > 0])).sorted())


def _glitched(signal: _Signal, begin: NDArray[np.float64]) -> _Signal:
    """Put pulses into a signal: up if it is low, down if it is high."""
    place = np.searchsorted(signal.ns, begin)
    # if an edge is close there is no glitch
    free = place == np.searchsorted(signal.ns, begin + GLITCH_NS)
    begin, place = begin[free], place[free]
    level = np.concatenate([[False], signal.up])[place]
    at_ns = np.column_stack([begin, begin + GLITCH_NS]).ravel()
    return signal.and_more(at_ns, np.column_stack([~level, level]).ravel())


def _closed(signal: _Signal) -> _Signal:
    """Put in the ends of pulses that nobody recorded: shortly after they began."""
    before = np.concatenate([[False], signal.up[:-1]])
    twice = np.flatnonzero((signal.up == before) & signal.up)
    if not twice.size:
        return signal
    since = signal.ns[twice - 1]
    ends = np.minimum(since + UNKNOWN_WIDTH_NS, (since + signal.ns[twice]) / 2)
    return signal.and_more(ends, np.zeros(ends.size, np.bool_))
