# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""What a rule is, and ``rules.toml``: what a match must show for a published statement to hold."""

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from tennis.comparison.rallies import Measured
from tennis.rally.manifest import THREADED, Drill
from tennis.units import format_us

LatencyName = Literal["interrupt", "scheduling"]
Measure = Literal["level", "quartile distance", "median", "mean", "standard deviation"]
LATENCIES: tuple[LatencyName, ...] = ("interrupt", "scheduling")
# Linux' nearest to RTAI's periodic mode: no high-resolution timers, and a tick that never stops
PERIODIC = "highres=off nohz=off"


class _Rules(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, validate_by_name=True)


class RuleSide(_Rules):
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
        top_half = f" {self.top_half}" if self.top_half in THREADED else ""
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
    of: RuleSide
    to: RuleSide
    than: RuleSide | None = None
    above: float | None = None
    below: float | None = None
    measure: Measure = "level"
    published_value: float | None = None  # the same of the publication; None: of the thesis' tables

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


def growth_rule(
    name: str, title: str, published_us: tuple[float, float], of: RuleSide, to: RuleSide
) -> Rule:
    """Return a rule: it grows as it did there, in order of magnitude.

    ``name``: source and id, with a blank; ``published_us``: loaded, idle.
    """
    loaded, idle = published_us
    growth, factor = loaded / idle, replication().tables.same_order
    low, high = growth / factor, growth * factor
    part = RulePart(
        says=f"it grows {low:.3g} to {high:.3g} times",
        of=of,
        to=to,
        above=low,
        below=high,
        published_value=growth,
    )
    published = f"{format_us(idle)} to {format_us(loaded)}: {growth:.3g} times"
    source, _, own = name.partition(" ")
    return Rule(
        source=source, id=own, title=title, published=published, kind="growth", parts=(part,)
    )


def ranking_rule(
    name: str, title: str, published_us: tuple[float, float], part: RulePart
) -> Rule | None:
    """Return a rule: who was later there is later; None: there they were too near for that.

    ``name``: source and id, with a blank; ``published_us``: the later one first.
    """
    high, low = published_us
    if high / low < replication().tables.tie:
        return None
    published = f"{format_us(high)} against {format_us(low)}: {high / low:.3g} times"
    source, _, own = name.partition(" ")
    return Rule(
        source=source, id=own, title=title, published=published, kind="ranking", parts=(part,)
    )


class Unaddressable(_Rules):
    """A published statement that no match can speak to."""

    source: str
    id: str
    title: str
    why: str


class Statistics(_Rules):
    """How sure a verdict must be."""

    boots_min: int
    one_in: tuple[int, ...]
    judged_one_in: int
    margin: float


class Tables(_Rules):
    """What counts as the same growth, and as a ranking."""

    same_order: float
    tie: float


class RuleBook(_Rules):
    """All of ``rules.toml``."""

    statistics: Statistics
    tables: Tables
    bottom_halves: dict[str, str]
    top_halves: dict[str, str]
    core_tasks: dict[str, dict[str, tuple[str, ...]]]  # kernel, load -> kinds of tasks
    claims: Annotated[tuple[Rule, ...], Field(validation_alias="claim")]
    unaddressable: tuple[Unaddressable, ...]


def halves_of(kernel: str) -> dict[str, str]:
    """Return the halves of the rallies that stand for the thesis', by the names of settings."""
    rules = replication()
    return {
        "top_half": rules.top_halves.get(kernel, "hard"),
        "bottom_half": rules.bottom_halves[kernel],
    }


@cache
def replication() -> RuleBook:
    """Return the rules that are written down."""
    text = files("tennis.replicate").joinpath("rules.toml").read_text(encoding="utf-8")
    return RuleBook.model_validate(tomllib.loads(text))
