# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""The rules of ``rules.toml``: what a match must show for a published statement to hold.

To the rules that are written there come those that follow from the thesis' tables: one for each
growth, each ranking.
"""

import math
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from itertools import combinations
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from tennis.publications.knutsson import Kernel, Maximum, knutsson_2008
from tennis.rally.manifest import Drill
from tennis.units import format_us

LatencyName = Literal["interrupt", "scheduling"]
# of a drill: how far off the period a repetition came, and how long after the one before it, by the
# instrument's clock; how long it took, by the target's
Measured = Literal["interrupt", "scheduling", "deviation", "interval", "duration"]
Measure = Literal["worst", "quartile distance", "median", "mean", "standard deviation"]
LATENCIES: tuple[LatencyName, ...] = ("interrupt", "scheduling")
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


class _Rules(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, validate_by_name=True)


class Side(_Rules):
    """A kernel with its priorities under a load; of several loads the worst counts."""

    kernel: str
    priorities: str
    top_half: str = "hard"
    loads: Annotated[tuple[str, ...], Field(min_length=1)]
    latency: Measured
    command_line: str = ""
    rate_hz: float | None = None  # of an open loop; None: a closed one
    drill: Drill | None = None

    @property
    def words(self) -> str:
        """Return the side in a few words."""
        priorities = "" if self.priorities == "default" else f" {self.priorities}"
        top_half = " threaded" if self.top_half == "threaded" else ""
        if self.drill:
            period = f"{self.drill.period_ns / 1000:g} us"
            priorities = f" {self.drill.name} {self.drill.context} {period}"
        top_half += f" {self.command_line}" if self.command_line else ""
        top_half += f" {self.rate_hz:g} Hz" if self.rate_hz else ""
        return f"{self.kernel}{priorities}{top_half}, {' and '.join(self.loads)}"


class RulePart(_Rules):
    """One comparison: ``of`` / ``to`` lies between ``above`` and ``below``.

    With ``than``: ``of`` is nearer to ``to`` than to ``than``.
    """

    says: str
    of: Side
    to: Side
    than: Side | None = None
    above: float | None = None
    below: float | None = None
    measure: Measure = "worst"
    published_value: float | None = None  # the same of the publication; None: of the thesis' tables

    @model_validator(mode="after")
    def _one_kind(self) -> "RulePart":
        bounded = self.above is not None or self.below is not None
        if bounded == (self.than is not None):
            raise ValueError("a part has above, below or both; or else than")
        return self

    @property
    def sides(self) -> tuple[Side, ...]:
        """Return the sides that take part."""
        return tuple(side for side in (self.of, self.to, self.than) if side)

    def with_top_halves(self, top_halves: Mapping[str, str]) -> "RulePart":
        """Return the part with other top halves, by kernel."""
        changed = {
            name: side.model_copy(update={"top_half": top_halves.get(side.kernel, side.top_half)})
            for name in ("of", "to", "than")
            if (side := getattr(self, name))
        }
        return self.model_copy(update=changed)


class Rule(_Rules):
    """A published statement; it holds where all of its parts hold."""

    source: str
    id: str
    title: str
    published: str
    kind: Literal["conclusion", "growth", "ranking"] = "conclusion"
    parts: Annotated[tuple[RulePart, ...], Field(validation_alias="part", min_length=1)]


class Unaddressed(_Rules):
    """A published statement that a match cannot speak to."""

    source: str
    id: str
    title: str
    why: str


class Statistics(_Rules):
    """How sure a verdict must be."""

    confidence: float
    boots_min: int
    one_in: tuple[int, ...]
    judged_one_in: int
    judged_balls_min: int
    bursts_min: int
    exceedances_min: int


class Tables(_Rules):
    """What counts as the same growth, and as a ranking."""

    same_order: float
    tie: float


class Replication(_Rules):
    """All of ``rules.toml``."""

    statistics: Statistics
    tables: Tables
    bottom_halves: dict[str, str]
    top_halves: dict[str, str]
    core_tasks: dict[str, dict[str, tuple[str, ...]]]  # kernel, load -> kinds of tasks
    claims: Annotated[tuple[Rule, ...], Field(validation_alias="claim")]
    unaddressed: tuple[Unaddressed, ...]


@cache
def replication() -> Replication:
    """Return the rules that are written down."""
    text = files("tennis.replicate").joinpath("rules.toml").read_text(encoding="utf-8")
    return Replication.model_validate(tomllib.loads(text))


def rules() -> list[Rule]:
    """Return all rules: the conclusions, then what follows from the tables."""
    from tennis.replicate.other_rules import other_rules  # noqa: PLC0415 (made of these classes)

    top_halves = replication().top_halves
    return [
        rule.model_copy(
            update={"parts": tuple(part.with_top_halves(top_halves) for part in rule.parts)}
        )
        for rule in (*replication().claims, *_growths(), *_rankings())
    ] + other_rules()


def published_maximum(table: Kernel, load: str, latency: LatencyName) -> Maximum | None:
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
        if part.measure != "worst" or not all(maxima):
            return None
        found.append(max(one.max for one in maxima if one))
    if part.than is None:
        return found[0] / found[1]
    of, to, than = map(math.log10, found)
    return abs(of - to) - abs(of - than)


def _published(side: Side, load: str) -> Maximum | None:
    if side.latency not in LATENCIES:
        return None
    for table in knutsson_2008().results:
        if (table.kernel, table.priorities) == (side.kernel, side.priorities):
            return published_maximum(table, load, side.latency)
    return None


def _side(table: Kernel, load: str, latency: LatencyName) -> Side:
    return Side(kernel=table.kernel, priorities=table.priorities, loads=(load,), latency=latency)


def _growths() -> list[Rule]:
    """Return a rule for each load of each table: it grows from idle as it did in the thesis."""
    factor = replication().tables.same_order
    rules = []
    for table in knutsson_2008().results:
        number = TABLES[table.kernel, table.priorities]
        for load in LOADS[1:]:
            for latency in LATENCIES:
                idle = published_maximum(table, "idle", latency)
                loaded = published_maximum(table, load, latency)
                if not idle or not loaded:
                    continue
                growth = loaded.max / idle.max
                low, high = growth / factor, growth * factor
                side = _side(table, load, latency)
                rules.append(
                    Rule(
                        source="knutsson-2008",
                        id=f"table{number}-{load}-{latency}",
                        title=f"{side.words}: worst {latency} latency against idle",
                        published=f"{format_us(idle.max)} to {format_us(loaded.max)}: "
                        f"{growth:.3g} times",
                        kind="growth",
                        parts=(
                            RulePart(
                                says=f"it grows {low:.3g} to {high:.3g} times",
                                of=side,
                                to=_side(table, "idle", latency),
                                above=low,
                                below=high,
                            ),
                        ),
                    )
                )
    return rules


def _rankings() -> list[Rule]:
    """Return a rule for each pair of tables, load and latency: who has the later worst case."""
    tie = replication().tables.tie
    rules = []
    for load in LOADS:
        for latency in LATENCIES:
            for one, other in combinations(knutsson_2008().results, 2):
                first = published_maximum(one, load, latency)
                second = published_maximum(other, load, latency)
                if not first or not second:
                    continue
                later, sooner = (one, other) if first.max > second.max else (other, one)
                high, low = max(first.max, second.max), min(first.max, second.max)
                if high / low < tie:
                    continue
                of, to = _side(later, load, latency), _side(sooner, load, latency)
                names = f"{_name(later)} later than {_name(sooner)}"
                rules.append(
                    Rule(
                        source="knutsson-2008",
                        id=f"ranking-{load}-{latency}-{_id(later)}-{_id(sooner)}",
                        title=f"{load}, worst {latency} latency: {names}",
                        published=f"{format_us(high)} against {format_us(low)}: "
                        f"{high / low:.3g} times",
                        kind="ranking",
                        parts=(RulePart(says=f"{names}", of=of, to=to, above=1.0),),
                    )
                )
    return rules


def _name(table: Kernel) -> str:
    return table.kernel if table.priorities in {"default", "native"} else f"{table.kernel} chrt"


def _id(table: Kernel) -> str:
    return _name(table).replace(" ", "-")
