# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Comparisons of boots that nobody played, whose truth is known: how often is one wrong?

The statements lie at the edge of what is true, where it is easiest to be wrong.
``benchmarks/verdicts.py`` plays more of them, and prints the tables of docs/errors.md.
"""

from itertools import pairwise

import pytest

from tests.support.made_up_boots import (
    FAMILIES,
    KINDS,
    STATEMENTS,
    opposite,
    power,
    power_of_shares,
    simulate,
    simulate_shares,
)

pytestmark = pytest.mark.slow

COMPARISONS = 60  # of each family and statement: three that are wrong are 5 %
BALLS = 3_000
# in which earlier rules were wrong most often
FAMILIES_HERE = ("Pareto 0.8", "bursts, 1 ball in 500", "quiet, a tenth of bad boots", "quantised")


@pytest.mark.cases(more=["[b-z]*"])
@pytest.mark.parametrize("family", FAMILIES_HERE)
def test_a_comparison_is_wrong_at_most_once_in_twenty(family):
    """Also with a quarter of the balls of the same boots, and few turn round by that."""
    found = simulate(FAMILIES[family], 4 * BALLS, COMPARISONS, shares=(1.0, 0.25))
    assert set(found) == set(STATEMENTS)
    for statement, (many, few) in found.items():
        assert max(many.wrong, few.wrong) <= 0.05 * COMPARISONS, statement
        assert sum(map(opposite, many.said, few.said)) <= 0.05 * COMPARISONS, statement


@pytest.mark.parametrize(("family", "times"), [("Pareto 1", 10), ("quantised", 3), ("quiet", 1.25)])
def test_what_is_far_from_the_edge_is_found(family, times):
    assert power(FAMILIES[family], 12_000, 10, [times])[0] >= 0.9


def test_a_level_between_two_kinds_is_wrong_at_most_once_in_twenty():
    make = KINDS["a lock, boots differ"]
    many, few = simulate_shares(make, 4 * BALLS, 40, share=0.001, shares=(1.0, 0.25))
    assert max(many.wrong, few.wrong) <= 0.05 * 40
    assert sum(map(opposite, many.said, few.said)) <= 0.05 * 40
    found, none = power_of_shares(make, 12_000, 10, share=0.0008, times=[3.0, 1.0])
    assert found >= 0.6
    assert none <= 0.1


def test_the_simulation_can_fail():
    """A rule that takes the latest balls for the level is wrong far more often."""
    found = simulate(FAMILIES["Pareto 1"], BALLS, COMPARISONS, judge=latest)
    assert found["below"][0].wrong > 0.15 * COMPARISONS


def latest(of, to):
    ratio = max(of.latest()) / max(to.latest())
    return "contradicted" if ratio >= 3 else "confirmed"


def test_opposites():
    assert opposite("confirmed", "contradicted")
    assert opposite("equivalent", "greater")
    assert not any(opposite(one, other) for one, other in pairwise(["confirmed"] * 2))
    assert not opposite("inconclusive", "confirmed")
    assert not opposite("undecided", "less")
