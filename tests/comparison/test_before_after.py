# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""What `tennis compare` concludes: at each level, of all of them, and with boots added."""

from math import inf

import numpy as np

from tennis.comparison.before_after import EXIT_CODES, Pair, first_look, judge, level_count
from tennis.comparison.boots import Boot
from tennis.comparison.sides import Side
from tennis.comparison.words import by_how_much, change, verdict
from tests.support.made_up_boots import FAMILIES, HAIR, looks, quiet, slower


def side(*levels, balls=3_000, late=30):
    """Return boots of 1,000 ns a ball, of which ``late`` take so long as ``levels`` say."""
    boots = []
    for level in levels:
        latencies = np.full(balls, 1000.0)
        latencies[:late] = level
        boots.append(Boot.of(latencies))
    return Side(boots, list(range(len(levels))))


def judged(before, after, **how):
    return judge([Pair("", "interrupt", before, after)], **how)


def changes(judgement):
    return {statement.one_in: statement.change for statement in judgement.statements}


def test_later_at_one_level_is_worse():
    found = judged(side(*[2000] * 8), side(*[3000] * 8))
    assert changes(found) == {2: "equal", 100: "later", 1000: "later"}
    assert found.verdict == "worse"
    assert EXIT_CODES[found.verdict] == 1
    late = found.statements[-1]
    said = "interrupt latency, 1 in 1,000: later by 50 % (2.00 µs before, 3.00 µs after)"
    assert by_how_much(late) == said
    assert verdict(found) == "Worse: 2 of 3 levels became later by more than 10 %."


def test_earlier_is_no_worse():
    found = judged(side(*[3000] * 8), side(*[2000] * 8))
    assert changes(found)[1000] == "earlier"
    assert (found.verdict, EXIT_CODES[found.verdict]) == ("no worse", 0)
    assert verdict(found).endswith("; 2 levels became earlier.")


def test_what_is_within_the_margin_is_said_and_no_worse():
    before, after = side(*[2000] * 8), slower(side(*[2000] * 8), 1.03)
    after = Side(after.boots, before.seeds)
    found = judged(before, after)
    assert found.verdict == "no worse"
    assert change(found.statements[0]) == "later by 3 %, within 10 %"
    # and whoever wants to know of 3 % says so
    assert judged(before, after, margin=0.01).verdict == "worse"


def test_one_boot_decides_nothing():
    bad = [2000] * 9 + [900_000]
    found = judged(side(*[2000] * 10), side(*bad))
    assert changes(found)[1000] != "later"
    found = judged(side(*bad), side(*[2000] * 10))
    assert changes(found)[1000] != "earlier"


def test_too_few_boots_are_undecided_with_the_number():
    found = judged(side(2000, 2000), side(9000, 9000))
    assert (found.verdict, EXIT_CODES[found.verdict]) == ("undecided", 3)
    assert found.boots_needed == 6
    assert judged(side(*[2000] * 6), side(*[9000] * 6)).verdict == "worse"


def test_lost_balls_are_later_than_all():
    found = judged(side(*[2000] * 8), side(*[inf] * 8))
    assert changes(found)[1000] == "later"
    assert "no answer after" in by_how_much(found.statements[-1])
    # as many on both sides: nothing is known of what they would have been
    assert judged(side(*[inf] * 8), side(*[inf] * 8)).verdict == "undecided"


def test_each_look_takes_its_share():
    statements = 2 * level_count(3_000)
    assert level_count(3_000) == 3
    assert first_look(statements) == 8
    assert first_look(2 * level_count(200)) == 7
    two = [side(*[2000] * 8), side(*[3000] * 8)]
    # the same boots at a later look, whose share is smaller, have no interval any more
    assert judged(*two, look=1).verdict == "worse"
    assert judged(*two, look=3).verdict == "undecided"


def test_boots_are_added_until_it_is_decided_and_it_is_right():
    """A hair within the margin nothing may be called worse: more looks must not find it."""
    make, count = FAMILIES["quiet, a tenth of bad boots"], 20
    said = looks(make, 600, count, times=1.1 / HAIR, most=16)
    assert said.count("worse") <= 0.05 * count
    # and a hair beyond it: nothing may be called no worse
    said = looks(make, 600, count, times=1.1 * HAIR, most=16)
    assert said.count("no worse") <= 0.05 * count


def test_what_differs_is_found():
    assert looks(quiet, 600, 10, times=1.25, most=8) == ["worse"] * 10
    assert looks(quiet, 600, 10, times=1.0, most=8) == ["no worse"] * 10
