# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""The rules that follow from the tables of Arm et al. (2016).

They ran RTAI, on another processor and with other timers. So only growth in orders of magnitude,
and who is later than whom, is compared with a match. The thresholds were written before any match
with drills was looked at; single drills (docs/evidence/drills.md) had been. docs/match.md has them
in words.
"""

from collections.abc import Iterator
from itertools import combinations
from typing import Any

from tennis.comparison.rallies import Measured
from tennis.publications.arm import CALLS, CONTEXTS
from tennis.publications.load import load
from tennis.rally.manifest import Drill, DrillContext, DrillName
from tennis.replicate.rules import (
    PERIODIC,
    Rule,
    RulePart,
    RuleSide,
    growth_rule,
    ranking_rule,
    replication,
)

ARM = "arm-2016"
TICK_US = 4000  # of Debian's kernels: no other period can be kept without high-resolution timers
CALL_US = 171.3  # from call to call: no divisor of any load's period


def arm_rules() -> list[Rule]:
    """Return the rules of the paper."""
    figures = load(ARM)
    cells = list(_cells(figures))
    return [_modes(), _spaces(figures), *_growths(cells), *_rankings(cells)]


class _Cell:
    """A table's maxima in µs, by context: idle and loaded."""

    def __init__(
        self, name: DrillName, period_us: float, tables: tuple[int, int], rows: list[dict[str, Any]]
    ) -> None:
        self.name = name
        self.period_us = period_us
        self.tables = dict(zip(("idle", "memory"), tables, strict=True))
        self.max_us = {
            load_name: {context: row[key]["max"] for key, context in CONTEXTS.items() if key in row}
            for load_name, row in zip(("idle", "memory"), rows, strict=True)
        }

    @property
    def measured(self) -> Measured:
        """Return what of its repetitions is compared."""
        return "deviation" if self.name == "periodic" else "duration"

    @property
    def words(self) -> str:
        return f"periodic {self.period_us:g} us" if self.name == "periodic" else self.name

    @property
    def short(self) -> str:
        """Return what tells it from the others that are measured alike."""
        return self.words.removeprefix("periodic ")

    def side(self, context: DrillContext, *loads: str) -> RuleSide:
        return _drill(self.name, context, self.period_us, loads, self.measured)


def _drill(  # noqa: PLR0913, PLR0917 (all that tells a drill from others)
    name: DrillName,
    context: DrillContext,
    period_us: float,
    loads: tuple[str, ...],
    measured: Measured,
    command_line: str = "",
) -> RuleSide:
    return RuleSide(
        kernel="rt",
        priorities="default",
        loads=loads,
        latency=measured,
        drill=Drill(name=name, context=context, period_ns=round(period_us * 1000)),
        command_line=command_line,
    )


def _cells(figures: dict[str, Any]) -> Iterator[_Cell]:
    """Yield the tables whose timers Linux has: one-shot ones."""
    one_shot = [row for row in figures["periodic"] if row["mode"] == "oneshot"]
    for period_us in (1000, 25):
        rows = sorted((r for r in one_shot if r["period_us"] == period_us), key=lambda r: r["load"])
        yield _Cell("periodic", period_us, (rows[0]["table"], rows[1]["table"]), rows)
    for key, (name, idle, loaded) in CALLS.items():
        rows = sorted(figures[key], key=lambda row: row["load"])
        yield _Cell(name, CALL_US, (idle, loaded), rows)


def _growths(cells: list[_Cell]) -> Iterator[Rule]:
    """Yield a rule for each context of each pair of tables: idle against loaded."""
    for cell in cells:
        for context, loaded_us in cell.max_us["memory"].items():
            yield growth_rule(
                f"{ARM} table{cell.tables['memory']}-{cell.name}-{context}",
                f"rt, {cell.words} {context}: {cell.measured}, memory against idle",
                (loaded_us, cell.max_us["idle"][context]),
                cell.side(context, "memory"),
                cell.side(context, "idle"),
            )


def _rankings(cells: list[_Cell]) -> Iterator[Rule]:
    """Yield a rule for each two contexts of a table: who is later."""
    for load_name in ("idle", "memory"):
        for cell in sorted(cells, key=lambda cell: cell.measured):
            for one, other in combinations(cell.max_us[load_name], 2):
                pair = {name: cell.max_us[load_name][name] for name in (one, other)}
                later, sooner = sorted(pair, key=lambda name: -pair[name])
                part = RulePart(
                    says=f"{later} is later than {sooner}",
                    of=cell.side(later, load_name),
                    to=cell.side(sooner, load_name),
                    above=1.0,
                    published_value=pair[later] / pair[sooner],
                )
                period = "" if cell.name != "periodic" else f"-{cell.period_us:g}us"
                name = f"{ARM} table{cell.tables[load_name]}-{later}-{sooner}{period}"
                title = f"{load_name}, {cell.measured}: {cell.short}, {later} > {sooner}"
                if rule := ranking_rule(name, title, (pair[later], pair[sooner]), part):
                    yield rule


def _modes() -> Rule:
    """Return the rule for c1: one-shot against periodic timers, at the tick's own period."""
    parts = []
    for context in ("user-rt", "kernel"):
        one_shot, periodic = (
            _drill("periodic", context, TICK_US, ("idle", "memory"), "deviation", line)
            for line in ("", PERIODIC)
        )
        parts += [
            RulePart(
                says=f"{context}: the largest deviation is larger with one-shot timers",
                of=one_shot,
                to=periodic,
                above=1.0,
            ),
            RulePart(
                says=f"{context}: the standard deviation is larger with periodic timers",
                measure="standard deviation",
                of=periodic.model_copy(update={"latency": "interval"}),
                to=one_shot.model_copy(update={"latency": "interval"}),
                above=1.0,
            ),
        ]
    return Rule(
        source=ARM,
        id="c1",
        title="Periodic timers have the smaller largest deviation, one-shot timers the smaller "
        "standard deviation",
        published="e.g. 25 µs in the kernel, idle: largest 3.9 against 14.8 µs, standard deviation "
        "0.70 against 0.15 µs; RTAI's modes have no equal in Linux: here the tick of 4 ms, "
        f"with {PERIODIC} and without",
        parts=tuple(parts),
    )


def _spaces(figures: dict[str, Any]) -> Rule:
    """Return the rule for c2: user-rt like the kernel, user without bounds."""
    same_order = replication().tables.same_order
    cells = [cell for cell in _cells(figures) if cell.name == "periodic"]
    parts = []
    for cell in cells:
        for load_name, where in (("idle", "idle"), ("memory", "under memory")):
            maxima = cell.max_us[load_name]
            parts.append(
                RulePart(
                    says=f"{cell.words}, {where}: user-rt's largest deviation is of the same order "
                    "as the kernel's",
                    of=cell.side("user-rt", load_name),
                    to=cell.side("kernel", load_name),
                    above=1 / same_order,
                    below=same_order,
                    published_value=maxima["user-rt"] / maxima["kernel"],
                )
            )
    for cell in cells:
        growth = cell.max_us["memory"]["user"] / cell.max_us["idle"]["user"]
        parts.append(
            RulePart(
                says=f"{cell.words}: user's largest deviation under memory is more than 10 times "
                "the idle one",
                of=cell.side("user", "memory"),
                to=cell.side("user", "idle"),
                above=10.0,
                published_value=growth,
            )
        )
    return Rule(
        source=ARM,
        id="c2",
        title="Real-time processes are comparable to the kernel; ordinary ones are not bounded "
        "under load",
        published="25 µs, loaded: kernel 13.4, hard user space 16.1, soft user space 93,081 µs",
        parts=tuple(parts),
    )
