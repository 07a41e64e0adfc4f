# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Two tables of one channel each, sampled at once, as one capture."""

import itertools
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np

from tennis.umpire.captures.channels import Threshold, Wires
from tennis.umpire.captures.edges import Capture, CaptureError, Edges, merged
from tennis.umpire.captures.table import open_table


def open_pair(
    ping: Path,
    reply: Path,
    names: tuple[str | None, str | None],
    threshold: Threshold,
    stated_rate_hz: Fraction | None = None,
) -> Capture:
    """Open two tables, of one channel each, that were sampled at once. Raises CaptureError.

    ``stated_rate_hz`` is the rate (Hz) that the user said.
    """
    first, second = (
        open_table(path, Wires(ping=name, threshold=threshold, rate_hz=stated_rate_hz), single=True)
        for path, name in zip((ping, reply), names, strict=True)
    )
    if first.tick_hz != second.tick_hz:
        raise CaptureError(
            f"{ping} and {reply} were not sampled at one rate", next_step="capture both at once"
        )

    def read(capture: Capture) -> Iterator[Edges]:
        yield from _side_by_side(capture, first, second)

    coarser = max(first, second, key=lambda capture: capture.resolution_ticks)
    return replace(
        coarser,
        path=ping,
        ping=first.ping,
        reply=second.reply,
        names=[first.ping, second.reply],
        read=read,
        resolution_source=coarser.resolution_source
        if first.resolution_known and second.resolution_known
        else "unknown",
        notes=[*first.notes, *second.notes],
    )


def _side_by_side(capture: Capture, first: Capture, second: Capture) -> Iterator[Edges]:
    held: list[list[Edges]] = [[], []]
    known = [0, 0]
    done = 0
    streams = (first.read(first), second.read(second))
    for pair in itertools.zip_longest(*streams):
        for wire, (edges, source) in enumerate(zip(pair, (first, second), strict=True)):
            if edges is not None:
                held[wire].append(edges)
                known[wire] = source.end_ticks
        capture.high_at_start = (first.high_at_start[0], second.high_at_start[1])
        until = min(known)
        if until > done:
            yield _cut(held, until)
            done = until
        capture.end_ticks = done
    if abs(first.end_ticks - second.end_ticks) > 1:
        raise CaptureError(
            f"{first.path} and {second.path} are not of the same length",
            next_step="capture both at once",
        )
    yield _cut(held, max(known) + 1)


def _cut(held: list[list[Edges]], until: int) -> Edges:
    """Take the edges before ``until`` out of both: of the first its ping, of the second reply."""
    wires = []
    for wire in (0, 1):
        ticks = np.concatenate([np.zeros(0, np.int64), *(part.ticks for part in held[wire])])
        codes = np.concatenate([np.zeros(0, np.uint8), *(part.codes for part in held[wire])])
        mine = (codes & 1) == wire
        ticks, codes = ticks[mine], codes[mine]
        cut = int(np.searchsorted(ticks, until))
        wires.append((ticks[:cut], codes[:cut] > 1))
        held[wire] = [Edges(ticks[cut:], codes[cut:])]
    return merged(wires[0], wires[1])
