# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""A comparison as Markdown, for a merge request or a mail: the verdict, the levels, the code."""

import re
from collections.abc import Sequence

from tennis.comparison import words
from tennis.comparison.before_after import Judgement
from tennis.comparison.control import Control
from tennis.comparison.played import Sides
from tennis.pages.circumstances import circumstances
from tennis.pages.compare import CauseShown
from tennis.rally import Rally
from tennis.rally.text import plain

SPECIAL = re.compile(r"([\\`*_\[\]<>|#~&])")


def as_markdown(  # noqa: PLR0913, PLR0917 (what was found, and beside it)
    sides: Sides,
    judgement: Judgement,
    found: Sequence[CauseShown],
    unexplained: Sequence[str],
    command: str,
    itself: Control | None = None,
) -> str:
    """Return the text. Names come from folders: they are no markup."""
    lines = [f"**{escaped(words.verdict(judgement))}**", ""]
    several = len(sides.cells) > 1
    titles = [*(["rally"] if several else []), "latency", "level", "before", "after"]
    lines.append("| " + " | ".join([*titles, "after / before", "after is"]) + " |")
    lines.append("|---" * (len(titles) - 2) + "|--:|--:|---|---|")
    for one in judgement.statements:
        cells = [*([one.cell] if several else []), one.latency, one.quantity]
        cells += [one.before, one.after, words.ratio(one), words.change(one)]
        lines.append("| " + " | ".join(map(escaped, cells)) + " |")
    for cause in found:
        lines += ["", f"{escaped(cause.title)}:", ""]
        lines += [f"- {escaped(line)}" for line in cause.lines]
    lines += ["", *(f"Not explained: {escaped(why)}." for why in unexplained)]
    remarks = [
        f"differs: {what}: {ours or '-'} before, {theirs or '-'} after"
        for what, (ours, theirs) in sides.differences.items()
    ]
    remarks += [*sides.remarks, *words.odd_boots(sides)]
    lines += [f"- {escaped(remark)}" for remark in remarks]
    unseen = (words.unseen(judgement), itself.words if itself else "")
    lines += [f"- {escaped(line)}" for line in filter(None, unseen)]
    for before, after in sides.cells:
        lines += _played(before.name or after.name, [before.rallies, after.rallies])
    lines += ["", f"`{plain(command, 1500).replace('`', ' ')}`"]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines))


def escaped(text: str) -> str:
    """Return a text of one line in which nothing is Markdown or HTML."""
    return SPECIAL.sub(r"\\\1", plain(text, 400))


def _played(name: str, sides: Sequence[Sequence[Rally]]) -> list[str]:
    one, other = (circumstances([rally.manifest for rally in side]) for side in sides)
    lines = ["", f"| {escaped(name or 'what was played')} | before | after |", "|---|---|---|"]
    for what in {**one, **other}:
        values = [escaped(side.get(what, "-")) for side in (one, other)]
        lines.append(f"| {what} | {values[0]} | {values[1]} |")
    return lines
