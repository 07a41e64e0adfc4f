# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Listen to the reply wire without serving: what pulses come, how long they are, how often."""

import contextlib
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tennis import wire
from tennis.bench.instruments.brickwall import Brickwall
from tennis.bench.instruments.commands import Play
from tennis.bench.instruments.ports import the_port
from tennis.bench.instruments.serial_link import SerialLink
from tennis.errors import BenchError
from tennis.listener import say
from tennis.rally.balls import records
from tennis.units import format_count, ticks_to_ns

PULSES_MAX = 10_000_000  # some 160 MB here
LONGEST_NS = 4_000_000_000  # of a pulse
TOLD_EVERY_S = 1.0


@dataclass
class Heard:
    """The pulses of the reply wire, in their order."""

    tick_hz: int
    rises: list[NDArray[np.int64]] = field(default_factory=list)  # ticks
    widths: list[NDArray[np.int64]] = field(default_factory=list)  # ticks
    runts: int = 0  # pulses of one tick, which are not among them
    reason: str = "stopped"  # why it ended, as END_REASONS has it

    @property
    def pulses(self) -> int:
        """Return how many came."""
        return sum(part.size for part in self.rises)

    def widths_ns(self) -> NDArray[np.int64]:
        """Return how long each pulse was; one beyond 4 s is left out."""
        ticks = _joined(self.widths)
        known: NDArray[np.int64] = ticks[ticks != wire.NONE_TICKS]
        return ticks_to_ns(known, self.tick_hz)

    def periods_ns(self) -> NDArray[np.int64]:
        """Return the times from each pulse's rise to the next one's."""
        return ticks_to_ns(np.diff(_joined(self.rises)), self.tick_hz)


def _joined(parts: list[NDArray[np.int64]]) -> NDArray[np.int64]:
    return np.concatenate([np.empty(0, np.int64), *parts])


def listen(
    port: str | None, seconds: float, stop: Callable[[], bool], pulses: int = PULSES_MAX
) -> Heard:
    """Listen for some seconds, for so many pulses, or until told to stop; say how much came.

    Raises TennisError where there is no Brickwall.
    """
    brickwall = Brickwall(SerialLink(the_port(port)))
    try:
        heard = Heard(brickwall.hello().tick_hz)
        _hear(brickwall, heard, seconds, stop, pulses)
    finally:
        with contextlib.suppress(OSError):
            brickwall.close()
    return heard


def _hear(
    brickwall: Brickwall, heard: Heard, seconds: float, stop: Callable[[], bool], pulses: int
) -> None:
    play = Play(
        balls=pulses,
        seed=0,
        loop="listen",
        gap_min_ns=0,
        gap_max_ns=0,
        period_ns=0,
        pulse_ns=0,
        timeout_ns=LONGEST_NS,
        settle_ns=0,
        give_up_ns=int(seconds * 1e9) + LONGEST_NS,
    )
    began = told = time.monotonic()
    stopped = False
    for frame in brickwall.play(play):
        now = time.monotonic()
        if not stopped and (now - began >= seconds or stop()):
            stopped = True
            brickwall.stop()
        if now - told >= TOLD_EVERY_S and not stopped:
            told = now
            say(f"{format_count(heard.pulses, 'pulse')} so far")
        if frame is None:
            continue
        if frame.kind == wire.BALLS:
            balls = records(frame.payload)
            heard.rises.append(balls["served"].astype(np.int64))
            heard.widths.append(balls["fall"].astype(np.int64))
        elif frame.kind == wire.END:
            if len(frame.payload) != struct.calcsize(wire.END_FORMAT):
                raise BenchError("the Brickwall's last frame is damaged", next_step="try again")
            reason, _, _, heard.runts, *_ = struct.unpack(wire.END_FORMAT, frame.payload)
            heard.reason = wire.END_REASONS.get(reason, "unknown")
