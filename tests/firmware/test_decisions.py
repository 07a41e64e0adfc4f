"""From edges to balls: the firmware's viper code against a plain reading of the definitions.

The definitions are those of target/virtual/instrument.c. Random edges on both wires, looked at in
random pieces, must come out as the same balls, events and counts.
"""

import random
from ast import literal_eval
from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass, field
from itertools import groupby, pairwise
from pathlib import Path

import pytest

from tennis.kit.gaps import gap_ns
from tests.support.firmware_host import NONE, Host

# all on one worker: they share a Pico, which boots for longer than they take
pytestmark = [pytest.mark.virtual, pytest.mark.xdist_group("decisions")]

STRAY, DOUBLE, LATE_SERVE, HELD = 2, 3, 4, 5
COMPLETE, UNDECIDED = 2, 5  # codes
TOTAL, TIMEOUT, BEYOND, TOLERANCE, OPEN, MARGIN, CLOCK_LOW, CLOCK_HIGH = range(8)
ON_PICO = (Path(__file__).parents[1] / "support/decisions_on_pico.py").read_text()
RING = 2048


@dataclass
class Reference:
    """The definitions, one edge after the other."""

    settings: dict[int, int]
    words: list[int]
    balls: list[tuple[int, int, int]] = field(default_factory=list)
    events: list[tuple[int, int, int]] = field(default_factory=list)
    misses: int = 0
    strays: int = 0
    doubles: int = 0
    late: int = 0
    served: int | None = None  # the ball in flight
    rise: int = NONE
    line: bool = False
    counted_up: bool = False
    complete: bool = False  # the last ball was
    held: bool = False
    fault: bool = False  # served while a ball is undecided, in a closed loop
    reference: int | None = None  # when the last gap began

    @property
    def done(self) -> bool:
        return self.fault or len(self.balls) == self.settings[TOTAL]

    def event(self, when: int, what: int, value: int) -> None:
        clock = (self.settings[CLOCK_HIGH] << 32) + self.settings[CLOCK_LOW]
        self.events.append((when + clock, what, value))

    def close(self, now: int, fall: int = NONE) -> None:
        assert self.served is not None
        clock = (self.settings[CLOCK_HIGH] << 32) + self.settings[CLOCK_LOW]
        self.balls.append((self.served + clock, self.rise, fall))
        self.complete = fall != NONE
        self.misses += not self.complete
        self.reference = self.served if self.settings[OPEN] else now
        self.served = None

    def time_out(self, now: int) -> None:
        if self.served is not None and now - self.served > self.settings[TIMEOUT]:
            self.close(self.served + self.settings[TIMEOUT])

    def ping(self, now: int) -> None:
        self.time_out(now)
        if self.served is not None and not self.done:
            if not self.settings[OPEN]:
                self.fault = True
                return
            self.close(now)
        if self.done:
            return
        word = self.words.pop(0)
        if self.reference is not None:
            late = now - self.reference - word - self.settings[BEYOND]
            if late > self.settings[TOLERANCE]:
                self.late += 1
                self.event(now, LATE_SERVE, min(late, NONE))
        if self.line and not self.held:
            self.held = True
            self.event(now, HELD, 0)
        self.served, self.rise = now, NONE

    def reply(self, now: int, *, up: bool) -> None:
        self.time_out(now)
        if self.done:
            return
        self.line = up
        if not up:
            self.held = False
        if up and now == 0:
            return
        if up and self.served is not None:
            self.rise, self.counted_up = now - self.served, False
        elif not up and self.served is not None and self.rise != NONE:
            self.close(now, now - self.served)
        elif up:
            self.counted_up = True
            if self.complete:
                self.doubles += 1
            else:
                self.strays += 1
            self.event(now, DOUBLE if self.complete else STRAY, 1)
        else:
            if not self.counted_up:
                self.strays += 1
                self.event(now, STRAY, 0)
            self.counted_up = False


def stream(edges: list[int], phase: int) -> list[int]:
    """Return what the stamper pushes that looks at even (0) or odd (1) cycles."""
    seen = [edge + ((edge + phase) & 1) for edge in edges]
    return [(k - (at - phase) // 2 - 1) & 0xFFFFFFFF for k, at in enumerate(seen)]


@dataclass
class Scenario:
    """Edges, and when they are looked at."""

    settings: dict[int, int]
    words: list[int]
    pings: list[int]  # rises and falls
    replies: list[int]
    nows: list[int]

    def expected(self) -> tuple[object, ...]:
        reference = Reference(self.settings, list(self.words))
        merged = sorted(
            [(at, 0, n % 2 == 0) for n, at in enumerate(self.replies)]
            + [(at, 1, True) for at in self.pings[::2]]
        )
        for at, is_ping, up in merged:
            if reference.done:
                break
            if is_ping:
                reference.ping(at)
            else:
                reference.reply(at, up=up)
        if not reference.done:
            reference.time_out(self.nows[-1])
        counters = [len(reference.balls), reference.misses, reference.strays]
        counters += [reference.doubles, reference.late]
        code = UNDECIDED if reference.fault else COMPLETE if reference.done else 0
        return reference.balls, reference.events, counters, code

    def looks(self, rng: random.Random) -> list[tuple[int, ...]]:
        """Return the time and six counts of each look; each count is read a little later."""
        looks, at = [], 0
        for now in self.nows:
            at = max(now, at)
            counts = [at]
            for edges in (self.pings, self.pings, self.replies, self.replies) + 2 * (self.pings,):
                at += rng.randrange(1, 40)
                seen = sum(edge + 3 <= at for edge in edges)
                counts.append(seen)
            looks.append(tuple(counts))
        return looks


def scenario(seed: int) -> Scenario:  # noqa: PLR0915 (one ball after the other)
    rng = random.Random(seed)  # noqa: S311
    is_open = rng.random() < 0.3
    calm = rng.random() < 0.5  # most balls are plain, and many are looked at together
    timeout = rng.choice((60, 200, 1000))
    beyond = 5 if is_open else 10
    count = rng.randrange(30, 50) if calm else rng.randrange(1, 40)
    start = rng.choice((0, 0, (1 << 32) - 5000, (1 << 33) - 4000))
    settings = {TOTAL: count, TIMEOUT: timeout, BEYOND: beyond, TOLERANCE: 1 if is_open else 4}
    settings |= {OPEN: int(is_open), MARGIN: 50}
    settings |= {CLOCK_LOW: rng.randrange(1 << 32), CLOCK_HIGH: rng.randrange(5)}
    words, pings, replies = [], [], []
    at, free = 100, 2  # `free`: when the reply line may change next
    if rng.random() < 0.1:
        replies.append(0)
    period = rng.randrange(80, 300)
    gaps = [period if is_open else rng.randrange(12, 200) for _ in range(count + 2)]
    for number in range(count + 1):
        words.append(gaps[number] - beyond)
        # else served when the word of another ball says: nearly all are late
        gap = gaps[number + 1] if calm else gaps[number]
        pings += [at, at + 20]
        ended = at + timeout
        kind = 0.5 if calm and rng.random() < 0.9 else rng.random()
        answers = 0 if kind < 0.15 else 2 if kind > 0.85 else 1
        moment = at
        for n in range(answers):
            rise = max(moment + rng.randrange(2, 90), free)
            fall = rise + rng.choice((2, 3, rng.randrange(2, 80), rng.randrange(2, timeout)))
            if calm and rng.random() < 0.9:
                fall = rise + 2
            elif rng.random() < 0.05:
                rise, fall = max(free, at - rng.randrange(4)), fall + 10
            replies += [rise, fall]
            free, moment = fall + 2, fall
            if n == 0 and fall - at <= timeout and fall > rise > at:
                ended = fall
        if is_open:
            ended = at
        elif rng.random() < 0.005:
            ended = at + rng.randrange(ended - at)  # a server that did not wait
        if rng.random() < (0.02 if calm else 0.1):
            gap += rng.randrange(5, 3000)  # the words had run out
        serve = ended + gap if calm else max(ended, at + 22) + gap
        at = max(serve, at + 22) + (0 if is_open else rng.randrange(2))
    # the clock may have run for long before the first ball
    shift = start
    pings = [edge + shift for edge in pings]
    replies = [edge + shift if edge else 0 for edge in replies]
    nows, now, last = [], 0, max(pings[-1], replies[-1] if replies else 0) + timeout + 400
    while now < shift:
        now = min(shift, now + (1 << 30))
        nows.append(now)
    while now < last:
        short = (7, 50, 300, 2000, rng.randrange(1, 5000))
        now += rng.choice((700, 2000, 5000) if calm else short)
        nows.append(now)
    nows += [last + 1000, last + 2000]
    return Scenario(settings, words, pings, replies, nows)


@pytest.fixture(scope="module")
def pico():
    with Host() as host:
        host.ok("hello")
        host.leave()
        yield host


@pytest.mark.cases(more=["[1-7]"])
@pytest.mark.parametrize("batch", range(8))
def test_the_firmware_decides_as_the_definitions_say(batch, pico):
    plainly = decided = 0
    for seed in range(batch * 8, batch * 8 + 8):
        given = scenario(seed)
        assert len(given.pings) < RING
        assert len(given.replies) < RING
        streams = [stream(given.pings, 0), stream(given.pings, 1)]
        streams += [stream(given.replies, 0), stream(given.replies, 1)]
        looks = given.looks(random.Random(seed))  # noqa: S311
        data = (given.settings, given.words, streams, looks)
        if seed == batch * 8:
            pico.execute(ON_PICO.replace("print(play(*SCENARIO))", "").replace(
                'SCENARIO = globals()["SCENARIO"]', ""))  # fmt: skip
        said = pico.execute(f"d = {data!r}\nprint(play(*d), '\\n', play(*d, plain=False))")
        fast, slow = map(literal_eval, said.strip().split(" \n "))
        expected = given.expected()
        assert fast[0] == slow[0] == expected[0], seed
        assert fast[1] == slow[1] == expected[1], seed
        assert fast[2:4] == slow[2:4] == expected[2:], seed
        plainly, decided = plainly + fast[4], decided + len(fast[0])
    # both ways were taken
    assert 0.03 * decided < plainly < 0.9 * decided


PAIR = """
import balls
from memory import zeros
from stampers import Wire

def pair(streams):
    rings = [zeros(balls.RING_WORDS) for _ in streams]
    for ring, stream in zip(rings, streams):
        for n, word in enumerate(stream):
            ring[n] = word
    wire, pushed, runts = Wire(*rings), zeros(2), []
    for n in range(2):
        pushed[n] = len(streams[n])
    while True:
        if not balls.pair_same(wire.job(pushed, 0)):
            break
        if balls.pair_edges(wire.state, *wire.rings, wire.edges, pushed, 0):
            runts.append(wire.state[balls.RUNT_AT])
        elif not wire.state[balls.LEFT]:
            break
    return list(wire.edges)[:wire.state[balls.OUT]], runts
"""


def looked_at(levels: list[int], phase: int) -> list[int]:
    """Return what the stamper pushes that looks at every second level, whatever the levels."""
    words: list[int] = []
    for at in range(phase, len(levels), 2):
        if levels[at] != len(words) % 2:
            words.append((len(words) - (at - phase) // 2 - 1) & 0xFFFFFFFF)
    return words


@pytest.mark.cases(more=["[1-3]"])
@pytest.mark.parametrize("batch", range(4))
def test_an_edge_is_where_a_level_begins_that_stays(batch, pico):
    """Single ticks before it, as of a plug that chatters, move no edge, and none is unmarked.

    A stamper that looks at every second tick takes the first of them for the edge.
    """
    rng = random.Random(batch)  # noqa: S311
    pico.execute(PAIR)
    levels: list[int] = []
    noisy = 0  # how often single ticks came before a level that stayed
    for _ in range(40):
        pattern = [rng.randrange(2) for _ in range(rng.randrange(16))]
        noisy += any(before and not after for before, after in pairwise(pattern))
        levels += [0] * rng.randrange(9, 12) + pattern + [1] * rng.randrange(9, 12)
    levels += [0] * 9
    edges, single = [], []
    at = level = 0
    for found, run in groupby(levels):
        length = len(list(run))
        if length == 1:
            single.append(at)
        elif found != level:
            edges.append(at)
            level = found
        at += length
    said = pico.execute(f"print(pair({[looked_at(levels, 0), looked_at(levels, 1)]!r}))")
    measured, runts = literal_eval(said)
    assert measured == edges
    assert noisy > 10
    # one mark for each row of them, at one of its ticks
    assert set(runts) <= set(single)
    marked = Counter(bisect_right(edges, runt) for runt in runts)
    assert marked.keys() == {bisect_right(edges, tick) for tick in single}


def test_the_words_are_the_gaps_of_every_bench(pico):
    """Bit for bit what gaps.py says: 0 where no ball is."""
    pico.execute("import server\ns = server.Server()")
    rng = random.Random(1)  # noqa: S311
    for _ in range(10):
        seed, first = rng.randrange(1 << 32), rng.randrange(1 << 20) * 128
        shortest, begin = rng.randrange(10, 1 << 20), rng.randrange(60)
        longest = shortest + rng.choice((0, 1, rng.randrange(1 << 31), (1 << 32) - (1 << 21)))
        said = pico.execute(
            f"s.plan({seed}, {shortest}, {longest}, 10)\n"
            f"server.fill(s.words, 128, {begin}, 62, {first}, s._gap)\n"
            "print(list(s.words[128:256]))"
        )
        expected = [gap_ns(seed, first + n, shortest, longest) - 10 for n in range(128)]
        inside = range(begin, 62)
        assert literal_eval(said) == [x if n in inside else 0 for n, x in enumerate(expected)]
