"""The delay that the loop from ping to reply adds to a known one: wires, pads, flip-flops.

A *leg* is a wire with the parts at its ends: an output driver, a resistor, an input buffer. The
loop has two legs. The ping's stamp has none, as it is taken at the ping's own pad. So a loop delays
every ball alike.

- The resistor R and the capacitance C of wire and pad make a slope: from 0 the voltage reaches V
  after R C ln(3.3 V / (3.3 V - V)), and from 3.3 V it falls to V after R C ln(3.3 V / V).
- The input turns somewhere between LOW_V and HIGH_V, and back at least HYSTERESIS_V lower: RP2040
  data sheet, section 5.2.3 (V_IL, V_IH and V_HYS at 3.3 V).
- For driver and input buffer the data sheet states no delay: PADS_NS and PAD_SKEW_NS are a guess
  with room, not yet confirmed on a board.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import linear_regression

from tennis.kit.units import NS_PER_S

SUPPLY_V = 3.3
LOW_V = 0.8
HIGH_V = 2.0
HYSTERESIS_V = 0.2
CAPACITANCE_F = 30e-12  # at most: a short wire and two pins, some 20 pF
PADS_NS = 10.0  # at most, of a driver and an input buffer
PAD_SKEW_NS = 3.0  # at most, between their rise and their fall
# of two crystals of 30 ppm each
CRYSTALS = 60e-6
# how far a crystal moves while a delay is measured, beyond what all delays show
WANDER = 1e-6
# what the mean of some hundred balls, each rounded to a tick, may be off
STATISTICS_TICKS = 0.25
# further off than a crystal or a wire could be: such a ball says nothing about either
WILD_TICKS = 32
WILD = 1e-3


@dataclass(frozen=True)
class Loop:
    """The wires of a loop."""

    resistors_ohm: Sequence[int]  # of each leg; none: the loop is inside of the chip

    @property
    def most_ns(self) -> float:
        """Return how much later an answer can come, at most, than it would without a loop."""
        slope = math.log(SUPPLY_V / (SUPPLY_V - HIGH_V)) * CAPACITANCE_F * NS_PER_S
        legs = (PADS_NS + resistor * slope for resistor in self.resistors_ohm)
        return sum(legs) or PADS_NS

    @property
    def width_ns(self) -> tuple[float, float]:
        """Return how much shorter and longer an answer can become: its fall is not its rise."""
        last = self.resistors_ohm[-1] if self.resistors_ohm else 0
        rc_ns = last * CAPACITANCE_F * NS_PER_S

        def skew(rising_v: float) -> float:
            falling_v = rising_v - HYSTERESIS_V
            return math.log(SUPPLY_V / falling_v) - math.log(SUPPLY_V / (SUPPLY_V - rising_v))

        shortest, longest = skew(HIGH_V), skew(LOW_V + HYSTERESIS_V)
        return min(0, rc_ns * shortest) - PAD_SKEW_NS, max(0, rc_ns * longest) + PAD_SKEW_NS


@dataclass(frozen=True)
class Clocks:
    """The clock that measures, and that of the known delays."""

    tick_hz: int  # of the instrument
    generator_hz: int | None  # None: its own generator, on the same clock

    @property
    def known_hz(self) -> int:
        """Return how many ticks of the known delays a second has."""
        return self.generator_hz or self.tick_hz

    @property
    def ratio(self) -> float:
        """Return how many of the instrument's ticks one of the generator's takes."""
        return self.tick_hz / self.known_hz

    @property
    def rounding_ticks(self) -> float:
        """Return how far a ball may be from the mean of all balls with the same delay.

        With one clock an edge that comes close to the end of a tick is seen in one or in the next.
        With two, each takes an edge at its own next tick: half a tick of either, either way.
        """
        if self.generator_hz is None:
            return 1.0
        return (self.ratio + 1) / 2 + STATISTICS_TICKS

    def mean_ticks(self, synchroniser_ticks: int) -> float:
        """Return how far the mean of all balls is above the known delay, without any loop.

        The first flip-flop takes an edge at the end of the cycle in which it comes. An edge of the
        same clock comes at the beginning of one; that of another clock in its middle, on average,
        and so it waits half a cycle less. The instrument rounds down, too.
        """
        if self.generator_hz is None:
            return float(synchroniser_ticks)
        return (synchroniser_ticks - 0.5) * self.ratio - 0.5


@dataclass(frozen=True)
class Common:
    """The common part of all balls' errors: ``ticks`` more, and ``slope`` of the known delay."""

    ticks: float
    slope: float = 0.0

    def of(self, nominal: float) -> float:
        """Return the common error of balls with a known delay (ticks of the instrument)."""
        return self.ticks + self.slope * nominal

    @classmethod
    def find(cls, balls: Sequence[tuple[float, int]], clocks: Clocks) -> "Common | None":
        """Find the common part of balls (known, measured, in the instrument's ticks), if any.

        With one clock the part is the most frequent difference: one edge after another comes at the
        same phase. With two it is the straight line through all: as they drift through every phase,
        its height is exact to a fraction of a tick, and its slope is the difference of the
        crystals.
        """
        if clocks.generator_hz is None:
            counts = Counter(measured - round(known) for known, measured in balls)
            if not counts:
                return None
            return cls(max(counts, key=lambda late: (counts[late], -abs(late))))
        tame = [
            (known, measured - known)
            for known, measured in balls
            if abs(measured - known) <= WILD_TICKS + WILD * known
        ]
        if len({known for known, _ in tame}) < 2:
            return None
        slope, height = linear_regression(*zip(*tame, strict=True))
        return cls(height, slope)
