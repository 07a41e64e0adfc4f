# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""The statistics of a rally, computed from how often each latency occurred."""

from dataclasses import asdict, dataclass
from decimal import Decimal
from fractions import Fraction
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tennis.rally import Rally, Tally
from tennis.rally.calibration import doubt
from tennis.rally.text import plain
from tennis.stats.intervals import (
    BOUND_FROM,
    exceedance_bound_95,
    quantile_rank,
    quantile_ranks,
)
from tennis.units import NS_PER_S, tick_ns, ticks_to_ns

QUANTILES = {
    "q1": Fraction(1, 4),
    "median": Fraction(1, 2),
    "q3": Fraction(3, 4),
    "p99": Fraction(99, 100),
    "p999": Fraction(999, 1000),
}
STATISTICS = (*("min", "q1", "median", "q3", "qd", "p99", "p999", "max", "mean", "sd", "jitter"),)

Interval = tuple[int, int]


@dataclass(frozen=True)
class Latency:
    """The statistics of one latency; nanoseconds, None where there are no (or too few) balls.

    Quantiles are observed values: the smallest that at least that share of all does not exceed.
    """

    n: int
    min: int | None
    q1: int | None
    median: int | None
    q3: int | None
    qd: int | None  # q3 - q1
    p99: int | None
    p999: int | None
    max: int | None
    mean: float | None
    sd: float | None  # of the sample: divided by n - 1
    jitter: int | None  # max - min, as in the thesis
    # 95 % intervals of q1, median, q3, p99, p999; None where n does not support one
    ci: dict[str, Interval | None]
    # at 95 %, the rate of answers later than max is below this; None: no claim may be made
    exceedance_bound_95: float | None


@dataclass(frozen=True)
class Summary:
    """The statistics of a rally, with all that must be said beside them."""

    label: str
    bench: str
    time_note: str
    tick_hz: int
    ended: str  # "complete", "interrupted", "fault"
    planned: int  # balls
    balls: int
    misses: int
    strays: int
    doubles: int
    late_serves: int
    suspect: bool
    faults: tuple[str, ...]
    doubt: str  # why the instrument counts as not verified; empty where it does
    interrupt_ns: Latency
    scheduling_ns: Latency

    @property
    def unfinished(self) -> str:
        """Say that the rally is not all that was planned; empty where it is."""
        reasons = {"interrupted": "Interrupted", "fault": "Ended by a fault"}
        if self.ended not in reasons or (self.ended == "fault" and self.balls >= self.planned):
            return ""
        balls = "ball" if self.planned == 1 else "balls"
        return f"{reasons[self.ended]}: {self.balls} of {self.planned} planned {balls}"

    def as_json(self) -> dict[str, Any]:
        """Return what ``tennis stats --json`` prints."""
        return asdict(self)

    def claims(self) -> list[str]:
        """Say in words what the maximum is worth: misses, faults, and the bound that N supports."""
        bench = f"Bench: {self.bench} ({self.time_note}); one tick is {tick_ns(self.tick_hz):g} ns."
        sentences = [
            f"{bench} Strays: {self.strays}, doubles: {self.doubles}, late: {self.late_serves}."
        ]
        if self.unfinished:
            sentences.append(f"{self.unfinished}.")
        if not self.balls:
            sentences.append("No ball was played.")
        elif self.misses == self.balls:
            all_missed = "The only ball was" if self.balls == 1 else f"All {self.balls} balls were"
            sentences.append(f"{all_missed} missed: there is no latency to speak of.")
        elif self.misses:
            sentences.append(
                f"{self.misses} of {self.balls} balls had no answer in time: the maximum is that "
                "of the others, and nothing is claimed about the worst case."
            )
        if self.suspect:
            why = "; ".join(self.faults) or "an instrument fault happened"
            sentences.append(f"SUSPECT ({why}): no worst-case claim may be made from this rally.")
        if self.doubt:
            sentences.append(f"NOT VERIFIED: {self.doubt}.")
        bound = self.interrupt_ns.exceedance_bound_95
        n = self.interrupt_ns.n
        if bound is not None and n >= BOUND_FROM:
            sentences.append(
                f"With N = {n} answers and none later than the maximum: at 95 % confidence fewer "
                f"than 3/N = {percent(bound)} of all answers are later (if balls are independent)."
            )
        return sentences


def percent(share: float) -> str:
    """Write a small share with two digits: ``0.06 %``, ``0.00003 %``."""
    return f"{Decimal(f'{100 * share:.2g}'):f} %"


def summarize(rally: Rally) -> Summary:
    """Compute the statistics of a rally."""
    manifest, counts = rally.manifest, rally.manifest.counts
    # a miss is later than any maximum
    claim = not manifest.suspect and not counts.misses
    return Summary(
        label=rally.label,
        bench=manifest.bench,
        time_note=plain(manifest.time_note),
        tick_hz=rally.tick_hz,
        ended=manifest.ended,
        planned=manifest.protocol.balls,
        balls=counts.balls,
        misses=counts.misses,
        strays=counts.strays,
        doubles=counts.doubles,
        late_serves=counts.late_serves,
        suspect=manifest.suspect,
        faults=tuple(plain(f"{fault.code}: {fault.message}") for fault in manifest.faults),
        doubt=plain(doubt(manifest.instrument, manifest.created)),
        interrupt_ns=latency(rally.interrupt, rally.tick_hz, claim=claim),
        scheduling_ns=latency(rally.scheduling, rally.tick_hz, claim=claim),
    )


def latency(tally: Tally, tick_hz: int, *, claim: bool = True) -> Latency:
    """Compute the statistics of one latency; without ``claim`` no bound is given."""
    n = tally.n
    if not n:
        nothing = dict.fromkeys(STATISTICS)
        return Latency(n=0, ci=dict.fromkeys(QUANTILES), exceedance_bound_95=None, **nothing)

    def at(rank: int) -> int:
        return ticks_to_ns(tally.at(rank), tick_hz)

    quantiles = {name: at(quantile_rank(n, p)) for name, p in QUANTILES.items()}
    intervals: dict[str, Interval | None] = {}
    for name, p in QUANTILES.items():
        ranks = quantile_ranks(n, p)
        intervals[name] = (at(ranks[0]), at(ranks[1])) if ranks else None
    smallest, largest = at(1), at(n)
    mean, sd = _mean_sd(tally, tick_hz)
    return Latency(
        n=n,
        min=smallest,
        max=largest,
        qd=quantiles["q3"] - quantiles["q1"],
        mean=mean,
        sd=sd,
        jitter=largest - smallest,
        ci=intervals,
        exceedance_bound_95=exceedance_bound_95(n) if claim else None,
        **quantiles,
    )


def _mean_sd(tally: Tally, tick_hz: int) -> tuple[float, float | None]:
    """Return mean and sample standard deviation in nanoseconds, from exact sums."""
    n = tally.n
    total, squares = _sums(tally.values, tally.counts)
    tick = Fraction(NS_PER_S, tick_hz)
    mean = float(Fraction(total, n) * tick)
    if n < 2:
        return mean, None
    return mean, sqrt(Fraction(squares * n - total * total, n * (n - 1)) * tick * tick)


def _sums(values: NDArray[np.int64], counts: NDArray[np.int64]) -> tuple[int, int]:
    """Return the exact sums of all values and of their squares; values are below 2^32.

    Halves of 16 bits keep every product sum below 2^64 for up to 2^32 - 1 observations.
    """
    v, c = values.astype(np.uint64), counts.astype(np.uint64)
    high, low = v >> np.uint64(16), v & np.uint64(0xFFFF)

    def dot(a: NDArray[np.uint64]) -> int:
        return int(np.dot(a, c))

    total = (dot(high) << 16) + dot(low)
    squares = (dot(high * high) << 32) + (dot(high * low) << 17) + dot(low * low)
    return total, squares
