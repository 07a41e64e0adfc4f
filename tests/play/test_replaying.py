# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""When a replay ends: not before what looks on has seen the last ball, too."""

import numpy as np

from tennis import wire
from tennis.play.rally import Watch
from tennis.play.replaying import replay
from tennis.rally.balls import RECORD
from tennis.rally.journal import Frame


class Session:
    """Three frames of two balls each; a mock: what matters is when it is stopped."""

    def __init__(self, needed):
        self.needed = needed
        self.balls = np.zeros(6, RECORD)
        self.balls["served"] = np.arange(6) * 1000
        self.sent = 0
        self.stopped_after = None

    def frames(self):
        while self.sent < 6 and self.stopped_after is None:
            self.sent += 2
            yield Frame(wire.BALLS, 0, self.balls[self.sent - 2 : self.sent].tobytes())

    def enough(self):
        return self.sent >= self.needed

    def stop(self):
        self.stopped_after = self.sent

    def close(self):
        pass


def test_a_replay_goes_on_until_its_observer_is_ready():
    table = np.zeros((6, 3), np.int64)
    table[:, 0] = np.arange(6) * 1000
    for needed in (2, 4):
        session = Session(needed)
        assert replay(session, table, 1, Watch(), RuntimeError, ready=session.enough) == needed
        assert session.stopped_after == needed
