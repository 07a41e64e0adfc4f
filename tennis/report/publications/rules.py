"""The rules by which a match confirms a statement of the thesis.

The conclusions are written down in ``rules.toml``. The rules that follow from the tables are
computed here: one for each growth from idle, one for each pair of kernels of which one is later.
"""

import math
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from itertools import combinations
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from tennis.kit.units import format_us
from tennis.rally.manifest import THREADED
from tennis.report.publications.knutsson import KernelTable, Maximum, knutsson_2008

LatencyName = Literal["interrupt", "scheduling"]
LATENCIES: tuple[LatencyName, ...] = ("interrupt", "scheduling")
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


class _Rules(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, validate_by_name=True)


class RuleSide(_Rules):
    """A kernel with its priorities under a load; the worst of several loads counts."""

    kernel: str
    priorities: str
    top_half: str = "hard"
    loads: Annotated[tuple[str, ...], Field(min_length=1)]
    latency: LatencyName

    @property
    def words(self) -> str:
        """Return the side in a few words."""
        priorities = "" if self.priorities == "default" else f" {self.priorities}"
        top_half = f" {self.top_half}" if self.top_half in THREADED else ""
        return f"{self.kernel}{priorities}{top_half}, {' and '.join(self.loads)}"


class RulePart(_Rules):
    """One comparison: ``of`` / ``to`` is between ``above`` and ``below``.

    With ``than``: ``of`` is nearer to ``to`` than to ``than``.
    """

    says: str
    of: RuleSide
    to: RuleSide
    than: RuleSide | None = None
    above: float | None = None
    below: float | None = None

    @model_validator(mode="after")
    def _one_kind(self) -> "RulePart":
        bounded = self.above is not None or self.below is not None
        if bounded == (self.than is not None):
            raise ValueError("a part has above, below or both; or else than")
        return self

    @property
    def ranks(self) -> bool:
        """Tell whether the part only says which side is later."""
        return self.above == 1.0 and self.below is None

    @property
    def sides(self) -> tuple[RuleSide, ...]:
        """Return the sides that take part."""
        return tuple(side for side in (self.of, self.to, self.than) if side)

    @property
    def published(self) -> float | None:
        """Return the ratio of the thesis' maxima; None: a side has no figures.

        A ratio; with ``than``, by how many decades it is nearer (below 0) or not.
        """
        found = []
        for side in self.sides:
            maxima = [_published(side, load) for load in side.loads]
            if not all(maxima):
                return None
            found.append(max(one.max for one in maxima if one))
        if self.than is None:
            return found[0] / found[1]
        of, to, than = map(math.log10, found)
        return abs(of - to) - abs(of - than)

    def with_top_halves(self, top_halves: Mapping[str, str]) -> "RulePart":
        """Return the part with other top halves, by kernel."""
        changed = {
            name: side.model_copy(update={"top_half": top_halves.get(side.kernel, side.top_half)})
            for name in ("of", "to", "than")
            if (side := getattr(self, name))
        }
        return self.model_copy(update=changed)


class Rule(_Rules):
    """A published statement; it holds if all of its parts hold."""

    source: str
    id: str
    title: str
    published: str
    kind: Literal["conclusion", "growth", "ranking"] = "conclusion"
    parts: Annotated[tuple[RulePart, ...], Field(validation_alias="part", min_length=1)]


class _Unaddressable(_Rules):
    """A published statement that no match can decide."""

    source: str
    id: str
    title: str
    why: str


class Statistics(_Rules):
    """The required certainty of a verdict."""

    boots_min: int
    one_in: tuple[int, ...]
    judged_one_in: int
    margin: float


class _Tables(_Rules):
    """The limits for the same growth, and for a ranking."""

    same_order: float
    tie: float


class RuleBook(_Rules):
    """All of ``rules.toml``."""

    statistics: Statistics
    tables: _Tables
    bottom_halves: dict[str, str]
    top_halves: dict[str, str]
    core_tasks: dict[str, dict[str, tuple[str, ...]]]  # kernel, load -> kinds of tasks
    claims: Annotated[tuple[Rule, ...], Field(validation_alias="claim")]
    unaddressable: tuple[_Unaddressable, ...]


@cache
def replication() -> RuleBook:
    """Return the rules that are written down."""
    text = files("tennis.report.publications").joinpath("rules.toml").read_text(encoding="utf-8")
    return RuleBook.model_validate(tomllib.loads(text))


@cache
def rules() -> tuple[Rule, ...]:
    """Return all rules: the thesis' conclusions, then what follows from its tables."""
    top_halves = replication().top_halves
    return tuple(
        rule.model_copy(
            update={"parts": tuple(part.with_top_halves(top_halves) for part in rule.parts)}
        )
        for rule in (*replication().claims, *_growths(), *_rankings())
    )


def halves_of(kernel: str) -> dict[str, str]:
    """Return the halves of the rallies that represent the thesis', by the names of settings."""
    book = replication()
    return {
        "top_half": book.top_halves.get(kernel, "hard"),
        "bottom_half": book.bottom_halves[kernel],
    }


def published_quantity() -> str:
    """Name the thesis' counterpart of a match's level of 1 in N balls."""
    return f"the thesis' maximum of {knutsson_2008().instrument.balls:,} balls"


def published_maximum(table: KernelTable, load: str, latency: LatencyName) -> Maximum | None:
    """Return a figure of one of the tables 7.1 to 7.4; None if the thesis has none."""
    row = getattr(table, load, None) if load in LOADS else None
    if row is None:
        return None
    maximum: Maximum = row.irq if latency == "interrupt" else row.sched
    return maximum


def _published(side: RuleSide, load: str) -> Maximum | None:
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
                growth, factor = loaded.max / idle.max, replication().tables.same_order
                low, high = growth / factor, growth * factor
                side = _side(table, load, latency)
                part = RulePart(
                    says=f"it grows {low:.3g} to {high:.3g} times",
                    of=side,
                    to=_side(table, "idle", latency),
                    above=low,
                    below=high,
                )
                times = f"{format_us(idle.max)} to {format_us(loaded.max)}: {growth:.3g} times"
                rules.append(
                    Rule(
                        source=KNUTSSON,
                        id=f"table{number}-{load}-{latency}",
                        title=f"{side.words}: {latency} latency against idle",
                        published=times,
                        kind="growth",
                        parts=(part,),
                    )
                )
    return rules


def _rankings() -> list[Rule]:
    """Return a rule for each pair of tables, load and latency: which is later.

    Pairs that are too near each other have none.
    """
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
                if high / low < replication().tables.tie:
                    continue
                says = f"{_name(later)} later than {_name(sooner)}"
                of, to = _side(later, load, latency), _side(sooner, load, latency)
                times = f"{format_us(high)} against {format_us(low)}: {high / low:.3g} times"
                rules.append(
                    Rule(
                        source=KNUTSSON,
                        id=f"ranking-{load}-{latency}-{_id(later)}-{_id(sooner)}",
                        title=f"{load}, {latency} latency: {says}",
                        published=times,
                        kind="ranking",
                        parts=(RulePart(says=says, of=of, to=to, above=1.0),),
                    )
                )
    return rules


def _name(table: KernelTable) -> str:
    return table.kernel if table.priorities in {"default", "native"} else f"{table.kernel} chrt"


def _id(table: KernelTable) -> str:
    return _name(table).replace(" ", "-")
