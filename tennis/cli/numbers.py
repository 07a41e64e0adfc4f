# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Numbers on a command line: checked against limits that people can read."""

import click


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


def _range(low: float | None, high: float | None) -> str:
    """Write limits: ``1 to 1,000``."""
    if high is None:
        return f"from {_text(low)}"
    return f"up to {_text(high)}" if low is None else f"{_text(low)} to {_text(high)}"


def _text(limit: float | None) -> str:
    assert limit is not None  # noqa: S101
    return f"{int(limit):,}" if float(limit).is_integer() else f"{limit:g}"
