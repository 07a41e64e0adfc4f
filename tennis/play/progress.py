"""The progress of a rally, for people who wait."""

import time
from dataclasses import dataclass, field, replace

from tennis.kit import wire
from tennis.kit.units import ticks_to_ns
from tennis.rally.balls import records
from tennis.rally.tally import Counter


@dataclass
class Progress:
    """Counts while a rally is played; latencies are interrupt latencies in ns."""

    planned: int
    tick_hz: int = 1_000_000_000
    balls: int = 0
    misses: int = 0
    max_ns: int | None = None  # of the answers
    replaying: bool = False  # a resumed rally returns to its position
    doing: str = ""  # the activity while no ball comes
    began: float = field(default_factory=time.monotonic)
    first_ball: float | None = None  # wall clock
    earlier: int = 0  # balls of an earlier sitting, and those that came with the first one
    listens: bool = False  # a drill's repetitions: nobody serves, and nothing is answered
    _counter: Counter = field(default_factory=Counter)
    _unrisen: int = 0  # later than all others

    def add(self, payload: bytes) -> None:
        """Count the balls of a BALLS frame."""
        balls = records(payload)
        if not balls.size:
            return
        if self.first_ball is None:
            self.first_ball = time.monotonic()
            self.earlier += balls.size  # it is unknown when each was played: they came together
        self.balls += balls.size
        self.misses += int((balls["fall"] == wire.NONE_TICKS).sum())
        rises = balls["rise"][balls["rise"] != wire.NONE_TICKS]
        self._unrisen += balls.size - rises.size
        if rises.size:
            self._counter.add(rises)
            highest = ticks_to_ns(int(rises.max()), self.tick_hz)
            self.max_ns = max(highest, self.max_ns or 0)

    def continued(self) -> None:
        """Say that the balls so far were played in an earlier sitting."""
        self.earlier, self.first_ball = self.balls, None

    @property
    def median_ns(self) -> int | None:
        """Return the median of the interrupt latencies so far; None: it is among the missed."""
        tally = replace(self._counter.tally(), missed=self._unrisen)
        ticks = tally.at((tally.balls + 1) // 2) if tally.balls else None
        return None if ticks is None else ticks_to_ns(ticks, self.tick_hz)

    @property
    def rate(self) -> float:
        """Return the balls per second of wall time since the first ball."""
        if self.first_ball is None:
            return 0.0
        return (self.balls - self.earlier) / max(time.monotonic() - self.first_ball, 1e-3)

    @property
    def seconds_left(self) -> float | None:
        """Return the estimated wall time that is left, None while it cannot be known.

        It is unknown after the last ball: the load is checked again, and the target ends.
        """
        return (self.planned - self.balls) / self.rate if self.rate and not self.over else None

    @property
    def over(self) -> bool:
        """Tell whether the last ball was played."""
        return self.balls >= self.planned
