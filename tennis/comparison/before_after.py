# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""What became later, or earlier, from one side to the other: at each level that both have.

All statements of a comparison together are wrong in at most ``ERROR`` of comparisons: each has its
share of it (C. E. Bonferroni). So has each look, where boots are added until it is decided: the
first look has a half, the next a quarter, however many follow (K. K. G. Lan, D. L. DeMets,
"Discrete Sequential Boundaries for Clinical Trials", Biometrika 70, 1983, spend it so, too).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from tennis.comparison.boots import Boot
from tennis.comparison.findings import Finding, QuantityRatio, at_level, what_words
from tennis.comparison.levels import LATER_MIN
from tennis.comparison.ratios import MARGIN, Ratio, boots_needed
from tennis.comparison.sides import Side, paired

ERROR = 0.05  # of comparisons: something is called later although nothing is
MEDIAN = 2  # one ball in so many exceeds it
LEVELS = (MEDIAN, 100, 1000, 10_000, 100_000, 1_000_000)  # of one ball in so many

Change = Literal["later", "earlier", "equal", "not later", "undecided"]
Verdict = Literal["worse", "no worse", "undecided"]
EXIT_CODES: dict[Verdict, int] = {"no worse": 0, "worse": 1, "undecided": 3}


@dataclass(frozen=True)
class Pair:
    """Two sides of one kind: of one cell, for one latency."""

    cell: str  # what both have in common; empty: there is one kind only
    latency: str
    before: Side
    after: Side

    @property
    def levels(self) -> list[int]:
        """Return the levels that both sides have."""
        return [one_in for one_in in LEVELS if self.before.has(one_in) and self.after.has(one_in)]


@dataclass(frozen=True)
class Statement:
    """What became of one level of one latency: a finding about after, over before."""

    cell: str
    latency: str
    finding: Finding
    margin: float

    @property
    def one_in(self) -> int:
        """Return the level: what one ball in so many exceeds."""
        return self.finding.one_in

    @property
    def decisive(self) -> QuantityRatio:
        """Return what decides: the levels, or shares or times of late balls."""
        return self.finding.decisive(self.margin)[0]

    @property
    def quantity(self) -> str:
        """Name what decides: "median", "1 in 1,000", "share of balls later than 120 us"."""
        return "median" if self.decisive.what == MEDIAN else what_words(self.decisive.what)

    @property
    def before(self) -> str:
        """Return the median boot's value before, with its unit."""
        return self.decisive.format(self.decisive.to)

    @property
    def after(self) -> str:
        """Return the median boot's value after, with its unit."""
        return self.decisive.format(self.decisive.of)

    @property
    def ratio(self) -> Ratio:
        """Return after over before of what decides."""
        return self.decisive.ratio

    @property
    def change(self) -> Change:
        """Say what the intervals show."""
        relation = self.finding.decisive(self.margin)[1]
        if relation == "undecided":
            both = (self.finding.judged, self.finding.beside)
            highs = [one.ratio.high for one in both if one is not None]
            return "not later" if all(high <= 1 + self.margin for high in highs) else "undecided"
        changes: dict[str, Change] = {"greater": "later", "less": "earlier", "equivalent": "equal"}
        return changes[relation]


@dataclass(frozen=True)
class Judgement:
    """All statements about two sides, and the verdict: later anywhere is worse."""

    statements: Sequence[Statement]
    margin: float
    boots_needed: int  # of each side, for an interval at all
    paired: bool

    @property
    def verdict(self) -> Verdict:
        """Return worse, no worse, or undecided."""
        changes = {statement.change for statement in self.statements}
        if "later" in changes:
            return "worse"
        return "no worse" if changes and "undecided" not in changes else "undecided"


def judge(pairs: Sequence[Pair], *, margin: float = MARGIN, look: int | None = None) -> Judgement:
    """Judge two sides at all levels that they have.

    ``look``: which look it is, from 1, where boots are added between looks and it ends when it is
    decided; None: these boots are all there will be.
    """
    count = sum(len(pair.levels) for pair in pairs)
    both = all(paired(pair.after, pair.before) for pair in pairs)
    tail = tail_of(count, look, paired=both)
    statements = [
        Statement(pair.cell, pair.latency, at_level(pair.after, pair.before, one_in, tail), margin)
        for pair in pairs
        for one_in in pair.levels
    ]
    return Judgement(statements, margin, boots_needed(paired=both, tail=tail), both)


def tail_of(statements: int, look: int | None, *, paired: bool) -> float:
    """Return what may lie beyond each end of each interval."""
    spent = ERROR / max(1, statements) * (1.0 if look is None else 0.5**look)
    return spent if paired else spent / 2  # ranks of sides of two forms may err twice as often


def first_look(statements: int) -> int:
    """Return how many pairs of boots have an interval at the first look."""
    return boots_needed(paired=True, tail=tail_of(statements, 1, paired=True))


def level_count(balls: int) -> int:
    """Return how many levels boots of so many balls have."""
    return sum(balls >= LATER_MIN * one_in for one_in in LEVELS)


def with_partners(before: Side, after: Side) -> tuple[Side, Side]:
    """Return the boots that have a partner of their seed, if most of both sides have one.

    Otherwise both sides as they are. Which boots these are does not depend on what they show.
    """
    common = set(before.seeds) & set(after.seeds)
    most = max(len(before.boots), len(after.boots))
    if 2 * len(common) <= most or any(
        len(set(side.seeds)) < len(side.boots) for side in (before, after)
    ):
        return before, after
    one, other = (
        [(boot, seed) for boot, seed in zip(side.boots, side.seeds, strict=True) if seed in common]
        for side in (before, after)
    )
    return _side(one), _side(other)


def _side(boots: Sequence[tuple[Boot, int]]) -> Side:
    return Side([boot for boot, _ in boots], [seed for _, seed in boots])
