"""Ticks in nanoseconds; times in words: three digits, and the unit that fits."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tennis.kit.units import format_count, format_ns, format_round_ns, format_us, ticks_to_ns

SIZES = {"ns": 1, "µs": 1_000, "ms": 1_000_000, "s": 1_000_000_000}


@pytest.mark.parametrize(
    ("ns", "words"),
    [
        (None, "-"),
        (0, "0 ns"),
        (999, "999 ns"),
        (8.3333, "8.33 ns"),
        (999.6, "1.00 µs"),
        (1_000, "1.00 µs"),
        (9_996, "10.0 µs"),
        (999_499, "999 µs"),
        (999_500, "1.00 ms"),
        (999_999_999, "1.00 s"),
        (1_234_567_890_123, "1235 s"),
        (-999_700, "-1.00 ms"),
    ],
)
def test_format_ns(ns, words):
    assert format_ns(ns) == words


@given(st.one_of(st.integers(-(10**15), 10**15), st.floats(0.01, 1e15)))
def test_every_time_in_three_digits(ns):
    number, unit = format_ns(ns).split()
    assert float(number) * SIZES[unit] == pytest.approx(ns, rel=0.0051, abs=0.006)
    assert "e" not in number
    if unit != "s":
        assert abs(float(number)) < 1000
    if not (unit == "ns" and ns == int(ns)) and abs(float(number)) < 1000 and abs(ns) >= 1:
        assert sum(map(str.isdigit, number)) == 3
    short, same = format_round_ns(ns).split()
    assert (float(short), same) == (float(number), unit)
    assert not short.endswith(".0")


@pytest.mark.parametrize(
    ("us", "words"),
    [(None, "-"), (51, "51 µs"), (653, "653 µs"), (17_194, "17.2 ms"), (1_000, "1.00 ms")],
)
def test_published_figures(us, words):
    assert format_us(us) == words


def test_counts():
    assert [format_count(n, "ball") for n in (0, 1, 2)] == ["0 balls", "1 ball", "2 balls"]
    assert [format_count(n, "miss", "misses") for n in (1, 2)] == ["1 miss", "2 misses"]


@given(
    st.sampled_from([1_000_000_000, 150_000_000, 133_333_333, 125_000_000, 24_000_001]),
    st.integers(0, 10**15),
)
def test_ticks_of_any_clock_and_any_length(tick_hz, ticks):
    """Eleven days at a clock whose period is no whole number of ns: arrays have 64 bits."""
    exact = Fraction(ticks * 1_000_000_000, tick_hz)
    assert abs(ticks_to_ns(ticks, tick_hz) - exact) <= Fraction(1, 2)
    assert ticks_to_ns(np.array([ticks]), tick_hz).tolist() == [ticks_to_ns(ticks, tick_hz)]
