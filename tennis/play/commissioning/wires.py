"""The state of two wires, from pins, counted pings and answers."""

import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from tennis.bench.instruments.brickwall import Brickwall
from tennis.bench.instruments.commands import Play
from tennis.bench.instruments.pads import FarEnd, far_end
from tennis.kit import wire
from tennis.kit.errors import BenchError

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
    """The result of a trial of the wires."""

    pads: dict[str, Any]  # as ``wires`` of the Brickwall answers
    balls: int
    answered: int
    counted: int | None  # by the target; None: nobody asked it

    @classmethod
    def of(cls, brickwall: Brickwall, count: Callable[[], int | None]) -> "WireTrial":
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
        return cls(pads, balls, answered, counted)

    @property
    def jumpers(self) -> bool:
        """Tell whether the wires end in the Pico itself."""
        return bool(self.pads["ping_to_listen"] or self.pads["answer_to_reply"])

    @property
    def short(self) -> str:
        """Say what the ping wire is shorted to; empty if it is not."""
        driven = (self.pads["ping"]["high"], self.pads["ping"]["low"])
        return {(1, 0): "", (0, 0): "ground", (1, 1): "3.3 V"}.get(driven, "what drives it")

    def far_end(self, name: Literal["ping", "reply"]) -> FarEnd:
        """Return the state of a wire's far end."""
        return far_end(self.pads[name])

    @property
    def resting(self) -> str:
        """Return the level of the resting reply line: low, high, or floating."""
        pulled = (self.pads["reply"]["pulled_up"], self.pads["reply"]["pulled_down"])
        return {(0, 0): "low", (1, 1): "high"}.get(pulled, "floating")

    def judge_ping(self) -> str:
        """Name the failure of the ping wire, or ""; the reply wire need not be plugged."""
        if self.jumpers:
            return "jumpers"
        if self.pads["ping_to_reply"]:
            return "joined"
        if self.short:
            return "short"
        end = self.far_end("ping")
        if self.counted == 0:
            return {"high": "held high", "low": "held low", "pulled": "wrong pin"}.get(
                end, "missing"
            )
        if self.counted is not None:
            return "" if self.counted == self.balls else "wrong count"
        # nobody counts: a target may pull its line down, or not
        return {"high": "held high", "low": "held low"}.get(end, "")

    def judge_reply(self) -> tuple[str, str]:
        """Name the failure of both wires, and the step whose it is; empty: none."""
        pads = self.pads
        ends = self.far_end("ping"), self.far_end("reply")
        alone = self.judge_ping()
        all_back = self.answered == self.balls
        # the first that is so: what may destroy something, then what hides the others
        rules: tuple[tuple[bool, str, str], ...] = (
            (self.jumpers, "ping", "jumpers"),
            (pads["ping_to_reply"], "reply", "joined"),
            (bool(self.short), "ping", "short"),
            (pads["reply"].get("high") == 0, "reply", "short"),
            (ends[1] == "high", "reply", "held high"),
            (
                ends == ("low", "pulled") and not self.counted and not self.answered,
                "reply",
                "swapped",
            ),
            (bool(alone), "ping", alone),
            (0 < self.answered < self.balls, "reply", "some" if self.counted is None else "loose"),
            (ends[1] == "open", "reply", "missing"),
            (ends[1] == "pulled", "reply", "wrong pin"),
            (all_back, "reply", ""),
            (self.counted is None, "reply", "no answers"),
            (True, "reply", "held low"),
        )
        return next((step, failure) for so, step, failure in rules if so)
