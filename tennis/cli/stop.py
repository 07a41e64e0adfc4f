"""Ctrl-C as a wish, not as an accident."""

import signal
from types import FrameType


class Stop:
    """Becomes true with the first Ctrl-C, SIGTERM or SIGHUP, once somebody looks.

    A second one, or one while nobody looks (nothing is played yet), ends the program at once.
    SIGTERM and SIGHUP stay ignored if they were, as by nohup.
    """

    def __init__(self) -> None:
        self.requested = False
        self._watched = False
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if number == signal.SIGINT or signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, self._ask)

    def _ask(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002
        if self.requested or not self._watched:
            raise KeyboardInterrupt
        self.requested = True

    def __call__(self) -> bool:
        """Tell whether to stop."""
        self._watched = True
        return self.requested
