# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Ctrl-C as a wish, not as an accident."""

import signal
from types import FrameType


class Stop:
    """Becomes true with the first Ctrl-C or SIGTERM; the second ends the program at once."""

    def __init__(self) -> None:
        self.asked = False
        signal.signal(signal.SIGINT, self._ask)
        signal.signal(signal.SIGTERM, self._ask)

    def _ask(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True

    def __call__(self) -> bool:
        """Tell whether to stop."""
        return self.asked
