# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Verdicts for a terminal: the conclusions with their numbers, the rest counted."""

from collections import Counter

from rich.console import Console
from rich.markup import escape

from tennis.pages.match import conclusions, numbers
from tennis.replicate.verdicts import Claim, Replication

STYLES = {
    "confirmed": "bold green",
    "contradicted": "bold red",
    "inconclusive": "bold yellow",
    "not addressed": "dim",
}


def print_verdicts(console: Console, replication: Replication, *, every: bool = False) -> None:
    """Print the thesis' conclusions with their parts; with ``every`` all other claims, too."""
    claims = replication.claims
    ours = conclusions(claims)
    console.print(
        f"\n[bold]The thesis' conclusions[/bold], {escape(replication.match.bench)} bench: "
        f"{escape(replication.match.time_note)}",
        highlight=False,
        soft_wrap=True,
    )
    for claim in ours:
        _print_claim(console, claim)
    rest = [claim for claim in claims if claim not in ours]
    if every:
        for kind, title in _KINDS.items():
            console.print(f"\n[bold]{title}[/bold]")
            for claim in (claim for claim in rest if claim.kind == kind):
                _print_claim(console, claim)
        return
    counted: Counter[str] = Counter(claim.verdict for claim in rest)
    totals = ", ".join(f"{counted[verdict]} {verdict}" for verdict in STYLES)
    console.print(
        f"\nThe thesis' tables and figures, and other publications: {totals} "
        "(tennis replicate says which).",
        highlight=False,
        soft_wrap=True,
    )


_KINDS = {
    "growth": "Growth from idle, tables 7.1 to 7.4",
    "ranking": "Rankings, tables 7.1 to 7.4",
    "figure": "Figures 7.1 to 7.10",
    "conclusion": "Other statements and publications",
}


def _print_claim(console: Console, claim: Claim) -> None:
    style = STYLES[claim.verdict]
    balls = f" (N = {claim.n:,})" if claim.n else ""
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
        measured = numbers(part)
        sentence = f"{part.says}: {measured}" if measured else part.says
        mark = f"[{STYLES[part.verdict]}]{part.verdict}[/{STYLES[part.verdict]}]"
        why = "" if part.verdict == "confirmed" else f"; {part.why}"
        then = f"; to decide it: {part.next}" if part.next else ""
        line = escape(f"{sentence}{why}{then}")
        console.print(f"    {mark}  {line}", highlight=False, soft_wrap=True)
