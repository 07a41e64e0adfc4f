# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Which of the analyser's balls is which of the rally's: by the pattern of their gaps.

Neither instrument knows the other's clock, and either may have begun later or ended earlier. Gaps
are random, so a few in a row occur once in a rally: that anchors the pairing. Latencies are a part
of the pattern, which is what there is in an open loop, where all gaps are alike. From the anchor
on the pairing follows the times, a thousand balls at once, and learns the clocks' ratio on the way.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tennis.umpire.agreement.balls import NONE, Balls
from tennis.umpire.agreement.rally_balls import RallyBalls

WINDOW = 16  # balls in a row that anchor
LONG_WINDOW = 512  # where gaps are alike
WINDOWS = 48  # places in the capture at which an anchor is looked for
LONG_WINDOWS = 6
HELD = 1 << 15  # of the capture's first balls, among which the anchor must be
MAX_PPM = 500.0  # between two clocks; crystals are within 100
STEP, MAX_STEP = 64, 1024  # balls that are followed at once
FOLLOWED_NS = 20_000.0  # how far off a ball may be from where it is expected
RATIO_KNOWN_NS = 3_000.0  # the same once the clocks' ratio is known
LOST_AFTER = 64  # balls of which fewer than half are found: the pairing is lost
LAST = 3  # balls in a row at the end that are not found: it was lost there
JITTER_NS = 40.0  # of an edge (sd), where it is slow or noisy: as much is borne
SPREADS = 256  # steps of which it is kept how well they fitted
NAMED = 10  # balls that are named, of those that are wrong
MANY = 1000  # places that fit are too many to try any further


@dataclass(frozen=True)
class Scale:
    """What is known of both instruments before anything is paired."""

    tick_ns: float  # of the rally
    sample_ns: float  # of the capture: one tick of it
    resolution_ns: float  # between two samples
    gap_ns: float  # the shortest from one serve to the next, or less
    even: bool = False  # gaps are alike: an open loop, or a closed one without random gaps

    @property
    def window(self) -> int:
        """Return how many balls in a row anchor."""
        return LONG_WINDOW if self.even else WINDOW

    @property
    def slack_ns(self) -> float:
        """Return how much two differences may differ without a clock's fault."""
        # where gaps are alike, the latencies are all there is to tell one place from another
        jitter = 20.0 if self.even else 6 * JITTER_NS
        return 2 * self.resolution_ns + 2 * self.tick_ns + jitter

    @property
    def reach_ns(self) -> float:
        """Return how far off its expected time a ball may be."""
        return min(FOLLOWED_NS, self.gap_ns / 4) + self.resolution_ns


@dataclass(frozen=True)
class Anchor:
    """The ball ``analyser`` of the capture is the ball ``brickwall`` of the rally."""

    analyser: int
    brickwall: int
    places: int = 1  # at which the pattern occurs; more than one: it is ambiguous


@dataclass
class _Window:
    """A pattern that is looked for."""

    at: int  # in the capture
    since_ns: NDArray[np.float64]  # serves, from the window's first
    rise_ns: NDArray[np.float64]  # NaN: missed
    fall_ns: NDArray[np.float64]
    found: list[int] = field(default_factory=list)
    too_many: bool = False


def find_anchor(
    balls: Balls, rally: Callable[[], Iterator[RallyBalls]], scale: Scale
) -> Anchor | None:
    """Look for the capture's first balls in the rally; None: they are not in it."""
    size = min(scale.window, len(balls))
    if size < 3:
        return None
    last = len(balls) - size
    # close together first: what comes before the anchor is paired backwards
    half = WINDOWS // 2 if size <= WINDOW else LONG_WINDOWS // 2
    near = list(range(0, last + 1, max(size // 2, 1)))[:half]
    far = np.linspace(0, last, half).astype(int).tolist()
    windows = [_window(balls, at, size, scale) for at in sorted({*near, *far})]
    before = RallyBalls.joined([])
    first = 0
    for batch in rally():
        joined = RallyBalls.joined([before, batch])
        for window in windows:
            _narrow(window, joined, first, scale)
        keep = min(size - 1, len(joined))
        before = joined[len(joined) - keep :]
        first += len(joined) - keep
    best: Anchor | None = None
    for window in windows:
        if window.too_many or not window.found:
            continue
        anchor = Anchor(window.at, window.found[0], len(window.found))
        if anchor.places == 1:
            return anchor
        best = best or anchor
    if best is None and any(window.too_many for window in windows):
        return Anchor(0, 0, MANY)
    return best


def _window(balls: Balls, at: int, size: int, scale: Scale) -> _Window:
    part = balls[at : at + size]
    ns = scale.sample_ns
    return _Window(
        at,
        (part.served - part.served[0]) * ns,
        np.where(part.rise == NONE, np.nan, part.rise * ns),
        np.where(part.fall == NONE, np.nan, part.fall * ns),
    )


def _narrow(window: _Window, balls: RallyBalls, first: int, scale: Scale) -> None:
    """Find the places at which a pattern begins; fewer are left with each ball of it."""
    size = window.since_ns.size
    places = np.arange(len(balls) - size + 1)
    if not places.size or window.too_many:
        return
    served = balls.served_ns
    bias: dict[str, NDArray[np.float64]] = {}
    for n in range(size):
        if n:
            expected = window.since_ns[n]
            gaps = (served[places + n] - served[places]).astype(np.float64)
            allowed = scale.slack_ns + expected * MAX_PPM * 1e-6
            places_fit = np.abs(gaps - expected) <= allowed
            places = places[places_fit]
            bias = {name: values[places_fit] for name, values in bias.items()}
        # a constant bias is what is to be found: latencies are compared with those of the first
        for name, mine, theirs in (
            ("rise", window.rise_ns, balls.rise),
            ("fall", window.fall_ns, balls.fall),
        ):
            if np.isnan(mine[n]) or not places.size:
                continue
            ticks = theirs[places + n]
            off = np.where(ticks == NONE, np.nan, ticks * scale.tick_ns - mine[n])
            if name not in bias:
                bias[name] = off
                continue
            bias[name] = np.where(np.isnan(bias[name]), off, bias[name])
            allowed = scale.slack_ns + mine[n] * MAX_PPM * 1e-6
            fit = np.isnan(off) | (np.abs(off - bias[name]) <= allowed)
            places = places[fit]
            bias = {key: values[fit] for key, values in bias.items()}
        if not places.size:
            return
    window.found += [first + int(place) for place in places[: MANY + 1]]
    window.too_many = len(window.found) > MANY


@dataclass(frozen=True)
class Pairs:
    """Balls that belong together: the same indices into ``rally`` and ``balls``."""

    rally: RallyBalls
    balls: Balls


@dataclass
class Unpaired:
    """What could not be paired."""

    brickwall: int = 0  # of the rally, while the analyser looked on
    analyser: int = 0
    beyond: int = 0  # of the rally, once nothing fits any more
    lost: bool = False  # nothing fits any more
    missing: list[int] = field(default_factory=list)  # numbers of the rally's first ones


class Follower:
    """Pairs balls in the order of their times, from a first pair on."""

    def __init__(self, scale: Scale, brickwall_ns: float, analyser_ns: float, ppm: float) -> None:
        self._scale = scale
        self._at = (brickwall_ns, analyser_ns)  # where both clocks are known
        self._ratio = 1 + ppm * 1e-6
        self.tally = Unpaired()
        self._step = STEP
        self._ratio_is_known = False
        self._spreads: list[float] = []
        self._bad = 0  # balls, of steps in which fewer than half were found
        self._missed_in_a_row = 0

    @property
    def reach_ns(self) -> float:
        """Return how far off its expected time a ball may be."""
        reach = self._scale.reach_ns
        return (
            min(reach, RATIO_KNOWN_NS + 3 * self._scale.resolution_ns)
            if self._ratio_is_known
            else reach
        )

    def expected(self, served_ns: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return when, on the analyser's clock, balls should be seen."""
        return self._at[1] + (served_ns - self._at[0]) * self._ratio

    @property
    def spread_ns(self) -> float:
        """Return how far serves usually are from where they are expected, within a step."""
        return float(np.median(self._spreads)) if self._spreads else 0.0

    @property
    def step(self) -> int:
        """Return how many of the rally's balls should come next."""
        return self._step

    def pair(self, rally: RallyBalls, balls: Balls, *, last: bool) -> tuple[Pairs, int]:
        """Pair some of the rally's balls; say how many of the capture's are used up.

        ``last``: the rally has no more, so nothing else can be expected.
        """
        theirs = rally.served_ns.astype(np.float64)
        mine = (balls.served * self._scale.sample_ns).astype(np.float64)
        expected = self.expected(theirs)
        right = np.searchsorted(mine, expected).clip(1, max(mine.size - 1, 1))
        left = right - 1
        if mine.size < 2:
            nearest = np.zeros(expected.size, np.intp)
        else:
            nearer = np.abs(mine[left] - expected) <= np.abs(mine[right] - expected)
            nearest = np.where(nearer, left, right)
        if mine.size:
            off = mine[nearest] - expected
            near = np.flatnonzero(np.abs(off) <= self.reach_ns)
        else:
            off, near = np.zeros(0), np.zeros(0, np.intp)
        # of two for one ball, the nearer
        order = near[np.lexsort((np.abs(off[near]), nearest[near]))]
        _, firsts = np.unique(nearest[order], return_index=True)
        brickwall = np.sort(order[firsts])
        analyser = nearest[brickwall]
        until = expected[-1] + self.reach_ns if expected.size else -np.inf
        used = mine.size if last else int(np.searchsorted(mine, until, side="right"))
        self._count(brickwall, rally, used, analyser)
        self._learn(theirs[brickwall], mine[analyser])
        return Pairs(
            rally.at(brickwall),
            Balls(balls.served[analyser], balls.rise[analyser], balls.fall[analyser]),
        ), used

    def _count(
        self, brickwall: NDArray[np.intp], rally: RallyBalls, used: int, analyser: NDArray[np.intp]
    ) -> None:
        if brickwall.size:
            self._missed_in_a_row = len(rally) - 1 - int(brickwall[-1])
        else:
            self._missed_in_a_row += len(rally)
        if 2 * brickwall.size < len(rally):
            self._bad += len(rally)
            if self._bad >= LOST_AFTER:
                self.tally.lost = True
                self.tally.beyond += len(rally)
                return
        else:
            self._bad = 0
        self.tally.brickwall += len(rally) - int(brickwall.size)
        missing = np.delete(rally.number, brickwall)
        self.tally.missing += missing[: NAMED - len(self.tally.missing)].tolist()
        self.tally.analyser += used - int(analyser.size)

    def finish(self) -> None:
        """Say that there is no more: what was lost shortly before is lost, too."""
        self.tally.lost |= self._missed_in_a_row >= LAST

    def _learn(self, theirs: NDArray[np.float64], mine: NDArray[np.float64]) -> None:
        """Correct both clocks by what these pairs say."""
        if theirs.size < 8:
            return
        x, y = theirs - theirs[-1], mine - mine[-1]
        spread = float(((x - x.mean()) ** 2).sum())
        if not spread:
            return
        slope = float(((x - x.mean()) * (y - y.mean())).sum()) / spread
        limit = MAX_PPM * 1e-6
        self._ratio = min(max(slope, 1 - limit), 1 + limit)
        self._ratio_is_known = theirs.size >= STEP // 2
        if len(self._spreads) < SPREADS:
            off = np.abs(y - y.mean() - slope * (x - x.mean()))
            self._spreads.append(1.4826 * float(np.median(off)))
        middle = float(x.mean())
        self._at = (float(theirs[-1]) + middle, float(mine[-1]) + float(y.mean()))
        self._step = min(2 * self._step, MAX_STEP)
