"""The statistics of a rally, computed from how often each latency occurred."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal
from fractions import Fraction
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tennis.kit.units import (
    NS_PER_S,
    format_count,
    format_ns,
    format_round_ns,
    tick_ns,
    ticks_to_ns,
)
from tennis.rally import Rally, Tally
from tennis.rally.calibration import doubt
from tennis.rally.manifest import DEVICE, Manifest
from tennis.rally.settings import USUAL_PROTOCOL
from tennis.rally.shots import SHOTS
from tennis.rally.statistics.figures import Figures
from tennis.rally.statistics.intervals import (
    BOUND_FROM,
    exceedance_bound_95,
    quantile_rank,
    quantile_ranks,
)
from tennis.rally.text import plain

QUANTILES = {
    "q1": Fraction(1, 4),
    "median": Fraction(1, 2),
    "q3": Fraction(3, 4),
    "p99": Fraction(99, 100),
    "p999": Fraction(999, 1000),
}
STATISTICS = (*("min", "q1", "median", "q3", "qd", "p99", "p999", "max", "mean", "sd", "jitter"),)
INDEPENDENT = (
    "Intervals of 95 % assume that balls are independent of each other; late balls that come in "
    "bursts make them too narrow: play several boots."
)

Interval = tuple[int | None, int | None]  # None: that end is among the missed balls


@dataclass(frozen=True)
class Latency(Figures):
    """The statistics of one latency; nanoseconds, None if there are no (or too few) balls.

    Quantiles are observed values: the smallest that at least that share of all balls does not
    exceed, missed ones among them.
    """

    n: int  # answers
    min: int | None
    q1: int | None
    median: int | None
    q3: int | None
    qd: int | None  # q3 - q1
    p99: int | None
    p999: int | None
    max: int | None
    latest: int | None  # of the answers: max, unless a ball was missed
    mean: float | None
    sd: float | None  # of the sample: divided by n - 1
    jitter: int | None  # max - min, as in the thesis
    # 95 % intervals of q1, median, q3, p99, p999, if balls are independent of each other; None
    # if there are too few balls for one
    ci: dict[str, Interval | None]
    # at 95 %, the rate of answers later than max is below this; None: no claim may be made
    exceedance_bound_95: float | None

    def said_interval(self, name: str, between: str = "..") -> str:
        """Write a figure's interval; the unit once if both ends have the same. Empty: it has none.

        It holds if balls are independent of each other.
        """
        if name not in self.ci:
            return ""
        interval = self.ci[name]
        if interval is None:
            return "too few balls"
        low, high = (self.said_missed if end is None else format_ns(end) for end in interval)
        if interval[1] is None:
            return high if low == high else f"{low} {between} {high}"
        if low.split()[-1] == high.split()[-1]:
            low = low.split()[0]
        return f"{low} {between} {high}"


@dataclass(frozen=True)
class Summary:
    """The statistics of a rally, with the notes that must go with them."""

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
    where: list[dict[str, int | None]]  # the counts of each processor; empty: not counted
    loop: str  # "closed" or "open"
    given_up_ns: int | None  # how long a missed ball was waited for, at least; None: unknown
    suspect: bool
    faults: tuple[str, ...]
    doubt: str  # why the instrument counts as not verified; empty if it does
    program: str  # what answered, and did meanwhile, if it was a program; empty: a Racquet did
    behind_racquet: bool  # a program answered, and its first reply is the Racquet's handler's
    interrupt_ns: Latency
    scheduling_ns: Latency

    @property
    def unfinished(self) -> str:
        """Say that the rally is not all that was planned; empty if it is."""
        reasons = {"interrupted": "Interrupted", "fault": "Ended by a fault"}
        if self.ended not in reasons or (self.ended == "fault" and self.balls >= self.planned):
            return ""
        noun = "shot" if self.loop == SHOTS else "ball"
        balls = noun if self.planned == 1 else f"{noun}s"
        return f"{reasons[self.ended]}: {self.balls} of {self.planned} planned {balls}"

    @property
    def _waited(self) -> str:
        if self.given_up_ns is None:
            return ""
        what = "one period" if self.loop == "open" else "the timeout"
        return f" ({format_ns(self.given_up_ns)}, {what})"

    def as_json(self) -> dict[str, Any]:
        """Return what ``tennis stats --json`` prints."""
        return asdict(self)

    def claims(self) -> list[str]:
        """Say in words what the maximum is worth: misses, faults, and the bound that N supports."""
        bench = f"Bench: {self.bench} ({self.time_note}); one tick is {tick_ns(self.tick_hz):g} ns."
        sentences = [
            f"{bench} Strays: {self.strays}, doubles: {self.doubles}, late: {self.late_serves}."
        ]
        if self.program:
            sentences.append(_answered(self.program, behind_racquet=self.behind_racquet))
        if self.loop == SHOTS:
            sentences.append(
                "Shots: instants drawn at random from one boot that no ball disturbs, each played "
                "as its first ball. None follows another."
            )
        if self.where:
            told = "; ".join(map(_on_processor, self.where))
            sentences.append(f"Counted on each processor: {told}.")
        if self.unfinished:
            sentences.append(f"{self.unfinished}.")
        if not self.balls:
            sentences.append("No ball was played.")
        elif self.misses == self.balls:
            all_missed = "The only ball was" if self.balls == 1 else f"All {self.balls} balls were"
            sentences.append(f"{all_missed} missed: there is no latency to show.")
        elif self.misses:
            latest = format_ns(self.interrupt_ns.latest)
            sentences.append(
                f"{self.misses} of {self.balls} balls had no answer in time{self._waited}: they "
                f"count as later than all others, the latest of which rose after {latest}, and "
                "nothing is claimed about the worst case."
            )
            if self.loop == "open":
                sentences.append(
                    "The answer to the ball after a missed one may be the missed ball's own late "
                    "answer: low quantiles may be too low."
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
        if any(self.interrupt_ns.ci.values()) or any(self.scheduling_ns.ci.values()):
            sentences.append(INDEPENDENT)
        return sentences


def _on_processor(counted: dict[str, int | None]) -> str:
    """Describe the counts of a processor."""
    words = []
    if counted["pings"] is not None:
        words.append(f"took {format_count(counted['pings'], 'ping')}")
    if counted["replies"] is not None:
        words.append(f"gave {format_count(counted['replies'], 'reply', 'replies')}")
    if counted["busy"] is not None:
        words.append(f"was at work when {format_count(counted['busy'], 'ball')} came")
    return f"{counted['processor']} {', '.join(words)}"


def percent(share: float) -> str:
    """Write a small share with two digits: ``0.06 %``, ``0.00003 %``."""
    return f"{Decimal(f'{100 * share:.2g}'):f} %"


def summarize(rally: Rally) -> Summary:
    """Compute the statistics of a rally."""
    manifest, counts = rally.manifest, rally.manifest.counts
    program = manifest.target.program
    # a miss is later than any maximum
    claim = not manifest.suspect and not rally.misses
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
        where=[one.model_dump() for one in counts.where],
        loop=manifest.protocol.loop,
        given_up_ns=manifest.given_up_ns,
        suspect=manifest.suspect,
        faults=tuple(plain(f"{fault.code}: {fault.message}") for fault in manifest.faults),
        doubt=plain(doubt(manifest.instrument, manifest.created)),
        program=_program(manifest),
        behind_racquet=program is not None and program.way == DEVICE,
        **latencies([rally], claim=claim),
    )


def _program(manifest: Manifest) -> str:
    program = manifest.target.program
    return plain(f"{program.name} {program.deeds}{long_ping(manifest)}") if program else ""


def _answered(program: str, *, behind_racquet: bool) -> str:
    who, whose = "and no module of the kit's", "its reply's"
    if behind_racquet:
        who, whose = "behind the Racquet's handler", "the handler's"
    return (
        f"A program answered, {who}: {program}. Interrupt is the time from the ping to {whose} "
        "rise, scheduling from there to the fall."
    )


def long_ping(manifest: Manifest) -> str:
    """Say, behind a sentence about a program, that a fall may be late by the ping's own length.

    Empty: no program answered, or no ping was longer than usual. Who follows its input goes down
    when the ping does.
    """
    pulse_ns = manifest.protocol.pulse_ns
    if manifest.target.program is None or manifest.drill or pulse_ns <= USUAL_PROTOCOL.pulse_ns:
        return ""
    return (
        f"; a ping was up for {format_round_ns(pulse_ns)}, and the time to the fall of a program "
        "that follows it contains that"
    )


def latencies(rallies: Sequence[Rally], *, claim: bool = True) -> dict[str, Latency]:
    """Compute both latencies of all balls of some rallies of one clock; at least one rally.

    The keys are ``interrupt_ns`` and ``scheduling_ns``. Without ``claim`` no bound is given.
    """
    tick_hz = rallies[0].tick_hz
    rise = Tally.joined([rally.interrupt for rally in rallies])
    width = Tally.joined([rally.scheduling for rally in rallies])
    given_up = [rally.manifest.given_up_ns for rally in rallies if rally.misses]
    known = [limit_ns for limit_ns in given_up if limit_ns is not None]
    limit_ns = min(known) if known and len(known) == len(given_up) else None
    # the time that a reply had to fall is known only if its rise is known
    rose = limit_ns is not None and rise.n and not rise.missed
    latest = ticks_to_ns(int(rise.values[-1]), tick_hz) if rise.n else 0
    left_ns = max(0, limit_ns - latest) if limit_ns is not None and rose else None
    return {
        "interrupt_ns": latency(rise, tick_hz, later_than_ns=limit_ns, claim=claim),
        "scheduling_ns": latency(width, tick_hz, later_than_ns=left_ns, claim=claim),
    }


def latency(
    tally: Tally, tick_hz: int, *, later_than_ns: int | None = None, claim: bool = True
) -> Latency:
    """Compute the statistics of one latency; without ``claim`` no bound is given.

    ``later_than_ns``: the latency of each missed ball is above this; None: unknown.
    """
    n, balls = tally.n, tally.balls
    if not balls:
        nothing = dict.fromkeys((*STATISTICS, "latest", "later_than_ns", "exceedance_bound_95"))
        return Latency(n=0, missed=0, among_missed=(), ci=dict.fromkeys(QUANTILES), **nothing)

    def at(rank: int) -> int | None:
        ticks = tally.at(rank)
        return None if ticks is None else ticks_to_ns(ticks, tick_hz)

    found: dict[str, Any] = {name: at(quantile_rank(balls, p)) for name, p in QUANTILES.items()}
    intervals: dict[str, Interval | None] = {}
    for name, p in QUANTILES.items():
        ranks = quantile_ranks(balls, p)
        intervals[name] = (at(ranks[0]), at(ranks[1])) if ranks else None
    found |= {"min": at(1), "max": at(balls)}
    found["mean"], found["sd"] = (None, None) if tally.missed else _mean_sd(tally, tick_hz)
    for name, (most, least) in {"qd": ("q3", "q1"), "jitter": ("max", "min")}.items():
        known = found[most] is not None and found[least] is not None
        found[name] = found[most] - found[least] if known else None
    missing = [name for name in STATISTICS if found[name] is None] if tally.missed else []
    return Latency(
        n=n,
        missed=tally.missed,
        later_than_ns=later_than_ns if tally.missed else None,
        among_missed=tuple(missing),
        latest=at(n) if n else None,
        ci=intervals,
        exceedance_bound_95=exceedance_bound_95(n) if claim and not tally.missed else None,
        **found,
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
