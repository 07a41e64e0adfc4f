"""A ranking of two sides: the same both ways round, and never two opposite ones of one truth."""

import numpy as np
import pytest

from tennis.compare.boots import Boot
from tennis.compare.sides import Side
from tennis.replicate.deciding import _Decision, decide
from tennis.report.publications.rules import RulePart, RuleSide, replication
from tests.support.mixtures import BOOTS, CLEAR, CROSSING, boots, latencies, random_kinds

SIDE = RuleSide(kernel="rt", priorities="chrt", loads=("stress",), latency="interrupt")
OPPOSITE = {"confirmed": "contradicted", "contradicted": "confirmed"}


def ruled(of, to, **bounds) -> _Decision:
    part = RulePart(says="made up", of=SIDE, to=SIDE, **(bounds or {"above": 1.0}))
    return decide(part, [of], [to], [], replication().statistics)


def ranking(of, to) -> str:
    return ruled(of, to).verdict


@pytest.mark.parametrize("family", CROSSING)
def test_where_curves_cross_no_side_is_later(family):
    """Half of all such matches confirmed it, and half contradicted it."""
    slow, late, balls = CROSSING[family]
    for number in range(6):
        random = np.random.default_rng([51, number])
        said = ranking(Side(boots(random, balls, slow)), Side(boots(random, balls, late)))
        assert said == "inconclusive", number


@pytest.mark.parametrize("family", CLEAR)
def test_what_is_later_at_the_level_and_beyond_is_found(family):
    later, other, balls = CLEAR[family]
    random = np.random.default_rng(5)
    one, two = Side(boots(random, balls, later)), Side(boots(random, balls, other))
    assert ranking(one, two) == "confirmed"
    assert ranking(two, one) == "contradicted"


@pytest.mark.parametrize("bound", [3.0, 0.4])
def test_swapped_sides_swap_what_is_said_of_a_bound(bound):
    for number in range(4):
        random = np.random.default_rng([52, number])
        one, other = (Side(boots(random, 3000, random_kinds(random))) for _ in range(2))
        said = ruled(one, other, below=bound).verdict
        assert ruled(other, one, above=1 / bound).verdict == said, number


def test_a_tie_of_ticks_is_one_either_way():
    """11 ticks and 10 differ by the margin, exactly: nobody is later."""
    one, other = (Side([Boot.of(np.full(3000, ns))] * BOOTS) for ns in (1100.0, 1000.0))
    assert ranking(one, other) == ranking(other, one) == "inconclusive"


def test_of_several_loads_the_latest_counts():
    quick, slow, other = (Side([Boot.of(np.full(3000, ns))] * BOOTS) for ns in (10.0, 900.0, 100.0))
    part = RulePart(says="made up", of=SIDE, to=SIDE, above=5.0)
    rules = replication().statistics
    assert decide(part, [quick, slow], [other], [], rules).verdict == "confirmed"
    assert decide(part, [quick, other], [other, slow], [], rules).verdict == "contradicted"


def test_nearer_is_a_distance_in_decades():
    sides = {ns: Side([Boot.of(np.full(3000, ns))] * BOOTS) for ns in (100.0, 150.0, 5000.0)}
    part = RulePart(says="made up", of=SIDE, to=SIDE, than=SIDE)
    rules = replication().statistics
    one, near, far = sides.values()
    assert decide(part, [one], [near], [far], rules).verdict == "confirmed"
    assert decide(part, [one], [far], [near], rules).verdict == "contradicted"


def test_random_mixtures_keep_what_must_hold():
    """Mirror, cut in half, boots copied, one boot more: a verdict never turns round."""
    for number in range(20):
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
