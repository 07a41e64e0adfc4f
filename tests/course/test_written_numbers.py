"""Numbers are read as people write them; what may be two numbers is refused, never guessed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tennis.course.written_numbers import AmbiguousNumberError, NumberError, read_number


@pytest.mark.parametrize(
    "text",
    [
        *("7740", "7,740", "7 740", "7\u00a0740", "7\u202f740", "7'740", "7\u2019740", "7_740"),
        *("7740 ns", "7740ns", "7,740 ns", " +7740 ns ", "7740 NS", "7740.", "7740.0 ns"),
        *("7.74 µs", "7.74 μs", "7.74 us", "7,74 µs", "7.740 µs", "0.00774 ms", "0,007740 ms"),
        *("7.74e3", "77.4e2 ns", "7.74 x 10^3", "7.74·10^3 ns", "7740 nanoseconds"),
    ],
)
def test_one_number_in_many_hands(text):
    assert read_number(text, "ns", whole=True) == 7740


@pytest.mark.parametrize(
    ("text", "unit", "value"),
    [
        ("54.25", "ns", 54.25),
        ("54,25 ns", "ns", 54.25),
        ("54.253", "ns", 54.253),
        ("0,740", "%", 0.74),
        (".5", "%", 0.5),
        ("2,79 %", "%", 2.79),
        ("2.79 percent", "%", 2.79),
        ("-430", "ns", -430),
        ("\u2212430 ns", "ns", -430),
        ("1,234.5", "ns", 1234.5),
        ("1.234,5", "ns", 1234.5),
        ("1 234,56", "ns", 1234.56),
        ("3,000,000", "balls", 3_000_000),
        ("3.000.000 balls", "balls", 3_000_000),
        ("1 ball", "balls", 1),
        ("2 950 000 balls", "balls", 2_950_000),
        ("71.444 kHz", "Hz", 71_444),
        ("337x", "times", 337),
        ("337 times", "times", 337),
        ("337-fold", "times", 337),
        ("7090 ns", "µs", 7.09),
        ("26,6", "times", 26.6),
    ],
)
def test_what_can_mean_one_thing_only(text, unit, value):
    assert read_number(text, unit) == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize(
    ("text", "unit", "whole"),
    [
        ("54,253", "ns", False),  # 54253, or a decimal comma
        ("2,786 %", "%", False),
        ("7,740 µs", "ns", True),  # 7.74 µs, or 7.74 ms
        ("7.740", "ns", True),  # German thousands, or µs without their unit
        ("9.000 ns", "ns", True),
        ("-1,420", "ns", False),
        ("1,420e3", "ns", False),
    ],
)
def test_what_may_be_two_numbers_is_refused(text, unit, whole):
    with pytest.raises(AmbiguousNumberError, match=r"may be \d+ or \d+\.\d+: write one of these"):
        read_number(text, unit, whole=whole)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("bla", "is not a number"),
        ("", "is not a number"),
        ("about 7740", "is not a number"),
        ("7740 to 7800", "is not a number"),
        ("7740 or 7800", "is not a number"),
        ("1/3", "is not a number"),
        ("nan", "is not a number"),
        ("inf", "is not a number"),
        ("1e99", "is out of range"),
        ("7" * 80, "is not a number"),
        ("٧٧٤٠", "is not a number"),
        ("3·10⁶", "is not a number"),  # a power that is not 106
        ("1,23,456", "separators do not fit"),
        ("1,234,5", "separators do not fit"),
        ("1.234.5", "separators do not fit"),
        ("1,2.3,4", "separators do not fit"),
        ("77 40", "separators do not fit"),
        ("7,740'000", "separators do not fit"),
        ("7740 balls", "'balls' is not a unit here: ns is asked for"),
        ("7740 kHz", "'kHz' is not a unit here"),
        ("7740\x1b[2J", "is not a number"),
    ],
)
def test_what_is_no_number_is_said_in_one_line(text, message):
    with pytest.raises(NumberError) as caught:
        read_number(text, "ns")
    assert message in str(caught.value)
    assert str(caught.value).isprintable()
    assert not isinstance(caught.value, AmbiguousNumberError)


def test_a_whole_number_has_no_decimals():
    with pytest.raises(NumberError, match="not a whole number of balls"):
        read_number("6666.7", "balls", whole=True)


@given(st.integers(0, 10**15), st.sampled_from(",' _"))
def test_groups_of_three_change_nothing(number, separator):
    assert read_number(f"{number:,}".replace(",", separator), "balls", whole=True) == number


@given(st.text(max_size=70))
def test_no_text_does_anything_but_be_refused(text):
    try:
        assert abs(read_number(text, "ns")) < 1e90
    except NumberError as error:
        assert str(error).isprintable()
