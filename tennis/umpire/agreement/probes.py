# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Probes on the wrong wires: swapped, inverted, both."""

import itertools
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from tennis.rally import Rally
from tennis.umpire.agreement.result import Check
from tennis.umpire.agreement.side_by_side import RIGHT, SideBySide
from tennis.umpire.captures.edges import Capture, Edges

TRIAL_EDGES = 1 << 17  # of a capture, when other wirings are tried


@dataclass(frozen=True)
class ProbeFault:
    """What may be wrong with two probes."""

    swapped: bool = False
    invert_ping: bool = False
    invert_reply: bool = False


def rewired(capture: Capture, wiring: ProbeFault, edges: int | None = None) -> Capture:
    """Return a capture as it would be with other wires; at most so many of its edges."""
    flip = np.array([2 * wiring.invert_ping, 2 * wiring.invert_reply], np.uint8)

    def read(outer: Capture) -> Iterator[Edges]:
        count = 0
        for batch in capture.read(capture):
            codes = batch.codes ^ np.uint8(1) if wiring.swapped else batch.codes
            codes = codes ^ flip[codes & 1]
            order = np.lexsort((codes, batch.ticks))
            outer.end_ticks = capture.end_ticks
            yield Edges(batch.ticks[order], codes[order])
            count += batch.ticks.size
            if edges is not None and count >= edges:
                return

    names = (capture.reply, capture.ping) if wiring.swapped else (capture.ping, capture.reply)
    return replace(capture, read=read, ping=names[0], reply=names[1])


def other_wiring(rally: Rally, capture: Capture) -> ProbeFault | None:
    """Try all that may be wrong with the probes; return what makes sense of the capture."""
    others = itertools.product((False, True), repeat=3)
    # what is most often wrong first
    for swapped, ping, reply in sorted(others, key=sum):
        wiring = ProbeFault(swapped, ping, reply)
        if wiring == ProbeFault():
            continue
        trial = Check("not run", "", rally, capture, 0, 0)
        run = SideBySide(rally, rewired(capture, wiring, TRIAL_EDGES), trial)
        if run.pair() or trial.balls < 3:
            continue
        answered = trial.balls - trial.disagree
        if trial.balls > RIGHT * (trial.balls + trial.unmatched) and answered > RIGHT * trial.balls:
            return wiring
    return None


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
