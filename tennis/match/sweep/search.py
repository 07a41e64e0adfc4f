"""The next rate, and the rate at which pairing breaks: both depend only on the rallies there.

So an interrupted sweep continues with the rate that was next.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil, log10, sqrt
from typing import Annotated

from pydantic import Field, model_validator

from tennis.rally.manifest import StrictModel

RATE_MIN_HZ, RATE_MAX_HZ = 10, 500_000  # the upper one: a ping of 1 us is half of a period
RATES_MAX = 200

Rate = Annotated[int, Field(ge=RATE_MIN_HZ, le=RATE_MAX_HZ)]


class Range(StrictModel):
    """The range of a sweep, and its resolution; a description is an option's help."""

    from_hz: Annotated[Rate, Field(description="The lowest rate.")] = 1000
    to_hz: Annotated[Rate, Field(description="The highest rate.")] = 200_000
    rates_per_decade: Annotated[
        int,
        Field(ge=1, le=30, description="How many rates to play between a rate and ten times that."),
    ] = 5
    paired_percent: Annotated[
        float,
        Field(
            ge=0.01,
            le=100,
            allow_inf_nan=False,
            description="Pairing has broken at a rate where fewer pings have a reply that can "
            "only be theirs.",
        ),
    ] = 99.0
    resolution_percent: Annotated[
        float,
        Field(
            ge=0.1,
            le=100,
            allow_inf_nan=False,
            description="How narrow to make the interval of rates in which pairing breaks.",
        ),
    ] = 2.0

    @model_validator(mode="after")
    def _upward(self) -> "Range":
        if self.from_hz >= self.to_hz:
            raise ValueError(f"--from-hz {self.from_hz} is not below --to-hz {self.to_hz}")
        return self

    def grid(self) -> list[int]:
        """Return the rates that are played in any case: equal ratios, both ends among them."""
        steps = max(1, ceil(self.rates_per_decade * log10(self.to_hz / self.from_hz) - 1e-9))
        ratio = self.to_hz / self.from_hz
        return sorted({round(self.from_hz * ratio ** (step / steps)) for step in range(steps + 1)})

    def breaking(self, shares: Mapping[int, float]) -> "Breaking":
        """Return where pairing breaks; ``shares``: rate -> share of paired pings."""
        broken = [rate for rate, share in shares.items() if share < self.paired_percent / 100]
        breaks_hz = min(broken, default=None)
        held = [rate for rate in shares if breaks_hz is None or rate < breaks_hz]
        return Breaking(max(held, default=None), breaks_hz)

    def next_rate(self, shares: Mapping[int, float]) -> int | None:
        """Return the next rate: the grid's, then those that narrow the interval; or None."""
        for rate in self.grid():
            if rate not in shares:
                return rate
        found = self.breaking(shares)
        if found.holds_hz is None or found.breaks_hz is None:
            return None
        if found.breaks_hz / found.holds_hz <= 1 + self.resolution_percent / 100:
            return None
        middle = round(sqrt(found.holds_hz * found.breaks_hz))
        return middle if found.holds_hz < middle < found.breaks_hz else None


@dataclass(frozen=True)
class Breaking:
    """Between which two rates pairing breaks; None if the sweep has no such rate."""

    holds_hz: int | None  # the highest rate below the other one
    breaks_hz: int | None  # the lowest rate at which it is broken
