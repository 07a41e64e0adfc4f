"""Which rate comes next: for targets whose breaking is known."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tennis.match.sweep.search import RATES_MAX, Range


def played(asked: Range, share) -> dict[int, float]:
    shares: dict[int, float] = {}
    while (rate := asked.next_rate(shares)) is not None:
        assert rate not in shares
        shares[rate] = share(rate)
        assert len(shares) <= RATES_MAX
    return shares


@given(breaks=st.integers(1001, 199_999))
def test_a_known_breaking_is_found(breaks):
    asked = Range()
    found = asked.breaking(played(asked, lambda rate: float(rate < breaks)))
    assert found.holds_hz < breaks <= found.breaks_hz
    assert found.breaks_hz / found.holds_hz <= 1.02 or found.breaks_hz == found.holds_hz + 1


def test_what_holds_everywhere_or_nowhere():
    asked = Range()
    assert asked.breaking(played(asked, lambda _: 1.0)) == asked.breaking({200_000: 1.0})
    nowhere = asked.breaking(played(asked, lambda _: 0.5))
    assert (nowhere.holds_hz, nowhere.breaks_hz) == (None, 1000)


def test_the_lowest_breaking_counts_where_there_are_several():
    """A load with a rhythm of its own may disturb one rate and not the next."""
    asked = Range()
    shares = played(asked, lambda rate: 0.5 if 9_000 < rate < 10_000 or rate > 80_000 else 1.0)
    found = asked.breaking(shares)
    assert found.breaks_hz <= 9_200
    assert found.holds_hz <= 9_000


def test_the_grid():
    assert Range(from_hz=10, to_hz=1000, rates_per_decade=1).grid() == [10, 100, 1000]
    assert Range(from_hz=1000, to_hz=1001, rates_per_decade=5).grid() == [1000, 1001]
    assert len(Range(from_hz=10, to_hz=500_000, rates_per_decade=30).grid()) < RATES_MAX


@pytest.mark.parametrize("share", [0.98999, 0.99, 1.0])
def test_the_limit_itself_holds(share):
    asked = Range()
    assert (asked.breaking({1000: share}).breaks_hz is None) == (share >= 0.99)
