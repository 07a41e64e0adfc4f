"""The delays that verify a Brickwall: those of a table, a sweep, random pairs."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from tennis.kit.gaps import gap_ns
from tennis.kit.units import NS_PER_S, NS_PER_US
from tennis.play.commissioning.request import Amount
from tennis.report.publications import knutsson_2008

RANDOM_PAIRS = 64  # a round: each delay once, then others; little memory


RANDOM_SEED = 2008


RANDOM_MAX_NS = 100_000


SWEEP_POINTS = 25


SWEEP_MIN_TICKS = 2


SWEEP_MAX_NS = 20_000_000


# the shortest answer that the server never overlooks (kit-firmware/brickwall/programs.py)
WIDTH_MIN_TICKS = 3


@dataclass(frozen=True)
class DelaySetting:
    """One setting of the generator."""

    what: str
    pairs: int
    seed: int
    rise_ticks: tuple[int, int]  # from, to (exclusive; the same: constant)
    width_ticks: tuple[int, int]
    balls: int
    thesis_us: tuple[float, float] | None = None  # its instrument's error: interrupt, scheduling

    def delays(self) -> list[tuple[int, int]]:
        """Return the (rise, width) of each pair, in the generator's ticks."""
        return [
            (
                gap_ns(self.seed, 2 * pair, *self.rise_ticks),
                gap_ns(self.seed, 2 * pair + 1, *self.width_ticks),
            )
            for pair in range(self.pairs)
        ]

    def delays_of(self, count: int) -> list[tuple[int, int]]:
        """Return the (rise, width) of so many balls, in the generator's ticks."""
        delays = self.delays()
        return [delays[index % self.pairs] for index in range(count)]


def settings(tick_hz: int, amount: Amount) -> Iterator[DelaySetting]:
    """Yield table 6.1, the sweep and the random delays; ``tick_hz`` is the generator's."""

    def ticks(us: float) -> int:
        return round(us * NS_PER_US * tick_hz / NS_PER_S)

    irq, sched = knutsson_2008().verification
    rows = zip(irq.oscilloscope, sched.oscilloscope, irq.error, sched.error, strict=True)
    for rise_us, width_us, irq_us, sched_us in rows:
        rise, width = ticks(rise_us), ticks(width_us)
        yield _constant("table 6.1", rise, width, amount.each, (irq_us, sched_us))
    last = SWEEP_MAX_NS * tick_hz // NS_PER_S
    step = math.log(last / SWEEP_MIN_TICKS) / (SWEEP_POINTS - 1)
    sweep = [round(SWEEP_MIN_TICKS * math.exp(step * point)) for point in range(SWEEP_POINTS)]
    # a short rise with a long width and the other way round
    for rise, width in zip(sweep, reversed(sweep), strict=True):
        yield _constant("sweep", rise, max(width, WIDTH_MIN_TICKS), amount.each)
    most = RANDOM_MAX_NS * tick_hz // NS_PER_S
    for first in range(0, amount.random, RANDOM_PAIRS):
        yield DelaySetting(
            what="random",
            pairs=RANDOM_PAIRS,
            seed=RANDOM_SEED + first,
            rise_ticks=(SWEEP_MIN_TICKS, most),
            width_ticks=(WIDTH_MIN_TICKS, most),
            balls=min(RANDOM_PAIRS, amount.random - first),
        )


def _constant(
    what: str, rise: int, width: int, balls: int, thesis_us: tuple[float, float] | None = None
) -> DelaySetting:
    return DelaySetting(what, 1, 0, (rise, rise), (width, width), balls, thesis_us)
