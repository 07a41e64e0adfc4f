# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Search for the worst instant by shots alone, and print what is known: ``explain --exact``."""

from functools import partial

from rich.console import Console

from tennis.cli.progress import watching
from tennis.cli.words import echo_json, print_line
from tennis.explain.instants import storage
from tennis.explain.instants.storage import Instants, Until
from tennis.explain.instants.words import sentences
from tennis.rally import Rally
from tennis.rally.text import plain


def show_instants(
    rally: Rally, shots: int | None, until: Until, *, kernel: str | None, as_json: bool
) -> None:
    """Search, or go on with a search, and print the worst instant and what may hide."""
    from tennis.play.instant_search import SHOTS
    from tennis.play.instants import find_worst

    with watching("instants") as watch:
        count = SHOTS if shots is None else shots
        found = find_worst(rally, count, until=until, kernel=kernel, watch=watch)
    if as_json:
        echo_json(_as_json(rally, found))
        return
    line = partial(print_line, Console(highlight=False))
    first, *others = sentences(found)
    line(first, "bold")
    for sentence in others:
        line(sentence)
    line(
        f"{plain(rally.manifest.time_note, 80)}; the machine without a ball before each of them. "
        "It says nothing of other runs.",
        "dim",
    )
    line(f"All instants: {plain(str(rally.path / storage.INSTANTS))}", "dim")


def _as_json(rally: Rally, found: Instants) -> dict[str, object]:
    played = found.played()
    at_ns, rise_ns, fall_ns = found.rows[played.worst].tolist()
    return {
        "file": str(rally.path / storage.INSTANTS),
        "until": found.about.until,
        "worst": {"at_ns": at_ns, "rise_ns": rise_ns, "fall_ns": fall_ns},
        "played": int(played.at.size),
        "drawn": played.drawn,
        "time_ns": played.time_ns,
        "later_share_at_most": played.later_share,
        "overtaken_ns": played.overtaken_ns,
        "open_share": played.open_share(),
        "may_be_as_late_as_ns": played.open_ns(),
    }
