# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Levels and intervals of boots, held against counting by hand and against scipy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from tennis.stats import exceedance
from tennis.stats.exceedance import Boot

SERIES = st.lists(
    st.lists(st.one_of(st.integers(0, 50), st.just(np.inf)), min_size=1, max_size=40),
    min_size=1,
    max_size=5,
)


def boots_of(series):
    return [Boot.of(np.array(values, np.float64)) for values in series]


@given(SERIES, st.sampled_from([0.5, 0.25, 0.1, 0.01, 0.001]), st.integers(0, 2**16))
def test_levels_are_those_of_the_balls_written_out(series, share, seed):
    """Each draw's level: the smallest value that at most the share of its balls is above."""
    boots = boots_of(series)
    weights = exceedance.drawn(boots, seed, draws=7)
    levels = exceedance.return_levels(boots, weights, share)
    for level, row in zip(levels, weights, strict=True):
        balls = [ball for values, times in zip(series, row, strict=True) for ball in values * times]
        candidates = [*sorted({ball for ball in balls if np.isfinite(ball)}), np.inf]
        expected = next(
            value
            for value in candidates
            if sum(ball > value for ball in balls) <= len(balls) * share * (1 + 1e-9)
        )
        assert level == expected


def test_the_level_of_a_thousand_balls_does_not_move_with_n():
    random = np.random.default_rng(1)
    true = stats.pareto(3).ppf(0.999)
    for balls in (20_000, 200_000):
        boots = [Boot.of(random.pareto(3, balls // 10) + 1) for _ in range(10)]
        level = exceedance.return_levels(boots, exceedance.equal_weights(boots), 1 / 1000)[0]
        assert level == pytest.approx(true, rel=0.25)


def test_intervals_hold_the_truth_as_often_as_they_say():
    """Of boots that differ; at least 93 of 100, where plain percentiles hold it 84 times."""
    held = {"expanded": 0, "plain": 0}
    rounds = 300
    for number in range(rounds):
        random = np.random.default_rng(number)
        paces = random.normal(0, 0.2, 6)
        boots = [
            Boot.of(np.round(1e4 * np.exp(pace + random.normal(0, 0.1, 500)))) for pace in paces
        ]
        values = exceedance.return_levels(boots, exceedance.drawn(boots, number, 400), 0.5)
        low, high = exceedance.interval(values, len(boots), 0.95)
        held["expanded"] += low <= 1e4 <= high
        plain = np.percentile(values, [2.5, 97.5])
        held["plain"] += plain[0] <= 1e4 <= plain[1]
    assert held["expanded"] >= 0.92 * rounds > held["plain"]


@pytest.mark.parametrize("boots", [2, 6, 10, 50])
def test_the_expansion_is_hesterbergs(boots):
    """Of draws that are normal, the interval is Student's, with n - 1 in the standard error."""
    ordered = stats.norm.ppf(np.linspace(0.00001, 0.99999, 200_001))
    wide = stats.t.ppf(0.975, boots - 1) * np.sqrt(boots / (boots - 1))
    low, high = exceedance.interval(ordered, boots, 0.95)
    assert high == pytest.approx(min(wide, ordered[-1]), rel=0.01)
    assert low == pytest.approx(-high, rel=0.01)


def test_lost_balls_are_later_than_anything():
    boot = Boot.of(np.array([1.0, np.inf, 3.0, 2.0]))
    assert (boot.balls, boot.lost, boot.largest) == (4, 1, np.inf)
    ones = exceedance.equal_weights([boot])
    assert exceedance.return_levels([boot], ones, 0.25)[0] == 3
    assert exceedance.return_levels([boot], ones, 0.2)[0] == np.inf
    assert exceedance.exceedances([boot], 2.0) == 2
    every = [Boot.of(np.full(5, np.inf))]
    assert exceedance.return_levels(every, exceedance.equal_weights(every), 0.5)[0] == np.inf


def test_quartile_distances():
    latencies = np.random.default_rng(3).integers(1000, 9000, 4001).astype(np.float64)
    boots = [Boot.of(latencies)]
    q1, q3 = np.quantile(latencies, [0.25, 0.75], method="inverted_cdf")
    assert exceedance.quartile_distances(boots, exceedance.equal_weights(boots))[0] == q3 - q1


def test_bursts_are_told_apart_by_the_balls_between_them():
    latencies = np.full(1000, 10.0)
    for ball in (100, 101, 105, 300, 321, 900):
        latencies[ball] = 50.0 + ball
    latencies[322] = np.inf
    boot = Boot.of(latencies)
    assert boot.bursts(10.0) == 4  # 105 and 300; 300 and 321; 322 and 900
    assert boot.bursts(360.0) == 2  # 322, which is lost, and 900
    assert boot.bursts(10_000.0) == 1
    assert Boot.of(np.full(10, 1.0)).bursts(1.0) == 0


def test_the_same_boots_are_drawn_again():
    boots = boots_of([[1, 2], [3, 4], [5, 6]])
    assert (exceedance.drawn(boots, 5) == exceedance.drawn(boots, 5)).all()
    assert (exceedance.drawn(boots, 5).sum(axis=1) == 3).all()
    assert (exceedance.drawn(boots, 5) != exceedance.drawn(boots, 6)).any()


def test_moments_and_medians_are_those_of_all_balls():
    random = np.random.default_rng(7)
    parts = [4_000_000 + random.integers(-90, 90, size).astype(float) for size in (300, 500, 7)]
    boots = [Boot.of(part) for part in parts]
    weights = np.array([[1, 1, 1], [2, 0, 1]])
    together = [np.concatenate(parts), np.concatenate([parts[0], parts[0], parts[2]])]
    for name, expected in (
        ("mean", [np.mean(one) for one in together]),
        ("standard deviation", [np.std(one, ddof=1) for one in together]),
    ):
        assert exceedance.STATISTICS[name](boots, weights) == pytest.approx(expected, rel=1e-9)
    # the smallest value that at most half of them exceed
    assert exceedance.medians(boots, weights)[0] == np.sort(together[0])[(807 + 1) // 2 - 1]


def test_a_boot_that_lost_a_ball_has_no_mean():
    boots = [Boot.of(np.array([1.0, 2.0])), Boot.of(np.array([1.0, np.inf]))]
    weights = np.array([[1, 1]])
    for name in ("mean", "standard deviation"):
        assert np.isnan(exceedance.STATISTICS[name](boots, weights)).all()
