"""A comparison in short, as Markdown for a merge request: the verdict, the levels, the code."""

import re
from collections.abc import Sequence

from tennis.compare import words
from tennis.compare.folders import Sides
from tennis.compare.judgement import Judgement, Row
from tennis.compare.page import CauseShown
from tennis.kit.units import format_count
from tennis.rally.text import plain

ROWS = 6  # of a summary
SPECIAL = re.compile(r"([\\`*_\[\]<>|#~&])")


def as_summary(
    sides: Sides, judgement: Judgement, causes: Sequence[CauseShown], command: str
) -> str:
    """Return a summary to read in ten seconds: the verdict, the changes, and the code.

    If nothing changed and nothing is undecided, only the row with the largest ratio is shown.
    """
    changed = words.changed(judgement)
    if not changed and judgement.rows:
        times = [row for row in judgement.rows if row.unit == "ns"] or judgement.rows
        changed = [max(times, key=lambda row: row.ratio)]
    table = _table(sides, changed[:ROWS], judgement.margin)
    lines = [f"**{_escaped(words.verdict(judgement))}**", "", *table]
    more = len(changed) - ROWS
    lines += ["", f"and {format_count(more, 'more row')}" if more > 0 else "", *_causes(causes[:1])]
    command = plain(command, 1500).replace("`", " ")
    lines += ["", _escaped(words.unseen(judgement)), "", f"`{command}`"]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines))


def _causes(causes: Sequence[CauseShown]) -> list[str]:
    lines = []
    for cause in causes:
        lines += ["", f"{_escaped(cause.title)}:", ""]
        lines += [f"- {_escaped(line)}" for line in cause.lines]
    return lines


def _table(sides: Sides, rows: Sequence[Row], margin: float) -> list[str]:
    several = len(sides.cells) > 1
    titles = [*(["rally"] if several else []), "latency", "quantity", "before", "after"]
    return [
        "| " + " | ".join([*titles, "after / before", "after is"]) + " |",
        "|---" * (len(titles) - 2) + "|--:|--:|---|---|",
        *(
            "| "
            + " | ".join(
                map(_escaped, [*([row.cell] if several else []), *words.cells(row, margin)])
            )
            + " |"
            for row in rows
        ),
    ]


def _escaped(text: str) -> str:
    """Return a text of one line in which nothing is Markdown or HTML."""
    return SPECIAL.sub(r"\\\1", plain(text, 400))
