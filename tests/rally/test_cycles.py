"""Balls in whole cycles of a load."""

import numpy as np
import pytest

from tennis.rally.cycles import balls_for, balls_in_whole_cycles, misses, too_short
from tennis.rally.manifest import Drill
from tennis.rally.serving import Serving
from tests.support.synthetic import make_rally

CYCLE_NS = 5_000_000_000


def test_so_many_balls_surely_see_a_whole_cycle():
    """And a hundred fewer would not always."""
    enough = balls_for(CYCLE_NS, Serving().protocol())
    random = np.random.default_rng(7)
    gaps = random.uniform(500_000, 1_500_000, (500, enough - 1))
    assert (gaps.sum(axis=1) >= CYCLE_NS).all()
    assert (gaps[:, 200:].sum(axis=1) < CYCLE_NS).all()
    assert enough == 5084


@pytest.mark.parametrize(
    ("serving", "enough"),
    [
        (Serving(loop="open", rate_hz=10_000), 50_001),
        (Serving(gap_min_us=1000, gap_max_us=1000), 5001),
        (Serving(gap_min_us=10, gap_max_us=10), 500_001),
    ],
)
def test_balls_that_come_evenly(serving, enough):
    assert balls_for(CYCLE_NS, serving.protocol()) == enough


def test_repetitions_of_a_drill():
    drill = Drill(name="periodic", context="user", period_ns=25_000)
    assert balls_for(10_000_000, Serving().protocol(), drill) == 401


def test_what_came_behind_the_last_whole_cycle(tmp_path):
    rally = make_rally(tmp_path / "r", balls=3000, misses=30, cycle_ns=1_000_000_000)
    served = np.concatenate([batch["served_ns"].values for batch in rally.batches()])
    whole = balls_in_whole_cycles(rally)
    end = (served[-1] - served[0]) // 1_000_000_000 * 1_000_000_000
    assert end >= 2_000_000_000
    assert served[whole - 1] - served[0] < end <= served[whole] - served[0]
    assert misses(rally, whole) == np.count_nonzero(np.linspace(0, 2999, 30).astype(int) < whole)
    assert not too_short(rally)


@pytest.mark.parametrize("cycle_ns", [None, 0])
def test_a_load_without_a_cycle(tmp_path, cycle_ns):
    rally = make_rally(tmp_path / "r", balls=300, misses=3, cycle_ns=cycle_ns)
    assert balls_in_whole_cycles(rally) == 300
    assert misses(rally, 300) == 3
    assert not too_short(rally)


def test_a_rally_that_is_too_short(tmp_path):
    rally = make_rally(tmp_path / "r", balls=300, cycle_ns=CYCLE_NS)
    assert balls_in_whole_cycles(rally) == 0
    assert too_short(rally) == "has 300 balls, less than a cycle of stress (5 s): 5,084 would do"
