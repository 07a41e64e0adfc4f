"""Verdicts for a terminal: sentences with their numbers, 80 columns wide."""

from collections.abc import Sequence
from itertools import groupby

from rich.console import Console
from rich.text import Text

from tennis.cli.words import command_line, paragraph
from tennis.kit.units import format_count
from tennis.rally.text import plain, quoted
from tennis.replicate.deciding import level_words
from tennis.replicate.verdicts import Claim, ClaimPart, Replication, number
from tennis.report.publications.rules import replication as rules

STYLES = {
    "confirmed": "bold green",
    "another cause": "bold yellow",
    "contradicted": "bold red",
    "inconclusive": "bold yellow",
    "not addressed": "dim",
    "not addressable": "dim",
}
_NAME, _VERDICT, _ROW, _RATIO = 4, 16, 29, 28  # widths of columns


def print_verdicts(
    console: Console, replication: Replication, *, every: bool = False, played: bool = False
) -> None:
    """Print the thesis' conclusions with their parts; with ``every`` all other claims, too.

    With ``played``, claims for which nothing was played are only counted.
    """
    claims = replication.claims
    if replication.strangers:
        _print_nothing(console, replication)
        return
    _title(console, "The thesis' conclusions")
    judged = f"{rules().statistics.judged_one_in:,}"
    paragraph(
        console,
        f"{replication.match.bench} bench: {replication.match.time_note}. Here: what 1 ball in "
        f"{judged} exceeds, and rarer balls, one side over the other, with its 95 % interval. "
        "Published: the same of other quantities, as of the thesis' maxima of 10,000,000 balls.",
        style="dim",
    )
    told: set[str] = set()
    for claim in replication.conclusions:
        if not played or claim.addressed:
            console.print()
            _print_claim(console, claim, told)
    if every:
        _print_table(
            console,
            replication,
            "Growth from idle, tables 7.1 to 7.4",
            f"Confirmed: within {rules().tables.same_order:.3g} times of the thesis' growth.",
            [claim for claim in claims if claim.kind == "growth"],
        )
        _print_table(
            console,
            replication,
            "Which side is later, tables 7.1 to 7.4",
            "Confirmed: later, as in the thesis, by more than 10 %.",
            [claim for claim in claims if claim.kind == "ranking"],
        )
        rest = [claim for claim in claims if claim not in replication.conclusions]
        _print_left(console, [claim for claim in rest if not claim.addressed])
    console.print()
    totals = ", ".join(
        f"{count} {'by ' if verdict == 'another cause' else ''}{verdict}"
        for verdict, count in replication.counts.items()
        if count or verdict != "another cause"
    )
    paragraph(console, f"All {len(claims)} statements: {totals}.")
    if count := replication.unlooked:
        paragraph(console, f"The cause of {count} confirmed was not looked at: --explain does.")
    behind, balls = replication.behind
    if behind:
        words = f"without the last {behind:,} of {balls:,} balls"
        paragraph(console, f"Judged are whole cycles of a load: {words}.")
    if not every:
        command_line(console, "Each: ", f"tennis replicate {quoted(replication.match.path)}")


def _print_claim(console: Console, claim: Claim, printed: set[str]) -> None:
    """Print a claim with its parts; lines in ``printed`` are not repeated."""
    n = f" (N = {claim.n:,}, {format_count(claim.boots, 'boot')})" if claim.n else ""
    lead = Text(f"{claim.id:<{_NAME}}")
    lead.append(f"{claim.verdict.upper():<{_VERDICT}}", style=STYLES[claim.verdict])
    paragraph(console, claim.title + n, lead, style="" if claim.n else "dim")
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
        paragraph(console, f"{here}, {part.quantities}", below)
    if part.remark:
        paragraph(console, part.remark, below)
    for words in part.mechanisms:
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
        f"{rule} Published: {part.quantity}; judged here: {judged}, and rarer, of all balls.",
        style="dim",
    )
    head = f"{'':<{_ROW}}{'thesis':>7}  here (95 %)"
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
    remarks = [part.latest_words, why]
    if part.verdict != "confirmed":
        remarks += [part.remark, part.next and f"to decide it, {part.next}"]
    if any(remarks):
        paragraph(console, "; ".join(filter(None, remarks)), _space(_NAME), style="dim")


def _group(claim: Claim) -> str:
    """Return the common part of a table's rows: the kernel that grows, or the load."""
    head, _, rest = claim.title.partition(", ")
    if claim.kind == "growth":
        return head
    return f"{head}, {rest.partition(': ')[0]}"


def _row(claim: Claim) -> str:
    head, _, rest = claim.title.partition(": ")
    if claim.kind == "ranking":
        return rest
    latency = rest.partition(" ")[0]
    return f"{head.partition(', ')[2]}, {latency}"


def _print_left(console: Console, claims: Sequence[Claim]) -> None:
    """List the statements that were not addressed, in few lines; --json has each reason."""
    if not claims:
        return
    wanted: dict[str, dict[str, None]] = {}
    waiting = [claim for claim in claims if any(part.missing for part in claim.parts)]
    for claim in waiting:
        for words in (words for part in claim.parts for words in part.missing):
            kernel, _, load = words.partition(", ")
            wanted.setdefault(kernel, {})[load] = None
    never = [claim for claim in claims if claim.verdict == "not addressable"]
    _title(console, "Not addressed")
    if wanted:
        cells = "; ".join(f"{kernel}: {', '.join(loads)}" for kernel, loads in wanted.items())
        paragraph(
            console,
            f"{format_count(len(waiting), 'statement')} of the thesis need rallies "
            f"that were not played: {cells}.",
        )
    if never:
        names = ", ".join(claim.id for claim in never)
        paragraph(console, f"{len(never)} are not addressable, as no match measures them: {names}.")
    paragraph(console, "The report and --json give the reason of each.", style="dim")


def _print_nothing(console: Console, replication: Replication) -> None:
    """Say that nothing published is about this match, why, and what compares its cells."""
    _title(console, "No published statement is about this match")
    paragraph(console, replication.strangers)
    console.print()
    command_line(
        console, "Two kernels or settings against each other: ", "tennis compare BEFORE AFTER"
    )


def _print_advice(console: Console, parts: Sequence[ClaimPart]) -> None:
    """Say what to play to decide open parts; each command has its own line, to be copied."""
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
    addressed, found = ours.disagreements(theirs)
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
