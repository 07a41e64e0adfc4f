# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""What the levels of a pad tell about the far end of its wire."""

from typing import Any, Literal

FarEnd = Literal["low", "high", "pulled", "open"]


def far_end(pad: dict[str, Any]) -> FarEnd:
    """Say what the far end of a wire does to its pad, which drives it and then lets go.

    ``pad``: as ``wires`` of the Brickwall answers. A pad that is let go of is low at once through
    330 Ω (an output, a short), after a microsecond through the pull of an input, and not at all
    where the wire ends nowhere. An RP2350 of stepping A2 takes a pull for no end (erratum E9).
    """
    if pad["pulled_down"] == 1:
        return "high"
    if pad.get("from_high") is None:  # firmware of 0.3
        return "low" if pad["pulled_up"] == 0 else "open"
    at_once, later = pad["from_high"]
    return "open" if later else "pulled" if at_once else "low"
