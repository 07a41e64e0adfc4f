# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""What two sides of boots show at a level: the ratio of their levels, or of shares of late balls.

Use :func:`find`, or :func:`at_level` for one level. A finding's ``relation`` is greater (later),
less, equivalent within a margin, or undecided; ``words`` says what was compared.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tennis.comparison.kinds import STRADDLE_MIN, MedianBeyond, ShareBeyond, between_kinds
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
        return "no answer" if np.isinf(value) else format_ns(value)


def what_words(what: What) -> str:
    """Name what is compared."""
    if isinstance(what, int):
        return f"1 in {what:,}"
    if isinstance(what, str):
        return what
    unanswered = np.isinf(what.threshold_ns)
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
    ``beside`` may add to that or hold it back: the late balls' own time beside the shares, or the
    shares beside the levels where two kinds are near; None: there are no two kinds.
    """

    one_in: int
    judged: QuantityRatio
    beside: QuantityRatio | None = None
    threshold_ns: float | None = None  # that parts two kinds; infinite: they were not answered

    @property
    def by_share(self) -> bool:
        """Tell whether shares decide, and not levels."""
        return isinstance(self.judged.what, ShareBeyond)

    def relation(self, margin: float = MARGIN) -> Relation:
        """Say whether the first side is later.

        Both quantities together: later in one and earlier in the other is undecided. Sides whose
        judged quantity is equivalent are what the other one shows; as many late balls are
        equivalent only if they are equivalent themselves.
        """
        return self.decisive(margin)[1]

    def decisive(self, margin: float = MARGIN) -> tuple[QuantityRatio, Relation]:
        """Return the quantity that decides, and the relation."""
        said = self.judged.ratio.relation(margin)
        if self.beside is None or said == "undecided":
            return self.judged, said
        other = self.beside.ratio.relation(margin)
        if said == "equivalent":
            if other in _OPPOSITE or (other == "undecided" and self.by_share):
                return self.beside, other
            return self.judged, said
        return self.judged, "undecided" if other == _OPPOSITE[said] else said

    @property
    def words(self) -> str:
        """Say what was compared, of which values, and what it stands on."""
        judged, _ = self.decisive()
        return judged.words


def at_level(of: Side, to: Side, one_in: int, tail: float = TAIL) -> Finding:
    """Compare two sides at a level that both have (``Side.has``); ``tail`` as of ``ratio``."""
    levels = compare(of, to, one_in, tail)
    threshold = between_kinds(of.boots, to.boots, one_in)
    if threshold is None:
        return Finding(one_in, levels)
    shares = compare(of, to, ShareBeyond(threshold), tail)
    every = [*of.values(one_in), *to.values(one_in)]
    later = sum(level > threshold or level == float("inf") for level in every)
    if min(later, len(every) - later) < STRADDLE_MIN:
        return Finding(one_in, levels, shares, threshold)
    late = compare(of, to, MedianBeyond(threshold), tail)
    return Finding(one_in, shares, late, threshold)


def find(of: Side, to: Side, levels: Sequence[int] = LEVELS) -> list[Finding]:
    """Compare two sides at each of some levels that both sides have."""
    return [at_level(of, to, one_in) for one_in in levels if of.has(one_in) and to.has(one_in)]


def compare(of: Side, to: Side, what: What, tail: float = TAIL) -> QuantityRatio:
    """Compare two sides by one quantity, whatever else they differ in."""
    return QuantityRatio(what, compared(of, to, what, tail), _median(of, what), _median(to, what))


def _median(side: Side, what: What) -> Median:
    """Return a side's median boot; of late balls, of the boots that have any."""
    values = [value for value in side.values(what) if not np.isnan(value)]
    return median(values, rank(len(values), TAIL))
