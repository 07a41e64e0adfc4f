# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""What pins, counted pings and answers tell about two wires."""

import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tennis import wire
from tennis.bench.instruments.brickwall import Brickwall
from tennis.bench.instruments.commands import Play
from tennis.errors import BenchError

BALLS = 20
# longer than any answer of a target that does nothing else
TIMEOUT_NS = 20_000_000
TRIAL = Play(
    balls=BALLS,
    seed=1,
    loop="closed",
    gap_min_ns=1_000_000,
    gap_max_ns=2_000_000,
    period_ns=0,
    pulse_ns=1_000,
    timeout_ns=TIMEOUT_NS,
    settle_ns=1_000_000,
    give_up_ns=10_000_000_000,
)


@dataclass(frozen=True)
class WireTrial:
    """What a trial of the wires saw."""

    pads: dict[str, Any]  # as ``wires`` of the Brickwall answers
    balls: int
    answered: int
    counted: int | None  # by the target; None: nobody asked it

    @property
    def jumpers(self) -> bool:
        """Tell whether the wires end in the Pico itself."""
        return bool(self.pads["ping_to_listen"] or self.pads["answer_to_reply"])

    @property
    def short(self) -> str:
        """Say what the ping wire is shorted to; empty if it is not."""
        driven = (self.pads["ping"]["high"], self.pads["ping"]["low"])
        return {(1, 0): "", (0, 0): "ground", (1, 1): "3.3 V"}.get(driven, "what drives it")

    @property
    def ping_held_low(self) -> bool:
        """Tell whether the ping wire ends in something low: an output that rests, or a pull."""
        return bool(self.pads["ping"].get("pulled_up") == 0)

    @property
    def resting(self) -> str:
        """Say how the reply line rests: low, high, or floating."""
        pulled = (self.pads["reply"]["pulled_up"], self.pads["reply"]["pulled_down"])
        return {(0, 0): "low", (1, 1): "high"}.get(pulled, "floating")


def try_wires(brickwall: Brickwall, count: Callable[[], int | None]) -> WireTrial:
    """Test the pads, serve some balls, and let the target count. Raises BenchError."""
    brickwall.end_play()  # of a host that was killed
    brickwall.command("quiet")
    pads = brickwall.wires()
    before = count()
    balls = answered = 0
    # a wire that is held, or joined, is not played on
    if not pads["ping_to_reply"] and (pads["ping"]["high"], pads["ping"]["low"]) == (1, 0):
        for frame in brickwall.play(TRIAL):
            if frame is not None and frame[0] == wire.BALLS:
                for _, rise, fall in struct.iter_unpack(wire.BALL, frame[2]):
                    balls += 1
                    answered += wire.NONE_TICKS not in {rise, fall}
        if balls < BALLS:
            raise BenchError(
                f"the Brickwall served {balls} of {BALLS} balls",
                next_step="look at its red LED, and do the step again",
            )
    after = count()
    counted = None if before is None or after is None else after - before
    return WireTrial(pads, balls, answered, counted)


def judge_ping(seen: WireTrial) -> str:
    """Name the failure of the ping wire, where the reply wire need not be plugged; empty: none."""
    if seen.jumpers:
        return "jumpers"
    if seen.pads["ping_to_reply"]:
        return "joined"
    if seen.short:
        return "short"
    if seen.counted == 0:
        return "swapped" if seen.ping_held_low else "missing"
    if seen.counted is not None and seen.counted != seen.balls:
        return "wrong count"
    return ""


def judge_reply(seen: WireTrial) -> str:
    """Name the failure of the reply wire; empty: none."""
    if seen.pads["ping_to_reply"]:
        return "joined"
    # without a count nobody knows: a target's own pull-down may hold its ping low
    if seen.counted == 0 and seen.ping_held_low and not seen.answered:
        return "swapped"
    if seen.resting == "high":
        return "held high"
    if seen.resting == "floating":
        return "missing"
    return "" if seen.answered == seen.balls and seen.balls else "no answers"
