# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""A comparison in short, as Markdown for a merge request: the verdict, the levels, the code."""

import re
from collections.abc import Sequence

from tennis.comparison import words
from tennis.comparison.before_after import Judgement
from tennis.comparison.folders import Sides
from tennis.pages.compare import CauseShown
from tennis.rally.text import plain
from tennis.units import format_count

ROWS = 6  # of a summary
FIRST = ("later", "more", "undecided", "earlier", "fewer")  # what a summary shows, in this order
SPECIAL = re.compile(r"([\\`*_\[\]<>|#~&])")


def as_summary(
    sides: Sides, judgement: Judgement, causes: Sequence[CauseShown], command: str
) -> str:
    """Return what a reviewer reads in ten seconds: the verdict, what changed, and which code.

    Where nothing changed and nothing is undecided, the level that is the most later stands alone.
    """
    rows = [row for row in words.rows(judgement) if row.outcome in FIRST]
    changed = sorted(rows, key=lambda row: FIRST.index(row.outcome))
    if not changed and judgement.statements:
        changed = [words.row(max(judgement.statements, key=lambda one: one.ratio.estimate))]
    lines = [f"**{escaped(words.verdict(judgement))}**", "", *_table(sides, changed[:ROWS])]
    more = len(changed) - ROWS
    lines += ["", f"and {format_count(more, 'more row')}" if more > 0 else "", *_causes(causes[:1])]
    return _text([*lines, "", escaped(words.unseen(judgement)), "", _code(command)])


def _text(lines: Sequence[str]) -> str:
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines))


def _code(command: str) -> str:
    return f"`{plain(command, 1500).replace('`', ' ')}`"


def _causes(causes: Sequence[CauseShown]) -> list[str]:
    lines = []
    for cause in causes:
        lines += ["", f"{escaped(cause.title)}:", ""]
        lines += [f"- {escaped(line)}" for line in cause.lines]
    return lines


def _table(sides: Sides, rows: Sequence[words.Row]) -> list[str]:
    several = len(sides.cells) > 1
    titles = [*(["rally"] if several else []), "latency", "level", "before", "after"]
    return [
        "| " + " | ".join([*titles, "after / before", "after is"]) + " |",
        "|---" * (len(titles) - 2) + "|--:|--:|---|---|",
        *(
            "| " + " | ".join(map(escaped, [*([row.cell] if several else []), *row.cells])) + " |"
            for row in rows
        ),
    ]


def escaped(text: str) -> str:
    """Return a text of one line in which nothing is Markdown or HTML."""
    return SPECIAL.sub(r"\\\1", plain(text, 400))
