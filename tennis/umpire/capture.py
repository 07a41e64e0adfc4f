# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Open a capture, whatever wrote it: what it is, is found out from what it holds."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from tennis.umpire.edges import Capture, CaptureError, Edges, opened
from tennis.umpire.srzip import open_srzip
from tennis.umpire.table import Threshold, open_table
from tennis.umpire.vcd import open_vcd


@dataclass(frozen=True)
class Wires:
    """Which channel is which wire, and whether it is inverted; None: the usual names or places."""

    ping: str | None = None
    reply: str | None = None
    invert_ping: bool = False
    invert_reply: bool = False
    threshold: Threshold = field(default_factory=Threshold)


def open_capture(path: Path, wires: Wires = Wires()) -> Capture:
    """Open a capture: a sigrok session, VCD or CSV. Raises CaptureError."""
    path = Path(path)
    with opened(path) as file:
        head = file.read(4096)
    if not head:
        raise CaptureError(f"{path} is empty: capture again")
    if head.startswith(b"PK"):
        capture = open_srzip(path, wires.ping, wires.reply)
    elif head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith((b"$", b"#")):
        capture = open_vcd(path, wires.ping, wires.reply)
    else:
        capture = open_table(path, wires.ping, wires.reply, wires.threshold)
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

    return replace(capture, read=read)
