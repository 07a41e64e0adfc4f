"""Quantiles and sums against SciPy's, over all that comparisons and statistics ask."""

from fractions import Fraction

import numpy as np
import pytest
from scipy import special

from tennis.kit.special_functions import beta_odds, binomial_at_most, poisson_most, student_quantile

RANDOM = np.random.default_rng(70)
COUNTS = np.concatenate([np.arange(200), np.rint(10 ** RANDOM.uniform(0, 7, 1000))])
TAILS = 10 ** RANDOM.uniform(-9, np.log10(0.5), COUNTS.size)


def test_both_ends_of_a_share():
    """One count of another, up to ten million balls; also parts of balls."""
    for of in (RANDOM.permutation(COUNTS) + 1, 10 ** RANDOM.uniform(0, 7, COUNTS.size)):
        count = np.maximum(COUNTS, 0.05)
        low, high = beta_odds(count, of, TAILS), beta_odds(of, count, TAILS)
        expected = special.betaincinv(count, of, TAILS)
        assert low / (1 + low) == pytest.approx(expected, rel=1e-10, abs=1e-300)
        expected = special.betaincinv(of, count, TAILS)
        assert high / (1 + high) == pytest.approx(expected, rel=1e-10)
    larger = special.betaincinv(3, 5, [0.5, 0.9])
    assert beta_odds(3, 5, [0.5, 0.9]) == pytest.approx(larger / (1 - larger), rel=1e-12)


def test_students_and_poissons():
    degrees = np.maximum(RANDOM.permutation(COUNTS), 1) * RANDOM.choice([1, 1.37], COUNTS.size)
    expected = -special.stdtrit(degrees, TAILS)
    assert student_quantile(degrees, TAILS) == pytest.approx(expected, rel=1e-10)
    assert np.isnan(student_quantile([np.nan, 0], 0.05)).all()
    expected = special.chdtri(2 * (COUNTS + 1), TAILS) / 2
    assert poisson_most(COUNTS, TAILS) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("n", [1, 2, 39, 1000, 60_000, 10**7, 10**8])
@pytest.mark.parametrize("p", [Fraction(1, 4), Fraction(1, 2), 1 - Fraction(1, 10**5)])
def test_sums_of_a_binomial(n, p):
    spread = float(n * p * (1 - p)) ** 0.5
    near = np.clip(np.rint(float(n * p) + spread * np.linspace(-6, 6, 101)), 0, n - 1)
    # bdtr would be 7 % off at 47 million
    expected = special.betainc(n - near, near + 1, float(1 - p))
    # p is rounded: so many balls make that larger
    assert binomial_at_most(near, n, float(p)) == pytest.approx(expected, rel=1e-9, abs=1e-15)
