"""The time that rallies still take: a guess before the first one, then from their durations."""

import time
from collections.abc import Sequence


class Clock:
    """Estimates the time that is left for rallies; ``at_once`` are played at a time."""

    def __init__(self, guesses_s: Sequence[float], at_once: int = 1) -> None:
        """Take a guess for each rally, in the order of playing; seconds."""
        self._left_s = sum(guesses_s)
        self._at_once = min(at_once, max(1, len(guesses_s)))
        self._done_s, self._played = 0.0, 0  # the guesses of played rallies, and their number
        self._began = time.monotonic()

    def finish(self, guess_s: float, *, played: bool) -> None:
        """Record that a rally is there; one that was there before took no time."""
        self._left_s -= guess_s
        if played:
            self._done_s += guess_s
            self._played += 1

    def left_s(self) -> float:
        """Return the time that is left.

        When a rally ends, those that run beside it are half done on average. At the first end they
        are done, too: otherwise the estimate would be too long.
        """
        if not self._played:
            return max(0.0, self._left_s) / self._at_once
        share = 1.0 if self._played < self._at_once else 0.5
        beside_s = share * (self._at_once - 1) * self._done_s / self._played
        beside_s = min(beside_s, max(0.0, self._left_s))
        took = (time.monotonic() - self._began) / (self._done_s + beside_s)
        return max(0.0, self._left_s - beside_s) * took

    def left(self) -> str:
        """Return the time that is left in words: ``12 min left``."""
        return f"{duration(self.left_s())} left"


def duration(seconds: float) -> str:
    """Write a time to wait: ``40 s``, ``12 min``, ``2.5 h``."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} min" if seconds < 90 * 60 else f"{seconds / 3600:.1f} h"
