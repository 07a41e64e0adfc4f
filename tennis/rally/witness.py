# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""What a witness inside the target saw during a rally, read from the target's console.

cyclictest says how late each of its threads' wake-ups was, and its timer when the first was due;
the kernel's tracers timerlat and osnoise stamp each sample. All of it is on the target's clock
(CLOCK_MONOTONIC). On the virtual bench the rising ready line ties that clock to the instrument's.
On a board the kernel stamped each ping's handler (``tennis/rally/two_clocks.py``).
"""

import base64
import binascii
import re
import zlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tennis.kit.errors import RallyError, UsageError
from tennis.rally.folder import CONSOLE, Rally
from tennis.rally.two_clocks import ClockOffsets, tie

INTERVAL_NS = 1_000_000  # target/witness
SIZE_LIMIT = 1 << 28  # bytes of what a witness told
_FIRST = re.compile(r"hrtimer_start: .*function=hrtimer_wakeup expires=(\d{1,18}) .*mode=ABS")
_CYCLIC = re.compile(r"^ *0: *\d+: *(-?\d{1,12})$", re.MULTILINE)
_TIMERLAT = re.compile(
    r" (\d{1,9})\.(\d{6}): #\d+ +context +(irq|thread) +timer_latency +(\d{1,12}) ns"
)
_OSNOISE = re.compile(
    r" (\d{1,9})\.(\d{6}): (\d{1,9}) +(\d{1,9}) +[\d.]+ +(\d{1,9})(?: |$)", re.MULTILINE
)
_PING = re.compile(r"^ping (\d{1,9})\.(\d{6})$", re.MULTILINE)
_READY = re.compile(r"tennis: fact ready_monotonic_ns (\d{1,18})\b")


@dataclass(frozen=True)
class Samples:
    """What a witness measured: one array entry a sample, in order of time; ns.

    A sample was due, or its window began, at ``began`` on the instrument's clock; ``latency`` is
    how late it was (osnoise: the longest time for which something else ran in the window).
    """

    kind: str  # "cyclictest", "timerlat, interrupt", "timerlat, thread", "osnoise"
    began: NDArray[np.int64]
    ended: NDArray[np.int64]
    latency: NDArray[np.int64]


def samples(rally: Rally) -> list[Samples]:
    """Return what a rally's witness saw. Raises UsageError where there was none, RallyError."""
    witness = rally.manifest.target.witness
    if witness == "none":
        raise UsageError(
            f"{rally.path} was played without a witness",
            next_step="play it with --witness cyclictest",
        )
    path = rally.file(CONSOLE)
    console = path.read_text(errors="replace") if path else ""
    told = read_samples(rally, console)
    found = READERS[witness](told)
    if not found or not all(one.latency.size for one in found):
        raise RallyError(f"{rally.path}: {witness} reported no sample", next_step="play it again")
    if _PING.search(told):
        clock = _by_pings(rally, told)
    else:
        clock = ClockOffsets(np.zeros(1, np.int64), np.array([_ready_offset(rally, console)]))
    return [
        Samples(one.kind, began := clock(one.began), began + one.ended - one.began, one.latency)
        for one in found
    ]


def _by_pings(rally: Rally, text: str) -> ClockOffsets:
    """Tie a board's clock to the instrument's by the pings that its kernel stamped."""
    served = [batch.column(0).to_numpy() for batch in rally.batches(["served_ns"])]
    stamps = [int(seconds) * 10**9 + int(micros) * 1000 for seconds, micros in _PING.findall(text)]
    try:
        return tie(np.array(stamps, np.int64), np.concatenate(served))
    except ValueError as error:
        raise RallyError(
            f"{rally.path}: the target's clock cannot be tied to the instrument's: {error}",
            next_step="play it again",
        ) from error


def _ready_offset(rally: Rally, console: str) -> int:
    """Return what to add to the target's clock to get the instrument's."""
    match = _READY.search(console)
    ready = next((e["at_ns"] for e in rally.each_event() if e.get("what") == "ready"), None)
    if match is None or not isinstance(ready, int):
        raise RallyError(
            f"{rally.path}: nothing ties the target's clock to the instrument's: its "
            "time when the ready line rose is missing, and it recorded no ping",
            next_step="play it again",
        )
    return ready - int(match[1])


def read_samples(rally: Rally, console: str) -> str:
    """Return what the witness told, unpacked."""
    _, begin, rest = console.partition("tennis: witness begins")
    encoded, end, _ = rest.partition("tennis: witness ends")
    lines = [line.strip("\r") for line in encoded.splitlines()]
    packed = "".join(line for line in lines if re.fullmatch(r"[A-Za-z0-9+/=]+", line))
    try:
        unpacker = zlib.decompressobj(31)
        text = unpacker.decompress(base64.b64decode(packed, validate=True), SIZE_LIMIT)
        whole = unpacker.eof
    except (binascii.Error, zlib.error) as error:
        raise RallyError(f"{rally.path}: the witness's report is garbled ({error})") from error
    if not begin or not end or not whole:
        raise RallyError(
            f"{rally.path}: the console does not contain the witness's whole report: the rally was "
            "stopped before its last ball, or the witness died",
            next_step="play it again",
        )
    return text.decode("ascii", "replace")


def _cyclictest(text: str) -> list[Samples]:
    """Return cyclictest's samples.

    A thread's next wake-up is due an interval after the one before, or, where that is over, at the
    first of the following ones that is not (rt-tests, src/cyclictest/cyclictest.c, timerthread).
    """
    first = _FIRST.search(text)
    latency = np.array([int(ns) for ns in _CYCLIC.findall(text)], np.int64)
    if first is None:
        return []
    skipped = np.maximum(0, -(-(latency - INTERVAL_NS) // INTERVAL_NS))
    steps = (1 + skipped[:-1]) * INTERVAL_NS
    due = int(first[1]) + np.concatenate([[0], np.cumsum(steps)]).astype(np.int64)[: latency.size]
    return [Samples("cyclictest", due, due + np.maximum(latency, 0), latency)]


def _timerlat(text: str) -> list[Samples]:
    found: dict[str, list[tuple[int, int]]] = {"irq": [], "thread": []}
    for seconds, micros, context, ns in _TIMERLAT.findall(text):
        found[context].append((int(seconds) * 10**9 + int(micros) * 1000, int(ns)))
    words = {"irq": "timerlat, interrupt", "thread": "timerlat, thread"}
    result = []
    for context, rows in found.items():
        table = np.array(rows, np.int64).reshape(-1, 2)
        at, latency = table[:, 0], table[:, 1]
        result.append(Samples(words[context], at - latency, at, latency))
    return result


def _osnoise(text: str) -> list[Samples]:
    rows = [
        (int(seconds) * 10**9 + int(micros) * 1000, int(runtime) * 1000, int(longest) * 1000)
        for seconds, micros, runtime, _noise, longest in _OSNOISE.findall(text)
    ]
    table = np.array(rows, np.int64).reshape(-1, 3)
    return [Samples("osnoise", table[:, 0] - table[:, 1], table[:, 0], table[:, 2])]


READERS: dict[str, Callable[[str], list[Samples]]] = {
    "cyclictest": _cyclictest,
    "timerlat": _timerlat,
    "osnoise": _osnoise,
}
