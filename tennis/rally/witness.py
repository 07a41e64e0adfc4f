"""Samples of a witness inside the target during a rally, read from the target's console.

cyclictest says how late each of its threads' wake-ups was, and its timer when the first was due;
the kernel's tracers timerlat and osnoise stamp each sample. All of it is on the target's clock
(CLOCK_MONOTONIC). On the virtual bench the rising ready line ties that clock to the instrument's.
On a board the kernel stamped each ping's handler.
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
from tennis.kit.units import NS_PER_S
from tennis.rally.folder import CONSOLE, Rally

# A ping's handler cannot end before the ping was served. Most handlers end as soon as the kernel
# can, so the quickest tenth of a stretch of pings says how far the clocks are apart there, except
# for the shortest time from a ping to its handler's end (a microsecond or some). So a sample
# appears too early on the instrument's clock, by as much. Crystals differ by some 10 parts in a
# million, and with temperature: the difference is followed through the rally.

Times = NDArray[np.int64]

STRETCH = 32  # pings for one offset; a rate takes as many offsets
QUICKEST = 0.9  # above this quantile of what the clocks seem apart: the quickest tenth
LEAST = 20  # stamps, and pings
SHIFTS = 8  # pings before the first stamp, or stamps before the first ping, at most
EVEN = 0.5  # more of the pairs than this cannot go together in two ways, unless the gaps are even
FEW = 0.25  # of the first pairs go together
BEYOND_NS = 60 * NS_PER_S
APART_MAX = 200e-6  # crystals: twice the usual 100 parts in a million
JITTER_NS = 20_000  # of a stretch's offset
TIED_SHARE = 0.5  # of all pings have a stamp of their own


@dataclass(frozen=True)
class _ClockOffsets:
    """Offsets from the target's clock to the instrument's, at some times."""

    at: Times
    offset: Times

    def __call__(self, times: Times) -> Times:
        """Return times of the target's clock on the instrument's; ns."""
        first = int(self.offset[0])  # apart: a float holds no nanoseconds of a large number
        changed = np.interp(times, self.at, self.offset - first)
        on_instrument: Times = times + first + np.rint(changed).astype(np.int64)
        return on_instrument


def _tie(stamps: Times, served: Times) -> _ClockOffsets:
    """Return the clock that stamped the ends of the handlers of pings ``served``; ns both.

    Pings may lack a stamp, and stamps a ping. Raises ValueError with the reason if it is not
    certain which stamp is which ping's.
    """
    if min(stamps.size, served.size) < LEAST:
        raise ValueError(f"{stamps.size} stamps of {served.size} pings; {LEAST} are needed")
    if (np.diff(stamps) < 0).any():
        raise ValueError("it went backwards")
    times, apart = _first_pairs(stamps, served)
    rate, tied = _rate(times, apart), 0
    last, offset = int(times[0]), float(np.quantile(apart - rate * (times - times[0]), QUICKEST))
    at: list[int] = []
    offsets: list[float] = []
    for begin in range(0, stamps.size, STRETCH):
        stretch = stamps[begin : begin + STRETCH]
        expected = offset + rate * (stretch - last)
        # a handler that seems to end before its ping, by what the clocks may have parted since
        early = JITTER_NS + APART_MAX * np.abs(stretch - last)
        ball = np.searchsorted(served, stretch + (expected + early).astype(np.int64), "right") - 1
        known = ball >= 0
        tied += np.unique(ball[known]).size
        if known.sum() < STRETCH // 4:
            continue  # the last few: the offset before holds for them
        parted = float(np.quantile((served[ball] - stretch - expected)[known], QUICKEST))
        middle = int(stretch[stretch.size // 2])
        if abs(parted) > JITTER_NS + APART_MAX * abs(middle - last):
            raise ValueError(
                f"after {(middle - stamps[0]) / NS_PER_S:.3g} s they part by {parted / 1000:.0f} µs"
            )
        offset += rate * (middle - last) + parted
        last = middle
        at.append(last)
        offsets.append(offset)
        if len(at) > 1:
            back = max(0, len(at) - STRETCH)
            slope = (offset - offsets[back]) / (last - at[back])
            rate = float(np.clip(slope, -APART_MAX, APART_MAX))
    if tied < TIED_SHARE * served.size:
        raise ValueError(f"{tied} of {served.size} pings have a stamp of their own")
    return _beyond(at, offsets)


def _first_pairs(stamps: Times, served: Times) -> tuple[Times, Times]:
    """Return the first stamps, and how far apart the clocks are there.

    Serves come at random gaps: matching pairs are all equally far apart.
    """
    apart: dict[int, Times] = {}
    go_together: dict[int, int] = {}
    for shift in range(-SHIFTS, SHIFTS + 1):
        first, of = max(0, -shift), max(0, shift)
        length = min(stamps.size - first, served.size - of, 2 * STRETCH)
        apart[shift] = served[of : of + length] - stamps[first : first + length]
        parted = JITTER_NS + APART_MAX * np.diff(served[of : of + length])
        go_together[shift] = int((np.abs(np.diff(apart[shift])) < parted).sum())
    best, second = sorted(go_together, key=go_together.__getitem__, reverse=True)[:2]
    pairs = apart[best].size - 1
    if pairs * EVEN < go_together[second]:
        if stamps.size != served.size:
            raise ValueError(
                f"{stamps.size} stamps of {served.size} pings, and the gaps are too even to tell "
                "which belong together"
            )
        best = 0  # nothing is missing
    elif go_together[best] < FEW * pairs:
        raise ValueError("stamps and pings come at other times")
    return stamps[max(0, -best) :][: pairs + 1], apart[best]


def _rate(times: Times, apart: Times) -> float:
    """Return how much the clocks part a ns, by Theil and Sen: the median of all pairs' slopes."""
    first, second = np.triu_indices(times.size, 1)
    slopes = (apart[second] - apart[first]) / np.maximum(1, times[second] - times[first])
    likely = slopes[np.abs(slopes) <= APART_MAX]
    return float(np.median(likely)) if likely.size else 0.0


def _beyond(at: list[int], offsets: list[float]) -> _ClockOffsets:
    """Return a clock that also holds for the minute before the first offset and behind the last."""
    if len(at) > 1:
        few = min(STRETCH, len(at) - 1)
        before = (offsets[few] - offsets[0]) / (at[few] - at[0])
        behind = (offsets[-1] - offsets[-1 - few]) / (at[-1] - at[-1 - few])
        offsets = [offsets[0] - before * BEYOND_NS, *offsets, offsets[-1] + behind * BEYOND_NS]
        at = [at[0] - BEYOND_NS, *at, at[-1] + BEYOND_NS]
    return _ClockOffsets(np.array(at, np.int64), np.rint(offsets).astype(np.int64))


INTERVAL_NS = 1_000_000  # target/witness
SIZE_LIMIT = 1 << 28  # bytes of a witness's report
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
    """The samples of a witness: one array entry a sample, in order of time; ns.

    A sample was due, or its window began, at ``began`` on the instrument's clock; ``latency`` is
    how late it was (osnoise: the longest time for which something else ran in the window).
    """

    kind: str  # "cyclictest", "timerlat, interrupt", "timerlat, thread", "osnoise"
    began: NDArray[np.int64]
    ended: NDArray[np.int64]
    latency: NDArray[np.int64]


def samples(rally: Rally) -> list[Samples]:
    """Return the samples of a rally's witness. Raises UsageError without a witness, RallyError."""
    witness = rally.manifest.target.witness
    if witness == "none":
        raise UsageError(
            f"{rally.path} was played without a witness",
            next_step="play it with --witness cyclictest",
        )
    path = rally.file(CONSOLE)
    console = path.read_text(errors="replace") if path else ""
    told = _read_samples(rally, console)
    found = READERS[witness](told)
    if not found or not all(one.latency.size for one in found):
        raise RallyError(f"{rally.path}: {witness} reported no sample", next_step="play it again")
    if _PING.search(told):
        clock = _by_pings(rally, told)
    else:
        clock = _ClockOffsets(np.zeros(1, np.int64), np.array([_ready_offset(rally, console)]))
    return [
        Samples(one.kind, began := clock(one.began), began + one.ended - one.began, one.latency)
        for one in found
    ]


def _by_pings(rally: Rally, text: str) -> _ClockOffsets:
    """Tie a board's clock to the instrument's by the pings that its kernel stamped."""
    served = [batch["served_ns"].values for batch in rally.batches(["served_ns"])]
    stamps = [int(seconds) * 10**9 + int(micros) * 1000 for seconds, micros in _PING.findall(text)]
    try:
        return _tie(np.array(stamps, np.int64), np.concatenate(served))
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


def _read_samples(rally: Rally, console: str) -> str:
    """Return the witness's report, unpacked."""
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

    A thread's next wake-up is due an interval after the one before, or, if that has passed, at the
    first of the following ones that has not (rt-tests, src/cyclictest/cyclictest.c, timerthread).
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
