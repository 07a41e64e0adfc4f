# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""A level that falls between two kinds of balls, and the shares that are compared in its place."""

import numpy as np
import pytest

from tennis.comparison.boots import Boot
from tennis.comparison.findings import at_level, compare, find
from tennis.comparison.kinds import MedianBeyond, ShareBeyond, between_kinds
from tennis.comparison.sides import Side, compared

USUAL, LATE = 5_000.0, 2_000_000.0


def boot(late, *, balls=10_000, usual=USUAL, latest=LATE, lost=0):
    """Return a boot of two kinds of balls, and so many that were lost."""
    latencies = np.full(balls, usual)
    latencies[:late] = latest
    latencies[late : late + lost] = np.inf
    return Boot.of(latencies)


def side(counts, **settings):
    return Side([boot(late, **settings) for late in counts], range(len(counts)))


# around 0.08 % and 0.12 % of 10,000 balls
FEW = side([7, 8, 9, 8, 12, 6, 8, 9, 7, 8])
MORE = side([12, 11, 13, 14, 12, 15, 9, 12, 13, 11])


def test_the_share_of_late_balls_is_compared_and_named():
    found = at_level(MORE, FEW, 1000)
    assert compared(MORE, FEW, 1000).estimate == LATE / USUAL  # what the level alone would say
    assert found.by_share
    assert found.judged.ratio.estimate == pytest.approx(1.5, abs=0.1)
    assert found.judged.ratio.low > 1.1
    assert found.relation() == "greater"
    assert at_level(FEW, MORE, 1000).relation() == "less"
    assert found.words == "share of balls later than 100 µs: 0.12 % against 0.08 %"


def test_neither_side_chooses_the_threshold():
    assert between_kinds(MORE.boots, FEW.boots, 1000) == between_kinds(FEW.boots, MORE.boots, 1000)
    mixed = [
        (one, other) if number % 2 else (other, one)
        for number, (one, other) in enumerate(zip(MORE.boots, FEW.boots, strict=True))
    ]
    ones, others = zip(*mixed, strict=True)
    assert between_kinds(ones, others, 1000) == between_kinds(MORE.boots, FEW.boots, 1000)


def test_more_late_balls_are_found_though_no_level_moves():
    """0.03 % and 0.08 % of long boots: each level is of one kind on both sides."""
    few, more = side([30] * 10, balls=100_000), side([80, 81] * 5, balls=100_000)
    found = at_level(more, few, 1000)
    assert not found.by_share
    assert found.judged.ratio.relation() == "equivalent"
    assert found.relation() == "greater"
    assert found.words == "share of balls later than 100 µs: 0.08 % against 0.03 %"
    assert [one.one_in for one in find(more, few)] == [100, 1000, 10_000]


def test_as_many_late_balls_that_are_later_are_not_equivalent():
    same = [9, 12] * 5
    later = side(same, latest=4 * LATE)
    assert at_level(later, side(same), 1000).relation() == "greater"
    assert at_level(side(same), side(same), 1000).relation() == "equivalent"
    assert "median of the balls later than" in at_level(later, side(same), 1000).words


def test_later_in_one_count_and_earlier_in_another_is_undecided():
    fewer_but_later = side([9, 12] * 5, latest=4 * LATE)
    assert at_level(side([18, 24] * 5), fewer_but_later, 1000).relation() == "undecided"


def test_unanswered_balls_are_a_kind_of_their_own():
    lost = Side([boot(0, lost=late) for late in (9, 12) * 5])
    found = at_level(lost, Side([boot(0)] * 10), 1000)
    assert found.threshold_ns == np.inf
    assert found.words == "share of balls without an answer: 0.1 % against 0 %"
    assert found.relation() == "greater"


def test_a_boot_that_differs_makes_no_second_kind():
    odd = side([500, *[0] * 9])
    found = at_level(odd, side([0] * 10), 1000)
    assert (found.beside, found.relation()) == ((), "equivalent")


def test_balls_of_one_kind_are_compared_by_their_level():
    random = np.random.default_rng(1)
    sides = [
        Side([Boot.of(USUAL * (1 + random.pareto(0.8, 10_000))) for _ in range(10)])
        for _ in range(2)
    ]
    assert all(not finding.beside for finding in find(*sides))
    # a side that is ten times as late is of another kind, and its level says it
    assert not at_level(side([0] * 10, usual=10 * USUAL), side([0] * 10), 1000).by_share


def test_few_late_balls_leave_it_undecided():
    """Pairs without a late ball have no ratio: they may be anything."""
    rare = side([3, 0, 0, 4, 0, 0, 3, 0, 0, 4], balls=3000)
    other = side([0, 4, 0, 0, 3, 0, 0, 3, 4, 0], balls=3000)
    found = at_level(rare, other, 1000)
    assert found.relation() == "undecided"
    assert not found.judged.ratio.bounded


def test_figures_of_late_balls():
    every = compare(side([10_000] * 10), FEW, ShareBeyond(LATE / 2))
    assert every.words == "share of balls later than 1 ms: 100 % against 0.08 %"
    assert ShareBeyond(LATE / 2).of(boot(25)) == 0.0025
    assert MedianBeyond(LATE / 2).of(boot(25)) == LATE
    assert MedianBeyond(LATE / 2).of(boot(1, lost=2)) == np.inf
    assert np.isnan(MedianBeyond(LATE / 2).of(boot(0)))
