"""``tennis explain stages``: when what happened to each ball; ``rally --stages`` does it, too."""

from dataclasses import asdict
from functools import partial
from pathlib import Path

import click
from rich.console import Console

from tennis.cli.completion import Folder
from tennis.cli.progress import watching
from tennis.cli.settings import played_kernel_option
from tennis.cli.tables import table
from tennis.cli.words import echo_json, print_line
from tennis.explain import stages as recorded
from tennis.explain.replayed import record_stages
from tennis.kit.units import format_count, format_ns
from tennis.rally import Rally, open_rally
from tennis.rally.folder import STAGES
from tennis.rally.text import plain

CAUSES = 8
LATEST_ONE_IN = 100


@click.command()
@click.argument("rally", metavar="RALLY", type=Folder())
@played_kernel_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object; times in ns.")
def stages(rally: Path, *, kernel: str | None, as_json: bool) -> None:
    """Record when each step of every ball came.

    The steps are: interrupt taken, its thread woken and running, lock, top half, bottom half. They
    and the cause of each wait are kept in RALLY/stages.parquet. If it exists, the command shows it.

    \b
    Examples:
      tennis explain stages first
    """
    show_stages(open_rally(rally), kernel=kernel, as_json=as_json)


def show_stages(rally: Rally, *, kernel: str | None, as_json: bool = False) -> None:
    """Print when what happened to a rally's balls; play it again if that is not recorded yet."""
    rows = recorded.read(rally)
    if rows is None:
        with watching("stages") as watch:
            record_stages(rally, kernel=kernel, watch=watch)
        rows = recorded.read(rally)
    assert rows is not None  # noqa: S101
    latest = max(1, rally.balls // LATEST_ONE_IN)
    steps, causes = recorded.stages(rows), recorded.causes(rows, latest)
    held, stalled = recorded.held(rows), recorded.stalled(rows)
    path = rally.path / STAGES
    if as_json:
        content = {
            "file": str(path),
            "balls": rally.balls,
            "stages_ns": [asdict(step) for step in steps],
            "latest": latest,
            "causes": [{"cause": c, "balls": n, "ns": ns} for c, n, ns in causes],
            **({"stalled_ns": stalled} if stalled else {}),
            "locks_held": [{"by": by, "balls": n, "ns": ns} for by, n, ns in held],
        }
        echo_json(content)
        return
    shown = table("until", numbers=("balls", "median", "99 %", "latest"))
    for step in steps:
        times = (format_ns(ns) for ns in (step.median, step.p99, step.latest))
        shown.add_row(step.until, f"{step.balls:,}", *times)
    if stalled:
        waits = (format_ns(ns) for ns in stalled)
        shown.add_row("of all: waits for memory", f"{rally.balls:,}", *waits)
    console = Console(highlight=False)
    console.print(shown)
    line = partial(print_line, console)
    line(f"Causes of the {format_count(latest, 'latest ball', 'latest balls')}:")
    for cause, balls, ns in causes[:CAUSES]:
        line(f"  {format_count(balls, 'ball')}, {format_ns(ns)}: {plain(cause, 100)}")
    if held:
        line("Locks that another processor held while balls waited:")
    for by, balls, ns in held[:CAUSES]:
        line(f"  {format_count(balls, 'ball')}, {format_ns(ns)}: {plain(by, 100)}")
    line("")
    note = plain(rally.manifest.time_note, 80)
    line(f"Each step begins where the one before ended; {note}; the replay was this rally.", "dim")
    line(f"All {rally.balls:,} balls: {plain(str(path))}", "dim")
