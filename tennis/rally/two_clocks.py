# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Two clocks that saw the same pings: the instrument's, which served, and the target's.

A ping's handler cannot end before the ping was served. Most handlers end as soon as the kernel
can, so the quickest tenth of a stretch of pings says how far the clocks are apart there, but for
the shortest time from a ping to its handler's end (a microsecond or some). So a
sample appears too early on the instrument's clock, by as much. Crystals differ by some
10 parts in a million, and with temperature: what they differ by is followed through the rally.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tennis.kit.units import NS_PER_S

Times = NDArray[np.int64]

STRETCH = 32  # pings, of which one offset is made; a rate is made of so many offsets
QUICKEST = 0.9  # above this quantile of what the clocks seem apart: the quickest tenth
LEAST = 20  # stamps, and pings
SHIFTS = 8  # pings before the first stamp, or stamps before the first ping, at most
EVEN = 0.5  # more of the pairs than this cannot go together in two ways, unless the gaps are even
FEW = 0.25  # of the first pairs go together
BEYOND_NS = 60 * NS_PER_S
APART_MAX = 200e-6  # crystals: twice what is usual, 100 parts in a million
JITTER_NS = 20_000  # of a stretch's offset
TIED_SHARE = 0.5  # of all pings have a stamp of their own


@dataclass(frozen=True)
class ClockOffsets:
    """What to add to times of the target's clock to get the instrument's: offsets at some times."""

    at: Times
    offset: Times

    def __call__(self, times: Times) -> Times:
        """Return times of the target's clock on the instrument's; ns."""
        first = int(self.offset[0])  # apart: a float holds no nanoseconds of a large number
        changed = np.interp(times, self.at, self.offset - first)
        on_instrument: Times = times + first + np.rint(changed).astype(np.int64)
        return on_instrument


def tie(stamps: Times, served: Times) -> ClockOffsets:
    """Return the clock that stamped the ends of the handlers of pings ``served``; ns both.

    Pings may lack a stamp, and stamps a ping. Raises ValueError with the reason where it is not
    certain which stamp belongs to which ping.
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

    Serves come at random gaps: of pairs that go together, each is as far apart as the one before.
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


def _beyond(at: list[int], offsets: list[float]) -> ClockOffsets:
    """Return a clock that also holds for the minute before the first offset and behind the last."""
    if len(at) > 1:
        few = min(STRETCH, len(at) - 1)
        before = (offsets[few] - offsets[0]) / (at[few] - at[0])
        behind = (offsets[-1] - offsets[-1 - few]) / (at[-1] - at[-1 - few])
        offsets = [offsets[0] - before * BEYOND_NS, *offsets, offsets[-1] + behind * BEYOND_NS]
        at = [at[0] - BEYOND_NS, *at, at[-1] + BEYOND_NS]
    return ClockOffsets(np.array(at, np.int64), np.rint(offsets).astype(np.int64))
