"""Numbers as people write them: ``7,740``, ``7740 ns``, ``7.74 µs``, ``7 740``, ``7,74``.

A point is the decimal sign, as in the book and in TOML. A comma before exactly three digits is a
thousands separator in one country and the decimal sign in another: if both are possible, the number
is refused, never guessed.
"""

import re
from decimal import Decimal

from tennis.kit.units import NS_PER_MS, NS_PER_S, NS_PER_US
from tennis.rally.text import plain

TEXT_MAX = 60  # characters
EXPONENT_MAX = 18
_FACTORS: tuple[dict[str, int], ...] = (  # units that can be converted into each other
    {
        **dict.fromkeys(("ns", "nanosecond", "nanoseconds"), 1),
        # the micro sign, as casefold() leaves it
        **dict.fromkeys(("\u03bcs", "us", "microsecond", "microseconds"), NS_PER_US),
        **dict.fromkeys(("ms", "millisecond", "milliseconds"), NS_PER_MS),
        **dict.fromkeys(("s", "second", "seconds"), NS_PER_S),
    },
    {"hz": 1, "khz": 1000, "mhz": 1_000_000},
    dict.fromkeys(("%", "percent", "per cent"), 1),
    dict.fromkeys(("times", "x", "fold", "-fold"), 1),
)
_SPACES = dict.fromkeys("\u00a0\u2007\u2009\u202f\t\n", " ")  # as word processors group digits
_ALIKE = str.maketrans({**_SPACES, "\u2212": "-", "\u00d7": "x", "\u2019": "'"})
_WRITTEN = re.compile(
    r"(?P<sign>[+-]?)(?P<digits>[0-9.,](?:[0-9.,'_ ]*[0-9])?)"
    r"(?:[eE](?P<e>[+-]?[0-9]{1,2})|\s?[x*·]\s?10\^(?P<ten>[+-]?[0-9]{1,2}))?"
    r"\s*(?P<unit>[^\W\d_][^\d,.]*|%|-fold)?"
)
_ONE_SEPARATOR = re.compile(r"(?=.*[0-9])([0-9]*)([.,])([0-9]*)")
_ONE_GROUP = re.compile(r"[1-9][0-9]{0,2}[.,][0-9]{3}")
_GROUPS = re.compile(
    r"(?P<groups>[0-9]+|[1-9][0-9]{0,2}(?P<separator>[,.'_ ])[0-9]{3}(?:(?P=separator)[0-9]{3})*)"
    r"(?:(?P<point>[.,])(?P<decimals>[0-9]+))?"
)


class NumberError(ValueError):
    """A text is no number that can be taken; the message is for its author."""


class AmbiguousNumberError(NumberError):
    """A text is one of two numbers, and nobody can tell which."""


def read_number(text: str, unit: str, *, whole: bool = False) -> float:
    """Return a number that somebody wrote, in ``unit``; other units of its kind are converted.

    ``whole``: it must be a whole number of that unit, so that ``7,740`` has no decimal comma.
    Raises NumberError, AmbiguousNumberError.
    """
    written = " ".join(text.translate(_ALIKE).split()).rstrip(".")
    shown = repr(plain(text, 30))
    found = _WRITTEN.fullmatch(written) if len(written) <= TEXT_MAX else None
    if found is None:
        raise NumberError(f"{shown} is not a number: write one as in 7740 or 7.74, and its unit")
    factor = _factor((found["unit"] or "").strip(), unit, shown)
    # in another unit a whole number has decimals: 7.74 µs
    value = _decimal(found["digits"], shown, whole=whole and factor == 1)
    exponent = int(found["e"] or found["ten"] or 0)
    if abs(exponent) > EXPONENT_MAX:
        raise NumberError(f"{shown} is out of range")
    value = value.scaleb(exponent) * factor * (-1 if found["sign"] == "-" else 1)
    if whole and value != value.to_integral_value():
        raise NumberError(f"{shown} is not a whole number of {unit}")
    return float(value)


def _factor(written: str, unit: str, shown: str) -> Decimal:
    """Return by what a number is multiplied that has another unit. Raises NumberError."""
    name, asked = written.casefold(), unit.casefold()
    if name in {"", asked} or asked in {f"{name}s", f"{name}es"}:
        return Decimal(1)
    for factors in _FACTORS:
        if name in factors and asked in factors:
            return Decimal(factors[name]) / Decimal(factors[asked])
    raise NumberError(f"{shown}: {plain(written, 20)!r} is not a unit here: {unit} is asked for")


def _decimal(digits: str, shown: str, *, whole: bool) -> Decimal:
    """Return the number before exponent and unit. Raises NumberError, AmbiguousNumberError."""
    if found := _ONE_SEPARATOR.fullmatch(digits):
        before, sign, after = found.groups()
        # a point is the decimal sign, but no whole number has decimals
        if _ONE_GROUP.fullmatch(digits) and (sign == "," or whole):
            if sign == "," and whole:
                return Decimal(before + after)
            raise AmbiguousNumberError(
                f"{shown} may be {before}{after} or {before}.{after}: write one of these"
            )
        return Decimal(f"{before or 0}.{after or 0}")
    found = _GROUPS.fullmatch(digits)
    if found is None or (found["separator"] and found["point"] == found["separator"]):
        raise NumberError(f"{shown} is not a number: its separators do not fit together")
    return Decimal(f"{re.sub('[^0-9]', '', found['groups'])}.{found['decimals'] or 0}")
