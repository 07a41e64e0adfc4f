"""``tennis stats``: the statistics of a rally, for people or for programs."""

from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tennis.cli.completion import Folder
from tennis.cli.tables import needed, print_wide
from tennis.cli.tables import table as empty_table
from tennis.cli.words import echo_json, paragraph
from tennis.kit.errors import TennisError
from tennis.kit.units import format_count, format_ns
from tennis.match.sweep.folder import is_sweep, open_sweep
from tennis.rally import Rally, open_folder
from tennis.rally.instants import read as read_instants
from tennis.rally.shots import are_shots
from tennis.rally.statistics import Latency, Summary, summarize
from tennis.rally.statistics.drill import summarize_drill
from tennis.rally.text import quoted
from tennis.report.instants_words import of_shots, sentences

if TYPE_CHECKING:
    from tennis.explain.witness import InsideAndOutside

ROWS = {
    "min": "minimum",
    "q1": "1st quartile",
    "median": "median",
    "q3": "3rd quartile",
    "qd": "q3 - q1",
    "p99": "99 %",
    "p999": "99.9 %",
    "max": "maximum",
    "jitter": "jitter",
    "mean": "mean",
    "sd": "sd",
}


@click.command()
@click.argument("folder", metavar="DIR", type=Folder())
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object; times in ns.")
def stats(folder: Path, *, as_json: bool) -> None:
    """Print the statistics of the rally in DIR, or of a sweep or a drill.

    Quantiles are observed values; a missed ball is later than all others. Their 95 % intervals
    assume that balls are independent. Misses follow below the maximum. Without misses, the command
    also prints the rate of later answers that this many balls rule out. For a rally
    with a --witness, it shows what the witness saw, beside what the Brickwall saw.

    \b
    Examples:
      tennis stats first
      tennis stats first --json
    """
    if is_sweep(folder):
        from tennis.cli.sweep import print_sweep

        print_sweep(open_sweep(folder), as_json=as_json)
        return
    opened = open_folder(folder)
    if opened.manifest.drill is not None:
        from tennis.cli.drill import print_drill

        print_drill(summarize_drill(opened), as_json=as_json)
        return
    summary = summarize(opened)
    has_witness = opened.manifest.target.witness != "none"
    seen = _seen(opened) if has_witness else ""
    if as_json:
        content = summary.as_json()
        if has_witness:
            content["witness"] = None if isinstance(seen, str) else seen.as_json()
        echo_json(content)
        return
    console = Console(highlight=False)
    console.print(Text(summary.label, style="bold"), soft_wrap=True)
    if summary.misses < summary.balls:
        for table in _tables(summary, console):
            print_wide(table)
    said = summary.claims()
    if are_shots(opened.manifest.protocol):
        said += of_shots(opened)
    if (searched := read_instants(opened)) is not None:
        said += sentences(searched)
    for line in said:
        paragraph(console, line)
    if isinstance(seen, str):
        paragraph(console, seen)
    else:
        _print_seen(seen, console)


def _seen(rally: Rally) -> "InsideAndOutside | str":
    """Compare a rally's witness with its balls, or say why that is impossible."""
    from tennis.explain.witness import compare

    try:
        return compare(rally)
    except TennisError as error:
        return f"The witness: {error}."


def _print_seen(seen: "InsideAndOutside", console: Console) -> None:
    inside = empty_table("", numbers=("N", "median", "99 %", "99.9 %", "latest"))
    for one in seen.distributions:
        times = (one.format_time(ns) for ns in (*one.levels, one.latest))
        inside.add_row(one.name, f"{one.count:,}", *times)
    print_wide(inside)
    for sight in seen.sights:
        balls = format_count(sight.late, "latest ball", "latest balls")
        paragraph(
            console,
            f"{sight.kind} saw {sight.seen:,} of the {balls} (over {format_ns(sight.late_over)}, "
            f"ping to end): {sight.sampled:,} waited while it took a sample, {sight.seen:,} while "
            f"it took one of its own latest (over {format_ns(sight.sample_over)}). By chance it "
            f"would have seen {sight.late * sight.chance:.2g}.",
        )
    rally = quoted(seen.rally.path)
    paragraph(console, f"What the witness costs: tennis explain try {rally} witness=none")


def _tables(summary: Summary, console: Console) -> list[Table]:
    """Return the tables of the first arrangement that fits the terminal; no figure is cut."""
    pair = {"interrupt": summary.interrupt_ns, "scheduling": summary.scheduling_ns}
    each = [{name: latency} for name, latency in pair.items()]
    tables: list[Table] = []
    for groups, intervals in (([pair], True), (each, True), ([pair], False), (each, False)):
        tables = [_table(summary, group, intervals=intervals) for group in groups]
        if all(needed(table, console) <= console.width for table in tables):
            break
    return tables


def _table(summary: Summary, latencies: dict[str, Latency], *, intervals: bool) -> Table:
    table = empty_table("", collapse=True)
    for name in latencies:
        table.add_column(name, justify="right", no_wrap=True)
        if intervals:
            table.add_column("95 % interval", style="dim", no_wrap=True)
    for key, label in ROWS.items():
        cells = [label]
        for latency in latencies.values():
            cells.append(latency.said(key))
            if intervals:
                cells.append(latency.said_interval(key))
        table.add_row(*cells, style="bold" if key in {"median", "max"} else None)
        if key == "max":
            cells = ["missed"]
            for latency in latencies.values():
                missed = [f"{latency.missed}", f"of {summary.balls}"]
                cells += missed if intervals else [" ".join(missed)]
            table.add_row(*cells)
    return table
