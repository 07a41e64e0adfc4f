# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Probes on the wrong wires: swapped, inverted, both."""

import itertools
import shlex
from collections.abc import Iterator
from dataclasses import replace

from tennis.rally.captures.edges import Capture, Edges, ProbeFault

TRIAL_EDGES = 1 << 17  # of a capture, when other wirings are tried


def other_wirings() -> list[ProbeFault]:
    """Return all that may be wrong with two probes, what is most often wrong first."""
    every = sorted(itertools.product((False, True), repeat=3), key=sum)
    return [ProbeFault(*wiring) for wiring in every if any(wiring)]


def begin_of(capture: Capture) -> Capture:
    """Return the first edges of a capture, which are read from its file once."""
    batches: list[Edges] = []
    for batch in capture.edges():
        batches.append(batch)
        if sum(held.ticks.size for held in batches) >= TRIAL_EDGES:
            break
    end_ticks = capture.end_ticks

    def read(outer: Capture) -> Iterator[Edges]:
        outer.end_ticks = end_ticks
        yield from batches

    return replace(capture, read=read)


def wiring_words(wiring: ProbeFault, capture: Capture) -> str:
    """Say what is wrong with the probes, and what to do about it."""
    wires, options = [], []
    ping, reply = shlex.quote(capture.ping), shlex.quote(capture.reply)
    if wiring.swapped:
        wires.append("ping and reply are swapped")
        options.append(f"--ping {reply} --reply {ping}")
    both = wiring.invert_ping and wiring.invert_reply
    for name, inverted in (("ping", wiring.invert_ping), ("reply", wiring.invert_reply)):
        if inverted:
            wires.append(f"{name} is inverted")
            options.append(f"--invert {name}" if not both else "")
    if both:
        options = [option for option in options if option] + ["--invert both"]
    return (
        f"{' and '.join(wires)} in the capture: move the probes, or check it again with "
        f"{' '.join(options)}"
    )
