"""The result of a comparison, in sentences and as JSON."""

import math
from collections.abc import Sequence
from typing import Any

from tennis.compare import loops
from tennis.compare.folders import Sides
from tennis.compare.judgement import LEVELS, MEDIAN, Change, Judgement, Row
from tennis.compare.sides import Side
from tennis.kit.units import format_count, format_ns, format_round_ns

FACTOR_FROM = 2.0  # a ratio is written as a factor from here on, below it in per cent
FIRST: tuple[Change, ...] = ("later", "undecided", "earlier")  # what shows most first


def _level_words(one_in: float) -> str:
    """Name a level: "median", "1 in 1,000"."""
    return "median" if one_in == MEDIAN else f"1 in {one_in:,.10g}"


def quantity(row: Row) -> str:
    """Name what a row is about."""
    found = {
        "usual": "usual time",
        "level": _level_words(row.one_in),
        "late": f"balls later than {format_round_ns(row.beyond_ns)}",
        "lost": "balls without an answer",
        "suspect": "suspect boots",
        "drift": "drift of a period",
    }[row.what]
    return loops.words(found) if row.latency == loops.JITTER else found


def values(row: Row) -> tuple[str, str]:
    """Write both sides' values, with their units; for few balls, their counts."""
    if row.unit == "ns":
        return _time(row.before, row.least_ns), _time(row.after, row.least_ns)
    if row.what == "late" and row.change != "rare" and max(row.before, row.after) >= 1e-4:
        return _percent_of(row.before), _percent_of(row.after)
    one, other = (f"{n:,} of {of:,}" for n, of in zip(row.counts, row.of, strict=True))
    return one, other


def _time(ns: float, least_ns: float = 0) -> str:
    """Write a latency; infinite: the balls had no answer."""
    if math.isnan(ns):
        return "-"
    if least_ns and ns <= least_ns * (1 + 1e-9):
        return f"at most {format_ns(least_ns)}"
    return "no answer" if math.isinf(ns) else format_ns(ns)


def _percent_of(share: float) -> str:
    return f"{float(f'{100 * share:.2g}'):g} %"  # never 1e+02


def ratio(row: Row) -> str:
    """Write the ratio with its interval: ``1.03 (1.029 to 1.031)``; rare: its upper bound."""
    if row.change == "rare":
        return _not_excluded(row)
    if row.what in {"late", "lost"} and not row.counts[0]:
        return f"none before (at least {_number(row.low)} times as many)" if row.low > 1 else "-"
    if math.isnan(row.ratio) or math.isnan(row.low):
        return "-"
    value = _number(row.ratio) if math.isfinite(row.ratio) else "no number"
    low = _number(row.low) if row.low > 0 else "0"
    if math.isinf(row.high):
        return f"{value} (at least {low})"
    return f"{value} ({low} to {_number(row.high)})"


def _not_excluded(row: Row) -> str:
    """Say the largest increase that is not excluded: "at most 4.6 times as many"."""
    if math.isfinite(row.high) and row.counts[0]:
        return f"at most {row.high:.2g} times as many"
    return f"none before: at most 1 in {max(1, round(1 / row.most)):,}"


def _number(one: float) -> str:
    return f"{one:.3f}" if 1 / FACTOR_FROM < one < FACTOR_FROM else f"{one:.3g}"


def _change(row: Row, margin: float) -> str:
    """Describe the change of a quantity; name a difference within the margin, too."""
    most = f"{100 * margin:g} %"
    later = "more" if row.unit != "ns" or _is_of_a_loop(row) else "later"
    if row.change == "equal":
        if row.low > 1 and row.what != "late":
            return f"{later} by {_percent(row.ratio)}, within {most}"
        return f"equal within {most}"
    if row.change == "not later":
        return f"not {later} by more than {most}"
    return "" if row.change == "rare" else _word(row)


def _is_of_a_loop(row: Row) -> bool:
    return row.latency in {loops.JITTER, loops.DRIFT}


def _word(row: Row) -> str:
    if row.unit != "ns":
        return {"later": "more", "earlier": "fewer"}.get(row.change, row.change)
    if _is_of_a_loop(row):
        return {"later": "more", "earlier": "less"}.get(row.change, row.change)
    return row.change


def _percent(factor: float) -> str:
    return f"{100 * abs(factor - 1):.2g} %"


def by_how_much(row: Row) -> str:
    """Say a change in a sentence without a full stop."""
    before, after = values(row)
    shown = f"{before} before, {after} after"
    if row.unit == "balls":
        shown += f"; in {row.in_boots[0]} and {format_count(row.in_boots[1], 'boot')}"
    head = f"{_whose(row.latency)}{quantity(row)}: {_word(row)}"
    times = row.ratio
    if row.change == "undecided" or not math.isfinite(times) or times == 0:
        return f"{head} ({shown})"
    if 1 / FACTOR_FROM < times < FACTOR_FROM:
        return f"{head} by {_percent(times)} ({shown})"
    return f"{head} by a factor of {max(times, 1 / times):.3g} ({shown})"


def _whose(latency: str) -> str:
    """Name the latency of a quantity; empty: it is of the whole boot."""
    if not latency or latency in {loops.JITTER, loops.DRIFT}:
        return f"{latency}, " if latency else ""
    return f"{latency} latency, "


def changed(judgement: Judgement) -> list[Row]:
    """Return the rows that changed or are undecided, what shows most first."""
    rows = [row for row in judgement.rows if row.change in FIRST]
    return sorted(rows, key=lambda row: FIRST.index(row.change))


def _decisive(judgement: Judgement) -> Row | None:
    """Return the row that decides, or that holds the verdict back, or None."""
    wanted = {"worse": "later", "undecided": "undecided"}.get(judgement.verdict)
    rows = [row for row in judgement.rows if row.change == wanted]
    if not rows:
        return None
    if judgement.verdict == "worse":  # a time says more than a share that grew with it
        return next((row for row in rows if row.unit == "ns"), rows[0])
    return next((row for row in rows if row.unit != "ns"), rows[0])


def verdict(judgement: Judgement) -> str:
    """Say the verdict in one sentence, with the row that decides."""
    if judgement.time.undecided:
        return f"Undecided: {judgement.time.words}, and it drifted."
    given = f", {judgement.time.condition}" if judgement.time.condition else ""
    row = _decisive(judgement)
    if judgement.verdict == "worse" and row is not None:
        return f"Worse{given}: {by_how_much(row)}."
    if judgement.verdict == "no worse":
        later = "worse" if judgement.is_of_loops else "later"
        better = sum(row.change == "earlier" for row in judgement.rows)
        also = f"; {format_count(better, 'quantity', 'quantities')} became better" if better else ""
        return (
            f"No worse{given}: no quantity above is {later} by more than "
            f"{100 * judgement.margin:g} %{also}."
        )
    if row is None:
        return "Undecided: there are too few boots, or too few balls in a boot."
    return f"Undecided: {by_how_much(row)}."


def unseen(judgement: Judgement) -> str:
    """Say what the verdict could not have seen, with the largest increase that is not excluded."""
    if not judgement.kinds:
        return ""
    rarest = round(1 / max(one.errors.rare for one in judgement.kinds))
    said = (
        f"Not judged: what fewer than 1 in {rarest:,} balls do, or the balls of fewer than 1 in "
        f"{judgement.unseen_boots:.2g} boots."
    )
    rare = [
        f"{_whose(row.latency)}{quantity(row)}: {row.counts[0]:,} before, {row.counts[1]:,} after, "
        f"{_not_excluded(row)}"
        for row in judgement.rows
        if row.change == "rare"
    ]
    if rare:
        said += f" Not excluded there (95 %): {'; '.join(rare)}."
    return said.replace("balls", "periods") if judgement.is_of_loops else said


def odd_boots(sides: Sides) -> list[str]:
    """Name the boots that differ from all their brothers."""
    found = []
    for pair in sides.pairs:
        for name, side in (("before", pair.before), ("after", pair.after)):
            for one_in in LEVELS:
                odd = side.odd(one_in) if side.has(one_in) and pair.has_curve else []
                if not odd:
                    continue
                boots = side.values(one_in)
                which = "is unlike all others" if len(odd) == 1 else "are unlike all others"
                middle = sorted(boots)[len(boots) // 2]
                found.append(
                    f"{name}: {format_count(len(odd), 'boot')} of {len(side.boots)}"
                    f"{seeds(side, odd)} {which}: {pair.latency}, {_level_words(one_in)}: "
                    f"{', '.join(_time(boots[number]) for number in odd)}, the median boot "
                    f"{_time(middle)}"
                )
                break
    return found


def cells(row: Row, margin: float) -> tuple[str, ...]:
    """Return the columns of a row: latency, quantity, before, after, ratio, change."""
    return (row.latency or "both", quantity(row), *values(row), ratio(row), _change(row, margin))


def seeds(side: Side, boots: Sequence[int]) -> str:
    """Name the seeds of some boots, by their numbers; empty: they are not known."""
    if not side.seeds:
        return ""
    known = ", ".join(str(side.seeds[number]) for number in boots)
    return f" (seed{'s' if len(boots) > 1 else ''} {known})"


def as_json(judgement: Judgement, sides: Sides) -> dict[str, Any]:
    """Return JSON values; times in ns, infinite ones and nan as null."""
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
        "rows": [
            {
                "cell": row.cell,
                "latency": row.latency,
                "quantity": quantity(row),
                "unit": "ns" if row.unit == "ns" else "share",
                "before": _finite(row.before),
                "after": _finite(row.after),
                "count_before": row.counts[0] if row.unit != "ns" else None,
                "count_after": row.counts[1] if row.unit != "ns" else None,
                "ratio": _finite(row.ratio),
                "ratio_low": _finite(row.low),
                "ratio_high": _finite(row.high),
                "change": row.change,
            }
            for row in judgement.rows
        ],
        "not_judged": unseen(judgement),
        "condition": judgement.time.condition,
    }


def _finite(one: float) -> float | None:
    return one if math.isfinite(one) else None
