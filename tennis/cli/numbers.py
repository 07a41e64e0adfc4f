"""Numbers and times on a command line: checked, with errors that people can read."""

import re
from decimal import Decimal

import click

from tennis.kit.errors import UsageError
from tennis.rally.text import plain


class Whole(click.IntRange):
    """A whole number between limits."""

    name = "whole number"

    def _describe_range(self) -> str:
        return _range(self.min, self.max)


class Real(click.FloatRange):
    """A number between limits."""

    name = "number"

    def _describe_range(self) -> str:
        return _range(self.min, self.max)


def time_ns(option: str, text: str) -> int:
    """Read the time of an option as people write it: 100us, 1.5 ms. Raises UsageError."""
    match = re.fullmatch(r"([0-9]{1,9}(?:\.[0-9]{1,9})?) ?(ns|us|µs|ms|s)", text)
    if not match:
        raise UsageError(f"{option} {plain(text, 40)}", next_step="say 100us, 1.5ms or 1s")
    per = {"ns": 1, "us": 1_000, "µs": 1_000, "ms": 1_000_000, "s": 1_000_000_000}
    return int(Decimal(match[1]) * per[match[2]])


def _range(low: float | None, high: float | None) -> str:
    """Write limits: ``1 to 1,000``."""
    if high is None:
        return f"from {_text(low)}"
    return f"up to {_text(high)}" if low is None else f"{_text(low)} to {_text(high)}"


def _text(limit: float | None) -> str:
    assert limit is not None  # noqa: S101
    return f"{int(limit):,}" if float(limit).is_integer() else f"{limit:g}"
