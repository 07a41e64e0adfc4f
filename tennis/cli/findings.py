"""Print findings: a line each, and below it what to do."""

from collections.abc import Iterable

from rich.console import Console
from rich.text import Text

from tennis.bench.findings import Finding

MARKS = {"good": ("ok  ", "green"), "note": ("note", "yellow"), "bad": ("BAD ", "bold red")}


def show(findings: Iterable[Finding]) -> int:
    """Print findings as they come, and return how many are bad."""
    console = Console()
    bad = 0
    for finding in findings:
        bad += finding.verdict == "bad"
        mark, style = MARKS[finding.verdict]
        line = Text.assemble((mark, style), "  ", (f"{finding.what}: ", "bold"), finding.found)
        if finding.advice:
            line.append(f"\n      -> {finding.advice}", style)
        console.print(line, soft_wrap=True)
    return bad
