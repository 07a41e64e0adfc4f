# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Record what a ping at every instant would have met, and print it: for ``explain --sections``."""

import json
from functools import partial

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tennis.cli.progress import shown
from tennis.cli.stop import Stop
from tennis.cli.words import echo, print_line
from tennis.explain.sections.kept import Sections
from tennis.explain.sections.summary import Cause, Summary, causes, summarize_sections
from tennis.listener import listening
from tennis.rally import Rally
from tennis.rally.text import plain
from tennis.stats.summary import percent, summarize
from tennis.units import format_count, format_ns

CAUSES = 12


def show_sections(rally: Rally, *, exact: bool, kernel: str | None, as_json: bool) -> None:
    """Print what a ping at each instant would have met; record it where nobody has."""
    from tennis.explain.sections import kept
    from tennis.play.rally import Watch
    from tennis.play.sections import Shot, play_at, record

    sections = kept.read(rally)
    shot: Shot | None = None
    with listening(lambda text: echo(text, err=True)), shown("sections") as observe:
        watch = Watch(observe, Stop())
        if sections is None:
            record(rally, kernel=kernel, watch=watch)
            sections = kept.read(rally)
        assert sections is not None  # noqa: S101
        summary = summarize_sections(sections, summarize(rally).interrupt_ns.max)
        if exact:
            worst = summary.worst
            shot = play_at(rally, [(worst.at_ns, worst.latency_ns)], kernel=kernel, watch=watch)[0]
    found = causes(sections)
    if as_json:
        content = {
            "file": str(rally.path / kept.SECTIONS),
            **summary.as_json(),
            "causes": [cause.as_json() for cause in found],
            "played": None
            if shot is None
            else {
                "at_ns": shot.at_ns,
                "predicted_ns": shot.predicted_ns,
                "measured_ns": shot.measured_ns,
            },
        }
        echo(json.dumps(content, indent=2))
        return
    _print(rally, sections, summary, found)
    if shot is not None:
        line = partial(print_line, Console(highlight=False))
        off = shot.measured_ns - shot.predicted_ns
        line(
            f"Played, one ball at {shot.at_ns:,} ns: predicted {shot.predicted_ns:,} ns, measured "
            f"{shot.measured_ns:,} ns: {'exact' if not off else f'{off:+,} ns'}.",
            "bold",
        )


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
    table.add_column("interrupts are off from", overflow="fold")
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
