# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Verdicts for a terminal: the conclusions with their numbers, the rest counted."""

from collections import Counter

from rich.console import Console
from rich.markup import escape

from tennis.pages.match import conclusions, mechanisms, numbers
from tennis.rally.text import plain
from tennis.replicate.verdicts import Claim, Comparison, Replication, compared
from tennis.units import format_count

STYLES = {
    "confirmed": "bold green",
    "contradicted": "bold red",
    "inconclusive": "bold yellow",
    "not addressed": "dim",
}


def print_verdicts(
    console: Console, replication: Replication, *, every: bool = False, played: bool = False
) -> None:
    """Print the thesis' conclusions with their parts; with ``every`` all other claims, too.

    With ``played``, claims for which nothing was played are only counted.
    """
    claims = replication.claims
    ours = conclusions(claims)
    console.print(
        f"\n[bold]The thesis' conclusions[/bold], {escape(replication.match.bench)} bench: "
        f"{escape(replication.match.time_note)}",
        highlight=False,
        soft_wrap=True,
    )
    for claim in ours:
        if not played or claim.verdict != "not addressed":
            _print_claim(console, claim)
    rest = [claim for claim in claims if claim not in ours]
    if every:
        for kind, title in _KINDS.items():
            shown = [
                claim
                for claim in rest
                if claim.kind == kind and not (played and claim.verdict == "not addressed")
            ]
            if shown:
                console.print(f"\n[bold]{title}[/bold]")
            for claim in shown:
                _print_claim(console, claim)
        if played:
            missing = sum(claim.verdict == "not addressed" for claim in claims)
            console.print(f"\n{missing} more statements need rallies that were not played.")
        return
    counted: Counter[str] = Counter(claim.verdict for claim in rest)
    totals = ", ".join(f"{counted[verdict]} {verdict}" for verdict in STYLES)
    console.print(
        f"\nThe thesis' tables, and other publications: {totals} (tennis replicate says which).",
        highlight=False,
        soft_wrap=True,
    )


_KINDS = {
    "growth": "Growth from idle, tables 7.1 to 7.4",
    "ranking": "Rankings, tables 7.1 to 7.4",
    "conclusion": "Other statements and publications",
}


def _print_claim(console: Console, claim: Claim) -> None:
    style = STYLES[claim.verdict]
    balls = f" (N = {claim.n:,}, {format_count(claim.boots, 'boot')})" if claim.n else ""
    source = "" if claim.source == "knutsson-2008" else f"{claim.source} "
    console.print(
        f"{source}{claim.id}: [{style}]{claim.verdict}[/{style}]{balls}  {escape(claim.title)}",
        highlight=False,
        soft_wrap=True,
    )
    if claim.verdict == "not addressed":
        console.print(f"    {escape(claim.why)}", highlight=False, soft_wrap=True, style="dim")
        return
    for part in claim.parts:
        _print_part(console, part)
    beside = [part for part in claim.beside if part.verdict != "not addressed"]
    if beside:
        console.print("    with hard top halves:", highlight=False, style="dim")
        for part in beside:
            _print_part(console, part)
    for advice in dict.fromkeys(part.next for part in (*claim.parts, *beside) if part.next):
        console.print(f"    to decide it, {escape(advice)}", highlight=False, soft_wrap=True)


def print_differences(console: Console, ours: Replication, theirs: Replication) -> None:
    """Print the statements on which two matches differ, opposite verdicts first."""

    def line(text: str) -> None:
        console.print(text, highlight=False, soft_wrap=True)

    paths = [one.match.path for one in (ours, theirs)]
    alike = paths[0].name == paths[1].name
    names = [escape(plain(str(path) if alike else path.name, 120)) for path in paths]
    for name, one in zip(names, (ours, theirs), strict=True):
        line(f"{name}: {escape(one.match.bench)} bench, {escape(one.match.time_note)}")
    addressed, found = compared(ours, theirs)
    for difference in found:
        line(f"\n{difference.claim.id}: {escape(difference.claim.title)}")
        for name, claim in zip(names, (difference.claim, difference.other), strict=True):
            measured = "; ".join(filter(None, map(numbers, claim.parts)))
            style = STYLES[claim.verdict]
            line(f"    {name}: [{style}]{claim.verdict}[/{style}]  {escape(measured)}")
    opposite = sum(difference.opposite for difference in found)
    line(
        f"\n{format_count(addressed, 'statement')} addressed by both: {addressed - len(found)} "
        f"with the same verdict, {opposite} with opposite ones, {len(found) - opposite} that only "
        "one of them decides."
    )


def _print_part(console: Console, part: Comparison) -> None:
    measured = numbers(part)
    sentence = f"{part.says}: {measured}" if measured else part.says
    mark = f"[{STYLES[part.verdict]}]{part.verdict}[/{STYLES[part.verdict]}]"
    why = "" if part.verdict == "confirmed" else f"; {part.why}"
    line = escape(f"{sentence}{why}")
    console.print(f"    {mark}  {line}", highlight=False, soft_wrap=True)
    for words in mechanisms(part):
        console.print(f"        {escape(words)}", highlight=False, soft_wrap=True, style="dim")
