# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""What lies in folders, and what the pages say of it."""

import os
from html.parser import HTMLParser

import numpy as np
import pytest

from tennis.errors import RallyError, UsageError
from tennis.play.benches import BenchRow
from tennis.rally.manifest import Drill, Fault
from tennis.scoreboard import hall as halls
from tennis.scoreboard import words
from tennis.scoreboard.hall import Hall
from tennis.scoreboard.points import Points, Window
from tests.support.made_up_journals import MadeUpRally, some_balls
from tests.support.synthetic import make_rally
from tests.support.synthetic_match import MatchMaker, bursts


def scanned(*places):
    hall = Hall(list(places))
    hall.scan()
    return hall


def test_what_lies_where(tmp_path):
    MadeUpRally(tmp_path / "bench-1" / "lab-04").play(some_balls(10, 1))
    make_rally(tmp_path / "bench-2" / "a", balls=30, misses=2)
    make_rally(tmp_path / "b", balls=30)
    score = scanned(tmp_path).score
    assert list(score.playing) == ["bench-1/lab-04"]
    assert score.playing["bench-1/lab-04"].counted.balls == 10
    assert sorted(entry.name for entry in score.sealed) == ["b", "bench-2/a"]
    assert (score.sealed_in_all, score.troubles) == (2, [])
    both = scanned(tmp_path / "bench-1", tmp_path / "bench-2").score
    assert list(both.playing) == ["bench-1/lab-04"]
    assert [entry.name for entry in both.sealed] == ["bench-2/a"]


def test_a_rally_is_followed_from_look_to_look(tmp_path):
    rally = MadeUpRally(tmp_path / "r")
    hall = scanned(tmp_path)
    first = hall.score.playing["r"]
    rally.play(some_balls(20, 1))
    hall.scan()
    assert hall.score.playing["r"] is first
    assert first.counted.balls == 20


def test_newest_first_and_not_all(tmp_path):
    count = halls.SEALED_MAX + 2
    for number in range(count):
        rally = make_rally(tmp_path / f"r{number}", balls=5)
        os.utime(rally.path / "manifest.json", (1000 + number, 1000 + number))
    hall = scanned(tmp_path)
    score = hall.score
    newest = [f"r{number}" for number in reversed(range(2, count))]
    assert [entry.name for entry in score.sealed] == newest
    assert score.sealed_in_all == count
    assert hall.sealed("r0").path == tmp_path / "r0"  # an old one can be explored, too
    assert hall.sealed("nothing") is None
    assert "and 2 older ones" in words.sealed(score)


def test_damage_is_a_line_of_its_own(tmp_path):
    make_rally(tmp_path / "good", balls=5)
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "manifest.json").write_text("{")
    (tmp_path / "match").mkdir()
    (tmp_path / "match" / "match.json").write_text("[]")
    score = scanned(tmp_path).score
    assert [entry.name for entry in score.sealed] == ["good"]
    assert len(score.troubles) == 2
    assert score.troubles[0].startswith("bad: ")
    assert score.troubles[1].startswith("match: ")


def test_links_and_depth(tmp_path):
    deep = tmp_path / "a" / "b" / "c" / "d" / "e"
    make_rally(deep / "r", balls=5)
    make_rally(tmp_path / "outside" / "r", balls=5)
    place = tmp_path / "place"
    place.mkdir()
    (place / "link").symlink_to(tmp_path / "outside")
    (place / "loop").symlink_to(place)
    assert scanned(place).score.sealed == []
    assert scanned(tmp_path / "a").score.sealed_in_all == 0
    assert scanned(tmp_path / "a" / "b").score.sealed_in_all == 1
    with pytest.raises(UsageError, match="is not a folder"):
        Hall([tmp_path / "nothing"])


def test_too_many_folders(tmp_path, monkeypatch):
    monkeypatch.setattr(halls, "FOLDERS_MAX", 3)
    for number in range(5):
        (tmp_path / str(number)).mkdir()
    assert "more than 3 folders" in scanned(tmp_path).score.troubles[0]


def test_a_match_and_what_waits_in_it(tmp_path):
    maker = MatchMaker(tmp_path / "quick")
    for load in ("idle", "stress"):
        maker.cell("mainline", "default", load, bursts(3000))
    maker.sealed()
    hall = scanned(tmp_path)
    (queue,) = hall.score.queues
    assert (queue.there, queue.waiting, queue.playing) == (queue.scheduled, 0, 0)
    gone = hall.score.sealed[0]
    folder = gone.path.rename(tmp_path / "elsewhere")
    MadeUpRally(gone.path).play(some_balls(5, 1))
    hall.scan()
    (queue,) = hall.score.queues
    assert (queue.there, queue.waiting, queue.playing) == (queue.scheduled - 1, 0, 1)
    assert folder.is_dir()
    assert f">{queue.there:,} of {queue.scheduled:,}<" in words.queues([queue])


class Markup(HTMLParser):
    """Which elements there are, and with which attributes."""

    def __init__(self, text):
        super().__init__()
        self.elements = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))


def test_every_name_is_escaped(tmp_path):
    name = '<img src=x onerror="alert(1)">&\'"'
    MadeUpRally(tmp_path / name, load="idle")
    make_rally(tmp_path / f"sealed {name}", balls=5)
    (tmp_path / f"bad {name}").mkdir()
    (tmp_path / f"bad {name}" / "manifest.json").write_text(name)
    hall = scanned(tmp_path)
    score = hall.score
    row = BenchRow(bench=name, reachable=False, held_by=name, trouble=name)
    texts = [
        words.card(name, score.playing[name], 0.0),
        words.sealed(score),
        words.troubles(score),
        words.benches([row]),
        words.benches(name),
        words.summary(score, name),
        words.describe(score.sealed[0]),
    ]
    for text in texts:
        for tag, attributes in Markup(text).elements:
            assert tag != "img"
            assert not [key for key in attributes if key.startswith("on")]
    link = next(a for tag, a in Markup(words.sealed(score)).elements if tag == "a")
    assert link["href"].startswith("/explorer?rally=sealed%20%3Cimg")


def test_what_a_rally_does_in_words(tmp_path):
    rally = MadeUpRally(tmp_path / "r")
    hall = scanned(tmp_path)
    playing = hall.score.playing["r"]
    now = playing.grew
    assert words.state(playing, now) == ("the target boots", False)
    rally.play(some_balls(10, 1, missed=0.5))
    hall.scan()
    playing.grew = now
    assert words.state(playing, now + 5)[1] is False
    assert words.state(playing, now + 45) == ("nothing came for 40 s", True)
    # the card of a rally that stands still is the same for ten seconds: it is not laid out again
    assert len({words.card("a", playing, now + late) for late in range(40, 50)}) == 1
    assert words.state(playing, now + 1200) == ("nothing came for 20 min: nothing plays it", True)
    assert "missed" in words.card("r", playing, now)
    rally.add(4, b"")
    hall.scan()
    playing.grew = now
    assert words.state(playing, now)[0] == "being sealed"
    assert "can be continued" in words.state(playing, now + 60)[0]


def test_a_suspect_rally_is_among_what_fails(tmp_path):
    make_rally(tmp_path / "good", balls=5)
    assert "<li>" not in words.troubles(scanned(tmp_path).score)
    fault = Fault(code="no_answer", message="the target stopped answering")
    make_rally(tmp_path / "bad", balls=5, faults=[fault])
    assert "<li>bad: the target stopped answering</li>" in words.troubles(scanned(tmp_path).score)


def test_all_balls_are_in_the_picture_or_counted(tmp_path):
    rally = make_rally(tmp_path / "r", balls=5000, misses=7, kernel="mainline", load="stress")
    points = Points(rally.path)
    drawn = points.draw(points.whole("interrupt"), "interrupt", (400, 300))
    assert (drawn.balls, drawn.misses) == (4993, 7)
    assert drawn.single.size == 0
    assert (drawn.image.shape, drawn.image.dtype) == ((300, 400), np.uint32)
    assert (drawn.image >> 24 > 0).any()
    assert points.missed(points.whole("interrupt"), 100).size == 7
    ticks = np.concatenate([batch.column("rise_ticks").to_numpy(zero_copy_only=False)
                            for batch in rally.batches()])  # fmt: skip
    assert drawn.latest == int(np.nanargmax(ticks))
    near = points.around(drawn.latest, "interrupt", 50)
    close = points.draw(near, "interrupt", (400, 300))
    assert drawn.latest in close.single
    assert close.balls == close.single.size
    served = points.served_s
    inside = (served >= near.from_s) & (served <= near.to_s)
    missed = np.isnan(points.latency_ns["interrupt"])
    assert close.balls == int((inside & ~missed).sum())
    assert close.misses == int((inside & missed).sum())
    nothing = points.draw(Window(-9.0, -8.0, 1.0, 2.0), "interrupt", (400, 300))
    assert (nothing.balls, nothing.misses, nothing.latest) == (0, 0, None)


def test_the_second_latency_is_from_the_rise(tmp_path):
    rally = make_rally(tmp_path / "r", balls=50)
    points = Points(rally.path)
    batch = next(rally.batches())
    rise, fall = (batch.column(name).to_numpy() for name in ("rise_ticks", "fall_ticks"))
    expected = (fall.astype(np.int64) - rise) * (1e9 / rally.tick_hz)
    assert points.latency_ns["scheduling"] == pytest.approx(expected)


def test_what_cannot_be_explored(tmp_path, monkeypatch):
    rally = make_rally(tmp_path / "r", balls=50)
    monkeypatch.setattr("tennis.scoreboard.points.POINTS_MAX", 10)
    with pytest.raises(RallyError, match="draws 10"):
        Points(rally.path)
    (rally.path / "balls.parquet").write_bytes(b"no")
    with pytest.raises(RallyError):
        Points(rally.path)


def test_a_drill_has_a_card_without_latencies(tmp_path):
    drill = Drill(name="periodic", context="kernel", period_ns=1_000_000)
    rally = MadeUpRally(tmp_path / "e", drill=drill)
    rally.play(some_balls(20, 1))
    playing = scanned(tmp_path).score.playing["e"]
    text = words.card("e", playing, playing.grew)
    assert "20 repetitions" in text
    assert "worst," not in text
