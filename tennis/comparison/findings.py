# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""What two sides of boots show at a level: the ratio of their levels, or of shares of late balls.

Use :func:`find`, or :func:`at_level` for one level. A finding's ``relation`` is greater (later),
less, equivalent within a margin, or undecided; ``words`` says what was compared.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tennis.comparison.kinds import (
    STRADDLE_MIN,
    LevelUpTo,
    MedianBeyond,
    ShareBeyond,
    between_kinds,
    is_near,
)
from tennis.comparison.loops import Drift
from tennis.comparison.medians import Median, median
from tennis.comparison.ranks import rank
from tennis.comparison.ratios import MARGIN, TAIL, Ratio, Relation
from tennis.comparison.sides import Side, What, compared
from tennis.units import format_ns, format_round_ns

LEVELS = (100, 1_000, 10_000)
_OPPOSITE: dict[Relation, Relation] = {"greater": "less", "less": "greater"}


@dataclass(frozen=True)
class QuantityRatio:
    """One quantity of two sides: the ratio, and each side's median boot (ns, or a share)."""

    what: What
    ratio: Ratio
    of: Median
    to: Median

    @property
    def words(self) -> str:
        """Say what was compared: "share of balls later than 120 us: 0.08 % against 0.12 %"."""
        return f"{what_words(self.what)}: {self.format(self.of)} against {self.format(self.to)}"

    def format(self, side: Median) -> str:
        """Write a side's value with its unit."""
        value = side.estimate
        if np.isnan(value):
            return "none"
        if isinstance(self.what, ShareBeyond) and not isinstance(self.what, MedianBeyond):
            return f"{float(f'{100 * value:.2g}'):g} %"  # never 1e+02
        if isinstance(self.what, Drift) and value <= self.what.least_ns * (1 + 1e-9):
            return f"at most {format_ns(self.what.least_ns)}"
        return "no answer" if np.isinf(value) else format_ns(value)


QUARTILES = {10 / 9: "10 % quantile", 4 / 3: "lower quartile", 2: "median", 4: "upper quartile"}


def what_words(what: What) -> str:
    """Name what is compared."""
    if isinstance(what, (int, float)):
        return QUARTILES.get(what, f"1 in {what:,.10g}")
    if isinstance(what, str):
        return what
    if isinstance(what, Drift):
        return "of a period"
    unanswered = np.isinf(what.threshold_ns)
    if isinstance(what, LevelUpTo):
        kept = (
            "answered balls"
            if unanswered
            else f"balls not later than {format_round_ns(what.threshold_ns)}"
        )
        return f"{what_words(what.one_in)} of the {kept}"
    beyond = (
        "without an answer" if unanswered else f"later than {format_round_ns(what.threshold_ns)}"
    )
    if isinstance(what, MedianBeyond):
        return f"median of the balls {beyond}"
    return f"share of balls {beyond}"


@dataclass(frozen=True)
class Finding:
    """What was found at a level that one ball in ``one_in`` exceeds.

    ``judged`` decides: the levels, or the shares of balls beyond ``threshold_ns`` if the boots'
    levels fall between two kinds of balls, some into the sooner and some into the later one.
    ``beside`` may add to that or hold it back: each kind's own times beside the shares, or the
    shares beside the levels where two kinds are near; empty: there are no two kinds.
    """

    one_in: float
    judged: QuantityRatio
    beside: tuple[QuantityRatio, ...] = ()
    threshold_ns: float | None = None  # that parts two kinds; infinite: they were not answered

    @property
    def by_share(self) -> bool:
        """Tell whether shares decide, and not levels."""
        return isinstance(self.judged.what, ShareBeyond)

    def relation(self, margin: float = MARGIN) -> Relation:
        """Say whether the first side is later.

        All quantities together: later in one and earlier in another is undecided, as where the
        sides' curves cross. Sides whose judged quantity does not differ, as far as is known, are
        what another one shows; as many late balls are equivalent only if each kind is.
        """
        return self.decisive(margin)[1]

    def decisive(self, margin: float = MARGIN) -> tuple[QuantityRatio, Relation]:
        """Return the quantity that decides, and the relation."""
        said = self.judged.ratio.relation(margin)
        others = [(one, one.ratio.relation(margin)) for one in self.beside]
        directions = {relation for _, relation in others if relation in _OPPOSITE}
        if said in _OPPOSITE:
            return self.judged, "undecided" if _OPPOSITE[said] in directions else said
        if len(directions) == len(_OPPOSITE):
            return self.judged, "undecided"
        for one, relation in others:
            if relation in _OPPOSITE:
                return one, relation
        if said == "equivalent" and self.by_share:
            unsure = [one for one, relation in others if relation == "undecided"]
            return (unsure[0], "undecided") if unsure else (self.judged, said)
        return self.judged, said

    @property
    def crosses(self) -> bool:
        """Tell whether one side is later in one quantity and the other side in another."""
        found = {one.ratio.relation() for one in (self.judged, *self.beside)}
        return set(_OPPOSITE) <= found

    @property
    def words(self) -> str:
        """Say what was compared, of which values, and what it stands on."""
        judged, _ = self.decisive()
        return judged.words


def at_level(of: Side, to: Side, one_in: float, tail: float = TAIL) -> Finding:
    """Compare two sides at a level that both have (``Side.has``); ``tail`` as of ``ratio``."""
    return between(of, to, one_in, between_kinds(of.boots, to.boots, one_in), tail)


def between(
    of: Side, to: Side, one_in: float, threshold: float | None, tail: float = TAIL
) -> Finding:
    """Compare two sides at a level, of which ``between_kinds`` said what parts two kinds."""
    levels = compare(of, to, one_in, tail)
    if threshold is None:
        return Finding(one_in, levels)
    shares = compare(of, to, ShareBeyond(threshold), tail)
    later = [
        sum(level > threshold or np.isinf(level) for level in side.values(one_in))
        for side in (of, to)
    ]
    boots = [len(of.boots), len(to.boots)]
    if min(sum(later), sum(boots) - sum(later)) < STRADDLE_MIN:
        return Finding(one_in, levels, (shares,), threshold)
    torn = sum(min(some, all_ - some) for some, all_ in zip(later, boots, strict=True))
    if torn < STRADDLE_MIN and not all(
        is_near(one.estimate, one_in) for one in (shares.of, shares.to)
    ):
        return Finding(one_in, levels, (shares,), threshold)  # each side is clear about its level
    kinds = (MedianBeyond(threshold), LevelUpTo(threshold, one_in))
    beside = tuple(compare(of, to, what, tail) for what in kinds)
    return Finding(one_in, shares, beside, threshold)


def find(of: Side, to: Side, levels: Sequence[float] = LEVELS) -> list[Finding]:
    """Compare two sides at each of some levels that both sides have."""
    return [at_level(of, to, one_in) for one_in in levels if of.has(one_in) and to.has(one_in)]


def compare(of: Side, to: Side, what: What, tail: float = TAIL) -> QuantityRatio:
    """Compare two sides by one quantity, whatever else they differ in."""
    return QuantityRatio(what, compared(of, to, what, tail), _median(of, what), _median(to, what))


def _median(side: Side, what: What) -> Median:
    """Return a side's median boot; of one kind of balls, of the boots that have any."""
    values = [value for value in side.values(what) if not np.isnan(value)]
    return median(values, rank(len(values), TAIL))
