# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Go through a capture and a rally once, side by side, and pair their balls."""

import itertools
from math import floor, log10, sqrt

import numpy as np

from tennis.rally import Rally
from tennis.rally.text import plain
from tennis.umpire.agreement import pairing
from tennis.umpire.agreement.balls import NONE, Balls, Decoder
from tennis.umpire.agreement.comparing import BallByBall
from tennis.umpire.agreement.pairing import Anchor, Follower, Pairs, Scale, Unpaired, find_anchor
from tennis.umpire.agreement.pictures import DIVISIONS, Persistence
from tennis.umpire.agreement.queues import CaptureQueue, RallyQueue, reaches
from tennis.umpire.agreement.rally_balls import RallyBalls, rally_balls
from tennis.umpire.agreement.result import KINDS, MAX_CLOCK_PPM, Check
from tennis.umpire.captures.edges import Capture
from tennis.units import format_count, format_ns, tick_ns

RIGHT = 0.9  # of the balls must pair, where it is this rally on these wires
SPREAD = 3.0  # times what the resolutions explain: then these are not the same balls
RELATED = 5.0  # standard errors of the rank correlation of what both say, or it may be chance
OTHER_RALLY = (
    "it is a capture of another rally, or of other wires; name the capture that was taken with it"
)


def _decoder(rally: Rally, capture: Capture) -> Decoder:
    protocol = rally.manifest.protocol
    # a little longer: of an answer in the last moment the clocks may think differently
    timeout = protocol.timeout_ns * (1 + MAX_CLOCK_PPM * 1e-6) + 2 * capture.resolution_ns
    pulse_ns = 0 if rally.manifest.drill else protocol.pulse_ns
    return Decoder(timeout / capture.tick_ns, pulse_ns / capture.tick_ns)


def _scale(rally: Rally, capture: Capture) -> Scale:
    protocol, drill = rally.manifest.protocol, rally.manifest.drill
    if drill:
        return Scale(
            tick_ns(rally.tick_hz), capture.tick_ns, capture.resolution_ns, drill.period_ns, True
        )
    is_open = protocol.loop == "open" and protocol.rate_hz
    gap = 1e9 / protocol.rate_hz if is_open and protocol.rate_hz else protocol.gap_min_ns
    even = bool(is_open) or protocol.gap_max_ns - protocol.gap_min_ns < 10 * capture.resolution_ns
    return Scale(tick_ns(rally.tick_hz), capture.tick_ns, capture.resolution_ns, gap, even)


class SideBySide:
    """One run through both."""

    def __init__(self, rally: Rally, capture: Capture, result: Check) -> None:
        self._rally = rally
        self._capture = capture
        self._found = result
        self._scale = _scale(rally, capture)
        self._timeout_ns = rally.manifest.protocol.timeout_ns
        result.decoder = self._decoder = _decoder(rally, capture)
        window = _window_ns(rally)
        result.persistence = Persistence(window, capture.tick_ns, capture.resolution_ns)
        self._comparison = BallByBall(result, capture, self._timeout_ns)
        self._by_order = False
        self._spread_ns = 0.0  # of the serves about their line

    def pair(self) -> str:
        """Pair everything; say why it cannot be done, empty where it could."""
        result, capture = self._found, self._capture
        assert result.persistence is not None  # noqa: S101
        balls = CaptureQueue(self._decoder.decode(capture), result.persistence.add)
        count = 0

        def enough(more: Balls) -> bool:
            nonlocal count
            count += len(more)
            return count >= pairing.HELD

        balls.hold(enough)
        if not len(balls.held):
            return self._no_ball()
        anchor = find_anchor(balls.held, lambda: rally_balls(self._rally), self._scale)
        if anchor is None:
            return f"the gaps between its balls are not those of this rally: {OTHER_RALLY}"
        if anchor.places > 1:
            # the first with the first, if the capture holds all of the rally and no more
            self._by_order = True
            anchor = Anchor(0, 0)
        self._follow(balls, anchor)
        self._comparison.finish()
        return self._doubt()

    def _no_ball(self) -> str:
        seen = [
            name
            for name, pulses in (
                (self._capture.ping, self._decoder.ping),
                (self._capture.reply, self._decoder.reply),
            )
            if pulses.count
        ]
        reason = f"only {plain(seen[0], 20)} ever changes" if len(seen) == 1 else "nothing changes"
        return (
            f"there is no ball in the capture: {reason} there; "
            "check probes, ground and thresholds, and capture again"
        )

    def _follow(self, balls: CaptureQueue, anchor: Anchor) -> None:
        result, scale = self._found, self._scale
        start = rally_balls(self._rally, anchor.brickwall)
        first = next(start)
        ppm = self._first_ppm(first, balls.held[anchor.analyser :])
        here = (
            float(first.served_ns[0]),
            float(balls.held.served[anchor.analyser] * self._capture.tick_ns),
        )
        self._backward(balls, anchor, Follower(scale, -here[0], -here[1], ppm))
        balls.drop(anchor.analyser)
        follower = Follower(scale, *here, ppm)
        queue = RallyQueue(itertools.chain([first], start))
        while not follower.tally.lost:
            step = queue.take(follower.step)
            if not len(step):
                break
            until = follower.expected(step.served_ns[-1:].astype(np.float64))[0] + scale.reach_ns
            balls.hold(reaches(until / self._capture.tick_ns))
            last = not queue.more()
            if balls.ended:
                step, left = self._covered(step, follower)
                result.uncovered += left
                if left:
                    result.uncovered += queue.drain()
                    last = True
                if not len(step):
                    break
            pairs, used = follower.pair(step, balls.held, last=False)
            balls.drop(used)
            if not follower.tally.lost:
                expected = follower.expected(pairs.rally.served_ns.astype(np.float64))
                self._comparison.take(pairs, expected)
            if last:
                break
        follower.finish()
        if follower.tally.lost:
            at = self._capture.tick_ns * (
                balls.held.served[0] if len(balls.held) else self._capture.end_ticks
            )
            result.notes.append(
                f"after {format_count(result.balls, 'ball')} and {at / 1e9:.3f} s nothing "
                "matches any more"
            )
            result.lost = True
        # what comes after the rally's last ball is nobody's business, but it is looked at
        while not balls.ended:
            balls.drop(len(balls.held))
            balls.hold(lambda more: len(more) > 0)
        self._count(follower.tally)
        result.uncovered += queue.drain() + follower.tally.beyond
        self._spread_ns = follower.spread_ns

    def _first_ppm(self, rally: RallyBalls, balls: Balls) -> float:
        size = min(len(rally), len(balls), pairing.WINDOW)
        x = (rally.served_ns[:size] - rally.served_ns[0]).astype(np.float64)
        y = (balls.served[:size] - balls.served[0]) * self._capture.tick_ns
        spread = float(((x - x.mean()) ** 2).sum())
        slope = float(((x - x.mean()) * (y - y.mean())).sum()) / spread if spread else 1.0
        error = self._capture.resolution_ns / sqrt(spread) if spread else 1.0
        ppm = (slope - 1) * 1e6
        # what is within the error is nothing
        return 0.0 if abs(ppm) < error * 1e6 else float(np.clip(ppm, -500, 500))

    def _backward(self, balls: CaptureQueue, anchor: Anchor, follower: Follower) -> None:
        """Pair what came before the anchor: the same, with times that run backwards."""
        result = self._found
        result.uncovered += anchor.brickwall
        count = anchor.analyser
        if not anchor.brickwall or not count:
            return
        first = max(0, anchor.brickwall - 2 * count - 2 * pairing.STEP)
        queue = RallyQueue(rally_balls(self._rally, first))
        before = queue.take(anchor.brickwall - first)
        back = before.backward()
        mine = balls.held[:count]
        held = Balls(-mine.served[::-1], mine.rise[::-1], mine.fall[::-1])
        at = 0
        while at < len(back) and not follower.tally.lost:
            step = back[at : at + follower.step]
            expected = follower.expected(step.served_ns.astype(np.float64))
            # ball by ball until the capture had not begun
            inside = int((-expected > self._scale.reach_ns).sum())
            step = step[:inside]
            if not inside:
                break
            pairs, used = follower.pair(step, held, last=False)
            held = held[used:]
            at += inside
            forth = Balls(-pairs.balls.served[::-1], pairs.balls.rise[::-1], pairs.balls.fall[::-1])
            expected = follower.expected(pairs.rally.served_ns.astype(np.float64))
            self._comparison.take(Pairs(pairs.rally.backward(), forth), -expected[::-1])
        result.uncovered -= at
        self._count(follower.tally)
        result.lost = follower.tally.lost

    def _count(self, tally: Unpaired) -> None:
        """Take over what could not be paired."""
        self._found.unmatched_brickwall += tally.brickwall
        self._found.unmatched_analyser += tally.analyser
        for number in tally.missing:
            self._found.name(number, "not seen by the analyser")

    def _covered(self, step: RallyBalls, follower: Follower) -> tuple[RallyBalls, int]:
        """Return the balls that were decided before the capture ended, and how many were not."""
        expected = follower.expected(step.served_ns.astype(np.float64))
        ends = np.where(step.fall == NONE, self._timeout_ns, step.fall * self._found.tick_ns)
        end = self._capture.end_ticks * self._capture.tick_ns - 2 * self._scale.reach_ns
        late = np.flatnonzero(expected + ends > end)
        cut = int(late[0]) if late.size else len(step)
        return step[:cut], len(step) - cut

    def _doubt(self) -> str:
        """Say why the pairs cannot be believed; empty where they can."""
        result = self._found
        reason = f"its gaps are like this rally's, but not the same: {OTHER_RALLY}"
        if result.lost and result.balls < 2 * pairing.WINDOW:
            return reason
        if not result.lost and 2 * result.balls < result.balls + result.unmatched:
            return reason
        # gaps that are alike show nothing: which ball is which, the latencies must
        result.by_order = self._by_order
        if self._scale.even:
            result.by_order = self._comparison.related < RELATED
        if (self._by_order or result.by_order) and (
            result.lost or result.uncovered or result.unmatched
        ):
            return (
                "the balls came at a fixed rate and their latencies are all alike, so that nobody "
                "can tell which is which: capture the whole rally, or play a closed loop"
            )
        explained = SPREAD * (self._capture.resolution_ns + result.tick_ns)
        explained += 1.5 * pairing.JITTER_NS
        if self._spread_ns > explained:
            return reason
        if any(self._comparison.spread_ns.get(kind, 0) > explained for kind in KINDS):
            return f"its latencies have nothing to do with this rally's: {OTHER_RALLY}"
        return self._wrong_wires()

    def _wrong_wires(self) -> str:
        """Say what shows that these are not the two wires; empty where nothing does."""
        result = self._found
        if self._rally.manifest.drill:
            return ""
        width = self._decoder.ping.median
        pulse = self._rally.manifest.protocol.pulse_ns
        if width is not None:
            width *= self._capture.tick_ns
            if abs(width - pulse) > 1.5 * self._capture.resolution_ns + 0.02 * pulse + 20:
                return (
                    f"the pulses on {plain(self._capture.ping, 20)} last {format_ns(round(width))},"
                    f" the rally's pings {format_ns(pulse)}: it is not the ping wire, or not this "
                    "rally; check the probes, and capture again"
                )
        answered = self._rally.interrupt.n > (1 - RIGHT) * self._rally.balls
        if answered and result.disagree > RIGHT * max(result.balls, 1):
            return (
                "the analyser saw no reply to balls that were answered: check the probe on the "
                "reply wire and its threshold, and capture again"
            )
        return ""

    def conclude(self) -> None:
        """Compute what the pairs say."""
        self._comparison.conclude()


def _window_ns(rally: Rally) -> float:
    """Return how much time a picture of all balls should show: ten divisions of an oscilloscope."""
    tick = tick_ns(rally.tick_hz)
    window_ns = 0.0
    for tally in (rally.interrupt, rally.scheduling):
        if tally.n:
            window_ns += (tally.at(max(1, round(0.99 * tally.n))) or 0) * tick
    least = max(1.3 * window_ns, 2.0 * rally.manifest.protocol.pulse_ns) / DIVISIONS
    decade = 10.0 ** floor(log10(least))
    return DIVISIONS * decade * next(step for step in (1, 2, 5, 10) if step * decade >= least)
