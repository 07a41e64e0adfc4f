"""Boots made of kinds of balls: what they do to a curve is known, and any two can be compared.

``CROSSING`` are two sides whose curves cross: one is later in most balls, the other in rare ones.
``random_kinds`` draws a side nobody thought of.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from tennis.compare.band import MARGIN
from tennis.compare.boots import Boot, Values
from tennis.compare.judgement import FIRST_LOOK, Judgement, Pair, _Judged, judge, time_change
from tennis.compare.sides import Side

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


# mainline's interrupt and scheduling latencies under stress: the level of one ball in N, from ten
# million balls of edition 0; between half and 1 % made up
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
    pairs, look = min(most, FIRST_LOOK), 1
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
            most_boots=most,
        )
        if found.verdict != "undecided" or pairs >= most:
            return found, pairs
        pairs, look = min(most, 2 * pairs), look + 1


def ranking(of: Side, to: Side) -> str:
    """Say as a published ranking is judged whether a side is later, at 1 in 1,000 and rarer."""
    return time_change(to, of, 1000).change


@dataclass(frozen=True)
class Change:
    """A change that a gate should find: how balls are made before and after it, and in words.

    ``worse``: a declared quantity grew by more than the margin, so that *no worse* is an error;
    None: what grew is too rare to be declared.
    """

    Make = Callable[[Random, int, str], Values]

    words: str
    before: Make
    after: Make
    balls: int = 3000
    most: int = 32
    worse: bool | None = True


def made_of(kinds: Mixture) -> Change.Make:
    """Return what makes boots of a mixture, for both latencies."""
    return lambda random, balls, _: latencies(random, balls, kinds)


def _change(
    words: str, before: Mixture, after: Mixture, balls: int = 3000, *, worse: bool | None = True
) -> Change:
    return Change(words, made_of(before), made_of(after), balls, worse=worse)


def _pareto(random: Random, balls: int, latency: str, *, times: float = 1.0) -> Values:
    del latency
    tail = 5000 * times * np.exp(random.normal(0, 0.02)) * (1 + random.pareto(1.5, balls))
    return np.ceil(tail / TICK_NS) * TICK_NS


def _later_stress(random: Random, balls: int, latency: str) -> Values:
    return 2 * stress(random, balls, latency)


def _slow_boots(random: Random, balls: int, latency: str, *, share: float) -> Values:
    """Return idle balls; of some boots all of them 1.8 times as late."""
    del latency
    times = 1.8 if random.random() < share else 1.0
    return times * latencies(random, balls, IDLE)


def _lost_in_boots(random: Random, balls: int, latency: str, *, share: float, lost: int) -> Values:
    """Return idle balls; some boots lose this many."""
    del latency
    found = latencies(random, balls, IDLE)
    if random.random() < share:
        found[random.choice(balls, lost, replace=False)] = np.inf
    return found


IDLE = (Kind(1, 1400, spread=0.01), Kind(0.03, 2400, spread=0.1))
SLOWER = Kind(1, 1680, spread=0.01)
SOONER = (Kind(1, 1190, spread=0.01), Kind(0.03, 2040, spread=0.1))  # by 15 %
HALVES = (Kind(1, 4000, spread=0.01), Kind(0.5, 1000, spread=0.01))
LOCK = Kind(0.001, 90_000, spread=0.2)
RARE = Kind(1 / 20_000, 40_000, spread=0.2)
LOST = Kind(1 / 20_000, np.inf)
ODD = Kind(0.05, 140_000, boots=0.06)
BURSTS = Kind(0.01, 60_000, spread=0.5, burst=8, uneven=0.3)
TICK = (Kind(1, 1635),)  # the bench's own idle kinds: this one, and 24 % of 2,940 ns
LATER = Kind(0.243, 2940)
GATE: dict[str, Change] = {
    "idle": _change("all 20 % later", IDLE, (SLOWER, *IDLE[1:])),
    "idle, 12 %": _change(
        "all 12 % later", IDLE, (Kind(1, 1568, spread=0.01), Kind(0.03, 2688, spread=0.1))
    ),
    "lattice": _change("all 12 % later", (Kind(1, 1000),), (Kind(1, 1120),)),
    "heavy tail": Change("twice as late", _pareto, partial(_pareto, times=2.0)),
    "bursts": _change("twice as many", (*IDLE, BURSTS), (*IDLE, replace(BURSTS, share=0.02))),
    "bursts, 5 %": _change(
        "twice as many", (*IDLE, replace(BURSTS, share=0.05)), (*IDLE, replace(BURSTS, share=0.1))
    ),
    "two kinds, 1 in 1,000": _change(
        "three times as many", (*IDLE, LOCK), (*IDLE, replace(LOCK, share=0.003))
    ),
    "two kinds, 1 in 500": _change(
        "twice as late",
        (*IDLE, replace(LOCK, share=0.002)),
        (*IDLE, replace(LOCK, share=0.002, ns=180_000)),
    ),
    "two kinds, half each": _change(
        "the sooner kind 80 % later", HALVES, (HALVES[0], Kind(0.5, 1800, spread=0.01))
    ),
    "cross": _change("0.3 % later, others sooner", SLOW, (Kind(1, 1370), Kind(0.003, 7700))),
    "an improvement": _change("usual balls 15 % sooner", IDLE, SOONER, worse=False),
    **{
        f"improvement, late {100 * share:g} %": _change(
            f"15 % sooner, {1000 * share:g} times as many late",
            (*IDLE, LOCK),
            (*SOONER, replace(LOCK, share=share)),
        )
        for share in (0.0015, 0.002, 0.003)
    },
    "between levels, later": _change(
        "23 % of balls from 3 to 5.4 µs",
        (Kind(1, 1600, spread=0.01), Kind(0.23, 3000, spread=0.01)),
        (Kind(1, 1600, spread=0.01), Kind(0.23, 5400, spread=0.01)),
    ),
    "between levels, more": _change(
        "26 to 48 % late", (*TICK, replace(LATER, share=0.26)), (*TICK, replace(LATER, share=0.48))
    ),
    "between levels, alike": _change(
        "24.3 to 26 % late", (*TICK, LATER), (*TICK, replace(LATER, share=0.26)), worse=False
    ),
    "slow boots": Change(
        "30 % of boots 1.8 times as late",
        partial(_slow_boots, share=0.0),
        partial(_slow_boots, share=0.3),
    ),
    "outlier boots": _change("all 20 % later", (*IDLE, ODD), (SLOWER, *IDLE[1:], ODD)),
    "lost, 3 times": _change(
        "1 in 6,667 lost", (*IDLE, LOST), (*IDLE, replace(LOST, share=3 / 20_000)), worse=None
    ),
    "lost, 5 times": _change(
        "1 in 4,000 lost", (*IDLE, LOST), (*IDLE, replace(LOST, share=5 / 20_000)), worse=None
    ),
    "lost, 10 times": _change(
        "1 in 2,000 lost", (*IDLE, LOST), (*IDLE, replace(LOST, share=10 / 20_000))
    ),
    "lost in boots": Change(
        "1 lost in 50 % of boots, not 10 %",
        partial(_lost_in_boots, share=0.1, lost=1),
        partial(_lost_in_boots, share=0.5, lost=1),
        worse=None,
    ),
    "lost in more boots, fewer balls": Change(
        "1 lost in each, not 20 in 20 %",
        partial(_lost_in_boots, share=0.2, lost=20),
        partial(_lost_in_boots, share=1.0, lost=1),
        worse=None,
    ),
    "rare": _change(
        "200 µs in 1 of 5,000", (*IDLE, RARE), (*IDLE, RARE, Kind(1 / 5000, 200_000)), worse=None
    ),
    "rare, none before": _change(
        "200 µs in 1 of 5,000", IDLE, (*IDLE, Kind(1 / 5000, 200_000)), worse=None
    ),
    "rare, more": _change("200 µs in 1 of 1,500", IDLE, (*IDLE, Kind(1 / 1500, 200_000))),
    "stress": Change("twice as late", stress, _later_stress, balls=6000),
}


def drawn_sides(number: int, pairs: int = BOOTS, balls: int = 1000) -> tuple[Side, Side]:
    """Return two sides at random: often alike, often with one kind of balls changed."""
    random = np.random.default_rng([66, number])
    kinds = random_kinds(random)
    other = random_kinds(random) if random.random() < 0.3 else kinds
    if other is kinds and random.random() < 0.7:
        place = int(random.integers(len(kinds)))
        changed = replace(
            kinds[place],
            ns=kinds[place].ns * float(10 ** random.uniform(-0.5, 0.5)),
            share=min(1.0, kinds[place].share * float(10 ** random.uniform(-0.5, 0.5))),
        )
        other = (*kinds[:place], changed, *kinds[place + 1 :])
    sides = (boots(random, balls, some, pairs) for some in (kinds, other))
    before, after = (Side(side, range(pairs)) for side in sides)
    return before, after


def verdict(before: Side, after: Side) -> str:
    """Judge two sides of one latency, in one look."""
    return judge([Pair("", "interrupt", before, after)]).verdict


def halved(side: Side) -> Side:
    """Return each boot without each second of its balls."""
    every = [np.repeat(boot.values, boot.counts)[::2] for boot in side.boots]
    lost = [boot.lost // 2 for boot in side.boots]
    cut = [
        Boot.of(np.concatenate([some, np.full(gone, np.inf)]))
        for some, gone in zip(every, lost, strict=True)
    ]
    return Side(cut, side.seeds)


def sooner_beside(side: Side, to: Side) -> Side:
    """Return a side whose sooner half became 30 % sooner: the median of ``to`` and all below."""
    middle = to.level(2)
    made = []
    for boot in side.boots:
        values = np.where(boot.values < middle, np.floor(0.7 * boot.values), boot.values)
        every = np.repeat(values, boot.counts)
        made.append(Boot.of(np.concatenate([every, np.full(boot.lost, np.inf)])))
    return Side(made, side.seeds)


def turned_round(count: int) -> dict[str, int]:
    """Return how often a verdict wrongly turns round, among this many random sides.

    *Mirror*: both directions are no worse, and one is worse. *Cut*, *copied boot*, *one more boot*:
    worse becomes no worse, or the reverse. *Improvement beside*: another verdict becomes "no worse"
    by an improvement elsewhere.
    """
    found = dict.fromkeys(("mirror", "cut", "copied boot", "one more boot", "improvement"), 0)
    opposite = {"worse", "no worse"}
    for number in range(count):
        more = drawn_sides(number, BOOTS + 1)
        before, after = (Side(side.boots[:BOOTS], range(BOOTS)) for side in more)
        said = verdict(before, after)
        changed = {
            "cut": verdict(halved(before), halved(after)),
            "one more boot": verdict(*more),
            "copied boot": verdict(
                *(Side([*side.boots, side.boots[0]], range(BOOTS + 1)) for side in (before, after))
            ),
        }
        for name, other in changed.items():
            found[name] += {said, other} == opposite
        curve = judge([Pair("", "interrupt", before, after)]).kinds[0]
        back = judge([Pair("", "interrupt", after, before)]).kinds[0]
        assert curve.curve is not None and back.curve is not None
        assert curve.usual is not None and back.usual is not None
        found["mirror"] += (curve.reverse.is_later, curve.reverse.is_excluded) != (
            back.curve.is_later,
            back.curve.is_excluded,
        )
        better = verdict(before, sooner_beside(after, before))
        found["improvement"] += better == "no worse" and not _only_usual(curve)
    return found


def _only_usual(kind: _Judged) -> bool:
    """Tell whether nothing but the sooner half could hold a verdict back."""
    assert kind.curve is not None
    late = kind.curve.fine.times > kind.pair.before.level(2) * kind.curve.fine.factor
    return bool(kind.curve.fine.excluded[late].all())
