"""Decide whether a published comparison holds: its bounds against the ratio of two sides of boots.

docs/match.md says the rules in words; ``tests/compare`` plays made-up matches of a known truth.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from tennis.compare.band import later_by, rare_share
from tennis.compare.boots import balls_for
from tennis.compare.sides import Side
from tennis.compare.words import seeds
from tennis.kit.units import format_ns
from tennis.report.publications.rules import RulePart, Statistics

Position = Literal["inside", "outside", "both"]
Verdict = Literal["confirmed", "contradicted", "inconclusive"]
Interval = tuple[float, float]
Cells = Sequence[Side]  # one for each load: the latest of them counts
BOOTS_MAX = 1000  # more boots than that are no advice
TAIL = 0.025  # beyond each end of an interval


@dataclass(frozen=True)
class Level:
    """A comparison at one level: a ratio, or for "nearer" a distance in decades."""

    one_in: int
    estimate: float
    interval: Interval
    position: Position

    @property
    def words(self) -> str:
        """Name the judged quantity."""
        return f"{level_words(self.one_in)} and rarer, of all balls"


@dataclass(frozen=True)
class _Decision:
    """A verdict with its grounds."""

    verdict: Verdict
    rule: str  # what the ratio must be
    remark: str = ""  # what decided, if the interval and the rule alone did not
    levels: tuple[Level, ...] = ()
    judged: Level | None = None
    largest: float | None = None  # the ratio of the latest balls of both sides
    open: bool = False  # more boots, or longer ones, are what it takes
    boots_needed: int | None = None  # that are likely to decide it; None: no affordable number


def decide(part: RulePart, of: Cells, to: Cells, than: Cells, rules: Statistics) -> _Decision:
    """Decide whether ``part`` holds for its sides; ``than`` may be empty."""
    cells = [*of, *to, *than]
    limits = _Bounds.of(part, rules)
    wanted = [one_in for one_in in rules.one_in if all(cell.has(one_in) for cell in cells)]
    found = tuple(_level(part, one_in, (of, to, than), limits, rules.margin) for one_in in wanted)
    judged = next((level for level in found if level.one_in == rules.judged_one_in), None)
    largest = None if than else _latest_ratio(of, to)
    few, needed = _too_few(cells, rules)
    if few or judged is None:
        return _Decision(
            verdict="inconclusive",
            rule=limits.words,
            remark=few,
            levels=found,
            judged=judged,
            largest=largest,
            open=True,
            boots_needed=needed,
        )
    verdict, remark = _verdict(judged, limits, (of, to, than))
    boots = min(len(cell.boots) for cell in cells)
    straddles = judged.position == "both" and not remark
    return _Decision(
        verdict=verdict,
        rule=limits.words,
        remark=remark,
        levels=found,
        judged=judged,
        largest=largest,
        open=straddles,
        boots_needed=_boots_needed(limits, judged, boots) if straddles else None,
    )


@dataclass(frozen=True)
class _Bounds:
    """The bounds of an estimate, and those beyond which it contradicts the statement."""

    words: str
    above: float | None
    below: float | None
    not_above: float | None  # an estimate that is not above it is outside
    not_below: float | None
    margin: float | None = None  # of a ranking

    @classmethod
    def of(cls, part: RulePart, rules: Statistics) -> "_Bounds":
        if part.than:
            return cls("must be below 0: nearer", None, 0.0, None, 0.0)
        if part.ranks:  # neither side is later if they differ by no more than the margin
            most = 1 + rules.margin
            words = f"must be above {number(most)}, and contradicts below {number(1 / most)}"
            return cls(words, most, None, 1 / most, None, rules.margin)
        words = f"must be {_bounds(part.above, part.below)}"
        return cls(words, part.above, part.below, part.above, part.below)

    def equal(self, interval: Interval) -> str:
        """Say that neither side is later; empty: that is not known, or not asked."""
        if self.margin is None:
            return ""
        low, high = interval
        if not 1 / (1 + self.margin) <= low <= high <= 1 + self.margin:
            return ""
        return f"both sides are equal within {100 * self.margin:g} %: neither is later"

    def position(self, interval: Interval) -> Position:
        """Return the side of the bounds on which an interval is."""
        low, high = interval
        if math.isnan(low) or math.isnan(high):
            return "both"
        if self.margin is not None:  # swapped sides must give the swapped answer
            most = (1 + self.margin) * 1.001  # a hair: ticks are divided
            return "inside" if low > most else "outside" if high < 1 / most else "both"
        if (self.above is None or low > self.above) and (self.below is None or high < self.below):
            return "inside"
        if (self.not_above is not None and high <= self.not_above) or (
            self.not_below is not None and (low > self.not_below or low == self.not_below > 0)
        ):
            return "outside"
        return "both"


def _too_few(cells: Cells, rules: Statistics) -> tuple[str, int | None]:
    """Name what is too little, and enough boots; empty: all suffices."""
    for cell in cells:
        if not cell.has(rules.judged_one_in):
            shortest = min((boot.balls for boot in cell.boots), default=0)
            least = balls_for(rules.judged_one_in)
            return (
                f"boots of {shortest:,} balls are too short for {level_words(rules.judged_one_in)}:"
                f" they need {least:,}"
            ), None
    boots = min(len(cell.boots) for cell in cells)
    if boots < rules.boots_min:
        one = "boot of a side is" if boots == 1 else "boots of a side are"
        few = f"{boots} {one} too few: a verdict needs {rules.boots_min}"
        return few, rules.boots_min
    return "", None


def level_words(one_in: int) -> str:
    """Name a level."""
    return f"1 in {one_in:,}"


def _bounds(above: float | None, below: float | None) -> str:
    """Write the bounds of a ratio."""
    words = [] if above is None else [f"above {number(above)}"]
    return " and ".join(words if below is None else [*words, f"below {number(below)}"])


def number(value: float | None) -> str:
    """Write a ratio with three digits; what a missed ball or 0 makes infinite is no number."""
    if value is None or not math.isfinite(value):
        return "no number"
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"


def _level(
    part: RulePart, one_in: int, sides: tuple[Cells, Cells, Cells], limits: _Bounds, margin: float
) -> Level:
    """Compare at one level and all rarer ones, by the band of `tennis compare`."""
    of, to, than = sides
    estimate = _divided(_latest(of, one_in), _latest(to, one_in))
    interval = _ends(of, to, one_in, margin)
    if part.than:
        other = _ends(of, than, one_in, margin)
        estimate = _decades(estimate) - _decades(
            _divided(_latest(of, one_in), _latest(than, one_in))
        )
        interval = _nearness(interval, other)
    elif (
        math.isfinite(estimate) and estimate
    ):  # a few more late balls are as many: an end may be past it
        low, high = (estimate if abs(end / estimate - 1) < 1e-4 else end for end in interval)
        interval = min(low, estimate), max(high, estimate)
    return Level(one_in, estimate, interval, limits.position(interval))


def _latest(cells: Cells, one_in: int) -> float:
    """Return the level of the load that has the latest balls."""
    return max(cell.level(one_in) for cell in cells)


def _ends(of: Cells, to: Cells, one_in: int, margin: float) -> Interval:
    """Return by how much the latest of some cells may be later than the latest of others."""
    most = _most(of, to, one_in, margin)
    least = _most(to, of, one_in, margin)
    return (1 / least if least else math.inf), most


def _most(of: Cells, to: Cells, one_in: int, margin: float) -> float:
    if any(len(cell.boots) < 2 for cell in (*of, *to)):
        return math.nan
    return max(
        min(
            later_by(
                one,
                other,
                tail=TAIL,
                rare=rare_share(min(one.balls, other.balls)),
                shares=(1 / one_in, 0.0),
                slack=margin,
            )
            for other in to
        )
        for one in of
    )


def _nearness(to: Interval, than: Interval) -> Interval:
    """Return by how many decades one is nearer to one side than to another: below 0, it is."""
    if any(math.isnan(end) for end in (*to, *than)):
        return math.nan, math.nan
    ends = [
        (
            0.0 if low <= 1 <= high else min(_decades(low), _decades(high)),
            max(_decades(low), _decades(high)),
        )
        for low, high in (to, than)
    ]
    return ends[0][0] - ends[1][1], ends[0][1] - ends[1][0]


def _decades(ratio: float) -> float:
    return abs(math.log10(ratio)) if 0 < ratio < math.inf else math.inf


def _divided(one: float, other: float) -> float:
    """Return one / other; infinite over zero, nan if neither is a number."""
    if (math.isinf(one) and math.isinf(other)) or (not one and not other):
        return math.nan
    return one / other if other else math.inf


def _latest_ratio(of: Cells, to: Cells) -> float:
    """Return the ratio of the latest balls, among equally many balls on both sides."""
    balls = min(cell.balls for cell in (*of, *to))
    one, other = (max(max(cell.latest(balls)) for cell in side) for side in (of, to))
    return _divided(one, other)


def _verdict(
    judged: Level, limits: _Bounds, sides: tuple[Cells, Cells, Cells]
) -> tuple[Verdict, str]:
    low, high = judged.interval
    odd = "; ".join(_odd(judged.one_in, [cell for side in sides for cell in side]))
    if judged.position == "both":
        if math.isnan(low) or math.isnan(high):
            return "inconclusive", "one boot has no interval"
        if math.isinf(high) and any(cell.lost for side in sides for cell in side):
            return "inconclusive", "too many balls were not answered"
        return "inconclusive", limits.equal(judged.interval) or odd
    return ("confirmed" if judged.position == "inside" else "contradicted"), odd


def _odd(one_in: int, cells: Cells) -> Iterator[str]:
    """Name the boots that differ from all others of their cell; they decide nothing."""
    for cell in cells:
        odd = cell.odd(one_in)
        if not odd:
            continue
        values = cell.values(one_in)
        middle = format_ns(sorted(values)[len(values) // 2])
        said = ", ".join(
            "no answer" if math.isinf(values[one]) else format_ns(values[one]) for one in odd
        )
        boots = "one boot" if len(odd) == 1 else f"{len(odd)} boots"
        have = "has" if len(odd) == 1 else "have"
        these = "that boot" if len(odd) == 1 else "these boots"
        yield (
            f"{boots} of {len(values)}{seeds(cell, odd)} {have} {said}, the median boot {middle}: "
            f"explain {these}"
        )


def _boots_needed(limits: _Bounds, judged: Level, boots: int) -> int | None:
    """Return how many boots make the interval so narrow that it holds one side only.

    Intervals shrink with the square root of the boots. None: the estimate is at the rule's edge.
    """
    nearer = limits.below == 0.0
    edges = {
        edge
        for edge in (limits.above, limits.below, limits.not_above, limits.not_below)
        if edge is not None
    }
    ends = (*judged.interval, judged.estimate)
    if not all(map(math.isfinite, ends)) or (not nearer and min(*ends, *edges) <= 0):
        return None
    scale = (lambda value: value) if nearer else math.log
    low, high, estimate = (scale(end) for end in ends)
    needed = float(boots)
    for edge in map(scale, edges):
        if low < edge < high:
            half = high - estimate if edge > estimate else estimate - low
            distance = abs(edge - estimate)
            needed = max(needed, boots * (half / distance) ** 2 if distance else math.inf)
    return math.ceil(1.1 * needed) + 1 if needed <= BOOTS_MAX else None
