# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Decide whether a published comparison holds: its bounds against the ratio of two sides of boots.

docs/match.md says the rules in words; ``tests/comparison`` plays made-up matches of a known truth.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Literal

from tennis.comparison import levels, medians
from tennis.comparison.findings import at_level
from tennis.comparison.ratios import Ratio, Relation, divided
from tennis.comparison.sides import Side, compared, together
from tennis.comparison.words import seeds
from tennis.replicate.rules import RulePart, Statistics
from tennis.units import format_ns

Position = Literal["inside", "outside", "both"]
Verdict = Literal["confirmed", "contradicted", "inconclusive"]
Interval = tuple[float, float]
Cells = Sequence[Side]  # one for each load: the latest of them counts
BOOTS_MAX = 1000  # more boots than that are no advice
BEYOND_MIN = 2  # boots whose rarest balls hold a verdict back: one decides nothing
UNKNOWN = (math.nan, math.nan)


@dataclass(frozen=True)
class Level:
    """A comparison at one level: a ratio, or for "nearer" a distance in decades."""

    one_in: int
    estimate: float
    interval: Interval
    position: Position
    shares: str = ""  # what was compared in place of the level that falls between two kinds

    @property
    def words(self) -> str:
        """Say what is judged."""
        if self.shares:
            return f"the {self.shares} of all balls of the median boot"
        return f"{level_words(self.one_in)} of the median boot"


@dataclass(frozen=True)
class Decision:
    """A verdict with what it stands on."""

    verdict: Verdict
    rule: str  # what the ratio must be
    remark: str = ""  # what decided, where the interval and the rule alone did not
    levels: tuple[Level, ...] = ()
    judged: Level | None = None
    largest: float | None = None  # the ratio of the latest balls of both sides
    open: bool = False  # more boots, or longer ones, are what it takes
    boots_needed: int | None = None  # that are likely to decide it; None: no affordable number


def decide(part: RulePart, of: Cells, to: Cells, than: Cells, rules: Statistics) -> Decision:
    """Decide whether ``part`` holds for its sides; ``than`` may be empty."""
    cells = [*of, *to, *than]
    limits = _Bounds.of(part, rules)
    wanted = [one_in for one_in in rules.one_in if all(cell.has(one_in) for cell in cells)]
    found = tuple(_level(part, one_in, (of, to, than), limits) for one_in in wanted)
    judged = next((level for level in found if level.one_in == rules.judged_one_in), None)
    largest = None if than else _latest_ratio(of, to)
    few, needed = _too_few(cells, rules)
    if few or judged is None:
        return Decision(
            verdict="inconclusive",
            rule=limits.words,
            remark=few,
            levels=found,
            judged=judged,
            largest=largest,
            open=True,
            boots_needed=needed,
        )
    verdict, remark = _verdict(part, judged, limits, (of, to, than))
    boots = min(len(cell.boots) for cell in cells)
    straddles = judged.position == "both" and not remark
    return Decision(
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
    """Between what an estimate must lie, and beyond what it contradicts the statement."""

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
        if part.ranks:  # neither side is later where they differ by no more than the margin
            most = 1 + rules.margin
            words = f"must be above {number(most)}, and contradicts below {number(1 / most)}"
            return cls(words, most, None, 1 / most, None, rules.margin)
        words = f"must be {bounds(part.above, part.below)}"
        return cls(words, part.above, part.below, part.above, part.below)

    def equal(self, interval: Interval) -> str:
        """Say that neither side is later; empty where that is not known, or not asked."""
        if self.margin is None:
            return ""
        if Ratio(math.nan, *interval, paired=False).relation(self.margin) != "equivalent":
            return ""
        return f"both sides are equal within {100 * self.margin:g} %: neither is later"

    def position(self, interval: Interval) -> Position:
        """Tell on which side of the bounds an interval lies."""
        low, high = interval
        if math.isnan(low) or math.isnan(high):
            return "both"
        if self.margin is not None:  # to swap the sides must swap what is said
            relation = Ratio(math.nan, low, high, paired=False).relation(self.margin)
            positions: dict[Relation, Position] = {"greater": "inside", "less": "outside"}
            return positions.get(relation, "both")
        if (self.above is None or low > self.above) and (self.below is None or high < self.below):
            return "inside"
        if (self.not_above is not None and high <= self.not_above) or (
            self.not_below is not None and (low > self.not_below or low == self.not_below > 0)
        ):
            return "outside"
        return "both"


def _too_few(cells: Cells, rules: Statistics) -> tuple[str, int | None]:
    """Say what there is too little of, and how many boots are enough; empty where it suffices."""
    for cell in cells:
        if not cell.has(rules.judged_one_in):
            shortest = min((boot.balls for boot in cell.boots), default=0)
            least = levels.balls_for(rules.judged_one_in)
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


def bounds(above: float | None, below: float | None) -> str:
    """Say what a ratio must be."""
    words = [] if above is None else [f"above {number(above)}"]
    return " and ".join(words if below is None else [*words, f"below {number(below)}"])


def number(value: float | None) -> str:
    """Write a ratio with three digits; what a missed ball or 0 makes infinite is no number."""
    if value is None or not math.isfinite(value):
        return "no number"
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"


def _level(
    part: RulePart, one_in: int, sides: tuple[Cells, Cells, Cells], limits: _Bounds
) -> Level:
    of, to, than = sides
    shares = ""
    if not than and len(of) == len(to) == 1:
        found = compared(of[0], to[0], one_in)
        if part.ranks:
            finding = at_level(of[0], to[0], one_in)
            if finding.by_share:
                found, shares = finding.judged.ratio, finding.judged.words
    elif not than:
        found = _over(_latest(of, one_in), _latest(to, one_in))
    else:
        found = _nearness(*(_latest(cells, one_in) for cells in sides))
    interval = (found.low, found.high)
    return Level(one_in, found.estimate, interval, limits.position(interval), shares)


def _latest(cells: Cells, one_in: int) -> medians.Median:
    """Return the value of the load that has the latest balls, with its interval."""
    found = [cell.median(one_in) for cell in cells]
    ends = [[getattr(one, name) for one in found] for name in ("estimate", "low", "high")]
    return medians.Median(*(math.nan if any(map(math.isnan, some)) else max(some) for some in ends))


def _over(one: medians.Median, other: medians.Median) -> Ratio:
    return Ratio(
        divided(one.estimate, other.estimate),
        divided(one.low, other.high),
        divided(one.high, other.low),
        paired=False,
    )


def _nearness(one: medians.Median, other: medians.Median, third: medians.Median) -> Ratio:
    """Return by how many decades one is nearer to other than to third: below 0, it is."""
    estimate = _decades(one.estimate, other.estimate, third.estimate)
    corners = [
        _decades(*ends)
        for ends in product(*((side.low, side.high) for side in (one, other, third)))
    ]
    # between corners it turns where one equals another
    corners += [
        _decades(turn, *ends)
        for ends in product((other.low, other.high), (third.low, third.high))
        for turn in ends
        if one.low <= turn <= one.high
    ]
    if any(map(math.isnan, corners)):
        return Ratio(estimate, *UNKNOWN, paired=False)
    return Ratio(estimate, min(corners), max(corners), paired=False)


def _decades(one: float, other: float, third: float) -> float:
    if not all(math.isfinite(value) and value > 0 for value in (one, other, third)):
        return math.nan
    return abs(math.log10(one / other)) - abs(math.log10(one / third))


def _latest_ratio(of: Cells, to: Cells) -> float:
    """Return the ratio of the latest balls, of as many balls on both sides."""
    balls = min(cell.balls for cell in (*of, *to))
    one, other = (max(max(cell.latest(balls)) for cell in side) for side in (of, to))
    return divided(one, other)


def _verdict(
    part: RulePart, judged: Level, limits: _Bounds, sides: tuple[Cells, Cells, Cells]
) -> tuple[Verdict, str]:
    low, high = judged.interval
    of, to, than = sides
    if judged.position == "both":
        if math.isnan(low) or math.isnan(high):
            if not any(boot.lost for side in sides for cell in side for boot in cell.boots):
                return "inconclusive", "it is 0 in too many boots: there is no ratio"
            return "inconclusive", "too many balls were not answered"
        return "inconclusive", limits.equal(judged.interval)
    doubts = _doubts(part, judged, limits, of, to) if not than else iter(())
    doubt = next(doubts, "")
    if doubt:
        return "inconclusive", doubt
    odd = "; ".join(_odd(judged.one_in, (*of, *to, *than)))
    return ("confirmed" if judged.position == "inside" else "contradicted"), odd


def _doubts(part: RulePart, judged: Level, limits: _Bounds, of: Cells, to: Cells) -> Iterator[str]:
    """Say what the median boot does not show and other counts do."""
    if len(of) == len(to) == 1:
        finding = at_level(of[0], to[0], judged.one_in)
        if part.ranks and finding.crosses:
            said = "; ".join(one.words for one in (finding.judged, *finding.beside))
            yield f"the sides' curves cross near this level: {said}"
        shares = finding.judged
        if not judged.shares:
            if finding.by_share and shares.of.estimate > 0 and shares.to.estimate > 0:
                yield f"the level falls between two kinds of balls: {shares.words}"
            ratios = together(of[0], to[0], judged.one_in)
            if all(limits.position((one, one)) != judged.position for one in ratios):
                ends = " to ".join(map(number, (min(ratios), max(ratios))))
                yield (
                    "it depends on how boots are counted: all balls of all boots but one together "
                    f"give {ends}"
                )
    late = _late_boots(part, judged, limits, of, to)
    if late:
        yield late


def _late_boots(part: RulePart, judged: Level, limits: _Bounds, of: Cells, to: Cells) -> str:
    """Say that boots have balls rarer than the judged level that are on the other side.

    One boot decides nothing. Balls are counted of as many balls on both sides. What holds for one
    side over the other holds the other way round for the other over the one.
    """
    inside = judged.position == "inside"
    if limits.margin is not None:
        most = 1 + limits.margin
        bound, is_below = (1 / most if inside else most), not inside
    elif (part.above is None) == (part.below is None):
        return ""
    else:
        bound = next(one for one in (part.above, part.below) if one is not None)
        is_below = inside == (part.below is not None)  # what is said: the ratio is below the bound
    many, few, times = (of, to, bound) if is_below else (to, of, 1 / bound)
    balls = min(cell.balls for cell in (*of, *to))
    reference = max(max(cell.latest(balls)) for cell in few)
    latest = [one for cell in many for one in cell.latest(balls)]
    beyond = [one for one in latest if one > times * reference]
    if len(beyond) < BEYOND_MIN:
        return ""
    up_to = "no answer" if math.isinf(max(beyond)) else format_ns(max(beyond))
    return (
        f"rarer balls are on the other side: {len(beyond)} of {len(latest)} boots have balls later "
        f"than {number(times)} times the other side's latest ({format_ns(reference)}), up to "
        f"{up_to}"
    )


def _odd(one_in: int, cells: Cells) -> Iterator[str]:
    """Name the boots that differ from all others of their cell; they decide nothing."""
    for cell in cells:
        odd = cell.odd(one_in)
        if not odd:
            continue
        values = cell.values(one_in)
        middle = format_ns(cell.median(one_in).estimate)
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
