# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Record the stages of a rally's balls, and print them: for ``rally`` and ``explain``."""

import json
from dataclasses import asdict
from functools import partial

from rich import box
from rich.console import Console
from rich.table import Table

from tennis.cli.progress import progress_line
from tennis.cli.stop import Stop
from tennis.cli.words import echo, print_line
from tennis.listener import listening
from tennis.rally import Rally
from tennis.rally.text import plain
from tennis.units import format_count, format_ns

CAUSES = 8
LATEST_ONE_IN = 100


def show_stages(rally: Rally, *, kernel: str | None, as_json: bool = False) -> None:
    """Print when what happened to a rally's balls; play it again where nobody recorded that."""
    from tennis.explain import stages
    from tennis.play.rally import Watch
    from tennis.play.stages import record_stages

    recorded = stages.read(rally)
    if recorded is None:
        with listening(lambda text: echo(text, err=True)), progress_line("stages") as observe:
            record_stages(rally, kernel=kernel, watch=Watch(observe, Stop()))
        recorded = stages.read(rally)
    assert recorded is not None  # noqa: S101
    latest = max(1, rally.balls // LATEST_ONE_IN)
    steps, causes = stages.stages(recorded), stages.causes(recorded, latest)
    held, stalled = stages.held(recorded), stages.stalled(recorded)
    path = rally.path / stages.STAGES
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
        echo(json.dumps(content, indent=2))
        return
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("until")
    for title in ("balls", "median", "99 %", "latest"):
        table.add_column(title, justify="right", no_wrap=True)
    for step in steps:
        times = (format_ns(ns) for ns in (step.median, step.p99, step.latest))
        table.add_row(step.until, f"{step.balls:,}", *times)
    if stalled:
        waits = (format_ns(ns) for ns in stalled)
        table.add_row("of all: waits for memory", f"{rally.balls:,}", *waits)
    console = Console(highlight=False)
    console.print(table)

    line = partial(print_line, console)
    line(f"What the {format_count(latest, 'latest ball', 'latest balls')} waited for:")
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
