"""What a replay plays, and when it ends: not before what looks on has seen the last ball."""

import numpy as np
import pytest

from tennis.bench import loads
from tennis.bench.virtual.machine import COMMAND_LINE, SECOND_US, _phase_us, drawn_us
from tennis.kit import wire
from tennis.play.rally import Watch
from tennis.play.repeat import plan_again, replay
from tennis.rally.balls import RECORD
from tennis.rally.journal import Frame
from tests.support.plans import plan_of
from tests.support.synthetic import make_rally, saying

CYCLE_US = 5_000_000


def phase_of(rally):
    """Return what a rally that is played again meets its load with."""
    return _phase_us(plan_again(rally), loads.find("stress"))


def test_the_phase_of_a_rally_that_decides_is_drawn_from_all_of_the_cycle():
    stress = loads.find("stress")
    for balls, within in ((5084, CYCLE_US), (5083, SECOND_US)):
        plans = [plan_of(kernel="rt", load="stress", balls=balls, seed=n) for n in range(40)]
        drawn = [_phase_us(plan, stress) for plan in plans]
        assert max(drawn) < within
        # each fifth of it has some
        assert set(np.array(drawn) * 5 // within) == {0, 1, 2, 3, 4}
    idle = _phase_us(plan_of(kernel="rt", load="idle", balls=90_000, seed=7), loads.find("idle"))
    assert idle == drawn_us(7, SECOND_US)


@pytest.mark.parametrize("within", [SECOND_US, CYCLE_US])
def test_a_rally_keeps_the_phase_that_it_was_played_with(tmp_path, within):
    """One of before the phase was drawn from all of the cycle repeats, too."""
    rally = recorded(tmp_path, f"tennis.phase_us={drawn_us(7, within)}")
    assert phase_of(rally) == drawn_us(7, within)


def test_nobody_may_choose_a_phase(tmp_path):
    """A manifest's value is played only if the seed gives the same."""
    assert phase_of(recorded(tmp_path, "tennis.phase_us=12")) == drawn_us(7, CYCLE_US)


def recorded(folder, words):
    """Return a rally of the virtual bench whose target had these words on its command line."""
    rally = make_rally(folder / "r", balls=5500, seed=7, load="stress", bench="virtual")
    line = {"command_line": f"{COMMAND_LINE} {words}"}
    return saying(rally, target=line, instrument={"kind": "virtual"})


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
