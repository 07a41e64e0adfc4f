"""Rallies that are being played, made up: a plan, and a journal that grows. Nobody plays them."""

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tennis.kit import wire
from tennis.rally.balls import RECORD
from tennis.rally.folder import JOURNAL, PLAN
from tennis.rally.in_play import part_path
from tennis.rally.manifest import Drill
from tests.support.plans import plan_of

TICK_HZ = 125_000_000
FRAME_BALLS = wire.PAYLOAD_MAX // wire.BALL_SIZE


def some_balls(count: int, seed: int, first: int = 0, missed: float = 0.0) -> NDArray[np.void]:
    """Make balls up: log-normal latencies, a few of them late, a share missed."""
    random = np.random.default_rng(seed)
    balls = np.zeros(count, RECORD)
    rise = np.exp(random.standard_normal(count) * 0.3 + 6).astype(np.uint32)
    rise[random.random(count) < 0.01] *= 40
    balls["served"] = (first + np.arange(count)) * 125_000
    balls["rise"], balls["fall"] = rise, rise + 300
    lost = random.random(count) < missed
    balls["rise"][lost] = balls["fall"][lost] = wire.NONE_TICKS
    return balls


class MadeUpRally:
    """A rally that somebody seems to play."""

    def __init__(
        self, out: Path, planned: int = 100_000, drill: Drill | None = None, **plan: Any
    ) -> None:
        self.part = part_path(out)
        self.part.mkdir(parents=True)
        its_plan = plan_of(balls=planned, **plan).model_copy(update={"drill": drill})
        (self.part / PLAN).write_text(its_plan.text)
        self.journal = self.part / JOURNAL
        self.frames: list[bytes] = []
        self.add(wire.HELLO, json.dumps({"tick_hz": TICK_HZ}).encode())

    def add(self, kind: int, payload: bytes) -> None:
        """Append a frame."""
        self.frames.append(wire.encode(kind, len(self.frames), payload))
        with self.journal.open("ab") as file:
            file.write(self.frames[-1])

    def play(self, balls: NDArray[np.void]) -> None:
        """Append balls."""
        for at in range(0, balls.size, FRAME_BALLS):
            self.add(wire.BALLS, balls[at : at + FRAME_BALLS].tobytes())
