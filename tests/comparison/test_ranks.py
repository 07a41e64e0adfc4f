# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Intervals of medians and of ratios, held against counting all orders and against scipy."""

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, mannwhitneyu

from tennis.comparison import levels, ratios
from tennis.comparison.boots import Boot, levels_without_each
from tennis.comparison.ranks import rank, rank_of_pairs
from tennis.comparison.ratios import TAIL, Ratio
from tennis.comparison.sides import Side, compared


@pytest.mark.parametrize("boots", [1, 6, 7, 10, 11, 40])
def test_the_rank_of_a_median_is_that_of_tossed_coins(boots):
    found = rank(boots, TAIL)
    assert binom.cdf(found - 1, boots, 0.5) <= TAIL
    assert found == boots // 2 or binom.cdf(found, boots, 0.5) > TAIL


@pytest.mark.parametrize(("of", "to"), [(4, 5), (7, 7), (5, 9)])
def test_the_rank_of_pairs_is_that_of_all_orders(of, to):
    """Of all ways in which two alike sides may be ordered, few leave the truth out."""
    end = rank_of_pairs(of, to, 0.05)
    orders = list(combinations(range(of + to), of))
    below = 0
    for places in orders:
        others = [place for place in range(of + to) if place not in places]
        below += sum(one < other for one, other in product(places, others)) < end
    assert below <= 0.05 * len(orders)


def test_the_rank_of_pairs_is_scipys():
    one, other = np.arange(10.0), np.arange(10.0) + 0.5
    for shift in range(1, 8):
        u, p = mannwhitneyu(one, other + shift, alternative="less", method="exact")
        inside = u >= rank_of_pairs(10, 10, TAIL)
        assert inside or p <= TAIL


def test_a_side_without_variance_is_a_sign_test():
    """Mann and Whitney alone would be wrong in 5.5 %."""
    random = np.random.default_rng(1)
    wrong = 0
    for _ in range(2000):
        found = ratios.ratio(list(np.exp(random.normal(0, 1, 10))), [1.0] * 10)
        wrong += not found.low <= 1 <= found.high
    assert wrong <= 0.025 * 2000


def test_seven_boots_are_needed():
    assert ratios.boots_needed(paired=True) == ratios.boots_needed(paired=False) == 7
    assert not ratios.ratio([1.0] * 6, [1.0] * 6).bounded
    assert ratios.ratio([1.0] * 7, [1.0] * 7).relation() == "equivalent"


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [
        (1.2, 3.0, "greater"),
        (0.2, 0.9, "less"),
        (0.95, 1.05, "equivalent"),
        (1.001, 1.002, "equivalent"),
        (1.05, 1.2, "undecided"),
        (np.nan, np.nan, "undecided"),
        (1.2, np.inf, "greater"),
    ],
)
def test_relations(low, high, said):
    assert Ratio(1.0, low, high, paired=False).relation() == said
    assert Ratio(1.03, 1.03, 1.03, paired=True).relation(0.01) == "greater"  # a smaller margin


SERIES = st.lists(st.integers(1, 50), min_size=3, max_size=60)


@given(SERIES)
def test_a_level_lies_between_the_balls_around_it(latencies):
    boot = Boot.of(np.array(latencies, np.float64))
    ordered = sorted(latencies, reverse=True)
    place = int(max(1, (len(latencies) + 1 / 3) / 3 + 1 / 3))
    level = levels.level(boot, 3)
    assert ordered[min(place, len(ordered) - 1)] - 1e-9 <= level <= ordered[place - 1] + 1e-9


def test_half_of_all_boots_have_a_higher_level_whatever_their_length():
    """The level does not move with N, as the latest ball does."""
    random = np.random.default_rng(3)
    true = 1000 ** (1 / 1.5)
    for balls in (3_000, 12_000):
        above = [
            levels.level(Boot.of(random.pareto(1.5, balls) + 1), 1000) > true for _ in range(600)
        ]
        assert np.mean(above) == pytest.approx(0.5, abs=0.05)


def test_a_level_between_two_kinds_of_balls_is_one_of_them():
    late = np.full(3500, 1000.0)
    late[:3] = 900_000
    assert levels.level(Boot.of(late), 1000) in {1000, 900_000}


def test_lost_balls_are_later_than_all():
    boot = Boot.of(np.array([1.0, np.inf, 3.0, 2.0] * 1000))
    assert (boot.balls, boot.lost, boot.largest, boot.latest) == (4000, 1000, np.inf, 1)
    assert levels.level(boot, 100) == np.inf
    assert 2.0 <= levels.median(boot) <= 3.0


def test_the_median_is_numpys():
    latencies = np.random.default_rng(3).integers(1000, 9000, 4001).astype(np.float64)
    assert levels.median(Boot.of(latencies)) == pytest.approx(np.median(latencies), rel=1e-3)


@given(st.lists(SERIES, min_size=2, max_size=5), st.sampled_from([0.5, 0.1, 0.01]))
def test_levels_without_a_boot_are_those_of_the_balls_written_out(series, share):
    boots = [Boot.of(np.array(one, np.float64)) for one in series]
    for number, level in enumerate(levels_without_each(boots, share)):
        balls = [ball for other, one in enumerate(series) if other != number for ball in one]
        candidates = sorted({ball for one in series for ball in one})
        expected = next(
            value
            for value in candidates
            if sum(ball > value for ball in balls) <= len(balls) * share * (1 + 1e-9)
        )
        assert level == expected


def test_boots_of_one_seed_are_pairs():
    """What both boots of a seed share falls out."""
    random = np.random.default_rng(5)
    paces = np.exp(random.normal(0, 1, 10))
    one, other = (
        [Boot.of(pace * times * (1 + 0.01 * random.random(3000))) for pace in paces]
        for times in (1.3, 1.0)
    )
    seeds = range(10)
    assert compared(Side(one, seeds), Side(other, seeds), 1000).relation() == "greater"
    assert compared(Side(one), Side(other), 1000).relation() == "undecided"
    # the same pairs in another order
    shuffled = Side(other[::-1], list(seeds)[::-1])
    assert compared(Side(one, seeds), shuffled, 1000) == compared(
        Side(one, seeds), Side(other, seeds), 1000
    )


def test_odd_boots_are_named():
    boots = [Boot.of(np.full(3000, 1000.0 + number)) for number in range(9)]
    assert Side(boots).odd(1000) == []
    assert Side([*boots, Boot.of(np.full(3000, 90_000.0))]).odd(1000) == [9]
    assert Side([*boots[:8], *[Boot.of(np.full(3000, 90_000.0))] * 2]).odd(1000) == [8, 9]
