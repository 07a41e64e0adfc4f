# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""A bench's own history, and whether it changes over the weeks."""

from collections.abc import Iterator
from pathlib import Path

from tennis.bench.findings import Finding
from tennis.errors import UsageError
from tennis.listener import say
from tennis.rally.text import plain
from tennis.store.drift import FIGURES, bench_of, histories, named_twice
from tennis.store.opening import open_store
from tennis.units import format_count

WIRES = "look at its wires, then `tennis brickwall verify`; a new kernel is a reason, too"
NAMES = "`tennis store list` says which rallies; add them again under two names"


def examine_history(bench: str, place: Path | str) -> Iterator[Finding]:
    """Yield what a store's rallies say of one bench.

    Raises UsageError where the store knows no such bench, RallyError where it cannot be read.
    """
    store = open_store(place)
    rows = store.catalogue()
    own = [number for number, row in enumerate(rows.to_pylist()) if bench_of(row) == bench]
    if not own:
        known = sorted({bench_of(row) for row in rows.to_pylist()})
        shown = ", ".join(plain(name, 40) for name in known[:12]) or "none"
        raise UsageError(f"{place} has no rally of {plain(bench, 80)}", next_step=f"it has {shown}")
    mine = rows.take(own)
    if named_twice(mine):
        yield Finding("bad", bench, "two Brickwalls in turns: two benches of one name?", NAMES)
    judged = False
    for one in histories(store, mine, say):
        what = f"{plain(one.label, 80)}, {FIGURES[one.figure]}"
        if one.chart is None:
            continue
        judged = True
        if one.drifted:
            yield Finding("bad", what, one.sentence, WIRES)
        else:
            yield Finding("good", what, f"{one.sentence}, {len(one.points)} rallies")
    if not judged:
        count = format_count(len(mine), "rally", "rallies")
        found = f"{count}, and no kind of them is there often enough to be judged"
        yield Finding("note", bench, found, "`tennis store drift` says how many it takes")
