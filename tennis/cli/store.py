# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""``tennis store``: a term's rallies in one folder, and questions to them."""

import json
import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from tennis.cli.completion import Folder, StorePlace
from tennis.cli.numbers import Whole
from tennis.cli.tables import print_wide, table
from tennis.cli.words import echo, warn
from tennis.errors import UsageError
from tennis.listener import listening
from tennis.rally.text import plain, quoted
from tennis.store.question import KIND, MEMORY_MB, SECONDS
from tennis.units import finite, format_count, format_ns

if TYPE_CHECKING:
    import pyarrow as pa

    from tennis.store.drift import History

SHOWN = (
    "id",
    "created",
    "bench_name",
    "student",
    "kernel",
    "load",
    "bottom_half",
    "balls",
    "misses",
)
LIST_MAX = 10_000  # rows that are printed; --json prints all


@click.group(short_help="Keep a term's rallies in one folder, and query them.")
@click.pass_context
def store(ctx: click.Context) -> None:
    """Keep a term's rallies in one folder, and query all of them.

    The folder contains sealed rallies as they are. Figures come only from files whose hash was
    checked. STORE may be a bucket, too: s3://BUCKET/PLACE (docs/store.md).

    \b
    Examples:
      tennis store add term mainline-stress rt-stress --bench-name bench-3
      tennis store add term chapter-7
      tennis store list term --where kernel=rt
      tennis store stats term --by kernel,load
      tennis store query term "SELECT week, sum(balls) FROM rallies GROUP BY week"
      tennis store drift term --out drift.svg
      tennis store verify term
      tennis store export term --out rallies.csv
    """
    ctx.with_resource(listening(warn))


def _conditions(where: tuple[str, ...]) -> dict[str, str]:
    pairs = [entry.partition("=") for entry in where]
    for name, equals, _ in pairs:
        if not equals:
            raise UsageError(f"--where {plain(name, 40)}", next_step="use COLUMN=VALUE")
    return {name: value for name, _, value in pairs}


where_option = click.option(
    "--where",
    metavar="COLUMN=VALUE",
    multiple=True,
    help="Only rallies with this value: kernel, load, bench_name, student, week, bench, "
    "bottom_half, priorities, top_half, beneath, drill, processors; can be repeated.",
)


@store.command()
@click.argument("place", metavar="STORE", type=StorePlace())
@click.argument("folders", metavar="DIR...", nargs=-1, required=True, type=Folder())
@click.option("--bench-name", metavar="NAME", help="The bench on which they were played.")
@click.option("--student", metavar="NAME", help="The player; a pseudonym will do.")
def add(
    place: Path | str, folders: tuple[Path, ...], bench_name: str | None, student: str | None
) -> None:
    """Copy sealed rallies into STORE. A new STORE is created.

    DIR is a rally, or a folder with rallies, such as a match. Each rally is checked, ball by ball.
    A damaged one is refused, and the exit code is 1. A rally that is there already stays as it is.

    \b
    Examples:
      tennis store add term rt-stress
      tennis store add term handed-in/ada --student ada --bench-name bench-3
    """
    from tennis.store.opening import create
    from tennis.store.store import About

    about = About(bench_name=bench_name, student=student)
    opened, refused, fresh = create(place), 0, 0
    for folder in folders:
        for added in opened.add(folder, about):
            refused += added.id is None
            fresh += added.id is not None and added.words != "there already"
            name = added.id or "-"
            echo(f"{name} {plain(str(added.path), 120)}: {plain(added.words, 200)}")
    count = format_count(fresh, "rally", "rallies")
    echo(f"{quoted(place)}: {count} added, {len(opened.ids())} there")
    if refused:
        sys.exit(1)


@store.command("list")
@click.argument("place", metavar="STORE", type=StorePlace())
@where_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON list, with all columns.")
def list_rallies(place: Path | str, where: tuple[str, ...], *, as_json: bool) -> None:
    """List the rallies of STORE.

    \b
    Examples:
      tennis store list term --where load=stress --where week=2026-W48
    """
    from tennis.store.opening import open_store
    from tennis.store.question import chosen

    rows = chosen(open_store(place), _conditions(where))
    if as_json:
        echo(json.dumps(rows.to_pylist(), indent=1, default=str))
        return
    _print(rows.select(list(SHOWN)))
    echo(f"{format_count(len(rows), 'rally', 'rallies')}, {sum(rows['balls'].to_pylist()):,} balls")


@store.command()
@click.argument("place", metavar="STORE", type=StorePlace())
@where_option
@click.option(
    "--by",
    metavar="COLUMN,...",
    default=",".join(KIND),
    show_default=True,
    help="The columns to group by; empty: one line for all.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON list; times in ns.")
def stats(place: Path | str, where: tuple[str, ...], by: str, *, as_json: bool) -> None:
    """Print exact quantiles of all balls, grouped; any number of balls within 2 GB of memory.

    A quantile is a latency that some ball had; missed balls are later than all others. Balls of
    many boots and benches are not independent, so use `tennis replicate` for a verdict.

    \b
    Examples:
      tennis store stats term
      tennis store stats term --by bench_name,week --where kernel=rt \\
          --where load=stress
    """
    from tennis.store.opening import open_store
    from tennis.store.question import LEVELS, chosen, quantiles

    opened = open_store(place)
    axes = [name for name in by.split(",") if name]
    rows = chosen(opened, _conditions(where))
    groups = quantiles(opened, rows, axes)
    if suspect := sum(rows["suspect"].to_pylist()):
        warn(f"{format_count(suspect, 'suspect rally', 'suspect rallies')} left out")
    if copies := sum(group.copies for group in groups):
        many = format_count(copies, "rally", "rallies")
        warn(f"{many} left out: the balls are those of another rally, and a boot counts once")
    if as_json:
        echo(json.dumps([finite(vars(group)) for group in groups], indent=1))
        return
    made = table(*axes, numbers=("rallies", "balls", "missed"), rest=["latency"], ruled=False)
    for title in (*(f"{100 * level:g} %" for level in LEVELS), "maximum"):
        made.add_column(title, justify="right", no_wrap=True)
    for group in groups:
        for what, levels, most in (
            ("interrupt", group.interrupt_ns, group.interrupt_max_ns),
            ("scheduling", group.scheduling_ns, group.scheduling_max_ns),
        ):
            first = what == "interrupt"
            counts = (group.rallies, group.balls, group.misses)
            told = [f"{count:,}" if first else "" for count in counts]
            late = "missed"
            if first and group.later_than_ns is not None:
                late = f"> {format_ns(group.later_than_ns)}"
            spans, worst = ["-"] * len(LEVELS), "-"
            if levels:
                *spans, worst = (
                    late if math.isinf(ns) else format_ns(round(ns))
                    for ns in (*(levels[level] for level in LEVELS), most)
                )
            keys = [plain(value, 120) if first else "" for value in group.of.values()]
            made.add_row(*keys, *told, what, *spans, worst)
    print_wide(made)


@store.command()
@click.argument("place", metavar="STORE", type=StorePlace())
@click.argument("sql", metavar="SQL")
@click.option(
    "--format", "kind", type=click.Choice(["table", "csv", "json"]), default="table",
    show_default=True, help="How to print the result.",
)  # fmt: skip
@click.option(
    "--seconds", type=Whole(1, 1_000_000), default=SECONDS, show_default=True, metavar="COUNT",
    help="How long it may take.",
)  # fmt: skip
@click.option(
    "--memory-mb", type=Whole(100, 1_000_000), default=MEMORY_MB, show_default=True,
    metavar="COUNT", help="How much memory it may take.",
)  # fmt: skip
def query(place: Path | str, sql: str, kind: str, seconds: int, memory_mb: int) -> None:
    """Query STORE in SQL (DuckDB's).

    The views are rallies, one row for each rally, and balls: id, ball, served_ns, rise_ns, fall_ns,
    width_ns. A query reads only the store, writes nothing, and ends when its time or memory is used
    up.

    \b
    Examples:
      tennis store query term "SELECT kernel, load, sum(balls) FROM rallies GROUP BY ALL"
      tennis store query term "SELECT id, max(rise_ns) AS worst FROM balls GROUP BY id \\
          ORDER BY worst DESC LIMIT 5"
    """
    import pyarrow as pa

    from tennis.rally.cells import csv_of_columns
    from tennis.store.opening import open_store
    from tennis.store.question import ask

    found = ask(open_store(place), sql, seconds, memory_mb)
    if kind == "csv":
        try:
            sys.stdout.buffer.write(csv_of_columns(found))
        except pa.ArrowException as error:
            raise UsageError(plain(str(error), 200), next_step="use --format json") from error
    elif kind == "json":
        rows = [finite(row) for row in found.to_pylist()]
        echo(json.dumps(rows, indent=1, default=str, allow_nan=False))
    else:
        _print(found)


@store.command()
@click.argument("place", metavar="STORE", type=StorePlace())
@where_option
@click.option(
    "--out", type=click.Path(path_type=Path), help="Draw the charts: FILE.svg or FILE.png."
)
@click.option("--force", is_flag=True, help="Overwrite the file if it exists.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON list.")
def drift(
    place: Path | str, where: tuple[str, ...], out: Path | None, *, force: bool, as_json: bool
) -> None:
    """Find the benches of STORE that change over the weeks, with a control chart of each.

    A chart is for one bench, one kind of rally (kernel, load, bottom half, priorities) and one
    figure. The figures are the median of either latency, the latency that one ball of 1,000
    exceeds, and the share of lost balls. Each rally is a point; the first 12 say what is usual. The
    exit code is 1 if anything drifts.

    \b
    Examples:
      tennis store drift term
      tennis store drift term --where bench_name=bench-3 --out bench-3.svg
    """
    from tennis.store.drift import FIGURES, histories, named_twice
    from tennis.store.opening import open_store
    from tennis.store.question import chosen

    if out is not None and out.suffix not in {".svg", ".png"}:
        raise UsageError(f"{out} is neither .svg nor .png")
    opened = open_store(place)
    rows = chosen(opened, _conditions(where))
    found = list(histories(opened, rows, warn))
    for bench in named_twice(rows):
        warn(f"{plain(bench, 80)}: two Brickwalls in turns; two benches of one name?")
    if as_json:
        told = [
            {
                "bench_name": one.bench,
                **one.kind,
                "figure": one.figure,
                "rallies": len(one.points),
                "drifted": one.drifted,
                "sentence": one.sentence,
            }
            for one in found
        ]
        echo(json.dumps(told, indent=1))
    else:
        charts = ("bench", "rallies of", "figure")
        made = table(*charts, numbers=["rallies"], rest=["result"], ruled=False)
        for one in found:
            made.add_row(
                plain(one.bench, 40), plain(one.label, 80), FIGURES[one.figure],
                str(len(one.points)), plain(one.sentence, 200),
            )  # fmt: skip
        print_wide(made)
    if out is not None:
        _draw_drift(found, out, force=force)
    if any(one.drifted for one in found):
        sys.exit(1)


def _draw_drift(found: "list[History]", out: Path, *, force: bool) -> None:
    """Draw charts, those that drift first."""
    from tennis.plots.drift import ChartPicture, courses
    from tennis.rally.disk import write_whole
    from tennis.store.drift import FIGURES

    some = [
        ChartPicture(
            title=f"{one.bench}: {one.label}, {FIGURES[one.figure]}",
            sentence=one.sentence,
            unit="of a million" if one.figure == "lost" else "\N{MICRO SIGN}s",
            weeks=[point.week for point in one.points],
            chart=one.chart,
            logarithm=one.figure != "lost",
        )
        for one in sorted(found, key=lambda one: not one.drifted)
        if one.chart is not None
    ]
    if not some:
        warn("too few rallies for a chart: nothing is drawn")
        return
    kind: Literal["svg", "png"] = "svg" if out.suffix == ".svg" else "png"
    write_whole(out, courses(some).render(kind), force=force)
    echo(quoted(out))


@store.command()
@click.argument("place", metavar="STORE", type=StorePlace())
def verify(place: Path | str) -> None:
    """Read every file of every rally in STORE, and check all of it.

    \b
    Example:
      tennis store verify term
    """
    from tennis.store.opening import open_store

    opened, wrong = open_store(place), 0
    for name, said in opened.verify():
        if said:
            wrong += 1
            echo(f"{name}: {plain(said, 300)}")
    if wrong:
        count = format_count(wrong, "rally", "rallies")
        echo(f"{quoted(place)}: {count} of {len(opened.ids())} damaged")
        sys.exit(1)
    echo(
        f"{quoted(place)}: {format_count(len(opened.ids()), 'rally', 'rallies')}, all of them whole"
    )


@store.command()
@click.argument("place", metavar="STORE", type=StorePlace())
@where_option
@click.option(
    "--out", type=click.Path(path_type=Path), required=True, help="FILE.csv or FILE.parquet."
)
@click.option("--force", is_flag=True, help="Overwrite the file if it exists.")
def export(place: Path | str, where: tuple[str, ...], out: Path, *, force: bool) -> None:
    """Write the catalogue's rows into a file.

    \b
    Examples:
      tennis store export term --out rallies.csv
      tennis store export term --where week=2026-W48 --out week-48.parquet
    """
    import io

    import pyarrow.parquet as pq

    from tennis.rally.cells import csv_of_columns
    from tennis.rally.disk import write_whole
    from tennis.store.opening import open_store
    from tennis.store.question import chosen

    if out.suffix not in {".csv", ".parquet"}:
        raise UsageError(f"{out} is neither .csv nor .parquet")
    rows, data = chosen(open_store(place), _conditions(where)), io.BytesIO()
    if out.suffix == ".csv":
        data.write(csv_of_columns(rows))
    else:
        pq.write_table(rows, data)
    write_whole(out, data.getvalue(), force=force)
    echo(f"{quoted(out)}: {format_count(len(rows), 'rally', 'rallies')}")


def _print(rows: "pa.Table") -> None:
    """Print a table; what others wrote is escaped."""
    made = table(ruled=False)
    for name in rows.column_names:
        numbers = str(rows.schema.field(name).type).startswith(("int", "uint", "double", "float"))
        made.add_column(plain(name, 40), justify="right" if numbers else "left", no_wrap=True)
    for row in rows.slice(0, LIST_MAX).to_pylist():
        made.add_row(*("-" if cell is None else plain(str(cell), 60) for cell in row.values()))
    print_wide(made)
    if len(rows) > LIST_MAX:
        echo(f"... and {len(rows) - LIST_MAX:,} more; --json prints all")
