# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Balls from both sides, as many at a time as are needed."""

from collections.abc import Callable, Iterator

from tennis.umpire.agreement.balls import Balls
from tennis.umpire.agreement.rally_balls import RallyBalls


class CaptureQueue:
    """The capture's balls, as many as are needed."""

    def __init__(self, source: Iterator[Balls], seen: Callable[[Balls], None]) -> None:
        self._source = source
        self._seen = seen
        self.held = Balls.joined([])
        self.ended = False

    def hold(self, enough: Callable[[Balls], bool]) -> None:
        """Read until there is enough, or no more."""
        parts = [self.held]
        if enough(self.held):
            return
        while not self.ended and (len(parts) == 1 or not enough(parts[-1])):
            more = next(self._source, None)
            if more is None:
                self.ended = True
            elif len(more):
                self._seen(more)
                parts.append(more)
        self.held = Balls.joined(parts)

    def drop(self, count: int) -> None:
        """Forget the first ones."""
        self.held = self.held[count:]


def reaches(ticks: float) -> Callable[[Balls], bool]:
    """Return whether a batch goes past a time."""

    def enough(last: Balls) -> bool:
        return len(last) > 0 and last.served[-1] > ticks

    return enough


class RallyQueue:
    """A rally's balls, as many at a time as are asked for."""

    def __init__(self, source: Iterator[RallyBalls]) -> None:
        self._source = source
        self._held = RallyBalls.joined([])

    def take(self, count: int) -> RallyBalls:
        """Return so many, or what is left."""
        parts = [self._held]
        have = len(self._held)
        while have < count:
            more = next(self._source, None)
            if more is None:
                break
            parts.append(more)
            have += len(more)
        every = RallyBalls.joined(parts) if len(parts) > 1 else self._held
        self._held = every[count:]
        return every[:count]

    def more(self) -> bool:
        """Say whether there is more."""
        if not len(self._held):
            self._held = next(self._source, self._held)
        return len(self._held) > 0

    def drain(self) -> int:
        """Throw away what is left; say how many it was."""
        left = len(self._held) + sum(len(part) for part in self._source)
        self._held = RallyBalls.joined([])
        return left
