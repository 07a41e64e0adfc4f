"""Shots: each instant of one boot is what a boot of its own gives, whatever the host does."""

import contextlib
import json

import numpy as np
import pytest
from click.testing import CliRunner

from tennis.bench.virtual.bench import VirtualBench
from tennis.bench.virtual.machine import Extras
from tennis.bench.virtual.shots import Children
from tennis.cli import cli
from tennis.kit import gaps, wire
from tennis.play.shots import first_ball_at
from tennis.rally import instants as storage
from tennis.rally import open_rally
from tennis.rally.balls import records
from tennis.rally.serving import Serving
from tennis.rally.settings import not_as_published
from tennis.rally.shots import instants, span_ns
from tests.support.plans import plan_of
from tests.support.shared import made_once
from tests.support.virtual import played

virtual = pytest.mark.virtual
HELD_US = 200
# some instants are missed: the load keeps interrupts off for longer than a ball is waited for
ASKED = {
    "load": "hog",
    "load_options": {"hold_us": HELD_US},
    "timeout_ms": 0.1,
    "seed": 5,
    "gap_min_us": 100,
    "gap_max_us": 300,
}


def bytes_of(rally):
    return [(rally.path / name).read_bytes() for name in ("balls.parquet", "events.jsonl")]


def rows(rally):
    columns = ("served_ns", "rise_ticks", "fall_ticks")
    kept = rally.batches(list(columns))
    return [
        row for one in kept for row in zip(*(one[name].tolist() for name in columns), strict=True)
    ]


def test_instants_are_uniform_whole_instructions_in_their_order():
    protocol = Serving(seed=3, gap_min_us=10, gap_max_us=30).protocol(20_000)
    drawn = instants(protocol, 2)
    assert span_ns(protocol) == 20_000 * 20_000
    assert drawn == sorted(drawn)
    assert len(drawn) == 20_000
    assert all(0 <= at < span_ns(protocol) and at % 2 == 0 for at in drawn)
    # the largest distance to a uniform distribution: above it in 1 of 1,000 draws
    even = (np.arange(20_000) + 0.5) / 20_000
    assert np.abs(np.array(drawn) / span_ns(protocol) - even).max() < 1.95 / np.sqrt(20_000)
    one, two = (gaps.mix(gaps.mix(3) + n * 0x9E3779B9) for n in (1, 2))
    first = ((one << 32 | two) * span_ns(protocol)) >> 64
    assert first - first % 2 in drawn
    assert instants(protocol.model_copy(update={"seed": 4}), 2) != drawn


def test_shots_are_a_kind_of_their_own():
    """And are never pooled with balls."""
    shots, balls = plan_of(shots=40), plan_of(balls=40)
    assert shots.kind_of(shots.protocol) != balls.kind_of(balls.protocol)
    assert (shots.protocol.loop, shots.protocol.balls) == ("shots", 40)


@pytest.fixture(scope="module")
def shots(tmp_path_factory):
    """Return a rally of shots, some of which are missed."""
    made = made_once(
        tmp_path_factory, "shots", lambda folder: played(folder / "r", shots=60, **ASKED)
    )
    return open_rally(made / "r")


def alone(rally, at_ns):
    """Play one ball at an instant, the first of a boot of its own."""
    plan = plan_of(shots=60, **ASKED)
    return first_of_a_boot(plan, first_ball_at(rally, plan, at_ns), rally.path.parent)


def first_of_a_boot(plan, protocol, scratch, **extras):
    """Return served, rise and fall of the first ball of a boot."""
    folder = scratch / "alone"
    folder.mkdir(exist_ok=True)
    bench = VirtualBench(Extras(protocol=protocol, **extras))
    with contextlib.closing(bench.start(plan, folder)) as session:
        for frame in session.frames():
            if frame is not None and frame.kind == wire.BALLS:
                session.stop()
                ball = records(frame.payload)[0]
                return tuple(int(ball[name]) for name in ("served", "rise", "fall"))
    raise AssertionError("no ball came")


@virtual
def test_a_shot_is_what_a_boot_of_its_own_gives(shots):
    """The latest one that was answered, and one that was missed."""
    every = rows(shots)
    assert len(every) == 60
    assert 0 < shots.misses < 60
    assert [row[0] for row in every] == sorted(row[0] for row in every)
    answered = [row for row in every if row[2] is not None]
    latest = max(answered, key=lambda row: row[1])
    assert latest[1] > 10_000
    assert alone(shots, latest[0]) == latest
    missed = next(row for row in every if row[2] is None)
    assert alone(shots, missed[0])[2] == wire.NONE_TICKS


@pytest.mark.more
@virtual
def test_bytes_do_not_depend_on_how_many_children_run(shots, tmp_path):
    other = played(tmp_path / "r", Extras(children=Children(5)), shots=60, **ASKED)
    assert bytes_of(other) == bytes_of(shots)
    assert not other.manifest.suspect


@virtual
def test_its_folder_says_what_it_is(shots, tmp_path):
    assert shots.label.endswith("/ shots / hold_us=200")
    assert "loop shots" in not_as_published(shots.manifest, [])
    told = CliRunner().invoke(cli, ["stats", str(shots.path)]).output
    assert "Shots: instants drawn at random from one boot" in " ".join(told.split())
    done = CliRunner().invoke(cli, ["explain", "stages", str(shots.path)])
    assert "is a rally of shots" in str(done.exception)
    done = CliRunner().invoke(
        cli, ["umpire", "simulate", str(shots.path), "--out", str(tmp_path / "capture.sr")]
    )
    assert "their edges are on no wire" in str(done.exception)
    page = tmp_path / "page.html"
    assert not CliRunner().invoke(cli, ["report", str(shots.path), "--out", str(page)]).exit_code
    text = page.read_text()
    assert "--shots 60 --seed 5" in text
    assert "shots at random instants of 12 ms" in text


@pytest.mark.more
@virtual
def test_a_shot_is_explained(shots):
    """As the first ball of a boot of its own: the load's interrupt is what it waited for."""
    every = rows(shots)
    latest = max(range(60), key=lambda n: (every[n][2] is not None, every[n][1] or 0))
    done = CliRunner().invoke(cli, ["explain", str(shots.path), "--ball", str(latest)])
    assert not done.exit_code, done.output
    assert f"Ball {latest} waited" in done.output
    assert "hog" in done.output


@pytest.mark.more
@virtual
def test_the_worst_instant_is_searched_by_shots_alone(tmp_path):
    """The load holds interrupts off for 200 us. A second search goes on where the first ended."""
    asked = {**ASKED, "timeout_ms": 200}
    rally = played(tmp_path / "r", balls=20, **asked)
    found = []
    for count in (60, 80):
        words = ["explain", "shots", str(rally.path), "--shots", str(count), "--json"]
        done = CliRunner().invoke(cli, words)
        assert not done.exit_code, done.output
        found.append(json.loads(done.stdout))
    first, second = found
    assert first["drawn"] == second["drawn"]
    assert 32 <= first["played"] <= 60 < second["played"] <= 80
    worst = second["worst"]
    assert worst["rise_ns"] >= first["worst"]["rise_ns"]
    assert HELD_US * 500 < worst["rise_ns"] < HELD_US * 1000 + 20_000
    assert worst["rise_ns"] < (second["may_be_as_late_as_ns"] or 10**9)
    # what was kept is played again: another machine's instants are not mixed with this one's
    instants = storage.read(rally)
    instants.rows[instants.played().worst, 1] += 2
    storage.write(rally, instants)
    words = ["explain", "shots", str(rally.path), "--shots", "90"]
    assert "does not repeat" in str(CliRunner().invoke(cli, words).exception)
