# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Print what became of the worst instants of two sides: for ``compare --worst-instant``."""

from functools import partial
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tennis.cli.tables import table
from tennis.cli.words import echo_json, print_line
from tennis.explain.sections.figures import NO_SECTION, SLEEP
from tennis.rally.text import plain
from tennis.stats.summary import percent
from tennis.units import format_count, format_ns

SAME = "the same versions, and the same balls to the tick"
ONE_BUILD = "at no instant do the sides differ"

if TYPE_CHECKING:
    from tennis.play.worst_instants import Change, WorstCompared, WorstInstant


def show_worst(compared: "WorstCompared", *, as_json: bool) -> None:
    """Print both sides' worst instants, the code that they are in, and the verdict."""
    if as_json:
        echo_json(_as_json(compared))
        return
    console = Console(highlight=False)
    line = partial(print_line, console)
    for what, (ours, theirs) in compared.sides.differences.items():
        line(f"differs: {what}: {ours or '-'} before, {theirs or '-'} after")
    for remark in compared.sides.remarks:
        line(remark, "yellow")
    for kind in compared.same:
        line(f"{f'{plain(kind, 40)}: b' if kind else 'B'}oth sides are one build: {SAME}.")
    if not compared.changes:
        line(f"No worse: {ONE_BUILD}.", "bold")
        line("It says nothing of other seeds or times.", "dim")
        return
    console.print(_table(compared))
    for change in compared.changes:
        for side, one in (("before", change.before), ("after", change.after)):
            line(f"{f'{plain(change.cell, 40)}, ' if change.cell else ''}{side}: {_where(one)}")
    line("")
    line(_verdict(compared), "bold")
    for side, one in (("before", compared.changes[0].before), ("after", compared.changes[0].after)):
        seed = one.rally.manifest.protocol.seed
        line(
            f"{side}: one boot, seed {seed}, {format_ns(one.time_ns)} of it. {_covered(one)}", "dim"
        )
    line("It says nothing of other seeds or times.", "dim")


def _table(compared: "WorstCompared") -> Table:
    several = len(compared.changes) > 1
    titles = [*(["rally"] if several else []), "worst instant of one boot"]
    made = table(*titles, numbers=("before", "after", "change"))
    for change in compared.changes:
        made.add_row(
            *([plain(change.cell, 40)] if several else []),
            "interrupt latency",
            f"{change.before.latency_ns:,} ns",
            f"{change.after.latency_ns:,} ns",
            Text(f"{change.later_ns:+,} ns", "bold red" if change.verdict == "worse" else ""),
        )
    return made


def _where(one: "WorstInstant") -> str:
    where = one.began_in
    if where not in {NO_SECTION, SLEEP}:
        where = (
            f"interrupts off from {plain(one.began_in, 80)} to {plain(one.ended_in, 80)} "
            f"(task {plain(one.task, 20)})"
        )
    how = "as predicted, like each ball that was taken this way"
    if one.played:
        off = "nothing" if one.predicted_ns is None else f"{one.predicted_ns:,} ns"
        how = f"a ball was played there (predicted: {off})"
    return f"at {one.at_ns:,} ns, {where}; {how}"


def _covered(one: "WorstInstant") -> str:
    """Say what was looked at of a side, and what may be later."""
    said = f"{percent(one.sure_share)} of the time is predicted; "
    said += f"{format_count(one.shots, 'shot')}" if one.shots else "no shot was needed"
    if one.open_ns is not None:
        said += f"; others may be as late as {format_ns(one.open_ns)}"
    elif one.sure_share < 1:
        said += "; no proposal is later, if none is further off than the shots were"
    return f"{said}."


def _verdict(compared: "WorstCompared") -> str:
    over = format_ns(compared.changes[0].over_ns)
    most = max(change.later_ns for change in compared.changes)
    return {
        "worse": f"Worse: the worst instant became later by {format_ns(most)}, more than {over}.",
        "no worse": f"No worse: the worst instant became later by no more than {over}.",
        "undecided": "Undecided: more instants may be the worst than were played. To decide it: "
        "the same command with another --seed",
    }[compared.verdict]


def _as_json(compared: "WorstCompared") -> dict[str, Any]:
    return {
        "verdict": compared.verdict,
        "differences": {
            what: {"before": ours, "after": theirs}
            for what, (ours, theirs) in compared.sides.differences.items()
        },
        "remarks": compared.sides.remarks,
        "same_build": compared.same,
        "worst_instants": [_change_json(change) for change in compared.changes],
    }


def _change_json(change: "Change") -> dict[str, Any]:
    def side(one: "WorstInstant") -> dict[str, Any]:
        return {**vars(one), "rally": str(one.rally.path)}

    return {
        "cell": change.cell,
        "over_ns": change.over_ns,
        "later_ns": change.later_ns,
        "before": side(change.before),
        "after": side(change.after),
    }
