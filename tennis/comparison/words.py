# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""What a comparison found, in sentences and as JSON."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tennis.comparison import loops
from tennis.comparison.before_after import Judgement, Statement
from tennis.comparison.findings import what_words
from tennis.comparison.folders import Sides
from tennis.comparison.kinds import NEAR, MedianBeyond, ShareBeyond
from tennis.comparison.rare import Boots
from tennis.comparison.ratio_words import ratio_words
from tennis.comparison.ratios import divided
from tennis.comparison.sides import Side
from tennis.units import format_count, format_ns

FACTOR_FROM = 2.0  # a ratio is said as a factor from here on, below it in per cent


def time(ns: float) -> str:
    """Write a latency; infinite: so many balls had no answer."""
    if math.isnan(ns):
        return "-"
    return "no answer" if math.isinf(ns) else format_ns(ns)


def ratio(statement: Statement) -> str:
    """Write the ratio with its interval: ``1.03 (1.029 to 1.031)``.

    Of pairs it is the median pair's: if it is far from the ratio of both median boots, that is
    said, too. A ratio of shares is named as one.
    """
    found = statement.ratio
    if math.isnan(found.estimate):
        return "-"
    shares = " of shares" if _is_share(statement) else ""
    said = ratio_words(
        found.estimate,
        (found.low, found.high),
        write=_number,
        why=why_no_number(statement),
        unknown="too few boots for an interval",
    ).replace(" (", f"{shares} (", 1)
    decisive = statement.decisive
    medians = divided(decisive.of.estimate, decisive.to.estimate)
    apart = abs(medians / found.estimate - 1) if found.estimate else 0.0
    if found.paired and math.isfinite(apart) and apart > statement.margin / 2:
        said += f"; the median boots {_number(medians)}"
    return said


def why_no_number(statement: Statement) -> str:
    """Say why a ratio is infinite, or 0: "none before"."""
    if math.isinf(statement.ratio.estimate):
        side, when, other = statement.decisive.of, "after", "before"
    else:
        side, when, other = statement.decisive.to, "before", "after"
    if _is_share(statement):
        return f"none {other}"
    return f"no answer {when}" if math.isinf(side.estimate) else f"0 {other}"


def _is_share(statement: Statement) -> bool:
    what = statement.decisive.what
    return isinstance(what, ShareBeyond) and not isinstance(what, MedianBeyond)


def _number(one: float) -> str:
    return f"{one:.3f}" if 1 / FACTOR_FROM < one < FACTOR_FROM else f"{one:.3g}"


def change(statement: Statement) -> str:
    """Say what became of a level; a difference within the margin is said, too."""
    found, margin = statement.ratio, f"{100 * statement.margin:g} %"
    later, earlier = ("more", "less") if statement.is_of_a_loop else ("later", "earlier")
    within = {
        "equal": f"equal within {margin}",
        "not later": f"not {later} by more than {margin}",
    }
    said = within.get(statement.change, _word(statement))
    if statement.change == "equal" and found.low > 1:
        said = f"{later} by {_percent(found.estimate)}, within {margin}"
    elif statement.change == "equal" and found.high < 1:
        said = f"{earlier} by {_percent(found.estimate)}, within {margin}"
    return said


def _word(statement: Statement) -> str:
    words = {}
    if statement.is_of_a_loop:
        words = {"later": "more", "earlier": "less"}
    if _is_share(statement):
        words = {"later": "more", "earlier": "fewer"}
    return words.get(statement.change, statement.change)


def _percent(factor: float) -> str:
    return f"{100 * abs(factor - 1):.2g} %"


def by_how_much(statement: Statement) -> str:
    """Say a change in a sentence without a full stop."""
    times = statement.ratio.estimate
    where = f"{_whose(statement.latency)}{statement.quantity}"
    values = f"{statement.before} before, {statement.after} after"
    if math.isinf(times) or times == 0:
        return f"{where}: {_word(statement)} ({values})"
    if 1 / FACTOR_FROM < times < FACTOR_FROM:
        return f"{where}: {_word(statement)} by {_percent(times)} ({values})"
    times = times if times > 1 else 1 / times
    return f"{where}: {_word(statement)} by a factor of {times:.3g} ({values})"


def in_boots(one: Boots) -> str:
    """Say in how many boots something happened, in a sentence without a full stop."""
    before, after = one.counts
    return f"{_whose(one.latency)}{one.quantity}: {before} before, {after} after"


def _whose(latency: str) -> str:
    """Say what a level is of; empty: it is of the whole boot."""
    if not latency or latency in {loops.JITTER, loops.DRIFT}:
        return f"{latency}, " if latency else ""
    return f"{latency} latency, "


def unseen(judgement: Judgement) -> str:
    """Say what the verdict could not have seen; empty where nothing was compared."""
    if judgement.unseen is None or not judgement.statements:
        return ""
    balls, boots = judgement.unseen
    times = f"{NEAR * (1 + judgement.margin):.2g}"
    said = (
        f"Not judged: events of fewer than 1 in {balls:,} balls, or of fewer than 1 in {boots:.2g} "
        f"boots. An event rarer than {what_words(judgement.rarest)} was only seen if it was "
        f"{times} times as late as the latest other ball."
    )
    if judgement.is_of_loops:
        said = said.replace("balls", "periods").replace("late", "far off", 1)
        said = said.replace("latest other ball", "farthest other period")
    return said


def verdict(judgement: Judgement) -> str:
    """Say the verdict in one sentence."""
    unsure = [one for one in judgement.boots if one.change == "undecided"]
    margin = f"{100 * judgement.margin:g} %"
    open_ = sum(one.change == "undecided" for one in judgement.statements)
    earlier = sum(one.change == "earlier" for one in judgement.statements)
    levels = format_count(len(judgement.statements), "level")
    if judgement.time.undecided:
        return f"Undecided: {judgement.time.words}, and it drifted."
    given = f", {judgement.time.condition}" if judgement.time.condition else ""
    if judgement.verdict == "worse":
        later = sum(one.change == "later" for one in judgement.statements)
        worse = "worse" if judgement.is_of_loops else "later"
        said = [f"{later} of {levels} became {worse} by more than {margin}"] if later else []
        return f"Worse{given}: {'; '.join([*said, *map(in_boots, judgement.more_of_some)])}."
    if judgement.verdict == "no worse":
        worse, better = ("worse", "better") if judgement.is_of_loops else ("later", "earlier")
        also = f"; {format_count(earlier, 'level')} became {better}" if earlier else ""
        return f"No worse{given}: no level became {worse} by more than {margin}{also}."
    if not judgement.statements:
        return "Undecided: boots of fewer than 6 balls have no level."
    said = [f"{open_} of {levels}"] if open_ else []
    return f"Undecided: {'; '.join([*said, *map(in_boots, unsure)])}."


def odd_boots(sides: Sides) -> list[str]:
    """Name the boots that differ from all their brothers; they decide nothing."""
    found = []
    for pair in sides.pairs:
        for name, side in (("before", pair.before), ("after", pair.after)):
            for one_in in pair.levels:
                odd = side.odd(one_in)
                if not odd:
                    continue
                values = side.values(one_in)
                which = "is unlike all others" if len(odd) == 1 else "are unlike all others"
                found.append(
                    f"{name}: {format_count(len(odd), 'boot')} of {len(side.boots)}"
                    f"{seeds(side, odd)} {which}: {pair.latency}, {what_words(one_in)}: "
                    f"{', '.join(time(values[number]) for number in odd)}, the median boot "
                    f"{time(side.median(one_in).estimate)}"
                )
                break
    return found


@dataclass(frozen=True)
class Row:
    """A line of the table: a level of all boots, or what happened in boots of one side."""

    cell: str
    latency: str
    level: str
    before: str
    after: str
    ratio: str  # after / before
    outcome: str  # what became of it, in words
    change: str

    @property
    def cells(self) -> tuple[str, ...]:
        """Return what stands in the columns behind the rally's name."""
        return (self.latency, self.level, self.before, self.after, self.ratio, self.outcome)


def rows(judgement: Judgement) -> list[Row]:
    """Return levels, and what happened in boots of one side, which may be all that decides."""
    return [row(one) for one in judgement.statements] + [
        Row(one.cell, one.latency or "both", one.quantity, *one.counts, "", one.change, one.change)
        for one in judgement.boots
    ]


def row(one: Statement) -> Row:
    """Return the line of a level."""
    values = (one.quantity, one.before, one.after, ratio(one), change(one))
    return Row(one.cell, one.latency, *values, one.change)


def seeds(side: Side, boots: Sequence[int]) -> str:
    """Name the seeds of some boots, by their numbers; empty where they are not known."""
    if not side.seeds:
        return ""
    known = ", ".join(str(side.seeds[number]) for number in boots)
    return f" (seed{'s' if len(boots) > 1 else ''} {known})"


def as_json(judgement: Judgement, sides: Sides) -> dict[str, Any]:
    """Return JSON values; times in ns, what is not finite as null."""
    return {
        "verdict": judgement.verdict,
        "margin": judgement.margin,
        "paired": judgement.paired,
        "differences": {
            what: {"before": one, "after": other}
            for what, (one, other) in sides.differences.items()
        },
        "remarks": [*sides.remarks, *odd_boots(sides)],
        "boots": [
            {
                "cell": one.name or other.name,
                "before": [str(rally.path) for rally in one.rallies],
                "after": [str(rally.path) for rally in other.rallies],
            }
            for one, other in sides.cells
        ],
        "statements": [
            {
                "cell": one.cell,
                "latency": one.latency,
                "one_in": one.one_in,
                "quantity": one.quantity,
                **_values(one),
                "ratio": _finite(one.ratio.estimate),
                "ratio_low": _finite(one.ratio.low),
                "ratio_high": _finite(one.ratio.high),
                "change": one.change,
            }
            for one in judgement.statements
        ],
        "in_some_boots": [
            {
                "cell": one.cell,
                "latency": one.latency,
                "quantity": one.quantity,
                "before": one.before,
                "before_boots": one.of_before,
                "after": one.after,
                "after_boots": one.of_after,
                "change": one.change,
            }
            for one in judgement.boots
        ],
        "not_judged": unseen(judgement),
        "condition": judgement.time.condition,
    }


def _values(one: Statement) -> dict[str, float | None]:
    unit = "share" if _is_share(one) else "ns"
    sides = {"before": one.decisive.to, "after": one.decisive.of}
    return {f"{name}_{unit}": _finite(side.estimate) for name, side in sides.items()}


def _finite(one: float) -> float | None:
    return one if math.isfinite(one) else None
