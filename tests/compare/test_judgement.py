"""What `tennis compare` concludes: of the declared list, with boots added, and in which words."""

from math import inf

import numpy as np
import pytest

from tennis.compare import words
from tennis.compare.boots import Boot
from tennis.compare.judgement import EXIT_CODES, Pair, Suspects, judge, share_change, time_change
from tennis.compare.sides import Side
from tests.support.mixtures import GATE, gate


def side(*late, balls=3_000, usual=1000.0, count=30):
    """Return boots of ``usual`` ns a ball, of which ``count`` take as long as ``late`` says."""
    boots = []
    for ns in late:
        latencies = np.full(balls, usual)
        latencies[:count] = ns
        boots.append(Boot.of(latencies))
    return Side(boots, range(len(boots)))


def judged(before, after, **how):
    return judge([Pair("", "interrupt", before, after)], **how)


def changes(judgement):
    return {words.quantity(row): row.change for row in judgement.rows}


def test_later_at_one_level_is_worse():
    found = judged(side(*[2000] * 10), side(*[3000] * 10))
    assert changes(found)["1 in 100"] == "later"
    assert changes(found)["median"] == "equal"
    assert (found.verdict, EXIT_CODES[found.verdict]) == ("worse", 1)
    said = "Worse: interrupt latency, 1 in 100: later by 50 % (2.00 µs before, 3.00 µs after)."
    assert words.verdict(found) == said


def test_earlier_is_no_worse():
    found = judged(side(*[3000] * 10), side(*[2000] * 10))
    assert changes(found)["1 in 100"] == "earlier"
    assert (found.verdict, EXIT_CODES[found.verdict]) == ("no worse", 0)


@pytest.mark.parametrize(
    ("family", "least"),
    [
        ("idle, 12 %", 10),
        ("slow boots", 4),
        ("between levels, more", 10),
        # usual balls 15 % sooner, and twice as many that wait: it was "no worse" in 67 of 100
        ("improvement, late 0.2 %", 2),
    ],
)
def test_what_became_worse_is_found(family, least):
    change = GATE[family]
    said = [gate(change.before, change.after, 3000, number)[0].verdict for number in range(10)]
    assert said.count("worse") >= least
    assert said.count("no worse") == 0


@pytest.mark.parametrize("family", ["an improvement", "between levels, alike", "idle"])
def test_what_is_alike_is_no_worse(family):
    change = GATE[family]
    after = change.before if change.worse else change.after
    said = [gate(change.before, after, 3000, number)[0].verdict for number in range(10)]
    assert said.count("worse") == 0
    assert said.count("no worse") >= 6


def test_too_few_boots_are_undecided():
    assert judged(side(2000, 2000), side(2000, 2000)).verdict == "undecided"
    assert judged(side(2000), side(9000)).verdict == "undecided"
    found = judged(side(*[1000] * 8), side(*[1000] * 8))
    assert found.verdict == "undecided"  # 3 boots in 10 may be late, and none was met
    assert found.more_boots > 1
    assert judged(side(*[1000] * 9), side(*[1000] * 9)).verdict == "no worse"


def test_lost_balls_are_counted_with_their_boots():
    found = judged(side(*[1000] * 10), side(*[inf] * 10))
    assert found.verdict == "worse"
    (row,) = [row for row in found.rows if row.what == "lost"]
    assert (row.counts, row.in_boots, row.change) == ((0, 300), (0, 10), "later")
    assert "300 of 30,000 after; in 0 and 10 boots" in words.by_how_much(row)
    # as many of them on both sides
    assert judged(side(*[inf] * 10), side(*[inf] * 10)).verdict == "no worse"


def test_a_lost_interrupt_is_said_once():
    both = [
        Pair("", latency, side(*[1000] * 10), side(*[inf] * 10))
        for latency in ("interrupt", "scheduling")
    ]
    assert [row.latency for row in judge(both).rows if row.what == "lost"] == ["interrupt"]


def test_what_is_too_rare_is_named_with_what_is_not_excluded():
    before, after = side(*[1000] * 9, inf, count=1), side(*[1000] * 8, inf, inf, count=1)
    found = judged(before, after)
    assert found.verdict == "no worse"
    said = words.unseen(found)
    assert "what fewer than 1 in 1,000 balls do" in said
    assert "balls without an answer: 1 before, 2 after, at most 58 times as many" in said
    none = judged(side(*[1000] * 10), after)
    assert "0 before, 2 after, none before: at most 1 in 4," in words.unseen(none)


@pytest.mark.parametrize(
    ("counts", "change"),
    [((0, 0), "rare"), ((1, 5), "undecided"), ((0, 9), "later"), ((2, 2), "undecided")],
)
def test_suspect_boots_are_compared_exactly(counts, change):
    found = judged(side(*[1000] * 10), side(*[1000] * 10), suspects=[Suspects("", *counts, 10, 10)])
    (row,) = [row for row in found.rows if row.what == "suspect"]
    assert row.change == change
    assert found.verdict == {"rare": "no worse", "later": "worse"}.get(change, "undecided")


def test_each_look_takes_its_share():
    random = np.random.default_rng(4)
    before, after = (
        Side(
            [Boot.of(random.normal(ns, 150, 100)) for ns in random.normal(mean, 20, 10)], range(10)
        )
        for mean in (1000, 1140)
    )
    assert judged(before, after, look=1).verdict == "worse"
    assert judged(before, after, look=12).verdict == "undecided"


def test_one_level_or_one_time_alone_is_compared():
    before, after = side(*[9000] * 7), side(*[3000] * 7)
    assert time_change(before, after, 100).change == "earlier"
    assert share_change(before, after, 5000).change == "earlier"
    assert share_change(after, before, 5000).change == "later"
    assert share_change(after, after, 5000).change != "later"
