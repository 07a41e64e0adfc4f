"""The Brickwall's firmware on an emulated Pico: every ball exact to the cycle, whatever happens."""

from collections.abc import Iterator
from itertools import pairwise

import pytest

from tennis.bench.instruments import firmware
from tennis.kit import wire
from tennis.kit.gaps import gap_ns
from tests.support.emulated_pico import respond
from tests.support.firmware_host import NONE, PLAY, Host, Played

# all on one worker: most share a Pico, which boots for longer than it plays
pytestmark = [pytest.mark.virtual, pytest.mark.xdist_group("brickwall")]

MHZ_125 = 125_000_000


def ticks(ns: int | str, hz: int = MHZ_125) -> int:
    return int(ns) * hz // 10**9


@pytest.fixture(scope="module")
def booted() -> Iterator[Host]:
    with Host() as host:
        host.ok("hello")
        yield host


@pytest.fixture
def host(booted) -> Host:
    """Return a Pico on which others played, and at whose pads a test says who answers."""
    if booted.ok("hello")["state"] == "playing":  # a test failed
        booted.tell("stop")
        booted.finish()
    return booted


def gap_errors(played: Played, hz: int = MHZ_125, **parameters: int | str) -> set[int]:
    """Return by how many ticks the closed loop's gaps were longer than planned."""
    given = PLAY | parameters
    shortest, longest = ticks(given["gap_min_ns"], hz), ticks(given["gap_max_ns"], hz)
    timeout = ticks(given["timeout_ns"], hz)
    balls = played.balls
    errors = set()
    for index, (before, ball) in enumerate(pairwise(balls), int(given["first"]) + 1):
        ended = before.served + (timeout if before.fall == NONE else before.fall)
        gap = gap_ns(int(given["seed"]), index, shortest, longest)
        errors.add(ball.served - ended - gap)
    return errors


def test_it_boots_from_flash_and_says_who_it_is():
    with Host() as host:
        hello = host.ok("hello")
        assert hello["instrument"] == "brickwall"
        assert hello["firmware"] == firmware.VERSION
        assert hello["firmware_sha256"] == firmware.sha256()
        assert hello["state"] == "idle"
        assert hello["rally"] is None
        assert hello["clock_hz"] == hello["tick_hz"] == MHZ_125
        assert hello["pins"]["ping"] == 2
        # also without a number and a checksum
        host.link.write(b"hello\r\n")
        host.run_until_quiet(0.05)
        assert host.answers[wire.NO_NUMBER][0]["ok"]["boot"] == hello["boot"]


@pytest.mark.release
def test_answers_of_thirty_seconds_are_as_exact_as_others():
    """Longer than 2^31 ticks, and longer than a stamper's half: the longest timeout there is."""
    late = 3_737_500_001  # 29.9 s and a tick
    slow = {"timeout_ns": 30_000_000_000, "settle_ns": 1_000_000}
    with Host(*respond("answer", rise=late, width=77)) as host:
        played = host.play(seconds=35, balls=1, **slow)
    assert [ball[1:] for ball in played.balls] == [(late, late + 77)]
    with Host(*respond("silent")) as host:
        played = host.play(seconds=35, balls=2, **slow)
    assert [ball[1:] for ball in played.balls] == [(NONE, NONE)] * 2
    assert gap_errors(played, **slow) <= {0, 1}


def test_nobody_answers(host):
    parameters = {"timeout_ns": 200_000, "give_up_ns": 10_000_000, "balls": 1000}
    host.respond("silent")
    played = host.play(**parameters)
    assert played.end.reason == "no_answer"
    assert all(ball[1:] == (NONE, NONE) for ball in played.balls)
    assert played.end.misses == played.end.balls == len(played.balls)
    assert gap_errors(played, **parameters) == {0}
    # as soon as it was clear: not a ball later
    first, last = played.balls[0], played.balls[-1]
    assert ticks(10_000_000) < last.served + 25_000 - first.served < ticks(10_330_000)
    # fewer misses than that are no reason to end
    played = host.play(balls=19, timeout_ns=200_000, give_up_ns=0)
    assert played.end.reason == "complete"


def test_the_open_loop_keeps_its_grid(host):
    host.respond("answer", rise=3000, width=200)
    played = host.play(balls=500, loop="open", period_ns=80_000)
    assert {b.served - a.served for a, b in pairwise(played.balls)} == {10_000}
    assert {ball[1:] for ball in played.balls} == {(3000, 3200)}
    assert played.end[:-1] == ("complete", 500, 0, 0, 0, 0)
    # an answer later than the period is a miss, and is the next ball's
    played = host.play(balls=20, loop="open", period_ns=25_000, timeout_ns=100_000)
    assert {b.served - a.served for a, b in pairwise(played.balls)} == {3125}
    assert played.balls[0][1:] == (3000, NONE)


LISTEN = {
    **{"loop": "listen", "pulse_ns": 0, "gap_min_ns": 0, "gap_max_ns": 0, "settle_ns": 0},
    **{"timeout_ns": 4_000_000_000, "give_up_ns": 1_500_000_000},
}
FROM = MHZ_125 // 10  # it listens by then


def test_pulses_that_come_too_fast_are_an_overrun(host):
    """Nothing may be lost in silence."""
    about = {"period": 250, "width": [3, 100], "from": FROM, "count": 20_000}
    host.respond("pulses", seed=5, **about)
    played = host.play(balls=20_000, **LISTEN)
    assert played.end.reason == "instrument_fault"
    assert [event.what for event in played.events][-1:] == ["overrun"]


def test_frames_are_held_until_they_are_acknowledged(host):
    """Nobody acknowledges: it pauses. Then it goes on, and says how late it was."""
    host.respond("answer", rise=300, width=200)
    host.start(balls=3000)
    host.run_until_quiet(0.1)
    first = list(host.frames)
    assert [sequence for _, sequence, _ in first] == list(range(len(first)))
    assert len(first) <= 20
    hello = host.ok("hello")
    assert (hello["oldest_frame"], hello["next_frame"]) == (0, len(first))
    assert hello["state"] == "playing"
    host.frames.clear()
    host.tell("resend", **{"from": 3})
    host.run_until_quiet(0.05)
    assert host.frames == first[3:]
    host.frames[:] = first
    played = host.finish()
    assert played.end[:3] == ("complete", 3000, 0)
    assert {ball[1:] for ball in played.balls} == {(300, 500)}
    late = [event for event in played.events if event.what == "late_serve"]
    assert len(late) == played.end.late_serves > 0
    assert late[0].value > ticks(100_000_000)
    served = {ball.served for ball in played.balls}
    assert all(event.when in served for event in late)


def test_an_exception_makes_the_rally_suspect_and_nothing_else(host):
    host.respond("answer", rise=300, width=200)
    host.start(balls=1_000_000)
    host.run_until_quiet(0.02)
    answer = host.ask("raise")
    assert answer["code"] == "exception"
    assert "RuntimeError" in answer["error"]
    assert 'File "rally.py", line ' in answer["error"]
    played = host.finish()
    assert played.end.reason == "instrument_fault"
    host.run_until_quiet(0.02)
    assert host.ask("raise")["code"] == "exception"
    assert host.play(balls=100).end[:-1] == ("complete", 100, 0, 0, 0, 0)


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        ({"balls": 0}, "balls"),
        ({"pulse_ns": 50}, "pulse"),
        ({"pulse_ns": 80_000}, "gap"),
        ({"gap_min_ns": 200_000}, "gap"),
        ({"timeout_ns": 31 * 10**9}, "timeout"),
        ({"timeout_ns": 29 * 10**9, "gap_max_ns": 9 * 10**9}, "timeout"),
        ({"loop": "square"}, "parameters"),
        ({"loop": "listen", "first": 3}, "balls"),
        ({"seed": "x"}, "parameters"),
        ({"rally": "zz"}, "parameters"),
        ({"serves": 1}, "parameters"),
    ],
)
def test_what_cannot_be_played_is_refused(wrong, code, host):
    answer = host.ask("play", **PLAY | wrong)
    assert answer["code"] == code
    assert "\n" not in answer["error"]
    assert host.ok("hello")["state"] == "idle"


def test_garbage_is_answered_once_a_line_and_forgotten(host):
    for garbage in (
        b"x" * 10_000 + b"\n",
        bytes(range(14, 256)) + b"\n",
        b"\x03 garbage \x03\n",
        b"5 stop #00000000\r",
        b"5 half a line\n",
    ):
        host.answers.pop(wire.NO_NUMBER, None)
        for at in range(0, len(garbage), 64):
            host.link.write(garbage[at : at + 64])
            host.run(0.001)
        host.run_until_quiet(1)
        assert [answer["code"] for answer in host.answers[wire.NO_NUMBER]] == ["checksum"], garbage
    assert host.ok("status")["state"] == "idle"
    assert host.ask("nonsense")["code"] == "unknown"
    assert host.ask("clock", hz=1)["code"] == "clock"
    assert host.ask("clock", hz=5_000_000_000)["code"] == "clock"
    assert host.ask("clock", hz=150_000_000, core_mv=1000)["code"] == "clock"
    assert host.ask("generate", pairs=3)["code"] == "parameters"
    assert "play" in host.ok("help")["help"]


def test_a_brickwall_that_hangs_boots_again():
    with Host() as host:
        host.leave()
        host.run(20)  # no watchdog at MicroPython's prompt
        host.link.write(b"\x04")  # a new heap: a second service may not fit beside the first
        host.run_until_quiet(1)
        host.execute(
            "import gc, rally, service\ngc.collect()\n"
            "rally.Rally.raise_now = lambda _: [0 for _ in iter(int, 1)]"
        )
        host.link.write(b"service.Service().run()\x04")
        host.run_until_quiet(0.5)
        host.tell("raise")
        host.run_until_quiet(12)
        # after the boot the program is the one in flash
        assert host.ask("raise")["code"] == "exception"
