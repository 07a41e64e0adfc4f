"""First figures of a match while it is played: a line for each cell, from its first boot on.

It decides nothing: verdicts need all boots (``tennis.replicate.verdicts``).
"""

import math
from dataclasses import dataclass, field

from tennis.compare.boots import Boot
from tennis.compare.judgement import MEDIAN
from tennis.compare.sides import Side
from tennis.kit.units import format_ns
from tennis.rally import Rally
from tennis.rally.manifest import THREADED
from tennis.replicate.samples import boots_shown

ONE_IN = 1000


@dataclass(frozen=True)
class LineSoFar:
    """A cell after some boots; times in ns, of the interrupt latency; None: too few balls.

    ``low``, ``high``: the lowest and the highest boot's ``late``; infinite: a missed ball.
    """

    load: str
    kernel: str  # in words
    boots: int
    misses: int
    median: float | None
    late: float | None
    low: float | None
    high: float | None
    latest: float

    @property
    def sure(self) -> float:
        """Return how likely the median boot of all lies between the lowest and the highest.

        For any distribution, each boot is below it with probability 1/2: all are with 1/2 ** boots.
        """
        return 1 - 2.0 ** (1 - self.boots)

    @property
    def said_interval(self) -> str:
        """Write the interval of the median boot's ``late``, and its confidence."""
        if self.low is None or self.high is None:
            return "too few balls"
        if self.boots < 2:
            return "one boot"
        share = 100 * self.sure
        percent = f"{share:.0f}" if share < 99 else f"{math.floor(10 * share) / 10:.1f}"
        low, high = format_time(self.low), format_time(self.high)
        if low.split()[-1] == high.split()[-1]:  # the unit once
            low = low.split()[0]
        return f"{low} to {high}, {percent} %"


def format_time(ns: float | None) -> str:
    """Write a time; infinite: a missed ball is later than all others."""
    if ns is None:
        return "-"
    return format_ns(ns) if math.isfinite(ns) else "missed"


@dataclass
class SoFar:
    """The boots of a match that were taken, by cell."""

    _boots: dict[tuple[str, str], list[Boot]] = field(default_factory=dict)
    _misses: dict[tuple[str, str], int] = field(default_factory=dict)

    def take(self, rally: Rally) -> None:
        """Take a boot; one that is suspect, or has no balls, tells nothing."""
        if rally.manifest.suspect or not rally.balls:
            return
        target = rally.manifest.target
        threaded = f", {target.top_half}" if target.top_half in THREADED else ""
        key = (rally.manifest.load.name, f"{target.system}{threaded}")
        self._boots.setdefault(key, []).extend(boots_shown([rally], "interrupt").boots)
        self._misses[key] = self._misses.get(key, 0) + rally.misses

    @property
    def boots(self) -> int:
        """Return how many boots each cell has at least, of those that were taken."""
        return min((len(boots) for boots in self._boots.values()), default=0)

    def lines(self) -> list[LineSoFar]:
        """Return a line for each cell: idle before stress, mainline before PREEMPT_RT."""
        return [self._line(key) for key in sorted(self._boots, key=_place)]

    def _line(self, key: tuple[str, str]) -> LineSoFar:
        side = Side(self._boots[key])
        late = side.values(ONE_IN) if side.has(ONE_IN) else None
        return LineSoFar(
            *key,
            boots=len(side.boots),
            misses=self._misses[key],
            median=side.median_boot(MEDIAN) if side.has(MEDIAN) else None,
            late=side.median_boot(ONE_IN) if late else None,
            low=min(late) if late else None,
            high=max(late) if late else None,
            latest=max(boot.largest for boot in side.boots),
        )


def _place(key: tuple[str, str]) -> tuple[bool, bool, bool, str, str]:
    load, kernel = key
    return load != "idle", kernel != "mainline", "explicit" in kernel, load, kernel
