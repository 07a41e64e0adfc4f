# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""The demonstration's table for a terminal: rallies beside the thesis' tables 7.2 to 7.4."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from tennis.pages.rally import Row
from tennis.units import format_ns, format_us


def print_thesis_table(console: Console, rows: Sequence[Row], bench: str) -> None:
    """Print a row a rally: median and maximum, and the thesis' maximum where it has one."""
    table = Table(box=None, pad_edge=False, collapse_padding=True)
    for title in ("kernel", "load", "priority"):
        table.add_column(title, no_wrap=True)
    titles = (
        "irq\nmedian",
        "irq\nmax",
        "thesis\nmax",
        "sched\nmedian",
        "sched\nmax",
        "thesis\nmax",
    )
    for title in (*titles, "missed"):
        table.add_column(title, justify="right", no_wrap=True)
    for row in rows:
        thesis = row.thesis
        table.add_row(
            row.kernel,
            row.load,
            row.priorities,
            format_ns(row.interrupt.median),
            f"[bold]{format_ns(row.interrupt.max)}[/bold]",
            _thesis(thesis.irq.max if thesis else None),
            format_ns(row.scheduling.median),
            f"[bold]{format_ns(row.scheduling.max)}[/bold]",
            _thesis(thesis.sched.max if thesis else None),
            f"{row.misses}{' suspect' if row.suspect else ''}",
        )
    console.print()
    console.print(table)
    balls = min((row.balls for row in rows if not row.suspect and not row.misses), default=0)
    bound = (
        f"at 95 % confidence less than 3/N = {3 / balls:.1g} of all answers are later than the "
        "maximum. "
        if balls
        else ""
    )
    console.print(
        "\nirq: ping to reply (hard interrupt); sched: reply to its end (bottom half). "
        f"This bench: {bench}; {balls:,} balls a rally: {bound}Thesis (tables 7.2 to "
        "7.4): a 520 MHz PXA270 in 2008, 10,000,000 balls. The machines differ: compare rankings "
        "and orders of magnitude.",
        highlight=False,
    )


def _thesis(maximum_us: int | None) -> str:
    return f"[dim]{format_us(maximum_us)}[/dim]"
