# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""What `tennis compare` concludes: at each level, of all of them, and with boots added."""

from math import inf

import numpy as np

from tennis.comparison.before_after import (
    EXIT_CODES,
    Pair,
    first_look,
    judge,
    level_count,
    statement_count,
)
from tennis.comparison.boots import Boot
from tennis.comparison.sides import Side
from tennis.comparison.words import by_how_much, change, ratio, verdict
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
    sooner = dict.fromkeys((10 / 9, 4 / 3, 2, 4, 10), "equal")
    assert changes(found) == {**sooner, 100: "later", 1000: "later"}
    assert found.verdict == "worse"
    assert EXIT_CODES[found.verdict] == 1
    late = found.statements[-1]
    said = "interrupt latency, 1 in 1,000: later by 50 % (2.00 µs before, 3.00 µs after)"
    assert by_how_much(late) == said
    assert verdict(found) == "Worse: 2 of 7 levels became later by more than 10 %."


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
    assert found.boots_needed == 8
    assert judged(side(*[2000] * 8), side(*[9000] * 8)).verdict == "worse"


def test_lost_balls_are_later_than_all():
    found = judged(side(*[2000] * 8), side(*[inf] * 8))
    assert changes(found)[1000] == "later"
    assert "no answer after" in by_how_much(found.statements[-1])
    # as many on both sides: nothing is known of what they would have been
    assert judged(side(*[inf] * 8), side(*[inf] * 8)).verdict == "undecided"


def test_each_look_takes_its_share():
    assert level_count(3_000) == 7
    assert statement_count(1, 2, 3_000) == 2 * (7 + 2) + 1
    assert first_look(statement_count(1, 2, 3_000)) == 10
    assert first_look(statement_count(1, 2, 9)) == 9
    two = [side(*[2000] * 10), side(*[3000] * 10)]
    # the same boots at a later look, whose share is smaller, have no interval any more
    assert judged(*two, look=1).verdict == "worse"
    assert judged(*two, look=4).verdict == "undecided"


def test_nothing_later_may_have_the_whole_error_at_each_level():
    """All levels must say so: one that is truly later is rarely missed by its own."""
    six = [side(*[3000 + number for number in range(6)]), side(*[3001] * 6)]
    found = judged(*six, look=1)
    assert found.verdict == "no worse"
    assert {one.change for one in found.statements} == {"not later"}
    assert not found.statements[0].ratio.bounded  # an interval of all together needs nine


def test_boots_are_added_until_it_is_decided_and_it_is_right():
    """A hair within the margin nothing may be called worse: more looks must not find it."""
    make, count = FAMILIES["quiet, a tenth of bad boots"], 20
    said = looks(make, 600, count, times=1.1 / HAIR, most=16)
    assert said.count("worse") <= 0.05 * count
    # and a hair beyond it: nothing may be called no worse
    said = looks(make, 600, count, times=1.1 * HAIR, most=16)
    assert said.count("no worse") <= 0.05 * count


def test_what_differs_is_found():
    assert looks(quiet, 600, 10, times=1.25, most=10) == ["worse"] * 10
    assert looks(quiet, 600, 10, times=1.0, most=10) == ["no worse"] * 10


def of_kinds(*shares, sooner=1600.0, later=3600.0, balls=3000):
    """Return boots of two kinds of balls, of so many later ones each."""
    boots = []
    for share in shares:
        latencies = np.full(balls, sooner)
        latencies[: int(balls * share)] = later
        boots.append(Boot.of(latencies))
    return Side(boots, range(len(shares)))


def test_a_side_of_one_kind_is_compared_by_its_level():
    """2 µs less was "share later than 2.5 µs: 100 % -> 18 %"."""
    found = judged(of_kinds(*[1.0] * 10), of_kinds(*[0.18] * 10))
    (median,) = [one for one in found.statements if one.one_in == 2]
    assert (median.quantity, median.before, median.after) == ("median", "3.60 µs", "1.60 µs")
    assert median.change == "earlier"


def test_a_ratio_of_shares_is_named_as_one():
    found = judged(of_kinds(*[0.3] * 10), of_kinds(*[0.15, 0.3, 0.14, 0.35, 0.16] * 2))
    (quarter,) = [one for one in found.statements if one.one_in == 4]
    assert quarter.quantity == "share of balls later than 2.4 µs"
    assert " of shares" in ratio(quarter)


def test_a_ratio_of_pairs_that_is_not_that_of_the_medians_says_so():
    """2.01 -> 1.85 µs had the ratio 1.000."""
    before = [2010] * 6 + [1850] * 5
    after = [2010] * 5 + [1850] * 6
    sides = [
        Side([Boot.of(np.full(3000, float(ns))) for ns in one], range(11))
        for one in (before, after)
    ]
    (median,) = [one for one in judged(*sides).statements if one.one_in == 2]
    assert (median.before, median.after) == ("2.01 µs", "1.85 µs")
    assert ratio(median) == "1.000 (0.920 to 1.000); the median boots 0.920"
