# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Boots that nobody played, of families in which a comparison is likely to err, with a known truth.

Both sides of a comparison are of one family, so that both can mislead; one of them is slower by a
factor. Each statement is put a hair beside that factor, once so that it is true and once so that it
is false: a verdict can be wrong in every comparison.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import numpy as np

from tennis.comparison.before_after import Pair, first_look, judge, statement_count
from tennis.comparison.boots import Boot, Values
from tennis.comparison.findings import at_level
from tennis.comparison.ratios import MARGIN
from tennis.comparison.sides import Side
from tennis.replicate.deciding import decide
from tennis.replicate.rules import RulePart, RuleSide, replication

Random = np.random.Generator
Boots = Callable[[Random, int], Values]  # latencies (ns) of one boot of so many balls, in order
Judge = Callable[[Side, Side], str]  # a rule: what it says of two sides
BOOTS = 10
HAIR = 1.001
USUAL = 5_000.0


def pareto(random: Random, balls: int, *, index: float) -> Values:
    """Return balls with a tail of a Pareto index: the smaller, the heavier."""
    return _usual(random, balls) * (1 + random.pareto(index, balls))


def bursts(random: Random, balls: int, *, share: float, uneven: float = 0.3) -> Values:
    """Return balls of which a share is in bursts of 8 that are some twenty times as late."""
    latencies = _usual(random, balls)
    share *= np.exp(random.normal(-(uneven**2) / 2, uneven))
    starts = np.flatnonzero(random.random(balls) < share / 8)
    for start, length in zip(starts, random.geometric(1 / 8, starts.size), strict=True):
        late = latencies[start : start + length]
        height = 20 * np.exp(random.normal(0, 0.8))
        late *= height * np.exp(random.normal(0, 0.2, late.size))
    return latencies


def two_kinds(random: Random, balls: int, *, share: float, uneven: float = 0.0) -> Values:
    """Return balls of which a share waits for a lock, some four hundred times as long as others.

    ``uneven``: the standard deviation of the share's logarithm, from boot to boot.
    """
    latencies = _usual(random, balls)
    share *= np.exp(random.normal(-(uneven**2) / 2, uneven)) if uneven else 1
    late = np.flatnonzero(random.random(balls) < share)
    latencies[late] *= 400 * np.exp(random.normal(0, 0.2, late.size))
    return latencies


def two_constants(random: Random, balls: int, *, share: float) -> Values:
    """Return balls that are all alike but for a share that is 400 times as late."""
    return np.where(random.random(balls) < share, 400 * USUAL, USUAL)


def bad(random: Random, balls: int, *, of: Boots, share: float = 0.1) -> Values:
    """Return a boot as others, but for a tenth of them: in these 1 ball in 20 is 100 times later.

    A usual boot is none of them: what is true of most boots is the truth.
    """
    latencies = of(random, balls)
    if random.random() < share:
        latencies = np.where(random.random(balls) < 0.05, 100 * latencies, latencies)
    return latencies


def quantised(random: Random, balls: int) -> Values:
    """Return balls that an instrument with coarse ticks saw."""
    return np.ceil(pareto(random, balls, index=1.5) / USUAL) * USUAL


def quiet(random: Random, balls: int) -> Values:
    """Return balls of which one is like another, but for the boot's pace."""
    return _usual(random, balls)


def constant(_: Random, balls: int) -> Values:
    """Return balls that are all alike, in all boots."""
    return np.full(balls, USUAL)


def _usual(random: Random, balls: int) -> Values:
    pace = np.exp(random.normal(0, 0.02))
    latencies: Values = USUAL * pace * (1 + np.abs(random.normal(0, 0.02, balls)))
    return latencies


FAMILIES: dict[str, Boots] = {
    **{f"Pareto {index:g}": partial(pareto, index=index) for index in (0.8, 1.0, 1.5, 2.0)},
    "bursts, 1 ball in 100": partial(bursts, share=0.01),
    "bursts, 1 ball in 500": partial(bursts, share=0.002),
    "bursts, boots differ": partial(bursts, share=0.005, uneven=0.8),
    "two kinds, 1 ball in 1,000": partial(two_kinds, share=0.001),
    "a tenth of bad boots": partial(bad, of=partial(pareto, index=1.5)),
    "quiet, a tenth of bad boots": partial(bad, of=quiet),
    "quantised": quantised,
    "quiet": quiet,
    "no variance": constant,
}
# cells whose level of 1 in 1,000 falls between two kinds of balls, of a given share of late ones
Kinds = Callable[[Random, int, float], Values]
KINDS: dict[str, Kinds] = {
    "a lock": lambda random, balls, share: two_kinds(random, balls, share=share),
    "a lock, boots differ": lambda *made: two_kinds(*made[:2], share=made[2], uneven=0.5),
    "a lock, no variance": lambda random, balls, share: two_constants(random, balls, share=share),
    "a lock, a tenth of bad boots": lambda random, balls, share: bad(
        random, balls, of=partial(two_kinds, share=share)
    ),
    "bursts": lambda random, balls, share: bursts(random, balls, share=share),
}
Statement = Literal["above", "below", "between", "nearer", "rank", "equivalent"]
STATEMENTS: tuple[Statement, ...] = ("above", "below", "between", "nearer", "rank", "equivalent")
_SIDE = RuleSide(kernel="rt", priorities="chrt", loads=("stress",), latency="interrupt")
_part = partial(RulePart, says="made up", of=_SIDE, to=_SIDE)


@dataclass(frozen=True)
class Simulated:
    """What was said of many comparisons, in their order, and how often it was wrong."""

    said: list[str]
    wrong: int

    @property
    def decided(self) -> float:
        """Return the share in which something was said."""
        return sum(one not in {"inconclusive", "undecided"} for one in self.said) / len(self.said)


def slower(side: Side, times: float) -> Side:
    """Return the same boots, so many times as slow."""
    return Side([replace(boot, values=boot.values * times) for boot in side.boots])


def simulate(
    make: Boots,
    balls: int,
    comparisons: int,
    *,
    shares: Sequence[float] = (1.0,),
    judge: Judge | None = None,
) -> dict[Statement, list[Simulated]]:
    """Judge statements beside their edges; ``shares``: of each boot's balls, a result for each.

    Of half of the comparisons the statement is true, of half of them false. ``judge`` is another
    rule in place of the kit's, for statements with one bound.
    """
    judged: dict[Statement, list[list[tuple[str, bool]]]]
    judged = {statement: [[] for _ in shares] for statement in STATEMENTS}
    for number in range(comparisons):
        random = np.random.default_rng([2008, number])
        latencies = [[make(random, balls) for _ in range(BOOTS)] for _ in range(3)]
        for place, share in enumerate(shares):
            sides = [
                Side([Boot.of(boot[: int(balls * share)]) for boot in side]) for side in latencies
            ]
            for statement, results in judged.items():
                results[place].append(_judged(sides, statement, judge, true=number % 2 == 0))
    return {
        statement: [
            Simulated([said for said, _ in one], sum(wrong for _, wrong in one)) for one in results
        ]
        for statement, results in judged.items()
    }


def _judged(
    sides: list[Side], statement: Statement, judge: Judge | None, *, true: bool
) -> tuple[str, bool]:
    """Return what is said of a statement that is true, or not; and whether that is wrong."""
    hair = HAIR if true else 1 / HAIR
    margin = 1 + MARGIN
    one, other, third = sides
    if statement == "equivalent":
        said = at_level(slower(one, margin / hair), other, 1000).relation()
        return said, said in ({"greater", "less"} if true else {"equivalent", "less"})
    if statement == "rank":  # later by a hair more than the margin, or by a hair less
        said = _verdict(_part(above=1.0), slower(one, margin * hair), other)
        return said, said == "contradicted" or (not true and said == "confirmed")
    if statement == "nearer":
        part = RulePart(says="made up", of=_SIDE, to=_SIDE, than=_SIDE)
        of, than = slower(one, 10 / hair), slower(third, 100)
        said = decide(part, [of], [other], [than], replication().statistics).verdict
    else:
        edge = {"above": {"above": 3 / hair}, "below": {"below": 3 * hair}}
        edge["between"] = {"above": 0.3, "below": 3 * hair}
        of = slower(one, 3.0)
        said = judge(of, other) if judge else _verdict(_part(**edge[statement]), of, other)
    return said, said == ("contradicted" if true else "confirmed")


def _verdict(part: RulePart, of: Side, to: Side) -> str:
    return decide(part, [of], [to], [], replication().statistics).verdict


def opposite(one: str, other: str) -> bool:
    """Tell whether two things that were said contradict each other."""
    return one != other and not {one, other} & {"inconclusive", "undecided"}


def power(make: Boots, balls: int, comparisons: int, times: Sequence[float]) -> list[float]:
    """Return in which share of comparisons a side that is so many times as late is found to be."""
    found = np.zeros(len(times))
    for number in range(comparisons):
        random = np.random.default_rng([2012, number])
        of, to = (Side([Boot.of(make(random, balls)) for _ in range(BOOTS)]) for _ in range(2))
        found += [at_level(slower(of, one), to, 1000).relation() == "greater" for one in times]
    return [float(share) for share in found / comparisons]


def simulate_shares(
    make: Kinds, balls: int, comparisons: int, *, share: float, shares: Sequence[float] = (1.0,)
) -> list[Simulated]:
    """Compare sides whose shares of late balls differ by the margin, a hair more or a hair less.

    ``share``: of late balls on one side; ``shares``: of each boot's balls, a result for each. Their
    levels are truly equal, unless the one share is below one ball in 1,000 and the other above.
    """
    results: list[list[tuple[str, bool]]] = [[] for _ in shares]
    for number in range(comparisons):
        random = np.random.default_rng([2026, number])
        more = number % 2 == 0
        times = (1 + MARGIN) * (HAIR if more else 1 / HAIR)
        of, to = (
            [make(random, balls, one) for _ in range(BOOTS)] for one in (share * times, share)
        )
        for place, part in enumerate(shares):
            sides = [
                Side([Boot.of(boot[: int(balls * part)]) for boot in side]) for side in (of, to)
            ]
            decisive, said = at_level(*sides, 1000).decisive()
            false = {"equivalent", "less"} if more else {"greater", "less"}
            if isinstance(decisive.what, int) and not share <= 0.001 <= share * times:
                false = {"greater", "less"}
            results[place].append((said, said in false))
    return [Simulated([said for said, _ in one], sum(wrong for _, wrong in one)) for one in results]


def power_of_shares(
    make: Kinds, balls: int, comparisons: int, *, share: float, times: Sequence[float]
) -> list[float]:
    """Return in which part of comparisons a side with so many times as many late balls is found."""
    found = []
    for one in times:
        said = []
        for number in range(comparisons):
            random = np.random.default_rng([2027, number])
            of, to = (
                Side([Boot.of(make(random, balls, late)) for _ in range(BOOTS)])
                for late in (share * one, share)
            )
            said.append(at_level(of, to, 1000).relation() == "greater")
        found.append(float(np.mean(said)))
    return found


def looks(make: Boots, balls: int, comparisons: int, *, times: float, most: int = 32) -> list[str]:
    """Compare sides of which one is so many times as slow, with boots added as `tennis compare`.

    Two latencies, as a rally has. Returns the verdicts.
    """
    said = []
    for number in range(comparisons):
        random = np.random.default_rng([2026, number])
        sides = [[Boot.of(make(random, balls)) for _ in range(most)] for _ in range(4)]
        boots, look = min(most, first_look(statement_count(1, 2, balls))), 1
        while True:
            seeds = range(boots)
            one, other, third, fourth = (Side(side[:boots], seeds) for side in sides)
            pairs = [
                Pair("", "interrupt", one, replace(slower(other, times), seeds=seeds)),
                Pair("", "scheduling", third, replace(slower(fourth, times), seeds=seeds)),
            ]
            verdict = judge(pairs, look=look).verdict
            if verdict != "undecided" or boots >= most:
                said.append(verdict)
                break
            boots, look = min(most, 2 * boots), look + 1
    return said
