# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""A ranking of two sides: the same both ways round, and never two opposite ones of one truth."""

import math
from collections import Counter

import numpy as np
import pytest

from tennis.comparison.boots import Boot
from tennis.comparison.sides import Side
from tennis.replicate.deciding import Decision, decide
from tennis.replicate.rules import RulePart, RuleSide, replication
from tests.support.made_up_boots import FAMILIES, KINDS, slower
from tests.support.mixtures import BOOTS, CLEAR, CROSSING, boots, latencies, random_kinds, ranking

SIDE = RuleSide(kernel="rt", priorities="chrt", loads=("stress",), latency="interrupt")
OPPOSITE = {"confirmed": "contradicted", "contradicted": "confirmed"}


def ruled(of, to, **bounds) -> Decision:
    bounds = bounds or {"above": 1.0}
    part = RulePart(says="made up", of=SIDE, to=SIDE, **bounds)
    return decide(part, [of], [to], [], replication().statistics)


@pytest.mark.parametrize("family", CROSSING)
def test_where_curves_cross_no_side_is_later(family):
    """Half of all such matches confirmed it, and half contradicted it."""
    slow, late, balls = CROSSING[family]
    said = Counter()
    for number in range(12):
        random = np.random.default_rng([51, number])
        said[ranking(Side(boots(random, balls, slow)), Side(boots(random, balls, late)))] += 1
    assert not said["confirmed"]  # later in rare balls is the other
    assert not said["contradicted"], said


@pytest.mark.parametrize("family", CLEAR)
def test_what_is_later_at_the_level_and_beyond_is_found(family):
    later, other, balls = CLEAR[family]
    random = np.random.default_rng(5)
    one, two = Side(boots(random, balls, later)), Side(boots(random, balls, other))
    assert ranking(one, two) == "confirmed"
    assert ranking(two, one) == "contradicted"


def test_the_reason_names_what_crosses():
    slow, late, balls = CROSSING["cross at 0.06 %"]
    random = np.random.default_rng(1)
    found = ruled(Side(boots(random, balls, slow)), Side(boots(random, balls, late)))
    assert "the sides' curves cross near this level" in found.remark or (
        "rarer balls are on the other side" in found.remark
    )


def sides_of(make, balls, times, number):
    random = np.random.default_rng([52, number])
    one, other = (Side([Boot.of(make(random, balls)) for _ in range(BOOTS)]) for _ in range(2))
    return slower(one, times), other


MADE = {
    **FAMILIES,
    **{
        name: lambda random, balls, make=make: make(random, balls, 0.001)
        for name, make in KINDS.items()
    },
}


@pytest.mark.parametrize("family", MADE)
def test_swapped_sides_swap_the_verdict(family):
    """A rule must be the same both ways round: rarer balls hold back a ranking either way."""
    for number in range(4):
        for times in (1.0, 1.1, 1.5):
            one, other = sides_of(MADE[family], 3000, times, number)
            said = ranking(one, other)
            assert ranking(other, one) == OPPOSITE.get(said, said), (number, times)


@pytest.mark.parametrize("bound", [3.0, 0.4])
def test_swapped_sides_swap_what_is_said_of_a_bound(bound):
    for number in range(6):
        one, other = sides_of(FAMILIES["bursts, 1 ball in 100"], 3000, 1.2, number)
        said = ruled(one, other, below=bound).verdict
        assert ruled(other, one, above=1 / bound).verdict == said, number


def test_a_tie_of_ticks_is_one_either_way():
    """11 ticks and 10 differ by the margin, exactly: nobody is later."""
    one, other = (Side([Boot.of(np.full(3000, ns))] * BOOTS) for ns in (1100.0, 1000.0))
    assert ranking(one, other) == ranking(other, one) == "inconclusive"


def test_a_confirmed_ranking_is_held_back_by_rarer_balls():
    """The loser's latest balls are a hundred times as late: it was confirmed all the same."""
    random = np.random.default_rng(3)
    sooner = []
    for _ in range(BOOTS):
        balls = np.exp(random.normal(math.log(1000), 0.05, 6000))
        balls[7] = 250_000
        sooner.append(Boot.of(balls))
    later = [Boot.of(np.exp(random.normal(math.log(2000), 0.05, 6000))) for _ in range(BOOTS)]
    found = ruled(Side(later), Side(sooner))
    assert found.verdict == "inconclusive"
    assert "rarer balls are on the other side: 10 of 10 boots" in found.remark
    found = ruled(Side(sooner), Side(later))
    assert found.verdict == "inconclusive"


def test_random_mixtures_keep_what_must_hold():
    """Mirror, cut in half, boots copied, one boot more: none of them turns a verdict round."""
    for number in range(30):
        random = np.random.default_rng([53, number])
        kinds = random_kinds(random), random_kinds(random)
        balls = int(random.choice([3000, 6000]))
        made = [[latencies(random, balls, one) for _ in range(BOOTS + 1)] for one in kinds]
        every = [[Boot.of(one) for one in side] for side in made]
        one, other = (Side(side[:BOOTS]) for side in every)
        said = ranking(one, other)
        assert ranking(other, one) == OPPOSITE.get(said, said), kinds
        half, rest = (Side([Boot.of(b[: balls // 2]) for b in side[:BOOTS]]) for side in made)
        assert ranking(half, rest) != OPPOSITE.get(said, ""), kinds
        copied = [Side([*side[:BOOTS], *side[:BOOTS]]) for side in every]
        assert ranking(*copied) != OPPOSITE.get(said, ""), kinds
        assert ranking(*map(Side, every)) != OPPOSITE.get(said, ""), kinds
