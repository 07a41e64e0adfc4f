# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Record what a ping at every instant would have met, and print it: for ``explain --sections``."""

import json
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tennis.cli.progress import shown
from tennis.cli.stop import Stop
from tennis.cli.words import echo, print_line
from tennis.explain.sections.kept import Sections
from tennis.explain.sections.summary import (
    Cause,
    Summary,
    causes,
    summarize_sections,
    worst_instants,
)
from tennis.listener import listening
from tennis.rally import Rally
from tennis.rally.text import plain
from tennis.stats.summary import percent, summarize
from tennis.units import format_count, format_ns

if TYPE_CHECKING:
    from tennis.play.sections import Shot

CAUSES = 12


def show_sections(rally: Rally, *, exact: bool, kernel: str | None, as_json: bool) -> None:
    """Print what a ping at each instant would have met; record it where nobody has."""
    from tennis.explain.sections import kept
    from tennis.play.rally import Watch
    from tennis.play.sections import Shot, play_at, record

    sections = kept.read(rally)
    shots: list[Shot] = []
    with listening(lambda text: echo(text, err=True)), shown("sections") as observe:
        watch = Watch(observe, Stop())
        if sections is None:
            record(rally, kernel=kernel, watch=watch)
            sections = kept.read(rally)
        assert sections is not None  # noqa: S101
        summary = summarize_sections(sections, summarize(rally).interrupt_ns.max)
        if exact:
            shots = play_at(rally, worst_instants(sections), kernel=kernel, watch=watch)
    found = causes(sections)
    if as_json:
        content = {
            "file": str(rally.path / kept.SECTIONS),
            **summary.as_json(),
            "causes": [cause.as_json() for cause in found],
            "played": asdict(max(shots, key=_measured)) if shots else None,
            "all_played": [asdict(shot) for shot in shots],
        }
        echo(json.dumps(content, indent=2))
        return
    _print(rally, sections, summary, found)
    line = partial(print_line, Console(highlight=False))
    for shot in shots:
        off = shot.measured_ns - shot.predicted_ns
        line(
            f"Played, one ball at {shot.at_ns:,} ns: predicted {shot.predicted_ns:,} ns, measured "
            f"{shot.measured_ns:,} ns: {'exact' if not off else f'{off:+,} ns'}.",
            "bold",
        )
    if len(shots) > 1:
        line(f"The latest that was played: {format_ns(max(map(_measured, shots)))}.", "bold")


def _measured(shot: "Shot") -> int:
    return shot.measured_ns


def _print(rally: Rally, sections: Sections, summary: Summary, found: list[Cause]) -> None:
    console = Console(highlight=False)
    line = partial(print_line, console)
    for sentence in summary.sentences(rally.balls):
        line(sentence, "bold")
    line("")
    line("What can make a ball late here:")
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for title in ("worst", "share of time"):
        table.add_column(title, justify="right", no_wrap=True)
    thread = sections.about.thread
    waits = f"{plain(thread, 20)} waits from" if thread else "interrupts are off from"
    table.add_column(waits, overflow="fold")
    table.add_column("to", overflow="fold")
    table.add_column("most in", overflow="fold")
    for cause in found[:CAUSES]:
        table.add_row(
            format_ns(cause.worst_ns),
            percent(cause.share),
            Text(plain(cause.began_in, 80)),
            Text(plain(cause.ended_in, 80)),
            Text(plain(cause.task, 20)),
        )
    console.print(table)
    line("How the model's constants fit this rally's balls, interrupt latency, ns:")
    fits = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    fits.add_column("how the ping is taken")
    for title in ("balls", "exact", "within 10 ns", "largest error"):
        fits.add_column(title, justify="right", no_wrap=True)
    for one in sections.about.balls:
        way = f"{plain(one.way, 40)}, {plain(one.where, 40)}" if one.where else plain(one.way, 40)
        cells = (one.balls, one.exact, one.within_10_ns, one.worst_ns)
        fits.add_row(way, *(f"{cell:,}" for cell in cells))
    console.print(fits)
    line(
        f"{plain(rally.manifest.time_note, 80)}; the same machine for the same time "
        f"({format_ns(sections.about.time_ns)}) without a ball: a ball changes what comes behind "
        "it. It says nothing of other runs.",
        "dim",
    )
    line(f"All {format_count(sections.about.records, 'section')}: {plain(str(rally.path))}", "dim")
