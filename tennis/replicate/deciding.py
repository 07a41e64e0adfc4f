# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Decide a comparison of worst cases: sides are made of boots, and compared at fixed probabilities.

docs/match.md says the rules in words; tests/replicate/test_simulation.py plays thousands of made-up
matches whose truth is known.
"""

import math
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np

from tennis.replicate.rules import Measure, RulePart, Statistics
from tennis.stats import exceedance
from tennis.stats.exceedance import Boot, Values
from tennis.units import format_ns

Position = Literal["inside", "outside", "both"]
BOOTS_MAX = 1000  # more boots than that are no advice


class Cell:
    """The boots of one kernel with its settings under one load, for one latency.

    ``name`` decides what is drawn, so that the same match gives the same verdicts.
    """

    def __init__(self, name: str, boots: Sequence[Boot], draws: int = exceedance.DRAWS) -> None:
        self.name = name
        self.boots = boots
        self.balls = sum(boot.balls for boot in boots)
        self._drawn = exceedance.drawn(boots, zlib.crc32(name.encode()), draws)
        self._played = exceedance.equal_weights(boots)
        self.values = cache(self._values)

    def _values(self, what: int | Measure) -> tuple[float, Values]:
        """Return a statistic of the balls played, and of each draw: ns.

        ``what``: the level that one ball in so many exceeds, or a measure.
        """
        if isinstance(what, str):
            statistic = exceedance.STATISTICS[what]
            played = statistic(self.boots, self._played)
            return float(played[0]), statistic(self.boots, self._drawn)
        share = 1 / what
        played = exceedance.return_levels(self.boots, self._played, share)
        return float(played[0]), exceedance.return_levels(self.boots, self._drawn, share)

    def largest(self, balls: int | None = None) -> float:
        """Return the latest ball, of as many whole boots as have ``balls`` (at least one)."""
        largest, seen = 0.0, 0
        for boot in self.boots:
            if balls is not None and seen and seen + boot.balls > balls:
                break
            largest, seen = max(largest, boot.largest), seen + boot.balls
        return largest


Side = Sequence[Cell]  # of several loads: the worst of them counts


@dataclass(frozen=True)
class Level:
    """A comparison at one probability: a ratio, or for "nearer" a distance in decades."""

    one_in: int | None  # None: it is of another measure
    estimate: float
    interval: tuple[float, float]
    position: Position


@dataclass(frozen=True)
class Decision:
    """A verdict with what it stands on."""

    verdict: Literal["confirmed", "contradicted", "inconclusive"]
    rule: str  # what the ratio must be
    remark: str = ""  # what decided, where the interval and the rule alone did not
    levels: tuple[Level, ...] = ()
    judged: Level | None = None
    largest: float | None = None  # the ratio of the latest balls of both sides
    boots_needed: int | None = None  # that are likely to decide it; None: no affordable number


def decide(part: RulePart, of: Side, to: Side, than: Side, rules: Statistics) -> Decision:
    """Decide whether ``part`` holds for its sides; ``than`` may be empty."""
    cells = [*of, *to, *than]
    boots = min(len(cell.boots) for cell in cells)
    wanted: list[int | None] = [None]
    if part.measure == "worst":
        wanted = [
            one_in
            for one_in in rules.one_in
            if all(cell.balls >= rules.exceedances_min * one_in for cell in cells)
        ]
    levels = tuple(_level(part, one_in, (of, to, than), rules.confidence) for one_in in wanted)
    judged = next((level for level in levels if level.one_in in {rules.judged_one_in, None}), None)
    largest = _latest_ratio(of, to) if part.measure == "worst" and not than else None
    rule = "must be below 0: nearer" if part.than else f"must be {bounds(part.above, part.below)}"
    exceeded = _exceeded(part, of, to, judged, rules.confidence)
    if exceeded:
        return Decision("contradicted", rule, exceeded, levels, judged, largest)
    few, needed_boots = _too_few(part, cells, rules)
    if few or judged is None:
        return Decision("inconclusive", rule, few, levels, judged, largest, needed_boots)
    verdict, remark = _verdict(part, levels, judged, largest)
    needed_boots = _boots_needed(part, judged, boots) if judged.position == "both" else 4 * boots
    return Decision(
        verdict,
        rule,
        remark,
        levels,
        judged,
        largest,
        needed_boots if verdict == "inconclusive" and (needed_boots or 0) <= BOOTS_MAX else None,
    )


def _too_few(part: RulePart, cells: Side, rules: Statistics) -> tuple[str, int | None]:
    """Say what there is too little of, and how many boots are enough; empty where it suffices."""
    reasons, needed = [], rules.boots_min
    for cell in cells:
        boots = len(cell.boots)
        if part.measure == "worst" and cell.balls < rules.judged_balls_min:
            reasons.append(
                f"{cell.balls:,} balls are too few for what one in {rules.judged_one_in:,} "
                f"exceeds: a verdict needs {rules.judged_balls_min:,}"
            )
            needed = max(needed, math.ceil(rules.judged_balls_min * boots / cell.balls))
        if boots < rules.boots_min:
            one = "boot of a side is" if boots == 1 else "boots of a side are"
            reasons.append(f"{boots} {one} too few: a verdict needs {rules.boots_min}")
        if part.measure == "worst" and not reasons:
            level = cell.values(rules.judged_one_in)[0]
            late = exceedance.exceedances(cell.boots, level)
            bursts = sum(boot.bursts(level) for boot in cell.boots)
            # of equal latencies none is beyond the level: they are no bursts either
            if bursts < min(rules.bursts_min, late):
                reasons.append(
                    f"the {late} latest balls of a side came in {bursts} bursts: too few"
                )
                needed = max(needed, math.ceil(boots * rules.bursts_min / max(1, bursts)))
    return (reasons[0] if reasons else ""), (needed if needed <= BOOTS_MAX else None)


def bounds(above: float | None, below: float | None) -> str:
    """Say what a ratio must be."""
    words = [] if above is None else [f"above {number(above)}"]
    return " and ".join(words if below is None else [*words, f"below {number(below)}"])


def number(value: float | None) -> str:
    """Write a ratio with three digits; what has no number is not bounded."""
    if value is None or not math.isfinite(value):
        return "unbounded"
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"


def _level(
    part: RulePart, one_in: int | None, sides: tuple[Side, Side, Side], confidence: float
) -> Level:
    of, to, than = sides
    boots = min(len(cell.boots) for side in sides for cell in side)
    what = part.measure if one_in is None else one_in
    one, ones = _worst(of, what)
    other, others = _worst(to, what)
    if than:
        third, thirds = _worst(than, what)
        estimate = _nearness(np.array([one]), np.array([other]), np.array([third]))
        values = _nearness(ones, others, thirds)
    else:
        estimate, values = _ratio(np.array([one]), np.array([other])), _ratio(ones, others)
    interval = exceedance.interval(values, boots, confidence)
    above, below = (None, 0.0) if than else (part.above, part.below)
    return Level(one_in, float(estimate[0]), interval, _position(interval, above, below))


def _worst(side: Side, what: int | Measure) -> tuple[float, Values]:
    found = [cell.values(what) for cell in side]
    return max(one for one, _ in found), np.max([values for _, values in found], axis=0)


def _ratio(ones: Values, others: Values) -> Values:
    """Return one / other; infinite over zero, nan where neither is a number."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios: Values = ones / others
    return ratios


def _nearness(ones: Values, others: Values, thirds: Values) -> Values:
    """Return by how many decades one is nearer to other than to third: below 0, it is."""
    with np.errstate(divide="ignore", invalid="ignore"):
        log = [np.log10(values) for values in (ones, others, thirds)]
        nearness: Values = np.abs(log[0] - log[1]) - np.abs(log[0] - log[2])
    return nearness


def _position(interval: tuple[float, float], above: float | None, below: float | None) -> Position:
    low, high = interval
    if math.isnan(low) or math.isnan(high):
        return "both"
    if (above is None or low > above) and (below is None or high < below):
        return "inside"
    if (above is not None and high <= above) or (
        below is not None and (low > below or low == below > 0)
    ):
        return "outside"
    return "both"


def _exceeded(part: RulePart, of: Side, to: Side, judged: Level | None, confidence: float) -> str:
    """Say that a ball is beyond what "stays below" allows; empty where none is.

    A ball that came that late is a fact, however rare. It is held against the latest ball of the
    other side, of as many balls, and against the upper end of what was measured there.
    """
    if part.below is None or part.above is not None or part.than or part.measure != "worst":
        return ""
    reference = max(cell.largest() for cell in to)
    if judged is not None and judged.one_in is not None:
        ends = [
            exceedance.interval(cell.values(judged.one_in)[1], len(cell.boots), confidence)[1]
            for cell in to
        ]
        reference = max(reference, *(end for end in ends if math.isfinite(end)), 0.0)
    level = part.below * reference
    balls = min(cell.balls for cell in to)
    largest = max(cell.largest(balls) for cell in of)
    if not largest > level:  # also where the other side lost a ball
        return ""
    count = sum(exceedance.exceedances(cell.boots, level) for cell in of)
    of_balls = sum(cell.balls for cell in of)
    late = "had no answer" if math.isinf(largest) else f"came as late as {format_ns(largest)}"
    return (
        f"{count:,} of {of_balls:,} balls {'are' if count != 1 else 'is'} later than "
        f"{number(part.below)} times the other side's latest ({format_ns(reference)}): one {late}"
    )


def _latest_ratio(of: Side, to: Side) -> float:
    """Return the ratio of the latest balls, of as many balls on both sides."""
    balls = min(cell.balls for cell in (*of, *to))
    pair = [np.array([max(cell.largest(balls) for cell in side)]) for side in (of, to)]
    return float(_ratio(*pair)[0])


def _verdict(
    part: RulePart, levels: Sequence[Level], judged: Level, largest: float | None
) -> tuple[Literal["confirmed", "contradicted", "inconclusive"], str]:
    low, high = judged.interval
    deeper = [
        level
        for level in levels
        if level.one_in is not None and judged.one_in is not None and level.one_in > judged.one_in
    ]
    turned = {"inside": "outside", "outside": "inside"}
    if judged.position == "both":
        if math.isnan(low) or math.isnan(high):
            averages = part.measure in {"mean", "standard deviation"}
            return "inconclusive", (
                f"balls were not answered: of them there is no {part.measure}"
                if averages
                else "too many balls were not answered"
            )
        return "inconclusive", ""
    for level in deeper:
        if level.position == turned[judged.position]:
            ends = " to ".join(map(number, level.interval))
            return "inconclusive", (
                f"it depends on how rare: of what one in {level.one_in:,} exceeds it is {ends}"
            )
    if judged.position == "inside":
        return "confirmed", ""
    grows = part.above is not None and part.below is None and part.measure == "worst"
    open_below = any(level.position == "both" for level in deeper)
    if grows and largest is not None and (open_below or largest > (part.above or 0)):
        return "inconclusive", (
            f"of the latest balls it is {number(largest)}: rarer balls may be on the other side"
        )
    return "contradicted", ""


def _boots_needed(part: RulePart, judged: Level, boots: int) -> int | None:
    """Return how many boots make the interval so narrow that it holds one side only.

    Intervals shrink with the square root of the boots. None: the estimate is at the rule's edge.
    """
    ends = (*judged.interval, judged.estimate)
    edges = [0.0] if part.than else [edge for edge in (part.above, part.below) if edge is not None]
    if not all(map(math.isfinite, ends)) or (not part.than and min(*ends, *edges) <= 0):
        return None
    scale = (lambda value: value) if part.than else math.log
    low, high, estimate = (scale(end) for end in ends)
    needed = float(boots)
    for edge in map(scale, edges):
        if low < edge < high:
            half = high - estimate if edge > estimate else estimate - low
            distance = abs(edge - estimate)
            needed = max(needed, boots * (half / distance) ** 2 if distance else math.inf)
    return math.ceil(1.1 * needed) + 1 if needed <= BOOTS_MAX else None
