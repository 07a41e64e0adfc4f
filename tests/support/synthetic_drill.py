"""Sealed drills made up in milliseconds: both clocks say what a test wants them to."""

import base64
import gzip
import hashlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tennis.rally import Rally
from tennis.rally.balls import COLUMNS
from tennis.rally.columns import Column, Table
from tennis.rally.inside import FACT, HEADER, MARK, REPETITION, VERSION
from tennis.rally.manifest import Drill, Protocol
from tests.support.synthetic import manifest, sealed

TICK_HZ = 1_000_000_000


def told(since_last: NDArray[np.int64], duration: NDArray[np.int64], overruns: int = 0) -> str:
    """Return a target's console lines with its own times (ns)."""
    kept = np.zeros(duration.size, REPETITION)
    kept["since_last"], kept["duration"] = since_last, duration
    raw = HEADER.pack(VERSION, duration.size, overruns, 0, 0, 100_000, 300_000, 2_000, 1)
    raw += kept.tobytes()
    text = base64.b64encode(gzip.compress(raw)).decode()
    lines = [f"{MARK.decode()}{text[at : at + 76]}" for at in range(0, len(text), 76)]
    return "\n".join([*lines, f"{FACT.decode()}{hashlib.sha256(raw).hexdigest()}", ""])


def make_drill(
    out: Path,
    drill: Drill,
    intervals: NDArray[np.int64],
    duration: NDArray[np.int64],
    *,
    line_ns: int = 300,
    outside: NDArray[np.int64] | None = None,
    seed: int = 1,
    later_ns: int = 0,
    **about: Any,
) -> Rally:
    """Seal a drill at ``out``: ns from each repetition to the next, and ns that each took.

    There is one interval less than repetitions. The instrument sees the same intervals; durations
    that are longer by ``line_ns``, or those ``outside``; negative ones did not end in time.
    """
    seen = duration + line_ns if outside is None else outside
    began_ns = 1_000_000 + later_ns
    served = np.concatenate([[began_ns], began_ns + np.cumsum(intervals)]).astype(np.int64)
    since_last = np.concatenate([[0], intervals])
    protocol = Protocol(
        loop="listen",
        balls=served.size,
        seed=seed,
        gap_min_ns=0,
        gap_max_ns=0,
        pulse_ns=1,
        timeout_ns=4_000_000_000,
        settle_ns=0,
    )
    made = manifest(
        balls=served.size,
        protocol=protocol,
        drill=drill,
        bottom_half="unknown",
        tick_hz=TICK_HZ,
        **about,
    )
    columns = [
        Column(np.arange(served.size, dtype=np.uint32)),
        Column(served),
        Column(np.zeros(served.size, np.uint32)),
        Column(np.maximum(seen, 0).astype(np.uint32), seen < 0),
    ]
    table = Table(dict(zip(COLUMNS, columns, strict=True)))
    return sealed(out, made, table, console=told(since_last, duration).encode())
