"""Control loops as boots of a comparison: jitter, overruns and drift, by the instrument's clock.

A period in which no rise came is a lost one, as a ball without an answer is: an overrun. All others
are off by some time from the nearest end of a period. The drift adds up from the first rise to the
last. These are the figures of the drill *periodic* (``tennis.rally.statistics.drill``).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from tennis.compare.boots import Boot
from tennis.kit.errors import RallyError
from tennis.rally import Rally
from tennis.rally.cycles import balls_in_whole_cycles
from tennis.rally.statistics.drill import Spans, drift_ns, jitter_ns, spans_of

DRILL = "periodic"  # the only drill whose boots are compared
JITTER: Literal["jitter"] = "jitter"
DRIFT = "drift"
# the words for balls, and those for a loop's boots
_WORDS = {
    "answered balls": "periods with a rise",
    "balls without an answer": "periods without a rise",
    "balls not later than": "periods off by no more than",
    "balls later than": "periods off by more than",
    "with an answer later than": "with a period off by more than",
    "with a missed ball": "with an overrun",
    "no answer": "no rise",
}


@dataclass(frozen=True)
class Drift:
    """The mean difference of a boot's periods from the nominal one; never less than ``least_ns``.

    The first and the last rise are as late as any. So a drift below what that allows is unknown,
    and no loop has less of it than another.
    """

    least_ns: float

    def of(self, boot: Boot) -> float:
        """Return it of a boot that holds its drift alone: ns; infinite: no period was whole."""
        return np.inf if boot.lost else max(self.least_ns, float(boot.values[0]))


def is_loop(rally: Rally) -> bool:
    """Tell whether a rally is a control loop. Raises RallyError for another drill."""
    drill = rally.manifest.drill
    if drill is not None and drill.name != DRILL:
        raise RallyError(
            f"{rally.path} is the drill {drill.name}",
            next_step=f"a comparison takes rallies, and of drills {DRILL}",
        )
    return drill is not None


def words(text: str) -> str:
    """Translate words about balls into words about a loop's periods."""
    for of_balls, of_periods in _WORDS.items():
        text = text.replace(of_balls, of_periods)
    return text


def _intervals_ns(rally: Rally, at_most: int | None = None) -> Spans:
    """Return the time from each rise to the next: ns, float64 of shape (rises - 1,).

    Only whole cycles of the load count, as for balls. Raises RallyError.
    """
    whole = balls_in_whole_cycles(rally, at_most)
    return spans_of(rally).intervals[1][: max(0, whole - 1)].astype(np.float64)


def jitter_of(rally: Rally, at_most: int | None = None) -> Boot:
    """Return how far off each rise came after the one before: ns; overruns are lost."""
    drill = rally.manifest.drill
    assert drill is not None  # noqa: S101 (nobody asks of a rally)
    spans, overruns = jitter_ns(_intervals_ns(rally, at_most), drill.period_ns)
    off = Boot.of(spans)
    return Boot(off.values, off.counts, overruns, off.latest)


def drifts_of(
    sides: Sequence[Sequence[Rally]], at_most: int | None = None
) -> tuple[Drift, list[list[Boot]]]:
    """Return how drifts are compared, and each boot's own, of each side."""
    least_ns, found = 0.0, []
    for side in sides:
        boots = []
        for rally in side:
            drill = rally.manifest.drill
            assert drill is not None  # noqa: S101 (nobody asks of a rally)
            intervals, jitter = _intervals_ns(rally, at_most), jitter_of(rally, at_most)
            if jitter.values.size:
                both_ends = 2 * float(jitter.values[-1])
                least_ns = max(least_ns, both_ends / intervals.size)
            drift = drift_ns(intervals, drill.period_ns)
            boots.append(Boot.of(np.array([np.inf if drift is None else abs(drift)])))
        found.append(boots)
    return Drift(least_ns), found
