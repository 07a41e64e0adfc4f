"""A simulated logic analyser: its samples, and faults of it or its wires."""

from typing import Annotated

from pydantic import Field

from tennis.rally.manifest import StrictModel

Bias = Annotated[float, Field(ge=-1e6, le=1e6)]


class Analyser(StrictModel):
    """The defaults are a good one; a description is an option's help."""

    rate_hz: int = 24_000_000
    clock_ppm: Annotated[
        float,
        Field(ge=-1000, le=1000, description="The analyser's clock is too fast by this much."),
    ] = 0
    jitter_ns: Annotated[
        float, Field(ge=0, le=1e6, description="Jitter of each edge (standard deviation).")
    ] = 0
    lead_ms: Annotated[
        float,
        Field(
            ge=0,
            le=1e5,
            description="Time from the capture's start to the first ball, and from the last ball "
            "to its end.",
        ),
    ] = 10
    seed: Annotated[int, Field(ge=0, description="The seed of jitter and glitches.")] = 1
    # the Brickwall's errors: its latencies minus the analyser's
    interrupt_bias_ns: Annotated[
        Bias,
        Field(
            description="The Brickwall's interrupt latency is too long by this much, as in table "
            "6.1."
        ),
    ] = 0
    scheduling_bias_ns: Annotated[
        Bias, Field(description="The same for the scheduling latency.")
    ] = 0
    late_ms: Annotated[
        float, Field(ge=0, le=1e9, description="Start this long after the first ball.")
    ] = 0
    early_ms: Annotated[
        float, Field(ge=0, le=1e9, description="End this long before the last ball.")
    ] = 0
    swapped: bool = False
    invert_ping: bool = False
    invert_reply: bool = False
    glitches: Annotated[
        int,
        Field(
            ge=0,
            le=1_000_000,
            description="How many pulses of 100 ns to add, anywhere on both wires.",
        ),
    ] = 0
    lose_ms: Annotated[
        float, Field(ge=0, le=1e6, description="Lose the samples of this time in the middle.")
    ] = 0
    lose_every: Annotated[int, Field(ge=0, description="Lose one ping of this many; 0: none.")] = 0


# no options of their own: MHz, the wires, and the place of a capture
APART = frozenset({"rate_hz", "swapped", "invert_ping", "invert_reply"})
APART |= {"lead_ms", "late_ms", "early_ms", "lose_every", "seed"}
