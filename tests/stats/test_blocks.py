# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Blocks of balls: their statistics, their intervals, and when they are not independent."""

from fractions import Fraction

import numpy as np
import pytest

from tennis.stats import blocks
from tests.support.synthetic import make_rally

SURE = Fraction(95, 100)


@pytest.mark.parametrize(
    ("balls", "size"),
    [(0, 1), (1, 1), (3, 2), (9, 5), (10, 10), (499, 200), (500, 500), (1999, 1000)],
)
def test_sizes_are_round(balls, size):
    assert blocks.round_size(balls) == size


@pytest.mark.parametrize(
    ("balls", "size"),
    [(2000, 100), (20_000, 1000), (100_000, 2000), (500_000, 5000), (10_000_000, 20_000)],
)
def test_longer_rallies_have_more_and_longer_blocks(balls, size):
    assert blocks.size_for(balls, 20, 50) == size


def test_blocks_are_cut_across_batches_and_the_rest_is_left_out():
    values = np.arange(107.0)
    whole = blocks.block_values([values], 10, blocks.worst)
    cut = blocks.block_values(np.array_split(values, 23), 10, blocks.worst)
    assert whole.tolist() == cut.tolist() == [9.0 + 10 * k for k in range(10)]
    assert blocks.block_values([values[:9]], 10, blocks.worst).size == 0


def test_a_rally_as_a_series_has_its_misses(tmp_path):
    rally = make_rally(
        tmp_path / "r", rise=[10, 20, 30], schedule=[1, 2, 3], misses=1, tick_hz=500_000_000
    )
    interrupt = np.concatenate(list(blocks.series(rally, "interrupt")))
    scheduling = np.concatenate(list(blocks.series(rally, "scheduling")))
    assert interrupt.tolist() == [np.inf, 40, 60]
    assert scheduling.tolist() == [np.inf, 4, 6]


def test_statistics_of_blocks():
    table = np.array([[1.0, 2, 3, 4], [5, 5, 5, 5], [1, 2, 3, np.inf], [1, 2, np.inf, np.inf]])
    assert blocks.worst(table).tolist() == [4, 5, np.inf, np.inf]
    # quartiles are observed values: the 1st and the 3rd of four
    assert blocks.quartile_distance(table).tolist() == [2, 0, 2, np.inf]
    assert blocks.concentration(table).tolist() == [2 / 3, 0, np.inf, np.inf]


def test_the_interval_of_the_median_covers_as_often_as_it_says():
    random = np.random.default_rng(1)
    hits = 0
    for _ in range(2000):
        found = blocks.median(random.exponential(size=20), SURE)
        assert found is not None
        assert found.low <= found.value <= found.high
        hits += found.low <= np.log(2) <= found.high
    assert 0.95 <= hits / 2000 <= 0.985  # order statistics are discrete: 95.9 % for 20


def test_too_few_blocks_have_no_interval():
    assert blocks.median(np.arange(5.0), SURE) is None
    assert blocks.median(np.arange(6.0), SURE) == (2.0, 0.0, 5.0)
    assert blocks.median(np.arange(6.0), Fraction(99, 100)) is None


def test_neighbours_that_are_alike_are_noticed():
    random = np.random.default_rng(2)
    independent = sum(blocks.alike(random.exponential(size=20)) for _ in range(2000)) / 2000
    assert independent < 0.02
    walk = [blocks.alike(np.cumsum(random.normal(size=40))) for _ in range(200)]
    assert np.mean(walk) > 0.95
    assert not blocks.alike(np.full(20, 3.0))
    assert not blocks.alike(np.arange(3.0))


def test_bursts_widen_the_interval_and_single_balls_would_not():
    """Late balls in bursts of 50: the block's interval covers, that of single balls does not."""
    random = np.random.default_rng(3)
    covered = 0
    for _ in range(400):
        bad = np.repeat(random.random(400) < 0.02, 50)  # 20,000 balls, 2 % of them late
        values = np.where(bad, random.exponential(100, bad.size) + 100, 1.0)
        found = blocks.median(blocks.block_values([values], 1000, blocks.worst), SURE)
        assert found is not None
        # the true median of the worst of 1000, from 2,000 blocks
        covered += found.low <= TRUE_MEDIAN <= found.high
    assert covered / 400 > 0.93


def _true_median() -> float:
    random = np.random.default_rng(4)
    bad = np.repeat(random.random(20 * 5000) < 0.02, 50).reshape(5000, 1000)
    values = np.where(bad, random.exponential(100, bad.shape) + 100, 1.0)
    return float(np.median(values.max(axis=1)))


TRUE_MEDIAN = _true_median()


def test_how_often_one_is_larger():
    assert blocks.larger_share(np.array([2.0, 3.0]), np.array([1.0])) == 1
    assert blocks.larger_share(np.array([1.0, 1.0]), np.array([1.0])) == 0.5
    assert blocks.larger_share(np.array([0.0, 2.0]), np.array([1.0, np.inf])) == 0.25
