"""Pair the analyser's balls with the rally's, by the pattern of their gaps.

Neither instrument knows the other's clock, and either may have begun later or ended earlier. Gaps
are random, so a few in a row occur once in a rally: that anchors the pairing. Latencies are a part
of the pattern. In an open loop they are all of it: its gaps are alike. From the anchor on the
pairing follows the times, a thousand balls at once, and learns the clocks' ratio on the way.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from tennis.report.umpire.agreement.balls import NONE, Balls
from tennis.report.umpire.agreement.rally_balls import RallyBalls

WINDOW = 16  # balls in a row that anchor
LONG_WINDOW = 512  # if gaps are alike
WINDOWS = 48  # places in the capture at which an anchor is looked for
LONG_WINDOWS = 6
HELD = 1 << 15  # of the capture's first balls, among which the anchor must be
MAX_PPM = 500.0  # between two clocks; crystals are within 100
STEP, MAX_STEP = 64, 1024  # balls that are followed at once
FOLLOWED_NS = 20_000.0  # how far a ball may be from its expected time
RATIO_KNOWN_NS = 3_000.0  # the same once the clocks' ratio is known
LOST_AFTER = 64  # balls of which fewer than half are found: the pairing is lost
LAST = 3  # balls in a row at the end that are not found: it was lost there
JITTER_NS = 40.0  # of an edge (sd) that is slow or noisy: as much is allowed
MANY = 1000  # places that fit are too many to try any further

Times = NDArray[np.float64]


@dataclass(frozen=True)
class Scale:
    """The properties of both instruments that are known before pairing."""

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
        # if gaps are alike, only the latencies distinguish the places
        jitter = 20.0 if self.even else 6 * JITTER_NS
        return 2 * self.resolution_ns + 2 * self.tick_ns + jitter

    @property
    def reach_ns(self) -> float:
        """Return how far off its expected time a ball may be."""
        return min(FOLLOWED_NS, self.gap_ns / 4) + self.resolution_ns


@dataclass(frozen=True)
class _Anchor:
    """The ball ``analyser`` of the capture is the ball ``brickwall`` of the rally."""

    analyser: int
    brickwall: int
    places: int = 1  # at which the pattern occurs; more than one: it is ambiguous


def _find_anchor(balls: Balls, rally: RallyBalls, scale: Scale) -> _Anchor | None:
    """Look for the capture's first balls in the rally; None: they are not in it."""
    balls = balls[:HELD]
    size = min(scale.window, len(balls))
    if size < 3:
        return None
    last = len(balls) - size
    # close together first: balls before the anchor are paired backwards
    half = WINDOWS // 2 if size <= WINDOW else LONG_WINDOWS // 2
    near = list(range(0, last + 1, max(size // 2, 1)))[:half]
    far = np.linspace(0, last, half).astype(int).tolist()
    best: _Anchor | None = None
    for at in sorted({*near, *far}):
        places = _places(balls[at : at + size], rally, scale)
        if places.size == 1:
            return _Anchor(at, int(places[0]))
        if places.size and best is None:
            best = _Anchor(at, int(places[0]), places.size)
    return best


def _places(pattern: Balls, balls: RallyBalls, scale: Scale) -> NDArray[np.intp]:
    """Return the places at which a pattern begins; fewer are left with each ball of it."""
    size = len(pattern)
    since_ns = (pattern.served - pattern.served[0]) * scale.sample_ns
    places = np.arange(len(balls) - size + 1)
    served = balls.served_ns
    bias: dict[str, Times] = {}
    for n in range(size):
        if n:
            gaps = (served[places + n] - served[places]).astype(np.float64)
            allowed = scale.slack_ns + since_ns[n] * MAX_PPM * 1e-6
            fit = np.abs(gaps - since_ns[n]) <= allowed
            places, bias = places[fit], {name: values[fit] for name, values in bias.items()}
        # a constant bias is the result that is searched for: latencies are compared with those of
        # the first
        for name in ("rise", "fall"):
            mine = getattr(pattern, name)[n]
            if mine == NONE or not places.size:
                continue
            mine_ns = mine * scale.sample_ns
            ticks = getattr(balls, name)[places + n]
            off = np.where(ticks == NONE, np.nan, ticks * scale.tick_ns - mine_ns)
            if name not in bias:
                bias[name] = off
                continue
            bias[name] = np.where(np.isnan(bias[name]), off, bias[name])
            allowed = scale.slack_ns + mine_ns * MAX_PPM * 1e-6
            fit = np.isnan(off) | (np.abs(off - bias[name]) <= allowed)
            places, bias = places[fit], {key: values[fit] for key, values in bias.items()}
        if not places.size:
            break
    return places


@dataclass(frozen=True)
class Pairs:
    """Balls that belong together: the same indices into all three."""

    rally: RallyBalls
    balls: Balls
    expected_ns: Times  # when the analyser should have seen the serves

    @classmethod
    def joined(cls, parts: list["Pairs"]) -> "Pairs":
        """Put parts together."""
        return cls(
            RallyBalls.joined([part.rally for part in parts]),
            Balls.joined([part.balls for part in parts]),
            np.concatenate([np.zeros(0), *(part.expected_ns for part in parts)]),
        )

    def backward(self) -> "Pairs":
        """Return them from the last to the first, with times that run backwards."""
        return Pairs(self.rally.backward(), self.balls.backward(), -self.expected_ns[::-1])


class _Follower:
    """Pairs balls in the order of their times, from a first pair on."""

    def __init__(self, scale: Scale, rally: RallyBalls, balls: Balls, ppm: float) -> None:
        self._scale = scale
        self._rally = rally
        self._balls = balls
        self._seen_ns: Times = (balls.served * scale.sample_ns).astype(np.float64)
        self._ratio = 1 + ppm * 1e-6
        self._step = STEP
        self._ratio_is_known = False
        self._spreads: list[float] = []
        self._bad = 0  # balls in steps in which fewer than half were found
        self._missed_in_a_row = 0
        self.pairs: list[Pairs] = []
        self.covered = 0  # of the rally's balls, those that the capture covers
        self.used = 0  # of the capture's balls
        self.missing: list[int] = []  # numbers of the rally's balls that the analyser did not see
        self.unmatched_analyser = 0
        self.lost = False  # nothing fits any more

    def follow(
        self, here: tuple[float, float], covered: Callable[[RallyBalls, Times], int]
    ) -> None:
        """Pair all balls; ``here``: a moment by both clocks, the rally's and the analyser's.

        ``covered`` says how many of some balls, expected at such times, the capture covers.
        """
        self._at = here
        while not self.lost:
            step = self._rally[self.covered : self.covered + self._step]
            inside = covered(step, self._expected(step)) if len(step) else 0
            if not inside:
                break
            self._pair(step[:inside])
            if inside < len(step):
                break
        # a loss shortly before the end counts, too
        self.lost |= self._missed_in_a_row >= LAST

    @property
    def spread_ns(self) -> float:
        """Return how far serves usually are from their expected times, within a step."""
        return float(np.median(self._spreads)) if self._spreads else 0.0

    def _expected(self, rally: RallyBalls) -> Times:
        """Return when, on the analyser's clock, balls should be seen."""
        since = rally.served_ns.astype(np.float64) - self._at[0]
        return np.asarray(self._at[1] + since * self._ratio, np.float64)

    def _pair(self, rally: RallyBalls) -> None:
        """Pair the rally's next balls with the capture's."""
        reach = self._scale.reach_ns
        if self._ratio_is_known:
            reach = min(reach, RATIO_KNOWN_NS + 3 * self._scale.resolution_ns)
        expected = self._expected(rally)
        end = int(np.searchsorted(self._seen_ns, expected[-1] + reach, side="right"))
        used = slice(self.used, max(end, self.used))
        seen_ns = self._seen_ns[used]
        near, nearest = np.zeros(0, np.intp), np.zeros(expected.size, np.intp)
        if seen_ns.size:
            right = np.searchsorted(seen_ns, expected).clip(0, seen_ns.size - 1)
            left = np.maximum(right - 1, 0)
            nearer = np.abs(seen_ns[left] - expected) <= np.abs(seen_ns[right] - expected)
            nearest = np.where(nearer, left, right)
            off = np.abs(seen_ns[nearest] - expected)
            near = np.flatnonzero(off <= reach)
            # of two for one ball, the nearer
            near = near[np.lexsort((off[near], nearest[near]))]
        _, firsts = np.unique(nearest[near], return_index=True)
        found = np.sort(near[firsts])
        balls = self._balls[used]
        self.covered += len(rally)
        self.used = used.stop
        if found.size:
            self._missed_in_a_row = len(rally) - 1 - int(found[-1])
        else:
            self._missed_in_a_row += len(rally)
        self._bad = self._bad + len(rally) if 2 * found.size < len(rally) else 0
        if self._bad >= LOST_AFTER:
            self.lost = True
            self.covered -= len(rally)
            return
        self.missing += np.delete(rally.number, found).tolist()
        self.unmatched_analyser += len(balls) - int(found.size)
        self._learn(rally.served_ns[found].astype(np.float64), seen_ns[nearest[found]])
        paired = rally[found]
        self.pairs.append(Pairs(paired, balls[nearest[found]], self._expected(paired)))

    def _learn(self, theirs: Times, mine: Times) -> None:
        """Correct both clocks by what these pairs say."""
        if theirs.size < 8:
            return
        x, y = theirs - theirs[-1], mine - mine[-1]
        slope = _slope_of(x, y)
        if slope is None:
            return
        limit = MAX_PPM * 1e-6
        self._ratio = min(max(slope, 1 - limit), 1 + limit)
        self._ratio_is_known = theirs.size >= STEP // 2
        off = np.abs(y - y.mean() - slope * (x - x.mean()))
        self._spreads.append(1.4826 * float(np.median(off)))
        self._at = (float(theirs[-1]) + float(x.mean()), float(mine[-1]) + float(y.mean()))
        self._step = min(2 * self._step, MAX_STEP)


def _slope_of(x: Times, y: Times) -> float | None:
    """Return the slope of a line through points; None: they have one x."""
    spread = float(((x - x.mean()) ** 2).sum())
    return float(((x - x.mean()) * (y - y.mean())).sum()) / spread if spread else None


def _first_ppm(rally: RallyBalls, balls: Balls, scale: Scale) -> float:
    """Return how much faster the analyser's clock is, from the balls at the anchor."""
    size = min(len(rally), len(balls), WINDOW)
    x = (rally.served_ns[:size] - rally.served_ns[0]).astype(np.float64)
    slope = _slope_of(x, (balls.served[:size] - balls.served[0]) * scale.sample_ns)
    if slope is None:
        return 0.0
    ppm = (slope - 1) * 1e6
    error = scale.resolution_ns / sqrt(float(((x - x.mean()) ** 2).sum())) * 1e6
    # a value within its error counts as zero
    return 0.0 if abs(ppm) < error else float(np.clip(ppm, -MAX_PPM, MAX_PPM))


@dataclass
class Paired:
    """The balls of a rally and its capture that could be paired, and those that could not."""

    pairs: Pairs
    missing: list[int]  # numbers of the rally's balls that the analyser did not see
    unmatched_analyser: int
    uncovered: int  # of the rally, before the capture began or after it ended
    spread_ns: float  # of the serves about their line
    lost: bool  # from some ball on nothing fits any more
    used: int = 0  # of the capture's balls
    by_order: bool = field(default=False)  # nothing but their order says which ball is which


def pair(
    rally: RallyBalls, balls: Balls, scale: Scale, end_ns: float, timeout_ns: int
) -> Paired | None:
    """Pair a rally's balls with a capture's, which ends at ``end_ns``; None: nothing fits."""
    anchor = _find_anchor(balls, rally, scale)
    if anchor is None:
        return None
    by_order = anchor.places > 1
    if by_order:  # the first with the first, if the capture holds exactly the rally
        anchor = _Anchor(0, 0)
    after, seen_after = rally[anchor.brickwall :], balls[anchor.analyser :]
    before, seen_before = rally[: anchor.brickwall], balls[: anchor.analyser]
    ppm = _first_ppm(after, seen_after, scale)
    here = float(after.served_ns[0]), float(seen_after.served[0] * scale.sample_ns)

    def begun(step: RallyBalls, expected: Times) -> int:
        del step
        return int((-expected > scale.reach_ns).sum())

    def decided(step: RallyBalls, expected: Times) -> int:
        """Count the balls that were decided before the capture ended."""
        ends = np.where(step.fall == NONE, timeout_ns, step.fall * scale.tick_ns)
        late = np.flatnonzero(expected + ends > end_ns - 2 * scale.reach_ns)
        return int(late[0]) if late.size else len(step)

    back = _Follower(scale, before.backward(), seen_before.backward(), ppm)
    if len(before) and len(seen_before):
        back.follow((-here[0], -here[1]), begun)
    forth = _Follower(scale, after, seen_after, ppm)
    forth.follow(here, decided)
    return Paired(
        Pairs.joined([*(part.backward() for part in reversed(back.pairs)), *forth.pairs]),
        sorted(back.missing) + forth.missing,
        back.unmatched_analyser + forth.unmatched_analyser,
        len(rally) - back.covered - forth.covered,
        forth.spread_ns,
        back.lost or forth.lost,
        anchor.analyser + forth.used,
        by_order,
    )
