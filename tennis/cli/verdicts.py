# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Verdicts for a terminal: sentences with their numbers, 80 columns wide."""

from collections.abc import Sequence
from itertools import groupby

from rich.console import Console
from rich.text import Text

from tennis.cli.words import command_line, paragraph
from tennis.pages.match import (
    conclusions,
    counted,
    mechanisms,
    strangers,
    unlooked,
)
from tennis.rally.text import plain, quoted
from tennis.replicate.deciding import level_words
from tennis.replicate.knutsson_rules import KNUTSSON
from tennis.replicate.rules import replication as rules
from tennis.replicate.verdicts import SHARES, Claim, ClaimPart, Replication, compared, number
from tennis.units import format_count

STYLES = {
    "confirmed": "bold green",
    "another cause": "bold yellow",
    "contradicted": "bold red",
    "inconclusive": "bold yellow",
    "not addressed": "dim",
    "not addressable": "dim",
}
# what plays the statements of other publications
PLANS = {
    "arm-2016": "most are about drills, which plans/rtcap.toml plays",
    "koeker": "about an open loop of 10 kHz, which plans/koeker.toml plays",
}
_NAME, _VERDICT, _ROW, _RATIO = 4, 16, 29, 28  # widths of columns


def print_verdicts(
    console: Console, replication: Replication, *, every: bool = False, played: bool = False
) -> None:
    """Print the thesis' conclusions with their parts; with ``every`` all other claims, too.

    With ``played``, claims for which nothing was played are only counted.
    """
    claims = replication.claims
    ours = conclusions(claims)
    judged = f"{rules().statistics.judged_one_in:,}"
    addressed = {claim.source for claim in claims if claim.addressed}
    if not addressed:
        _print_nothing(console, replication)
        return
    thesis = KNUTSSON in addressed
    every = every or not thesis
    if thesis:
        _title(console, "The thesis' conclusions")
    paragraph(
        console,
        f"{replication.match.bench} bench: {replication.match.time_note}. Here: what 1 ball in "
        f"{judged} exceeds in the median boot, one side over the other, with its 95 % interval. "
        "Published: the same of other quantities, as of the thesis' maxima of 10,000,000 balls.",
        style="dim",
    )
    told: set[str] = set()
    for claim in ours if thesis else ():
        if not played or claim.addressed:
            console.print()
            _print_claim(console, claim, told)
    rest = [claim for claim in claims if claim not in ours]
    if every:
        _print_table(
            console,
            replication,
            "Growth from idle, tables 7.1 to 7.4",
            f"Confirmed: within {rules().tables.same_order:.3g} times of the thesis' growth.",
            [claim for claim in rest if claim.kind == "growth" and _thesis(claim)],
        )
        _print_table(
            console,
            replication,
            "Which side is later, tables 7.1 to 7.4",
            "Confirmed: later, as in the thesis, by more than 10 %.",
            [claim for claim in rest if claim.kind == "ranking" and _thesis(claim)],
        )
        _print_table(
            console,
            replication,
            "Growth from idle, Arm et al. 2016, tables 2 to 16",
            f"Confirmed: within {rules().tables.same_order:.3g} times of the paper's growth.",
            [claim for claim in rest if claim.kind == "growth" and not _thesis(claim)],
        )
        _print_table(
            console,
            replication,
            "Which side is later, Arm et al. 2016, tables 2 to 16",
            "Confirmed: later, as in the paper, by more than 10 %.",
            [claim for claim in rest if claim.kind == "ranking" and not _thesis(claim)],
        )
        others = [claim for claim in rest if claim.kind == "conclusion" and claim.addressed]
        if others:
            _title(console, "Other publications")
            for claim in others:
                _print_claim(console, claim, told)
        _print_left(console, [claim for claim in rest if not claim.addressed])
    console.print()
    counts = counted(claims)
    totals = ", ".join(
        f"{count} {'by ' if verdict == 'another cause' else ''}{verdict}"
        for verdict, count in counts.items()
        if count or verdict != "another cause"
    )
    paragraph(console, f"All {len(claims)} statements: {totals}.")
    if count := unlooked(claims):
        paragraph(console, f"The cause of {count} confirmed was not looked at: --explain does.")
    behind, balls = replication.behind
    if behind:
        words = f"without the last {behind:,} of {balls:,} balls"
        paragraph(console, f"Judged are whole cycles of a load: {words}.")
    if not every:
        command_line(console, "Each: ", f"tennis replicate {quoted(replication.match.path)}")


def _print_claim(console: Console, claim: Claim, printed: set[str]) -> None:
    """Print a claim with its parts; what ``printed`` holds is not said twice."""
    n = f" (N = {claim.n:,}, {format_count(claim.boots, 'boot')})" if claim.n else ""
    ours = _thesis(claim)
    lead = Text(f"{claim.id if ours else '':<{_NAME}}")
    lead.append(f"{claim.verdict.upper():<{_VERDICT}}", style=STYLES[claim.verdict])
    title = claim.title if ours else f"{claim.source} {claim.id}: {claim.title}"
    paragraph(console, title + n, lead, style="" if claim.n else "dim")
    if claim.beside_verdict:
        paragraph(console, claim.sentence, _space(_NAME + _VERDICT))
    if not claim.addressed:
        paragraph(console, claim.why, _space(_NAME + _VERDICT), style="dim")
        return
    for part in claim.parts:
        _print_part(console, part, printed)
    beside = [part for part in claim.beside if part.addressed]
    if beside:
        paragraph(console, "With hard top halves:", _space(_NAME))
        for part in beside:
            _print_part(console, part, printed)
    _print_advice(console, [*claim.parts, *beside])


def _print_part(console: Console, part: ClaimPart, printed: set[str]) -> None:
    lead = _space(_NAME)
    lead.append(f"{part.verdict:<{_VERDICT}}", style=STYLES[part.verdict])
    paragraph(console, part.says, lead)
    below = _space(_NAME + _VERDICT)
    if part.latest_words:
        paragraph(console, f"{part.latest_words}; but", below)
    if found := part.ratio:
        unit = " decades (below 0: nearer)" if part.below == 0 else " times"
        here = found if found.startswith("no number") else found.replace(" (", f"{unit} (", 1)
        value = "" if part.published is None else f" {number(part.published)}"
        published = f"; published{value}: {part.quantity}"
        latest = "" if part.largest is None else f"; the latest balls here: {number(part.largest)}"
        cause = "; cause not looked at" if part.cause == "not looked at" else ""
        paragraph(console, f"{here}, judged by {part.judged}{published}{latest}{cause}", below)
    if part.remark:
        paragraph(console, part.remark, below)
    for words in mechanisms(part):
        if words not in printed:
            printed.add(words)
            paragraph(console, words, below, style="dim")


def _print_table(
    console: Console, replication: Replication, title: str, rule: str, claims: Sequence[Claim]
) -> None:
    """Print a line for each claim that something was played for."""
    played = [claim for claim in claims if claim.addressed]
    if not played:
        return
    _title(console, title)
    part = played[0].parts[0]
    judged = level_words(rules().statistics.judged_one_in)
    paragraph(
        console,
        f"{rule} Published: {part.quantity}; judged here: {judged} of the median boot.",
        style="dim",
    )
    head = f"{'':<{_ROW}}{'thesis' if _thesis(played[0]) else 'paper':>7}  here (95 %)"
    console.print(Text(head, style="dim"), soft_wrap=True)
    for group, together in groupby(played, _group):
        console.print(Text(group), soft_wrap=True)
        for claim in together:
            _print_row(console, _row(claim), claim.parts[0])
            for hard in claim.beside:
                if hard.addressed:
                    _print_row(console, "  with hard top halves", hard)
    every = [part for claim in played for part in (*claim.parts, *claim.beside)]
    if any(part.cause == "not looked at" for part in every):
        console.print(Text("* cause not looked at", style="dim"))
    if any(part.command for part in every):
        console.print()
        command_line(console, "More boots: ", replication.command_for("BOOTS"))


def _print_row(console: Console, name: str, part: ClaimPart) -> None:
    published = "" if part.published is None else number(part.published)
    found, _, why = (part.ratio or "-").partition(": ")
    line = Text(f"  {name:<{_ROW - 2}}{published:>7}  {found:<{_RATIO}}")
    line.append(part.verdict, style=STYLES[part.verdict])
    line.append("*" if part.cause == "not looked at" else "")
    console.print(line, soft_wrap=True)
    shares = part.by == SHARES
    remarks = [part.latest_words, why, f"judged by {part.judged}" if shares else ""]
    if part.verdict != "confirmed":
        remarks += [part.remark, part.next and f"to decide it, {part.next}"]
    if any(remarks):
        paragraph(console, "; ".join(filter(None, remarks)), _space(_NAME), style="dim")


def _group(claim: Claim) -> str:
    """Return what the rows of a table share: the kernel that grows, or the load."""
    head, _, rest = claim.title.partition(", ")
    if claim.kind == "growth":
        return head
    return f"{head}, {rest.partition(': ')[0]}"


def _row(claim: Claim) -> str:
    head, _, rest = claim.title.partition(": ")
    if claim.kind == "ranking":
        return rest
    if not _thesis(claim):
        return head.partition(", ")[2]
    latency = rest.partition(" ")[0]
    return f"{head.partition(', ')[2]}, {latency}"


def _print_left(console: Console, claims: Sequence[Claim]) -> None:
    """Say which statements nothing was said of, in few lines; --json has each reason."""
    if not claims:
        return
    wanted: dict[str, dict[str, None]] = {}
    waiting = [claim for claim in claims if any(part.missing for part in claim.parts)]
    for claim in filter(_thesis, waiting):
        for words in (words for part in claim.parts for words in part.missing):
            kernel, _, load = words.partition(", ")
            wanted.setdefault(kernel, {})[load] = None
    never = [claim for claim in claims if claim.verdict == "not addressable"]
    _title(console, "Not addressed")
    if wanted:
        cells = "; ".join(f"{kernel}: {', '.join(loads)}" for kernel, loads in wanted.items())
        paragraph(
            console,
            f"{format_count(sum(map(_thesis, waiting)), 'statement')} of the thesis need rallies "
            f"that were not played: {cells}.",
        )
    for source, plan in PLANS.items():
        count = sum(claim.source == source for claim in waiting)
        if count:
            paragraph(console, f"{format_count(count, 'statement')} of {source}: {plan}.")
    if never:
        names = ", ".join(
            claim.id if _thesis(claim) else f"{claim.source} {claim.id}" for claim in never
        )
        paragraph(console, f"{len(never)} are not addressable, as no match measures them: {names}.")
    paragraph(console, "The report and --json give the reason of each.", style="dim")


def _print_nothing(console: Console, replication: Replication) -> None:
    """Say that nothing published is about this match, why, and what compares its cells."""
    _title(console, "No published statement is about this match")
    for line in strangers(replication):
        paragraph(console, line)
    console.print()
    command_line(
        console, "Two kernels or settings against each other: ", "tennis compare BEFORE AFTER"
    )


def _thesis(claim: Claim) -> bool:
    return claim.source == KNUTSSON


def _print_advice(console: Console, parts: Sequence[ClaimPart]) -> None:
    """Say what to play to decide what is open; a command stands alone, to be copied."""
    advised = ((part.next, part.command) for part in parts if part.next)
    for words, command in dict.fromkeys(advised):
        paragraph(console, f"To decide it, {words}{':' if command else '.'}", _space(_NAME))
        if command:
            command_line(console, " " * _NAME, command)


def print_differences(console: Console, ours: Replication, theirs: Replication) -> None:
    """Print the statements on which two matches differ, opposite verdicts first."""
    paths = [one.match.path for one in (ours, theirs)]
    alike = paths[0].name == paths[1].name
    names = [plain(str(path) if alike else path.name, 120) for path in paths]
    for name, one in zip(names, (ours, theirs), strict=True):
        paragraph(console, f"{name}: {one.match.bench} bench, {one.match.time_note}")
    addressed, found = compared(ours, theirs)
    for difference in found:
        console.print()
        paragraph(console, difference.claim.title, Text(f"{difference.claim.id}: "))
        for name, claim in zip(names, (difference.claim, difference.other), strict=True):
            lead = Text(f"    {name}: ")
            lead.append(claim.sentence, style=STYLES[claim.verdict])
            lead.append("  ")
            paragraph(console, "; ".join(part.ratio for part in claim.parts if part.ratio), lead)
    opposite = sum(difference.opposite for difference in found)
    console.print()
    paragraph(
        console,
        f"{format_count(addressed, 'statement')} addressed by both: {addressed - len(found)} "
        f"with the same verdict, {opposite} with opposite ones, {len(found) - opposite} that only "
        "one of them decides.",
    )


def _title(console: Console, words: str) -> None:
    console.print()
    console.print(Text(words, style="bold"), soft_wrap=True)


def _space(columns: int) -> Text:
    return Text(" " * columns)
