# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""The rules of all publications, and what each publication gives where a match has a level."""

from functools import cache

from tennis.publications.knutsson import knutsson_2008
from tennis.replicate.arm_rules import ARM, arm_rules
from tennis.replicate.knutsson_rules import KNUTSSON, knutsson_rules
from tennis.replicate.koeker_rules import KOEKER, koeker_rules
from tennis.replicate.rules import Measure, Rule

PAPERS = {ARM: "1,000,000 repetitions", KOEKER: "3,600,000 interrupts"}


@cache
def rules() -> tuple[Rule, ...]:
    """Return all rules: the thesis' conclusions, what follows from its tables, the papers'."""
    return (*knutsson_rules(), *koeker_rules(), *arm_rules())


def published_quantity(source: str, measure: Measure) -> str:
    """Name what a publication gives where a match has a level of 1 in so many, or a figure."""
    whose = "the thesis'" if source == KNUTSSON else "the paper's"
    if measure != "level":
        return f"{whose} {measure}"
    of = f"{knutsson_2008().instrument.balls:,} balls" if source == KNUTSSON else PAPERS[source]
    return f"{whose} maximum of {of}"
