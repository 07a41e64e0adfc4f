# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Open a capture, whatever wrote it: what it is, is found out from what it holds."""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from tennis.umpire.captures.channels import USUAL, Wires
from tennis.umpire.captures.edges import Capture, CaptureError, Edges
from tennis.umpire.captures.srzip import open_srzip
from tennis.umpire.captures.table import open_table
from tennis.umpire.captures.text import opened_text
from tennis.umpire.captures.vcd import open_vcd

# not only at the beginning: sigrok-cli writes a line about what it converts before it
VCD = re.compile(rb"^\s*\$(date|version|comment|timescale|scope|var)\b", re.MULTILINE)


def open_capture(path: Path, wires: Wires = USUAL) -> Capture:
    """Open a capture: a sigrok session, VCD or CSV.

    Raises CaptureError; MissingError where nothing is wrong with it but that it does not say all.
    """
    path = Path(path)
    with opened_text(path) as file:
        try:
            head = file.read(4096)
        except UnicodeError as error:
            raise CaptureError(
                f"{path} is not a text in UTF-16", next_step="export it again"
            ) from error
    if not head:
        raise CaptureError(f"{path} is empty", next_step="capture again")
    if head.startswith(b"PK"):
        capture = open_srzip(path, wires)
    elif head.lstrip().startswith(b"$") or VCD.search(head):
        capture = open_vcd(path, wires)
    else:
        capture = open_table(path, wires)
    if wires.invert_ping or wires.invert_reply:
        return _inverted(capture, wires)
    return capture


def _inverted(capture: Capture, wires: Wires) -> Capture:
    """Return the capture with other levels."""
    flips = np.array([2 * wires.invert_ping, 2 * wires.invert_reply], np.uint8)

    def read(outer: Capture) -> Iterator[Edges]:
        for edges in capture.read(capture):
            ping, reply = capture.high_at_start
            outer.high_at_start = (ping ^ wires.invert_ping, reply ^ wires.invert_reply)
            outer.end_ticks = capture.end_ticks
            codes = edges.codes ^ flips[edges.codes & 1]
            order = np.lexsort((codes, edges.ticks))
            yield Edges(edges.ticks[order], codes[order])
        outer.end_ticks = capture.end_ticks

    return replace(capture, read=read)
