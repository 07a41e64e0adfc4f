"""Options of serving: names, units, limits, defaults and help in one place.

The options of `tennis rally` and the keys of a match's plan are made from it.
"""

from typing import Annotated, Literal

from pydantic import Field

from tennis.kit.errors import UsageError
from tennis.rally.manifest import Protocol, StrictModel
from tennis.rally.shots import SHOTS

BALLS_MAX = 10**8  # also the Brickwall's limit, and a rally folder's
RATE_HZ, GAP_MIN_US, GAP_MAX_US = 1000.0, 500.0, 1500.0  # if nobody asks for others

Balls = Annotated[int, Field(ge=1, le=BALLS_MAX)]
Settle = Annotated[float, Field(ge=0, le=3600, allow_inf_nan=False)]
_Gap = Annotated[float, Field(ge=10, le=1e9, allow_inf_nan=False)]

# a protocol's fields in words; the others are written together with its loop
IN_WORDS = {
    "balls": ("balls", "{:,}"),
    "pulse_ns": ("pulse", "{} ns"),
    "timeout_ns": ("timeout", "{} ns"),
    "settle_ns": ("settling", "{} ns"),
}


class Serving(StrictModel):
    """The choices for the balls of a rally; a description is an option's help."""

    balls: Annotated[Balls, Field(description="How many balls to play.")] = 5000
    seed: Annotated[
        int,
        Field(
            ge=0,
            lt=2**32,
            description="The same seed gives the same random gaps (of a closed loop); on the "
            "virtual bench, also the same boot and the same bytes.",
        ),
    ] = 1
    loop: Annotated[
        Literal["closed", "open"],
        Field(
            description="closed: a random gap after each reply. open: a fixed rate, whatever the "
            "target does; an answer later than one period is a miss."
        ),
    ] = "closed"
    rate_hz: Annotated[
        Annotated[float, Field(ge=0.1, le=1e6, allow_inf_nan=False)] | None,
        Field(description=f"Balls a second in an open loop. [default: {RATE_HZ:g}]"),
    ] = None
    gap_min_us: Annotated[
        _Gap | None,
        Field(
            description="The shortest gap between a reply and the next ball. "
            f"[default: {GAP_MIN_US:g}]"
        ),
    ] = None
    gap_max_us: Annotated[
        _Gap | None, Field(description=f"The longest gap. [default: {GAP_MAX_US:g}]")
    ] = None
    pulse_us: Annotated[
        float, Field(ge=0.1, le=1e5, allow_inf_nan=False, description="How long the ping stays up.")
    ] = 1
    timeout_ms: Annotated[
        float,
        Field(
            ge=0.01,
            le=30_000,
            allow_inf_nan=False,
            description="A ball without a complete reply after this time is a miss.",
        ),
    ] = 200
    settle_s: Annotated[
        Settle,
        Field(description="How long the target rests between being ready and the first ball."),
    ] = 1

    def protocol(self, shots: int | None = None) -> Protocol:
        """Return the instrument's protocol. Raises UsageError for contradictory values.

        ``shots``: the number of instants, in place of balls that follow each other.
        """
        if shots is not None:
            return self._shots(shots)
        gap_min_us, gap_max_us = self._gaps()
        rate_hz, timeout_ms, shortest_us = None, self.timeout_ms, gap_min_us
        if self.loop == "open":
            rate_hz = RATE_HZ if self.rate_hz is None else self.rate_hz
            shortest_us = 1e6 / rate_hz
            # the next ball does not wait: an answer later than that would be taken for its answer
            timeout_ms = min(timeout_ms, shortest_us / 1000)
        if self.pulse_us > shortest_us / 2:
            or_else = f", or --gap-min-us {2 * self.pulse_us:g}" if self.loop == "closed" else ""
            raise UsageError(
                f"a ping of {self.pulse_us:g} µs is too long for balls {shortest_us:g} µs apart",
                next_step=f"use --pulse-us {shortest_us / 2:g} or less{or_else}",
            )
        return Protocol(
            loop=self.loop,
            balls=self.balls,
            seed=self.seed,
            gap_min_ns=round(gap_min_us * 1000),
            gap_max_ns=round(gap_max_us * 1000),
            rate_hz=rate_hz,
            pulse_ns=round(self.pulse_us * 1000),
            timeout_ns=round(timeout_ms * 1_000_000),
            settle_ns=round(self.settle_s * 1_000_000_000),
        )

    def _shots(self, shots: int) -> Protocol:
        if "balls" in self.model_fields_set:
            raise UsageError(
                "--balls and --shots are two kinds of rally", next_step="use one of them"
            )
        if self.loop == "open" or self.rate_hz is not None:
            raise UsageError(
                "--shots are no balls of an open loop", next_step="leave --loop and --rate-hz out"
            )
        served = self.model_copy(update={"balls": shots}).protocol()
        return served.model_copy(update={"loop": SHOTS})

    def _gaps(self) -> tuple[float, float]:
        """Return the shortest and the longest gap in us; an open loop has none."""
        if self.loop == "open":
            if self.gap_min_us is not None or self.gap_max_us is not None:
                raise UsageError("--gap-min-us and --gap-max-us need --loop closed")
            return 0, 0
        if self.rate_hz is not None:
            raise UsageError("--rate-hz needs --loop open")
        low = GAP_MIN_US if self.gap_min_us is None else self.gap_min_us
        high = GAP_MAX_US if self.gap_max_us is None else self.gap_max_us
        if self.gap_max_us is None and high < low:
            raise UsageError(
                f"--gap-min-us {low:g} is above the usual longest gap, {high:g}",
                next_step=f"say --gap-max-us, too ({low:g} for gaps that are all alike)",
            )
        if high < low:
            raise UsageError(f"--gap-max-us {high:g} is below --gap-min-us {low:g}")
        return low, high
