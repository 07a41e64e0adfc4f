# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""What a user says of a capture that its file need not say."""

from dataclasses import dataclass, field
from fractions import Fraction


@dataclass(frozen=True)
class Threshold:
    """Where a voltage changes its level: up past ``volts`` and half the hysteresis, down below."""

    volts: float = 1.65
    hysteresis: float = 0.4


@dataclass(frozen=True)
class Wires:
    """Channels, polarity, thresholds, sample rate; None: nobody said it."""

    ping: str | None = None
    reply: str | None = None
    invert_ping: bool = False
    invert_reply: bool = False
    threshold: Threshold = field(default_factory=Threshold)
    rate_hz: Fraction | None = None


USUAL = Wires()
