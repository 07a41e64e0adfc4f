# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""A drill's capture: nobody serves, so that a repetition is on the reply wire alone."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from tennis.umpire.edges import PING_FALL, PING_RISE, REPLY_FALL, REPLY_RISE, Capture, Edges


def one_wire(capture: Capture) -> Capture:
    """Return a capture in which the reply wire is the ping wire, too.

    So a repetition reads as a ball that was answered at once: its serve is the rise, its
    scheduling latency the time for which the line was up.
    """

    def read(outer: Capture) -> Iterator[Edges]:
        for batch in capture.read(capture):
            mine = (batch.codes & 1) == 1
            up = np.repeat(batch.codes[mine] == REPLY_RISE, 2)
            second = np.arange(up.size) % 2 == 1
            rises = np.where(second, REPLY_RISE, PING_RISE)
            falls = np.where(second, REPLY_FALL, PING_FALL)
            outer.end_ticks = capture.end_ticks
            codes = np.where(up, rises, falls).astype(np.uint8)
            yield Edges(np.repeat(batch.ticks[mine], 2), codes)
        outer.end_ticks = capture.end_ticks

    return replace(capture, read=read, ping=capture.reply)
