"""Which balls are looked at to name the code, and what is named: only what repeats."""

from math import inf

import numpy as np

from tennis.compare.boots import Boot
from tennis.compare.judgement import Pair, Row, judge
from tennis.compare.sides import Side
from tennis.explain.causes import causes_of, near
from tennis.play.repeat import NONE


def table(late=(), lost=(), balls=3000):
    """Return balls of 1.4 µs; some of them are 200 µs late, or were not answered."""
    rise = np.full(balls, 1400, np.int64) + np.arange(balls) % 7
    rise[list(late)] = 201_400
    found = np.stack([np.arange(balls, dtype=np.int64), rise, rise + 1000], axis=1)
    found[list(lost), 1:] = NONE
    return found


def late_row(after=1 / 3000):
    return Row("", "interrupt", "late", "later", 0, after, unit="balls", beyond_ns=20_000.0)


def test_one_late_ball_is_not_looked_at_beside_four_usual_ones():
    """200 µs in 1 of 3,000 was "40.1 µs more a ball"."""
    assert near(table(late=[77]), late_row()) == [77]
    usual = near(table(), late_row())
    assert len(usual) == 15
    assert near(table(late=[5, 6], lost=[8]), late_row(2 / 3000)) == [5, 6]


def test_a_lost_ball_is_never_looked_at():
    """It was blamed on "40.0 ms more in idle"."""
    before, after = (
        Side([Boot.of(np.where(np.arange(3000) < lost, inf, 1400.0))] * 16, range(16))
        for lost in (0, 60)
    )
    found = judge([Pair("", "interrupt", before, after)])
    (late,) = [row for row in found.rows if row.one_in == 100]
    lost = range(60)
    assert not set(near(table(lost=lost), late)) & set(lost)
    assert near(table(lost=range(3000)), late) == []


def test_of_two_kinds_the_one_that_changed_is_looked_at():
    """Half of all balls became later, and balls of the other half were explained."""
    before, after = (
        Side(
            [
                Boot.of(np.where(np.arange(3000) < 1480 + 40 * (boot % 2), 201_400.0, usual))
                for boot in range(16)
            ],
            range(16),
        )
        for usual in (1400.0, 2800.0)
    )
    found = judge([Pair("", "interrupt", before, after)])
    (row,) = [row for row in found.rows if row.what == "late"]
    assert row.change == "later"
    assert not set(near(table(late=range(1500)), row)) & set(range(1500))


def test_only_what_repeats_is_named():
    """One ball of fifteen met a tick that the others did not: nobody changed that function."""
    before = [{"the Racquet": 246, "idle": 900} for _ in range(15)]
    after = [{"the Racquet": 270, "idle": 900} for _ in range(15)]
    after[3]["the tick's handler"] = 9_000
    came, went = causes_of([before, after])
    assert came == [("the Racquet", 246.0, 270.0)]
    assert not went
    assert causes_of([after, before]) == ([], [("the Racquet", 270.0, 246.0)])
    # a tenth of the difference, or less, is no cause
    little = [ball | {"idle": 902} for ball in before]
    assert causes_of([before, little])[0] == [("idle", 900.0, 902.0)]
    assert causes_of([before, [ball | {"idle": 902} for ball in after]]) == (came, [])
    # as much in one half of the balls as in the other: chance
    torn = [{"idle": 900 + 500 * (number % 2)} for number in range(15)]
    assert causes_of([torn, torn[::-1]]) == ([], [])
