# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""What a comparison found, in sentences and as JSON."""

import math
from typing import Any

from tennis.comparison.before_after import MEDIAN, Judgement, Statement
from tennis.comparison.kinds import MedianBeyond, ShareBeyond
from tennis.comparison.played import Sides
from tennis.comparison.ratio_words import ratio_words
from tennis.units import format_count, format_ns

FACTOR_FROM = 2.0  # a ratio is said as a factor from here on, below it in per cent


def time(ns: float) -> str:
    """Write a latency; infinite: so many balls had no answer."""
    if math.isnan(ns):
        return "-"
    return "no answer" if math.isinf(ns) else format_ns(ns)


def ratio(statement: Statement) -> str:
    """Write the ratio with its interval: ``1.03 (1.029 to 1.031)``."""
    found = statement.ratio
    if math.isnan(found.estimate):
        return "-"
    return ratio_words(
        found.estimate,
        (found.low, found.high),
        write=_number,
        why=why_no_number(statement),
        unknown="too few boots for an interval",
    )


def why_no_number(statement: Statement) -> str:
    """Say why a ratio is infinite, or 0: "none before"."""
    if math.isinf(statement.ratio.estimate):
        side, when, other = statement.decisive.of, "after", "before"
    else:
        side, when, other = statement.decisive.to, "before", "after"
    what = statement.decisive.what
    if isinstance(what, ShareBeyond) and not isinstance(what, MedianBeyond):
        return f"none {other}"
    return f"no answer {when}" if math.isinf(side.estimate) else f"0 {other}"


def _number(one: float) -> str:
    return f"{one:.3f}" if 1 / FACTOR_FROM < one < FACTOR_FROM else f"{one:.3g}"


def change(statement: Statement) -> str:
    """Say what became of a level; a difference within the margin is said, too."""
    found, margin = statement.ratio, f"{100 * statement.margin:g} %"
    within = {
        "equal": f"equal within {margin}",
        "not later": f"not later by more than {margin}",
    }
    said = within.get(statement.change, _word(statement))
    if statement.change == "equal" and found.low > 1:
        said = f"later by {_percent(found.estimate)}, within {margin}"
    elif statement.change == "equal" and found.high < 1:
        said = f"earlier by {_percent(found.estimate)}, within {margin}"
    return said


def _word(statement: Statement) -> str:
    shares = {"later": "more", "earlier": "fewer"}
    of_shares = statement.decisive.what
    if isinstance(of_shares, ShareBeyond) and not isinstance(of_shares, MedianBeyond):
        return shares.get(statement.change, statement.change)
    return statement.change


def _percent(factor: float) -> str:
    return f"{100 * abs(factor - 1):.2g} %"


def by_how_much(statement: Statement) -> str:
    """Say a change in a sentence without a full stop."""
    times = statement.ratio.estimate
    where = f"{statement.latency} latency, {statement.quantity}"
    values = f"{statement.before} before, {statement.after} after"
    if math.isinf(times) or times == 0:
        return f"{where}: {_word(statement)} ({values})"
    if 1 / FACTOR_FROM < times < FACTOR_FROM:
        return f"{where}: {_word(statement)} by {_percent(times)} ({values})"
    times = times if times > 1 else 1 / times
    return f"{where}: {_word(statement)} by a factor of {times:.3g} ({values})"


def verdict(judgement: Judgement) -> str:
    """Say the verdict in one sentence."""
    margin = f"{100 * judgement.margin:g} %"
    open_ = sum(one.change == "undecided" for one in judgement.statements)
    earlier = sum(one.change == "earlier" for one in judgement.statements)
    if judgement.verdict == "worse":
        later = sum(one.change == "later" for one in judgement.statements)
        of = f"{later} of {format_count(len(judgement.statements), 'level')}"
        return f"Worse: {of} became later by more than {margin}."
    if judgement.verdict == "no worse":
        better = f"; {format_count(earlier, 'level')} became earlier" if earlier else ""
        return f"No worse: no level became later by more than {margin}{better}."
    if not judgement.statements:
        return "Undecided: boots of fewer than 6 balls have no level."
    return f"Undecided: {open_} of {format_count(len(judgement.statements), 'level')}."


def odd_boots(sides: Sides) -> list[str]:
    """Name each boot that differs from all its brothers; it decides nothing."""
    found = []
    for pair in sides.pairs:
        for name, side in (("before", pair.before), ("after", pair.after)):
            for one_in in pair.levels:
                number = side.odd(one_in)
                if number is None:
                    continue
                level = "median" if one_in == MEDIAN else f"1 in {one_in:,}"
                seed = f" (seed {side.seeds[number]})" if side.seeds else ""
                found.append(
                    f"{name}: one boot of {len(side.boots)}{seed} is unlike all others: "
                    f"{pair.latency}, {level}: {time(side.values(one_in)[number])}, the median "
                    f"boot {time(side.median(one_in).estimate)}"
                )
                break
    return found


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
    }


def _values(one: Statement) -> dict[str, float | None]:
    unit = "share" if isinstance(one.decisive.what, ShareBeyond) else "ns"
    if isinstance(one.decisive.what, MedianBeyond):
        unit = "ns"
    sides = {"before": one.decisive.to, "after": one.decisive.of}
    return {f"{name}_{unit}": _finite(side.estimate) for name, side in sides.items()}


def _finite(one: float) -> float | None:
    return one if math.isfinite(one) else None
