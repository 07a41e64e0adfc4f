# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""The side before compared with itself: how often a comparison of these boots is a false alarm."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tennis.comparison.before_after import Judgement, Pair, judge
from tennis.comparison.ratios import boots_needed
from tennis.comparison.sides import Side

SPLITS = 20  # ways to part the boots before in two halves


@dataclass(frozen=True)
class Control:
    """What was said of halves of the boots before: of nothing that changed."""

    splits: int
    worse: int
    undecided: int

    @property
    def words(self) -> str:
        """Say it in a sentence."""
        return (
            f"Before against itself, its boots parted in two halves {self.splits} times: "
            f"{self.worse} worse, {self.undecided} undecided, "
            f"{self.splits - self.worse - self.undecided} no worse."
        )


def control(pairs: Sequence[Pair], judgement: Judgement) -> Control | None:
    """Judge halves of the boots before; None where a half has too few boots for an interval."""
    if min(len(pair.before.boots) for pair in pairs) // 2 < boots_needed(paired=False):
        return None
    said = []
    for number in range(SPLITS):
        halves = [_halves(pair, number) for pair in pairs]
        found = judge(halves, margin=judgement.margin)
        if any(len(half.before.boots) < found.boots_needed for half in halves):
            return None
        said.append(found.verdict)
    return Control(SPLITS, said.count("worse"), said.count("undecided"))


def _halves(pair: Pair, number: int) -> Pair:
    """Part the boots before at random; both latencies of a cell in one way."""
    boots = pair.before.boots
    order = np.random.default_rng([number, len(boots)]).permutation(len(boots))
    half = len(boots) // 2
    one, other = ([boots[place] for place in some] for some in (order[:half], order[half:]))
    return replace(pair, before=Side(one), after=Side(other))
