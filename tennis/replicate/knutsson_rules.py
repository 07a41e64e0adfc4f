# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""The rules that follow from the tables of Knutsson's thesis (2008).

One for each growth from idle, one for each pair of kernels of which one is later.
"""

import math
from itertools import combinations

from tennis.publications.knutsson import KernelTable, Maximum, knutsson_2008
from tennis.replicate.rules import (
    LATENCIES,
    LatencyName,
    Rule,
    RulePart,
    RuleSide,
    growth_rule,
    ranking_rule,
    replication,
)

KNUTSSON = "knutsson-2008"
LOADS = ("idle", "stress", "network", "xload")
# the thesis' tables, and its figures: (figure, kernel, priorities, load)
TABLES = {
    ("xenomai", "native"): "7.1",
    ("rt", "chrt"): "7.2",
    ("rt", "default"): "7.3",
    ("mainline", "default"): "7.4",
}
FIGURES = (
    ("7.1", "xenomai", "native", "idle"),
    ("7.2", "xenomai", "native", "stress"),
    ("7.3", "xenomai", "native", "network"),
    ("7.4", "xenomai", "native", "xload"),
    ("7.5", "rt", "chrt", "idle"),
    ("7.6", "rt", "chrt", "stress"),
    ("7.7", "rt", "chrt", "network"),
    ("7.8", "mainline", "default", "idle"),
    ("7.9", "mainline", "default", "stress"),
    ("7.10", "mainline", "default", "network"),
)


def knutsson_rules() -> list[Rule]:
    """Return the rules that are written down, then those of the tables."""
    top_halves = replication().top_halves
    return [
        rule.model_copy(
            update={"parts": tuple(part.with_top_halves(top_halves) for part in rule.parts)}
        )
        for rule in (*replication().claims, *_growths(), *_rankings())
    ]


def published_maximum(table: KernelTable, load: str, latency: LatencyName) -> Maximum | None:
    """Return a figure of one of the tables 7.1 to 7.4; None where the thesis did not look."""
    row = getattr(table, load, None) if load in LOADS else None
    if row is None:
        return None
    maximum: Maximum = row.irq if latency == "interrupt" else row.sched
    return maximum


def published_ratio(part: RulePart) -> float | None:
    """Return what was published for a comparison; of the thesis, of 10,000,000 balls.

    A ratio; with ``than``, by how many decades it is nearer (below 0) or not. None: no figures.
    """
    if part.published_value is not None or part.of.drill:
        return part.published_value
    found = []
    for side in part.sides:
        maxima = [_published(side, load) for load in side.loads]
        if part.measure != "level" or not all(maxima):
            return None
        found.append(max(one.max for one in maxima if one))
    if part.than is None:
        return found[0] / found[1]
    of, to, than = map(math.log10, found)
    return abs(of - to) - abs(of - than)


def _published(side: RuleSide, load: str) -> Maximum | None:
    if side.latency not in LATENCIES:
        return None
    for table in knutsson_2008().results:
        if (table.kernel, table.priorities) == (side.kernel, side.priorities):
            return published_maximum(table, load, side.latency)
    return None


def _side(table: KernelTable, load: str, latency: LatencyName) -> RuleSide:
    return RuleSide(
        kernel=table.kernel, priorities=table.priorities, loads=(load,), latency=latency
    )


def _growths() -> list[Rule]:
    """Return a rule for each load of each table: it grows from idle as it did in the thesis."""
    rules = []
    for table in knutsson_2008().results:
        number = TABLES[table.kernel, table.priorities]
        for load in LOADS[1:]:
            for latency in LATENCIES:
                idle = published_maximum(table, "idle", latency)
                loaded = published_maximum(table, load, latency)
                if not idle or not loaded:
                    continue
                side = _side(table, load, latency)
                name = f"{KNUTSSON} table{number}-{load}-{latency}"
                title = f"{side.words}: {latency} latency against idle"
                maxima = (loaded.max, idle.max)
                rules.append(growth_rule(name, title, maxima, side, _side(table, "idle", latency)))
    return rules


def _rankings() -> list[Rule]:
    """Return a rule for each pair of tables, load and latency: who is later."""
    rules = []
    for load in LOADS:
        for latency in LATENCIES:
            for one, other in combinations(knutsson_2008().results, 2):
                first = published_maximum(one, load, latency)
                second = published_maximum(other, load, latency)
                if not first or not second:
                    continue
                later, sooner = (one, other) if first.max > second.max else (other, one)
                maxima = (max(first.max, second.max), min(first.max, second.max))
                of, to = _side(later, load, latency), _side(sooner, load, latency)
                says = f"{_name(later)} later than {_name(sooner)}"
                name = f"{KNUTSSON} ranking-{load}-{latency}-{_id(later)}-{_id(sooner)}"
                part = RulePart(says=says, of=of, to=to, above=1.0)
                title = f"{load}, {latency} latency: {says}"
                rules.append(ranking_rule(name, title, maxima, part))
    return [rule for rule in rules if rule]


def _name(table: KernelTable) -> str:
    return table.kernel if table.priorities in {"default", "native"} else f"{table.kernel} chrt"


def _id(table: KernelTable) -> str:
    return _name(table).replace(" ", "-")
