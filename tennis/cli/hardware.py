# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""A match beside boards, for a terminal: ranks, factors, and the cells that they are made of."""

from collections.abc import Sequence

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tennis.cli.tables import table
from tennis.cli.words import echo_json, print_line
from tennis.match.folder import MatchFolder
from tennis.rally.text import plain
from tennis.replicate.hardware import ALL, HELD_OUT, Group, Pair, groups


def show_hardware(match: MatchFolder, *, as_json: bool) -> None:
    """Print how far a match is from boards. Raises UsageError."""
    found = groups(match)
    if as_json:
        echo_json([group.as_json() for group in found])
        return
    console = Console(highlight=False)
    figures = ("pairs", "rank correlation", "board / bench")
    made = table("quantity", "memory", "boards", numbers=figures)
    for group in found:
        made.add_row(
            group.quantity,
            group.memory,
            Text(group.boards),
            str(len(group.pairs)),
            correlation(group),
            factor(group),
        )
    console.print(made)
    for quantity in dict.fromkeys(group.quantity for group in found):
        of_all = [
            g for g in found if g.quantity == quantity and g.boards in {ALL, HELD_OUT} and g.pairs
        ]
        print_line(console, f"{quantity}, µs; the bench with each memory:", "bold")
        console.print(_cells(of_all))
    print_line(
        console,
        "Nothing is fitted. A factor above 1: the bench is too early. docs/evidence/hardware.md "
        "says what the boards and the numbers of balls have not in common.",
        "dim",
    )


def correlation(group: Group) -> str:
    """Return a rank correlation with its interval, in words of a table."""
    if group.rho is None:
        return "too few, or all equal"
    return "{:.2f} ({:.2f} to {:.2f})".format(*group.rho)


def factor(group: Group) -> str:
    """Return the mean factor and its range, in words of a table."""
    return "{:.3g} ({:.3g} to {:.3g})".format(*group.factor)


def _cells(found: Sequence[Group]) -> Table:
    memories = list(dict.fromkeys(group.memory for group in found))
    made = table("board", "who answers", "load", numbers=["board", *memories])
    rows: dict[tuple[str, str, str, str], dict[str, Pair]] = {}
    for group in found:
        for pair in group.pairs:
            point = pair.point
            key = (point.source.id, point.who, point.load, f"{point.us:g}")
            rows.setdefault(key, {})[group.memory] = pair
    for named, pairs in rows.items():
        bench = [_bench(pairs[memory]) if memory in pairs else "" for memory in memories]
        made.add_row(*(Text(plain(word, 80)) for word in named), *bench)
    return made


def _bench(pair: Pair) -> str:
    return f"{pair.bench_us:.3g}" if np.isfinite(pair.bench_us) else "missed"
