"""Deduce the far end of a wire from the levels of its pad."""

from typing import Any, Literal

FarEnd = Literal["low", "high", "pulled", "open"]


def far_end(pad: dict[str, Any]) -> FarEnd:
    """Return the state of a wire's far end, from its pad, which drives it and then releases it.

    ``pad``: as ``wires`` of the Brickwall answers. A released pad is low at once through 330 Ω (an
    output, a short), after a microsecond through the pull of an input, and not at all if the wire
    is open. An RP2350 of stepping A2 reads a pull as an open wire (erratum E9).
    """
    if pad["pulled_down"] == 1:
        return "high"
    if pad.get("from_high") is None:  # firmware of 0.3
        return "low" if pad["pulled_up"] == 0 else "open"
    at_once, later = pad["from_high"]
    return "open" if later else "pulled" if at_once else "low"
