"""The result of a check."""

from dataclasses import dataclass, field
from typing import Any, Literal

from tennis.kit.units import tick_ns
from tennis.rally import Rally
from tennis.rally.captures.edges import Capture
from tennis.rally.manifest import Verdict
from tennis.report.umpire.agreement.balls import Decoder

TICK_NS = 8.0  # of a Pico: the limit if a tick is as short as the built-in instrument's, 1 ns
# More than thresholds, leads and skew between two channels do, and a tick: an instrument is wrong
WIRES_NS = 50.0

NAMED = 10  # balls that are named, of those that are wrong
MAX_CLOCK_PPM = 200.0  # between two crystals, each within 100

Kind = Literal["interrupt", "scheduling"]
KINDS: tuple[Kind, Kind] = ("interrupt", "scheduling")


Interval = tuple[float, float]


@dataclass(frozen=True)
class ClockFit:
    """The rate of the analyser's clock relative to the Brickwall's."""

    ppm: float
    ppm_error: float  # standard error
    blocks: int
    sd_ns: float  # of the serves about the line
    seconds: float  # about how long the pairs are spread


@dataclass(frozen=True)
class Difference:
    """The difference of the instruments in one latency."""

    balls: int
    bias_ns: float  # Brickwall - analyser, as in table 6.1
    bias_ci_ns: Interval
    sd_ns: float


@dataclass
class Check:
    """All that a check found out."""

    verdict: Verdict
    reason: str  # with a next step unless it is a pass
    rally: Rally
    capture: Capture | None
    tolerance_ns: float  # a bias must surely be below it
    condemns_ns: float  # surely above it, an instrument is wrong
    balls: int = 0  # paired
    unmatched_brickwall: int = 0  # while the analyser looked on
    unmatched_analyser: int = 0
    uncovered: int = 0  # of the rally, before the capture began or after it ended
    disagree: int = 0  # one says miss, the other does not
    off: int = 0  # latencies that differ by far more than the others
    off_serves: int = 0  # balls that one of both saw served at another moment
    odd: dict[int, str] = field(default_factory=dict)  # the errors of the first of all these
    unseen: int = 0  # replies shorter than a sample
    interrupt: Difference | None = None
    scheduling: Difference | None = None
    clock: ClockFit | None = None
    clock_ci: Interval | None = None
    unevenness: dict[str, float] = field(default_factory=dict)
    decoder: Decoder | None = None
    # rows of table 6.1: balls, the analyser's mean and the Brickwall's
    classes: dict[Kind, list[tuple[int, float, float]]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    by_order: bool = False  # nothing but their order says which ball is which
    lost: bool = False  # from some ball on nothing fits any more
    jumped: bool = False  # many balls in a row were served at other moments: a clock jumped

    def name(self, ball: int, what: str) -> None:
        """Record an error of a ball, unless there are too many already."""
        if ball in self.odd:
            self.odd[ball] += f", {what}"
        elif len(self.odd) < NAMED:
            self.odd[ball] = what

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """Return the compared kinds: both latencies, or the duration of a drill's repetitions."""
        return ("scheduling",) if self.rally.manifest.drill else KINDS

    def kind_words(self, kind: Kind) -> str:
        """Name a compared kind in words."""
        return "duration" if self.rally.manifest.drill else f"{kind} latency"

    @property
    def noun(self) -> str:
        """Return the noun of the paired things."""
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
            "tolerance_ns": self.tolerance_ns,
            "resolution_ns": {
                "brickwall": self.tick_ns,
                "analyser": capture.resolution_ns if capture else None,
            },
            "resolution_source": ("asked" if capture.rate_asked else "said") if capture else None,
            "unmatched_brickwall": self.unmatched_brickwall,
            "unmatched_analyser": self.unmatched_analyser,
            "uncovered": self.uncovered,
            "disagree": self.disagree,
            "off": self.off,
            "off_serves": self.off_serves,
            "odd": [{"ball": ball, "what": what} for ball, what in sorted(self.odd.items())],
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
