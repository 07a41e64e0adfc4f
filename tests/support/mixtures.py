# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Boots made of kinds of balls: what they do to a curve is known, and any two can be compared.

``CROSSING`` are two sides whose curves cross: one is later in most balls, the other in rare ones.
``random_kinds`` draws a side nobody thought of.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from tennis.comparison.before_after import (
    Judgement,
    Pair,
    first_look,
    judge,
    statement_count,
)
from tennis.comparison.boots import Boot, Values
from tennis.comparison.ratios import MARGIN
from tennis.comparison.sides import Side
from tennis.replicate.deciding import decide
from tennis.replicate.rules import RulePart, RuleSide, replication

Random = np.random.Generator
BOOTS = 10
TICK_NS = 2.0  # as the virtual bench has it


@dataclass(frozen=True)
class Kind:
    """A kind of balls: which share of a boot's balls, how late, in bursts of how many."""

    share: float
    ns: float
    spread: float = 0.0  # standard deviation of the logarithm, from ball to ball
    burst: int = 1
    boots: float = 1.0  # share of boots that have it
    uneven: float = 0.0  # standard deviation of the share's logarithm, from boot to boot


Mixture = Sequence[Kind]  # the first is the usual kind


def latencies(random: Random, balls: int, kinds: Mixture) -> Values:
    """Return the latencies (ns) of a boot, in the order of its balls; infinite: missed."""
    usual = kinds[0]
    found = np.full(balls, float(usual.ns))
    found *= np.exp(random.normal(0, usual.spread, balls)) if usual.spread else 1
    for kind in kinds[1:]:
        share = kind.share * float(np.exp(random.normal(-(kind.uneven**2) / 2, kind.uneven)))
        if random.random() >= kind.boots:
            continue
        starts = np.flatnonzero(random.random(balls) < share / kind.burst)
        for start in starts:
            length = min(kind.burst, balls - int(start))
            late = np.exp(random.normal(0, kind.spread, length)) if kind.spread else 1
            found[start : start + length] = kind.ns * late
    return np.ceil(found / TICK_NS) * TICK_NS


def boots(random: Random, balls: int, kinds: Mixture, count: int = BOOTS) -> list[Boot]:
    """Return boots of one side."""
    return [Boot.of(latencies(random, balls, kinds)) for _ in range(count)]


# of a side that is later in most balls and a side whose rare balls are later: at 1 in 1,000 one of
# them is later, or nobody knows; what is later at a rarer level is the second one, always
SLOW = (Kind(1, 1850),)
CROSSING: dict[str, tuple[Mixture, Mixture, int]] = {
    "cross at 0.06 %": (SLOW, (Kind(1, 1370), Kind(0.0006, 7700)), 6000),
    "cross at 0.05 %, short boots": (SLOW, (Kind(1, 1370), Kind(0.0005, 7700)), 3000),
    "cross at 0.06 % in bursts": (SLOW, (Kind(1, 1370), Kind(0.0006, 7700, burst=3)), 24_000),
    "cross at 0.09 %": (SLOW, (Kind(1, 1370), Kind(0.0009, 7700)), 6000),
    "cross, boots differ": (SLOW, (Kind(1, 1370), Kind(0.0007, 7700, uneven=0.5)), 6000),
    "cross, with spread": (
        (Kind(1, 1850, spread=0.05), Kind(0.01, 2500, spread=0.1)),
        (Kind(1, 1370, spread=0.05), Kind(0.0007, 20_000, spread=0.3)),
        6000,
    ),
    "cross in misses": (SLOW, (Kind(1, 1370), Kind(0.0006, np.inf)), 6000),
    "cross twice": (
        (Kind(1, 1850), Kind(0.0007, 5000)),
        (Kind(1, 1370), Kind(0.0009, 4000), Kind(0.0002, 90_000)),
        6000,
    ),
}
# the truth there is known, and that a side is later at 1 in 1,000 and at all rarer levels
CLEAR: dict[str, tuple[Mixture, Mixture, int]] = {
    "later from 0.3 % on": ((Kind(1, 1370), Kind(0.003, 7700)), SLOW, 6000),
    "later in all": ((Kind(1, 1850), Kind(0.003, 9000)), (Kind(1, 1370), Kind(0.003, 6000)), 6000),
}


def random_kinds(random: Random) -> Mixture:
    """Draw a side: a usual kind, and up to three later ones, as rare and as late as may be."""
    usual = Kind(1, 10 ** random.uniform(3, 4), spread=float(random.choice([0, 0.02, 0.2])))
    later = [
        Kind(
            share=10 ** random.uniform(-4.3, -0.3),
            ns=np.inf if random.random() < 0.05 else usual.ns * 10 ** random.uniform(0.05, 2.5),
            spread=float(random.choice([0, 0.05, 0.5])),
            burst=int(random.choice([1, 1, 3, 8])),
            boots=float(random.choice([1, 1, 1, 0.5])),
            uneven=float(random.choice([0, 0, 0.5])),
        )
        for _ in range(random.integers(0, 4))
    ]
    return (usual, *later)


# mainline's interrupt and scheduling latencies under stress: what one ball in so many exceeds, as
# docs/evidence/ten-million.md has it; between half and 1 % made up
INTERRUPT = (1, 1.1), (2, 1.14), (10, 1.3), (30, 20), (100, 212), (1e3, 1138), (1e4, 1371)
SCHEDULING = (1, 1.5), (2, 1.57), (100, 1.6), (700, 1.7), (720, 700), (1e3, 1341), (1e4, 2693)
STRESS: dict[str, tuple[tuple[float, float], ...]] = {
    "interrupt": (*INTERRUPT, (1e5, 1396), (1e6, 1404)),
    "scheduling": (*SCHEDULING, (1e5, 5191), (1e6, 6596)),
}


def stress(random: Random, balls: int, latency: str = "interrupt") -> Values:
    """Return the latencies (ns) of a boot under stress, independent of each other."""
    one_in, us = np.array(STRESS[latency]).T
    drawn = np.minimum(1 / random.random(balls), one_in[-1])
    found = 1000 * np.exp(np.interp(np.log(drawn), np.log(one_in), np.log(us)))
    return np.ceil(found / TICK_NS) * TICK_NS


def gate(
    before: Callable[[Random, int, str], Values],
    after: Callable[[Random, int, str], Values],
    balls: int,
    number: int,
    *,
    most: int = 32,
    margin: float = MARGIN,
    latencies: Sequence[str] = ("interrupt", "scheduling"),
) -> tuple[Judgement, int]:
    """Judge two sides as ``tennis compare`` does, with boots added; return also the pairs."""
    random = np.random.default_rng([55, number])
    made: dict[str, tuple[list[Boot], list[Boot]]] = {name: ([], []) for name in latencies}
    pairs, look = min(most, first_look(statement_count(1, len(latencies), balls))), 1
    while True:
        for name, sides in made.items():
            for make, some in zip((before, after), sides, strict=True):
                some += [Boot.of(make(random, balls, name)) for _ in range(pairs - len(some))]
        found = judge(
            [
                Pair("", name, *(Side(side[:pairs], range(pairs)) for side in sides))
                for name, sides in made.items()
            ],
            margin=margin,
            look=look,
        )
        if found.verdict != "undecided" or pairs >= most:
            return found, pairs
        pairs, look = min(most, 2 * pairs), look + 1


def ranking(of: Side, to: Side) -> str:
    """Say by the rules of published rankings whether a side is later."""
    side = RuleSide(kernel="rt", priorities="chrt", loads=("stress",), latency="interrupt")
    part = RulePart(says="made up", of=side, to=side, above=1.0)
    return decide(part, [of], [to], [], replication().statistics).verdict


@dataclass(frozen=True)
class Change:
    """A change that a gate should find: how balls are made before and after it, and in words."""

    Make = Callable[[Random, int, str], Values]

    words: str
    before: Make
    after: Make
    balls: int = 3000
    most: int = 32


def made_of(kinds: Mixture) -> Change.Make:
    """Return what makes boots of a mixture, for both latencies."""
    return lambda random, balls, _: latencies(random, balls, kinds)


def _change(words: str, before: Mixture, after: Mixture, balls: int = 3000) -> Change:
    return Change(words, made_of(before), made_of(after), balls)


def _pareto(random: Random, balls: int, latency: str, *, times: float = 1.0) -> Values:
    del latency
    tail = 5000 * times * np.exp(random.normal(0, 0.02)) * (1 + random.pareto(1.5, balls))
    return np.ceil(tail / TICK_NS) * TICK_NS


def _later_stress(random: Random, balls: int, latency: str) -> Values:
    return 2 * stress(random, balls, latency)


IDLE = (Kind(1, 1400, spread=0.01), Kind(0.03, 2400, spread=0.1))
SLOWER = Kind(1, 1680, spread=0.01)
HALVES = (Kind(1, 4000, spread=0.01), Kind(0.5, 1000, spread=0.01))
LOCK = Kind(0.001, 90_000, spread=0.2)
RARE = Kind(1 / 20_000, 40_000, spread=0.2)
ODD = Kind(0.05, 140_000, boots=0.06)
GATE: dict[str, Change] = {
    "idle": _change("all 20 % later", IDLE, (SLOWER, *IDLE[1:])),
    "lattice": _change("all 12 % later", (Kind(1, 1000),), (Kind(1, 1120),)),
    "heavy tail": Change("twice as late", _pareto, partial(_pareto, times=2.0)),
    "bursts": _change(
        "twice as many",
        (*IDLE, Kind(0.01, 60_000, spread=0.5, burst=8, uneven=0.3)),
        (*IDLE, Kind(0.02, 60_000, spread=0.5, burst=8, uneven=0.3)),
    ),
    "two kinds, 1 in 1,000": _change(
        "three times as many", (*IDLE, LOCK), (*IDLE, replace(LOCK, share=0.003))
    ),
    "two kinds, half each": _change(
        "the sooner kind 80 % later", HALVES, (HALVES[0], Kind(0.5, 1800, spread=0.01))
    ),
    "cross": _change("0.3 % later, others sooner", SLOW, (Kind(1, 1370), Kind(0.003, 7700))),
    "rare": _change("200 µs in 1 of 5,000", (*IDLE, RARE), (*IDLE, RARE, Kind(1 / 5000, 200_000))),
    "rare, none before": _change("200 µs in 1 of 5,000", IDLE, (*IDLE, Kind(1 / 5000, 200_000))),
    "misses on one side": _change("1 miss in 5,000", IDLE, (*IDLE, Kind(1 / 5000, np.inf))),
    "misses on both": _change(
        "ten times as many", (*IDLE, Kind(1 / 20_000, np.inf)), (*IDLE, Kind(1 / 2000, np.inf))
    ),
    "outlier boots": _change("all 20 % later", (*IDLE, ODD), (SLOWER, *IDLE[1:], ODD)),
    "stress": Change("twice as late", stress, _later_stress, balls=6000),
}  # fmt: skip
