# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""A journal that grows: each ball is counted once, whatever happens between two looks."""

import os

import numpy as np
import pytest

from tennis import wire
from tennis.play.planning import replay_of
from tennis.play.rally import Watch, play
from tennis.rally import part_path
from tennis.scoreboard import following
from tennis.scoreboard.following import EDGES_NS, Playing
from tests.support.made_up_journals import MadeUpRally, some_balls
from tests.support.synthetic import make_rally

NS = 8  # of a tick


def counts(balls):
    """Count by another way than the code: numpy's histogram, and a sorted list."""
    rose = balls["rise"] != wire.NONE_TICKS
    rise_ns = balls["rise"][rose].astype(np.int64) * NS
    clipped = rise_ns.clip(EDGES_NS[0], EDGES_NS[-1])
    order = sorted(
        ((-int(ball["rise"]), number) for number, ball in enumerate(balls) if rose[number])
    )
    worst = (-order[0][0] * NS, order[0][1]) if order else (None, None)
    return np.histogram(clipped, EDGES_NS)[0], worst, int((balls["fall"] == wire.NONE_TICKS).sum())


def agrees(playing, balls):
    bins, worst, misses = counts(balls)
    counted = playing.counted
    assert (counted.balls, counted.misses) == (balls.size, misses)
    assert (counted.worst_ns, counted.worst_ball) == worst
    assert np.array_equal(counted.bins, bins)
    assert playing.trouble == ""


def test_what_came_is_counted_wherever_a_look_cuts_it(tmp_path):
    balls = some_balls(3000, 1, missed=0.01)
    rally = MadeUpRally(tmp_path / "r")
    rally.play(balls)
    whole = rally.journal.read_bytes()
    rally.journal.write_bytes(b"")
    playing = Playing(rally.part, 0.0)
    random = np.random.default_rng(2)
    for now, data in enumerate(
        np.split(np.frombuffer(whole, np.uint8), np.sort(random.integers(0, len(whole), 60)))
    ):
        with rally.journal.open("ab") as file:
            file.write(data.tobytes())
        playing.poll(float(now))
    agrees(playing, balls)


def test_more_than_one_look_reads(tmp_path, monkeypatch):
    monkeypatch.setattr(following, "READ_MAX", 10_000)
    balls = some_balls(3000, 3)
    rally = MadeUpRally(tmp_path / "r")
    rally.play(balls)
    playing = Playing(rally.part, 0.0)
    playing.poll(0.0)
    assert playing.behind
    assert 0 < playing.counted.balls < 3000
    assert playing.rate == 0.0  # reading up is no playing
    for now in range(10):
        playing.poll(float(now))
    assert not playing.behind
    agrees(playing, balls)


def test_gone_on_with_a_journal_that_was_cut(tmp_path):
    """Its last, short frame is cut off, and comes again, longer."""
    balls = some_balls(1000, 4)
    rally = MadeUpRally(tmp_path / "r")
    rally.play(balls[:300])
    playing = Playing(rally.part, 0.0)
    playing.poll(0.0)
    assert playing.counted.balls == 300
    last = rally.frames.pop()
    os.truncate(rally.journal, rally.journal.stat().st_size - len(last))
    kept = sum(len(frame) > 100 for frame in rally.frames) * 256
    rally.play(balls[kept:])
    playing.poll(1.0)  # longer than it was, and other bytes where it ended
    agrees(playing, balls)


def test_a_journal_that_was_replaced(tmp_path):
    rally = MadeUpRally(tmp_path / "r")
    rally.play(some_balls(500, 5))
    playing = Playing(rally.part, 0.0)
    playing.poll(0.0)
    rally.journal.unlink()
    rally.frames.clear()
    rally.add(wire.HELLO, b'{"tick_hz": 125000000}')
    other = some_balls(700, 6)
    rally.play(other)
    playing.poll(1.0)
    agrees(playing, other)


def test_the_rate_is_that_of_the_last_seconds(tmp_path):
    rally = MadeUpRally(tmp_path / "r")
    playing = Playing(rally.part, 0.0)
    for now in range(20):
        playing.poll(float(now))
        rally.play(some_balls(50 if now < 10 else 200, now))
    assert playing.rate == pytest.approx(200, rel=0.01)


def test_damage_is_said_and_what_came_before_it_stays(tmp_path):
    balls = some_balls(600, 7)
    rally = MadeUpRally(tmp_path / "r")
    rally.play(balls)
    data = bytearray(rally.journal.read_bytes())
    data[len(rally.frames[0]) + len(rally.frames[1]) + 40] ^= 1  # in the third frame
    rally.journal.write_bytes(data)
    playing = Playing(rally.part, 0.0)
    for now in (0.0, 1.0):
        playing.poll(now)
        assert "is damaged at byte" in playing.trouble
        assert playing.counted.balls == 256


@pytest.mark.parametrize(
    ("hello", "said"),
    [(b"{}", "how long a tick is"), (b'{"tick_hz": 0}', "a tick is"), (b"[", "a tick is")],
)
def test_an_instrument_that_does_not_say_its_clock(tmp_path, hello, said):
    rally = MadeUpRally(tmp_path / "r")
    rally.journal.unlink()
    rally.frames.clear()
    rally.add(wire.HELLO, hello)
    playing = Playing(rally.part, 0.0)
    playing.poll(0.0)
    assert said in playing.trouble


def test_no_link_is_followed(tmp_path):
    rally = MadeUpRally(tmp_path / "r")
    elsewhere = tmp_path / "elsewhere"
    rally.journal.rename(elsewhere)
    rally.journal.symlink_to(elsewhere)
    playing = Playing(rally.part, 0.0)
    playing.poll(0.0)
    assert "cannot be read" in playing.trouble
    rally.journal.unlink()
    os.mkfifo(rally.journal)  # nobody writes to it, and nobody waits for that
    playing.poll(1.0)
    assert "is not a plain file" in playing.trouble


def test_before_the_first_frame(tmp_path):
    rally = MadeUpRally(tmp_path / "r")
    rally.journal.unlink()
    playing = Playing(rally.part, 0.0)
    playing.poll(5.0)
    assert (playing.trouble, playing.counted.balls, playing.grew) == ("", 0, 0.0)
    (rally.part / "plan.json").write_text("{")
    broken = Playing(rally.part, 0.0)
    broken.poll(5.0)
    assert "damaged or missing" in broken.trouble


def test_a_rally_that_is_really_played(tmp_path):
    """Whoever follows the journal ends with the figures of the sealed rally."""
    recording = make_rally(tmp_path / "recorded", balls=900, misses=4)
    bench, plan = replay_of(recording.path, 1e6, None)
    out = tmp_path / "again"
    seen = []

    def look(progress):
        if not seen:
            seen.append(Playing(part_path(out), 0.0))
        seen[0].poll(float(progress.balls))

    rally = play(bench, plan, out, Watch(look))
    counted = seen[0].counted
    assert (counted.balls, counted.misses) == (900, 4)
    assert counted.worst_ns == int(rally.interrupt.values[-1]) * 1_000_000_000 // rally.tick_hz
    assert counted.bins.sum() == rally.interrupt.n
