# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Record what a ping at every instant would have met, and print it: for ``explain --sections``."""

from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from tennis.cli.progress import watching
from tennis.cli.tables import table
from tennis.cli.words import echo_json, print_line
from tennis.explain.sections.storage import Sections
from tennis.explain.sections.summary import Cause, Summary, causes, summarize_sections
from tennis.rally import Rally
from tennis.rally.text import plain
from tennis.stats.summary import percent, summarize
from tennis.units import format_count, format_ns

if TYPE_CHECKING:
    from tennis.play.worst_search import Searched

CAUSES = 12


def show_sections(rally: Rally, *, exact: bool, kernel: str | None, as_json: bool) -> None:
    """Print what a ping at each instant would have met; record it where nobody has."""
    from tennis.explain.sections import storage
    from tennis.play.sections import play_at, record
    from tennis.play.worst_search import search

    sections = storage.read(rally)
    found_worst: Searched | None = None
    with watching("sections") as watch:
        if sections is None:
            record(rally, kernel=kernel, watch=watch)
            sections = storage.read(rally)
        assert sections is not None  # noqa: S101
        summary = summarize_sections(sections, summarize(rally).interrupt_ns.max)
        if exact:
            play = partial(play_at, rally, kernel=kernel, watch=watch)
            found_worst = search(sections, play)
    found = causes(sections)
    if as_json:
        content = {
            "file": str(rally.path / storage.SECTIONS),
            **summary.as_json(),
            "causes": [cause.as_json() for cause in found],
            "played": asdict(found_worst.worst) if found_worst else None,
            "all_played": [asdict(shot) for shot in found_worst.shots] if found_worst else [],
            "ways_played": [asdict(way) for way in found_worst.ways] if found_worst else [],
            "not_played_up_to_ns": found_worst.open_ns if found_worst else None,
        }
        echo_json(content)
        return
    _print(rally, sections, summary, found)
    if found_worst:
        _print_played(found_worst)


def _print_played(found: "Searched") -> None:
    line = partial(print_line, Console(highlight=False))
    worst = found.worst
    off = "not predicted"
    if worst.predicted_ns is not None:
        later = worst.measured_ns - worst.predicted_ns
        off = f"predicted {worst.predicted_ns:,} ns: {f'{later:+,} ns' if later else 'exact'}"
    line(
        f"Played, {format_count(len(found.shots), 'shot')} of one boot. The worst: at "
        f"{worst.at_ns:,} ns, measured {worst.measured_ns:,} ns, {off}.",
        "bold",
    )
    for one in found.ways:
        rest = f", the others {one.earliest_ns:+,} to {one.latest_ns:+,} ns"
        line(f"{one.way}: {one.exact:,} of {one.shots:,} exact{rest * (one.exact < one.shots)}")
    if found.open_ns is None:
        line("No other instant that is predicted can be later, if none is further off than these.")
    else:
        line(f"Others were not played, and may be as late as {found.open_ns:,} ns.", "yellow")


def _print(rally: Rally, sections: Sections, summary: Summary, causes: list[Cause]) -> None:
    console = Console(highlight=False)
    line = partial(print_line, console)
    for sentence in summary.sentences(rally.balls):
        line(sentence, "bold")
    line("")
    line("What can make a ball late here:")
    thread = sections.about.thread
    waits = f"{plain(thread, 20)} waits from" if thread else "interrupts are off from"
    late = table(numbers=("worst", "share of time"), rest=(waits, "to", "most in"))
    for cause in causes[:CAUSES]:
        late.add_row(
            format_ns(cause.worst_ns),
            percent(cause.share),
            Text(plain(cause.began_in, 80)),
            Text(plain(cause.ended_in, 80)),
            Text(plain(cause.task, 20)),
        )
    console.print(late)
    line("How the model's constants fit this rally's balls, interrupt latency, ns:")
    figures = ("balls", "exact", "within 10 ns", "largest error")
    fits = table("how the ping is taken", numbers=figures)
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
