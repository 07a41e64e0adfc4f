"""Copies of a boot, found by its gaps and its answers, even if other parts were altered.

A boot that is counted several times makes any verdict sure. Hashes of files and of whole columns
find copies to the byte; but a copy with all times shifted by a nanosecond, or with another seed,
has other files. Two boots that were both played never share their gaps or their answers.
"""

import hashlib
from collections.abc import Hashable
from math import log

import numpy as np

from tennis.rally import Rally
from tennis.rally.tally import Tally

GAPS = 256  # that are compared, from the first on: no two boots share a tenth of them
GAPS_MIN = 16
GAP_RANGE_NS = 1_000  # from the shortest gap to the longest: with fewer, boots may share gaps
# the chance that independent balls have the same answers in the same order: 1 in e to the 40th
SURPRISE = 40.0


class Copies:
    """The boots that were seen so far, each once."""

    def __init__(self) -> None:
        self._known: dict[Hashable, str] = {}
        # rallies whose latencies are the same in any order; mostly one each
        self._alike: dict[str, list[Rally]] = {}

    def original_of(self, rally: Rally) -> str:
        """Name the original of a copied rally, and the evidence; empty: it is no copy."""
        if not rally.balls:
            return ""
        name = rally.path.name
        alike = self._alike.setdefault(_tallies(rally), [])
        keys: dict[Hashable, str] = {}
        if alike:  # only then are all balls read
            for other in alike:
                for key in _of_balls(other):
                    self._known.setdefault(key, other.path.name)
            keys = _of_balls(rally)
        if gaps := _gaps_of(rally):
            keys["gaps", gaps] = "gap by gap"
        for key, words in keys.items():
            if earlier := self._known.get(key):
                return f"holds the balls of {earlier}, {words}: it is not a boot"
        alike.append(rally)
        self._known |= dict.fromkeys(keys, name)
        return ""


def _of_balls(rally: Rally) -> dict[Hashable, str]:
    """Return what only copies share of all balls, and the words for each."""
    every = tuple(rally.fingerprint(rally.balls))
    keys: dict[Hashable, str] = {("balls", every): "tick for tick"}
    if _says(rally):
        keys["answers", every[1:]] = "answer by answer"
    return keys


def _gaps_of(rally: Rally) -> str:
    """Return what only copies of a boot share: its first gaps, with the answers between them.

    Empty if gaps say nothing: an open loop has none that are drawn, nor has a drill.
    """
    protocol = rally.manifest.protocol
    if protocol.loop != "closed" or protocol.gap_max_ns - protocol.gap_min_ns < GAP_RANGE_NS:
        return ""
    served = np.zeros(0, np.int64)
    for batch in rally.batches(["served_ns"]):
        served = np.concatenate([served, batch["served_ns"].values[: GAPS + 1 - served.size]])
        if served.size > GAPS:
            break
    gaps = np.diff(served)
    return hashlib.sha256(gaps.tobytes()).hexdigest() if gaps.size >= GAPS_MIN else ""


def answers_of(rally: Rally) -> str:
    """Return a hash of all answers in order, with the times of serving if answers say little.

    A kernel that answers each ball alike has the same answers in every boot.
    """
    served, rise, fall = rally.fingerprint(rally.balls)
    return rise + fall if _says(rally) else served + rise + fall


def _says(rally: Rally) -> bool:
    """Tell whether two boots never have the same answers in the same order by chance.

    A drill on an idle target has no gaps that are drawn: each of its boots may be like the others.
    """
    if rally.manifest.protocol.loop == "listen":
        return False
    same = min(_collision(rally.interrupt), _collision(rally.scheduling))
    return bool(-rally.balls * log(same) > SURPRISE)


def _collision(tally: Tally) -> float:
    """Return the chance that two of a rally's balls have the same latency."""
    shares = tally.counts / max(1, tally.counts.sum())
    return float((shares**2).sum()) or 1.0


def _tallies(rally: Rally) -> str:
    digest = hashlib.sha256()
    for tally in (rally.interrupt, rally.scheduling):
        digest.update(tally.values.tobytes() + tally.counts.tobytes())
    return digest.hexdigest()
