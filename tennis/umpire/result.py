# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""What a check found out."""

from dataclasses import dataclass, field
from typing import Any, Literal

from tennis.rally import Rally
from tennis.rally.manifest import Verdict
from tennis.umpire.balls import Decoder
from tennis.umpire.edges import Capture
from tennis.umpire.fit import Difference, Line
from tennis.umpire.pictures import Classes, Persistence, Points
from tennis.units import tick_ns

TOLERANCE_NS = 50.0  # thresholds, wires and skew between two channels; and a tick of the Brickwall

MAX_CLOCK_PPM = 200.0  # between two crystals, each within 100

Kind = Literal["interrupt", "scheduling"]
KINDS: tuple[Kind, Kind] = ("interrupt", "scheduling")


@dataclass
class Check:
    """All that a check found out."""

    verdict: Verdict
    reason: str  # with a next step where it is not a pass
    rally: Rally
    capture: Capture | None
    tolerance_ns: float
    balls: int = 0  # paired
    unmatched_brickwall: int = 0  # while the analyser looked on
    unmatched_analyser: int = 0
    uncovered: int = 0  # of the rally, before the capture began or after it ended
    disagree: int = 0  # one says miss, the other does not
    off: int = 0  # differ by far more than the others
    unseen: int = 0  # replies shorter than a sample
    interrupt: Difference | None = None
    scheduling: Difference | None = None
    clock: Line | None = None
    clock_ci: tuple[float, float] | None = None
    offset_ns: float | None = None
    unevenness: dict[str, float] = field(default_factory=dict)
    decoder: Decoder | None = None
    persistence: Persistence | None = None
    points: dict[str, Points] = field(default_factory=dict)
    classes: dict[str, Classes] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    by_order: bool = False  # nothing but their order says which ball is which
    lost: bool = False  # from some ball on nothing fits any more

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """Return what is compared: both latencies, or how long a drill's repetitions took."""
        return ("scheduling",) if self.rally.manifest.drill else KINDS

    def kind_words(self, kind: Kind) -> str:
        """Return what is compared in words."""
        return "duration" if self.rally.manifest.drill else f"{kind} latency"

    @property
    def noun(self) -> str:
        """Return what is paired."""
        return "repetition" if self.rally.manifest.drill else "ball"

    @property
    def unmatched(self) -> int:
        """Return the balls that only one of both saw."""
        return self.unmatched_brickwall + self.unmatched_analyser

    @property
    def tick_ns(self) -> float:
        """Return the Brickwall's resolution."""
        return tick_ns(self.rally.tick_hz)

    def as_json(self) -> dict[str, Any]:
        """Return what ``tennis umpire check --json`` prints; times in ns."""
        capture, decoder = self.capture, self.decoder
        counts = self.rally.manifest.counts
        return {
            "verdict": self.verdict,
            "reason": self.reason,
            "balls": self.balls,
            "unmatched": self.unmatched,
            **(
                {"duration": _difference(self.scheduling)}
                if self.rally.manifest.drill
                else {
                    "interrupt": _difference(self.interrupt),
                    "scheduling": _difference(self.scheduling),
                }
            ),
            "clock_ppm": self.clock.ppm if self.clock else None,
            "clock_ppm_ci": list(self.clock_ci) if self.clock_ci else None,
            "offset_ns": self.offset_ns,
            "tolerance_ns": self.tolerance_ns,
            "resolution_ns": {
                "brickwall": self.tick_ns,
                "analyser": capture.resolution_ns if capture else None,
            },
            "unmatched_brickwall": self.unmatched_brickwall,
            "unmatched_analyser": self.unmatched_analyser,
            "uncovered": self.uncovered,
            "disagree": self.disagree,
            "off": self.off,
            "unseen": self.unseen,
            "strays": {
                "brickwall": counts.strays,
                "analyser": decoder.strays.count if decoder else None,
            },
            "doubles": {
                "brickwall": counts.doubles,
                "analyser": decoder.doubles.count if decoder else None,
            },
            "capture": {
                "form": capture.form,
                "ping": capture.ping,
                "reply": capture.reply,
                "seconds": float(capture.end_ticks / capture.tick_hz),
            }
            if capture
            else None,
            "notes": self.notes,
        }


def _difference(difference: Difference | None) -> dict[str, Any]:
    if difference is None:
        return {"bias_ns": None, "bias_ci_ns": None, "sd_ns": None, "balls": 0}
    return {
        "bias_ns": difference.bias_ns,
        "bias_ci_ns": list(difference.bias_ci_ns),
        "sd_ns": difference.sd_ns,
        "balls": difference.balls,
    }
