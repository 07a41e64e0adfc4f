# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Boots that nobody played, with late balls in bursts, and a worst case that is known.

Each boot has a pace of its own. Most of its balls take about as long; bursts of late balls come
at random, and what is late in a burst is late by a random factor. The level that one ball in so
many exceeds follows from that by counting a great many balls.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np

from tennis.replicate.deciding import Cell, decide
from tennis.replicate.rules import RulePart, Side, replication
from tennis.stats.exceedance import Boot, Values


@dataclass(frozen=True)
class Kind:
    """What boots are like; times in ns."""

    usual: float = 5_000.0
    pace_sd: float = 0.02  # of the logarithm, from boot to boot
    burst_share: float = 0.0  # of the balls are in a burst
    burst_balls: int = 8  # a burst has so many on average
    late: float = 20.0  # times the usual: the median of a late ball
    late_sd: float = 0.8  # of the logarithm, within a burst
    bursts_sd: float = 0.3  # of the logarithm: some boots have more bursts than others

    def boot(self, random: np.random.Generator, balls: int) -> Values:
        """Return the latencies of one boot, in the order of the balls."""
        pace = np.exp(random.normal(0, self.pace_sd))
        latencies = self.usual * pace * (1 + np.abs(random.normal(0, 0.02, balls)))
        share = self.burst_share * np.exp(random.normal(-(self.bursts_sd**2) / 2, self.bursts_sd))
        starts = np.flatnonzero(random.random(balls) < share / self.burst_balls)
        for start, length in zip(
            starts, random.geometric(1 / self.burst_balls, starts.size), strict=True
        ):
            late = latencies[start : start + length]
            height = self.late * np.exp(random.normal(0, self.late_sd))
            late *= height * np.exp(random.normal(0, 0.2, late.size))
        return latencies

    def boots(self, random: np.random.Generator, count: int, balls: int) -> list[Boot]:
        """Return boots of as many balls each."""
        return [Boot.of(np.round(self.boot(random, balls))) for _ in range(count)]

    def level(self, one_in: int) -> float:
        """Return what one ball in so many exceeds, in ns, of very many boots."""
        return _level(self, one_in)


@cache
def _level(kind: Kind, one_in: int) -> float:
    random = np.random.default_rng(2008)
    many = np.concatenate([kind.boot(random, 4_000) for _ in range(1_500)])
    return float(np.quantile(many, 1 - 1 / one_in))


IDLE = Kind()
HARD = Kind(burst_share=0.002, burst_balls=1, late_sd=0.3)
# of bursts of more than some ten balls, 30,000 balls do not hold enough: docs/match.md
KINDS = {
    "single": Kind(burst_share=0.01, burst_balls=1),
    "bursts": Kind(burst_share=0.01),
    "rare": Kind(burst_share=0.002),
    "uneven": Kind(burst_share=0.005, bursts_sd=0.8),
    "heavy": Kind(burst_share=0.004, burst_balls=4, late_sd=1.5),
}
BOOTS = 10
_SIDE = Side(kernel="rt", priorities="chrt", loads=("stress",), latency="interrupt")


@dataclass(frozen=True)
class Simulated:
    """What the rule said of many matches of one kind."""

    verdicts: list[str]
    wrong: int


def simulate(
    kind: Kind,
    balls: int,
    matches: int,
    *,
    times: float | None = None,
    below: float | None = None,
    draws: int = 400,
) -> Simulated:
    """Play matches of ``kind`` against idle; ``balls`` a boot.

    The statement: the ratio of what one ball in 1,000 exceeds is above the true ratio (of half of
    the matches a hair above it, which is false, of half a hair below); with ``times``, above the
    true ratio over ``times``; or else it stays ``below``.
    """
    statistics = replication().statistics
    true = kind.level(statistics.judged_one_in) / IDLE.level(statistics.judged_one_in)
    verdicts, wrong = [], 0
    for number in range(matches):
        random = np.random.default_rng([2008, number])
        sides = [
            [Cell(f"{name} {number}", one.boots(random, BOOTS, balls), draws)]
            for name, one in (("of", kind), ("to", IDLE))
        ]
        edge = true / times if times else true * (1.001 if number % 2 else 0.999)
        bounds = {"below": below} if below else {"above": edge}
        part = RulePart(says="made up", of=_SIDE, to=_SIDE, **bounds)
        verdict = decide(part, *sides, [], statistics).verdict
        holds = kind.level(100_000) / IDLE.level(100_000) < below if below else true > edge
        verdicts.append(verdict)
        wrong += verdict == ("contradicted" if holds else "confirmed")
    return Simulated(verdicts, wrong)
