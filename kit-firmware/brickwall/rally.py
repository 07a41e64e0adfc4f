# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""A play: grants words to the server, makes balls of the stampers' edges, and frames of those."""

import json
import struct
import time

import balls
import micropython
import server
import wire
import wires
from machine import Pin
from memory import zeros
from micropython import const
from programs import PULSE_AGAIN_TICKS, SERVE_CLOSED_TICKS, SERVE_OPEN_TICKS

# what `play` takes; all but `loop` and `rally` are whole numbers
NUMBERS = (
    "balls",
    "first",
    "sequence",
    "clock_ticks",
    "seed",
    "gap_min_ns",
    "gap_max_ns",
    "period_ns",
    "pulse_ns",
    "timeout_ns",
    "settle_ns",
    "give_up_ns",
)
_ALL = NUMBERS + ("rally", "loop")  # noqa: RUF005 not in MicroPython
PULSE_MIN_TICKS = 8
TIMEOUT_MAX_NS = 30 * 10**9
# a stamper's DMA stores two words a ball, with room left for strays
BALLS_MAX = 10**8
# how late the play loop may be: what it compares with 32 bits of ticks must still fit
_SLACK_S = 2
_FLUSH_MS = 100
# so many runts of a wire a step deals with, besides the first
_RUNTS_A_STEP = const(48)
# so many steps may be done without a look at what has time
_TEND_STEPS = const(8)
# where a step finds so many balls, more come before a pause would be over
_BUSY_BALLS = const(8)
_NO_PING_MS = 1000
# an edge has surely reached memory by then
_MARGIN_US = 50
# the look at the reply every second cycle, and the word that is never 0
_CLOSED_TOLERANCE_TICKS = 4
# a pad at the edge of a cycle is seen one cycle later now and then
_OPEN_TOLERANCE_TICKS = 1
# the longest time that ``balls.pass_time`` takes at once
_PASS_US = 1 << 22

_NS_A_S = 10**9
_EVENT_OVERRUN = 6
_EVENT_UNLISTED = 8
_NO_PING = 3
_UNDECIDED = 4
_REASON_COMPLETE = 0
_REASON_NO_ANSWER = 1
_REASON_FAULT = 4
REASON_STOPPED = 5


class PlayError(Exception):
    """A play that cannot be: why, and a word for programs."""

    def __init__(self, message, code):
        super().__init__(message)
        self.code = code


class Settings:
    """What is played, in ticks."""

    def __init__(self, parameters, tick_hz):
        self.parameters = given = _numbers(parameters)
        self.tick_hz = tick_hz

        def ticks(name):
            return given[name] * tick_hz // _NS_A_S

        self.closed = given["loop"] == "closed"
        self.listens = given["loop"] == "listen"
        self.first, self.total = given["first"], given["balls"] - given["first"]
        self.pulse = ticks("pulse_ns")
        self.timeout = ticks("timeout_ns") & ~1
        self.settle = ticks("settle_ns")
        self.give_up = ticks("give_up_ns")
        self.own = self.gap_min = self.gap_max = shortest = 0
        if self.listens:
            if self.first:
                raise PlayError("what was not heard cannot be heard again: first is 0", "balls")
        elif self.closed:
            self.gap_min, self.gap_max = ticks("gap_min_ns"), ticks("gap_max_ns")
            self.own = SERVE_CLOSED_TICKS
            shortest = server.CLOSED_GAP_MIN_TICKS
        else:
            self.gap_min = self.gap_max = ticks("period_ns")
            self.own = SERVE_OPEN_TICKS
            shortest = server.OPEN_PERIOD_MIN_TICKS
        if not 0 < self.total <= BALLS_MAX:
            raise PlayError("1 to %d balls a play, not %d" % (BALLS_MAX, self.total), "balls")
        if self.pulse < PULSE_MIN_TICKS and not self.listens:
            raise PlayError("a pulse has %d ticks at least" % PULSE_MIN_TICKS, "pulse")
        shortest = max(shortest, self.pulse + PULSE_AGAIN_TICKS)
        if self.gap_min < shortest and not self.listens:
            raise PlayError(
                "the gap or period is %d ticks; after this pulse %d at least"
                % (self.gap_min, shortest),
                "gap",
            )
        if self.gap_max < self.gap_min:
            raise PlayError("gap_max_ns is less than gap_min_ns", "gap")
        if not 0 < given["timeout_ns"] <= TIMEOUT_MAX_NS:
            raise PlayError("a timeout has 30 s at most", "timeout")
        longest = self.timeout + self.gap_max + _SLACK_S * tick_hz
        if max(longest, self.settle + self.gap_max) >= 1 << 32:
            raise PlayError("timeout, gap and settle are too long for this clock", "timeout")


def _numbers(parameters):
    given = dict(parameters)
    missing = [name for name in _ALL if name not in given]
    if missing or len(given) != len(_ALL):
        raise PlayError("play takes exactly: rally loop " + " ".join(NUMBERS), "parameters")
    for name in NUMBERS:
        if not given[name].isdigit():
            raise PlayError("not a number: %s=%s" % (name, given[name]), "parameters")
        given[name] = int(given[name])
    if given["loop"] not in ("closed", "open", "listen"):
        raise PlayError("loop is closed, open or listen", "parameters")
    try:
        if len(given["rally"]) != 8:
            raise ValueError
        int(given["rally"], 16)
    except ValueError:
        raise PlayError("a rally has a name of 8 hexadecimal digits", "parameters") from None
    return given


class Rally:
    """One play at a time: ``start``, then ``step`` until it says that it ended."""

    def __init__(self, pins, stampers, sender, panel):
        self._pins = pins
        self._stampers = stampers
        self._server = server.Server()
        self._sender = sender
        self._panel = panel
        self._state = zeros(balls.STATE_WORDS)
        self.playing = False
        self.settings = None

    def start(self, settings, hello, reply_is_driven):
        """Start to play; ``hello`` is told first, with the parameters.

        ``reply_is_driven``: by this Pico's own generator; the pad is its output then.
        """
        if not reply_is_driven:
            wires.make_input(self._pins["reply"])
        self.settings = settings
        given = settings.parameters
        state = self._state
        for n in range(balls.STATE_WORDS):
            state[n] = 0
        state[balls.TOTAL] = settings.total
        state[balls.TIMEOUT] = settings.timeout
        state[balls.BEYOND_WORD] = settings.own
        state[balls.TOLERANCE] = (
            _CLOSED_TOLERANCE_TICKS if settings.closed else _OPEN_TOLERANCE_TICKS
        )
        state[balls.OPEN_LOOP] = not settings.closed
        state[balls.CLOCK_LOW] = given["clock_ticks"] & 0xFFFFFFFF
        state[balls.CLOCK_HIGH] = given["clock_ticks"] >> 32
        state[balls.WORD] = settings.first % balls.BLOCK_WORDS
        state[balls.MARGIN] = _MARGIN_US * settings.tick_hz // 10**6
        self._ticks_a_us = settings.tick_hz // 10**6
        self._granted = 0
        self._blocks = []  # how many balls each block that is not decided has left
        self._extra = settings.settle
        sender = self._sender
        sender.begin(given["sequence"])
        sender.send(wire.HELLO, json.dumps(dict(hello, **given)).encode())
        self._balls_slot = sender.slot()
        self._events_slot = sender.slot()
        self._balls_since = self._events_since = None
        self._record_limit()
        self._now_us = time.ticks_us()
        self._panel.playing()
        self.playing = True
        if settings.listens:
            self._listen()
            return
        self._server.plan(given["seed"], settings.gap_min, settings.gap_max, settings.own)
        self._server.start(
            self._pins["ping"],
            self._pins["reply"],
            settings.closed,
            settings.pulse,
            settings.timeout,
        )
        self._stampers.start(self._pins["ping"], self._pins["reply"])
        self._now_us = time.ticks_us()
        self._pinged_ms = time.ticks_ms()
        self._pings = 0
        longest = settings.timeout + settings.gap_max + settings.settle
        for _ in range(server.BLOCKS_MAX):
            self._grant()
        self.step = self._steps()
        self._silence_ms = longest * 1000 // settings.tick_hz + _NO_PING_MS

    def _listen(self):
        """Begin to listen: the ping stays down, and every pulse of the reply wire is a ball."""
        Pin(self._pins["ping"], Pin.OUT, value=0)
        self._stampers.start(self._pins["ping"], self._pins["reply"])
        self._now_us = time.ticks_us()
        self._heard = 0
        self._heard_ms = time.ticks_ms()
        self._silence_ms = self.settings.parameters["give_up_ns"] // 10**6
        self.step = self._listening()

    def _listening(self):
        """Return the function that does one step of listening; it says whether there is more."""
        state, stampers = self._state, self._stampers
        reply, pushed = stampers.reply, stampers.pushed
        reply_state, reply_edges = reply.state, reply.edges
        reply_a, reply_b = reply.rings
        which = balls.PUSHED_REPLY
        job = reply.job(pushed, which)

        @micropython.native
        def step():
            self._pass_time()
            overrun = stampers.look()
            if overrun:
                self._fault(overrun)
                return False
            left_runts = False
            room = state[balls.EVENTS] < balls.EVENTS_MAX - 1
            if (room and balls.pair_same(job)) and balls.pair_edges(
                reply_state, reply_a, reply_b, reply_edges, pushed, which
            ):
                left_runts = self._drop_runts(reply, job, which, 1)
            # without room for a frame, edges wait in the rings: an overrun is named
            code = balls.NOTHING_MORE
            if self._spare():
                code = balls.listen(state, self._balls_slot.payload, reply_state, reply_edges)
            if code == balls.COMPLETE:
                self.end(_REASON_COMPLETE)
                return False
            if code == balls.FRAME_FULL:
                self._seal_balls()
            self._flush()
            now = time.ticks_ms()
            if state[balls.BALLS] != self._heard:
                self._heard = state[balls.BALLS]
                self._heard_ms = now
            elif time.ticks_diff(now, self._heard_ms) > self._silence_ms:
                self.end(_REASON_NO_ANSWER)
                return False
            return code or left_runts or reply_state[balls.LEFT]

        return step

    def _steps(self):  # noqa: PLR0915 (one place for all that the loop needs)
        """Return the function that does one step of this play; it says whether there is more.

        Looking names up in objects and modules took a fifth of the time. So the loop that runs all
        the time has what it needs at hand.
        """
        state, stampers = self._state, self._stampers
        look, drop_runts = stampers.look, self._drop_runts
        pass_time, decide, decide_plain = balls.pass_time, balls.decide, balls.decide_plain
        pair_same, pair_edges = balls.pair_same, balls.pair_edges
        ping, reply, pushed = stampers.ping, stampers.reply, stampers.pushed
        ping_state, ping_edges, reply_state, reply_edges = (
            ping.state,
            ping.edges,
            reply.state,
            reply.edges,
        )
        ping_a, ping_b = ping.rings
        reply_a, reply_b = reply.rings
        words = self._server.words
        which_ping, which_reply = balls.PUSHED_PING, balls.PUSHED_REPLY
        which_ping_again = balls.PUSHED_PING_AGAIN
        ping_job, reply_job, ping_job_again = (
            wire_of.job(pushed, which)
            for wire_of, which in (
                (ping, which_ping),
                (reply, which_reply),
                (ping, which_ping_again),
            )
        )
        sure, out, left, decided = balls.SURE, balls.OUT, balls.LEFT, balls.BALLS
        records, events, events_full = balls.RECORDS, balls.EVENTS, balls.EVENTS_MAX - 1
        events_many = balls.EVENTS_MAX // 2
        frame_full, event = balls.FRAME_FULL, balls.EVENT
        ticks_us, ticks_diff, ticks_a_us = time.ticks_us, time.ticks_diff, self._ticks_a_us
        total = self.settings.total
        untended = 0

        @micropython.native
        def step():  # noqa: PLR0912
            nonlocal untended
            now = ticks_us()
            passed = ticks_diff(now, self._now_us)
            if passed < _PASS_US:
                self._now_us = now
                pass_time(state, passed * ticks_a_us)
            else:
                self._pass_time()
            if self._granted != total:
                self._grant()
            overrun = look()
            if overrun:
                self._fault(overrun)
                return False
            # a runt is rare: what it takes is done elsewhere
            left_runts = False
            if pair_same(ping_job) and pair_edges(
                ping_state, ping_a, ping_b, ping_edges, pushed, which_ping
            ):
                left_runts = drop_runts(ping, ping_job, which_ping, 0)
            if not left_runts:
                # what the ping wire had before the reply wire was looked at is sure
                ping_state[sure] = ping_state[out]
                if pair_same(reply_job) and pair_edges(
                    reply_state, reply_a, reply_b, reply_edges, pushed, which_reply
                ):
                    left_runts = drop_runts(reply, reply_job, which_reply, 1)
                if not left_runts and (
                    pair_same(ping_job_again)
                    and pair_edges(ping_state, ping_a, ping_b, ping_edges, pushed, which_ping_again)
                ):
                    left_runts = drop_runts(ping, ping_job_again, which_ping_again, 0)
            payload = self._balls_slot.payload
            before = state[decided]
            decide_plain(state, payload, words, ping_state, ping_edges, reply_state, reply_edges)
            code = event
            while code == event and state[events] < events_full:
                code = decide(
                    state, payload, words, ping_state, ping_edges, reply_state, reply_edges
                )
                if code == event:
                    balls.write_events(state, self._events_slot.payload)
            if code == event:  # no room for more of them
                code = 0
            elif code and code != frame_full and self._ends(code):
                return False
            if state[records] >= self._records_limit:
                self._seal_balls()
            more = code or left_runts or ping_state[left] or reply_state[left]
            if state[decided] - before >= _BUSY_BALLS:
                more = True
            untended += 1
            if not more or untended >= _TEND_STEPS or state[events] >= events_many:
                untended = 0
                self._tend()
            return more

        return step

    def _ends(self, code):
        """Say whether the play has ended with what came to be."""
        if code == balls.COMPLETE:
            self.end(_REASON_COMPLETE)
        elif code == balls.MISSED_AGAIN and self._unanswered_ticks() > self.settings.give_up:
            self.end(_REASON_NO_ANSWER)
        elif code == balls.UNDECIDED:
            self._fault(_UNDECIDED)
        return not self.playing

    @micropython.native
    def _tend(self):
        """Do what has time: frames that are not full, the panel, a look whether pings come."""
        self._flush()
        self._watch_pings()

    def _unanswered_ticks(self):
        """Return how long it took from the first of the misses in a row to the end of the last."""
        state = self._state
        since = (state[balls.SINCE_HIGH] << 32) + state[balls.SINCE_LOW]
        last = (state[balls.LAST_HIGH] << 32) + state[balls.LAST_LOW]
        return last + state[balls.ENDED] - since

    def end(self, reason):
        """End the play, send what is left and END."""
        self._stop()
        state, sender = self._state, self._sender
        self._pass_time()
        self._seal_balls()
        self._seal_events()
        sender.give_back(self._balls_slot)
        sender.give_back(self._events_slot)
        clock = (state[balls.NOW_HIGH] << 32) + state[balls.NOW_LOW]
        counted = [state[n] for n in range(balls.BALLS, balls.LATE_SERVES + 1)]
        clock += self.settings.parameters["clock_ticks"]
        sender.send(wire.END, struct.pack(wire.END_FORMAT, reason, *counted, clock))
        if reason == _REASON_FAULT or state[balls.MISSES] or state[balls.STRAYS]:
            self._panel.fault()
        if state[balls.DOUBLES]:
            self._panel.fault()
        self._panel.ended()
        self.playing = False

    def fail(self):
        """Something raised an exception: end the play as a fault of the instrument."""
        try:
            self.end(_REASON_FAULT)
        finally:
            self._stop()
            self.playing = False

    def raise_now(self):
        """Raise an exception: to see what happens then."""
        raise RuntimeError("asked for by the command raise")

    def counters(self):
        """Return what was counted so far."""
        names = ("balls", "misses", "strays", "doubles", "late_serves")
        return {name: self._state[balls.BALLS + n] for n, name in enumerate(names)}

    # --- time ---

    @micropython.native
    def _pass_time(self):
        now = time.ticks_us()
        passed = time.ticks_diff(now, self._now_us)
        self._now_us = now
        while passed > _PASS_US:
            balls.pass_time(self._state, _PASS_US * self._ticks_a_us)
            passed -= _PASS_US
        balls.pass_time(self._state, passed * self._ticks_a_us)

    @micropython.native
    def _watch_pings(self):
        pings = self._state[balls.SERVES]
        now = time.ticks_ms()
        if pings != self._pings or not self._blocks:
            self._pings = pings
            self._pinged_ms = now
        elif time.ticks_diff(now, self._pinged_ms) > self._silence_ms:
            self._fault(_NO_PING)

    # --- words ---

    @micropython.native
    def _grant(self):
        """Grant the next block, if its balls' frames have room for sure: a frame at most."""
        if self._granted == self.settings.total or len(self._blocks) >= server.BLOCKS_MAX:
            return
        if self._sender.room() <= len(self._blocks):
            return
        first = self.settings.first + self._granted
        # blocks begin at multiples of their size: the same frames, however often interrupted
        count = balls.BLOCK_WORDS - first % balls.BLOCK_WORDS
        count = min(count, self.settings.total - self._granted)
        self._server.grant(first, count, self._extra)
        self._extra = 0
        self._granted += count
        self._blocks.append(count)
        if len(self._blocks) == 1:
            self._pinged_ms = time.ticks_ms()
            self._record_limit()

    @micropython.native
    def _record_limit(self):
        """Let a frame end where a block does."""
        limit = self._blocks[0] if self._blocks else balls.BLOCK_WORDS
        self._state[balls.RECORDS_MAX] = self._records_limit = limit

    # --- frames ---

    @micropython.native
    def _flush(self):
        """Seal the frames that are full, or have waited for long and are not needed otherwise."""
        state = self._state
        now = time.ticks_ms()
        if not state[balls.RECORDS]:
            self._balls_since = None
        elif self._balls_since is None:
            self._balls_since = now
        elif time.ticks_diff(now, self._balls_since) > _FLUSH_MS and self._spare():
            self._seal_balls()
        if state[balls.MISSES] or state[balls.STRAYS] or state[balls.DOUBLES]:
            self._panel.fault()
        if not state[balls.EVENTS]:
            self._events_since = None
        elif self._events_since is None:
            self._events_since = now
        if state[balls.EVENTS] and self._spare():
            full = state[balls.EVENTS] >= balls.EVENTS_MAX // 2
            if full or time.ticks_diff(now, self._events_since) > _FLUSH_MS:
                self._seal_events()

    @micropython.native
    def _spare(self):
        return self._sender.room() > len(self._blocks)

    @micropython.native
    def _seal_balls(self):
        state = self._state
        count = state[balls.RECORDS]
        if not count:
            return
        if self._blocks:
            self._blocks[0] -= count
            if self._blocks[0] <= 0:
                self._blocks.pop(0)
                self._server.free()
        self._sender.seal(self._balls_slot, wire.BALLS, count * wire.BALL_SIZE)
        self._balls_slot = self._sender.slot()
        self._balls_since = None
        state[balls.RECORDS] = 0
        self._record_limit()

    def _seal_events(self):
        if self._state[balls.UNLISTED]:
            self._write_event(self._now(), _EVENT_UNLISTED, self._state[balls.UNLISTED])
            self._state[balls.UNLISTED] = 0
        count = self._state[balls.EVENTS]
        if not count:
            return
        self._sender.seal(self._events_slot, wire.EVENTS, count * wire.BALL_SIZE)
        self._events_slot = self._sender.slot()
        self._events_since = None
        self._state[balls.EVENTS] = 0

    # --- faults ---

    def _now(self):
        return (self._state[balls.NOW_HIGH] << 32) + self._state[balls.NOW_LOW]

    @micropython.native
    def _drop_runts(self, wire_of, job, which, number):
        """Note the runt that was just dropped, and those behind it; say whether there are more."""
        pair_same, pair_edges, pushed = balls.pair_same, balls.pair_edges, self._stampers.pushed
        state, payload = self._state, self._events_slot.payload
        wire_state, edges = wire_of.state, wire_of.edges
        ring_a, ring_b = wire_of.rings
        for _ in range(_RUNTS_A_STEP):
            balls.write_runt(state, wire_state, payload, number)
            if not pair_same(job):
                return False
            if not pair_edges(wire_state, ring_a, ring_b, edges, pushed, which):
                return False
        balls.write_runt(state, wire_state, payload, number)
        return True

    def _fault(self, which):
        self._write_event(self._now(), _EVENT_OVERRUN, which)
        self.end(_REASON_FAULT)

    def _write_event(self, when, what, value):
        at = self._state[balls.EVENTS]
        when += self.settings.parameters["clock_ticks"]
        struct.pack_into(
            wire.EVENT, self._events_slot.payload, at * wire.EVENT_SIZE, when, what, value
        )
        self._state[balls.EVENTS] = at + 1

    def _stop(self):
        self._server.stop()
        self._stampers.stop()
