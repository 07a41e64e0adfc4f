"""The replay bench: a recorded rally as if it were live, and nothing of it changed."""

import time

import numpy as np
import pytest
from click.testing import CliRunner

from tennis.bench.replay import NOTE, RECORDING
from tennis.cli import cli
from tennis.kit.errors import RallyError
from tennis.play.planning import bench_again, replay_of
from tennis.play.rally import Watch, begun_plan, play, resume
from tennis.rally import open_rally, part_path
from tennis.rally.in_play import can_go_on
from tennis.rally.manifest import Fault, OnProcessor
from tests.support.synthetic import make_rally

QUICK = 1e6
EVENTS = [
    {"what": "ready", "at_ns": 8, "value": 1},
    {"what": "stray", "at_ns": 400_000_000, "value": 0},
    {"what": "double", "at_ns": 400_000_008, "value": 1},
    {"what": "stray", "at_ns": 90_000_000_000, "value": 1},
    {"what": "temperature", "when": "after", "zone": "cpu", "millidegrees": 51000},
]


def replayed(recording, out, watch=None, speed=QUICK):
    bench, plan = replay_of(recording.path, speed)
    return play(bench, plan, out, watch or Watch())


def recorded(tmp_path, **about):
    about = {"balls": 1_700, "misses": 3, "strays": 2, "doubles": 1, "events": EVENTS} | about
    return make_rally(tmp_path / "recorded", **about)


@pytest.mark.parametrize("tick_hz", [1_000_000_000, 125_000_000, 133_000_000])
def test_nothing_is_changed(tmp_path, tick_hz):
    where = [OnProcessor(processor=3, pings=1_710, replies=None, busy=None)]
    recording = recorded(
        tmp_path,
        tick_hz=tick_hz,
        bench="pi",
        console="a console\n",
        versions={"kernel": "k"},
        where=where,
    )
    again = replayed(recording, tmp_path / "again")
    before, after = recording.manifest, again.manifest
    assert after.files["balls.parquet"] == before.files["balls.parquet"]
    assert after.files["console.log"] == before.files["console.log"]
    kept = ("instrument", "target", "load", "protocol", "counts", "ended", "faults", "line")
    assert {name: getattr(after, name) for name in kept} == {
        name: getattr(before, name) for name in kept
    }
    own = [event for event in recording.events if event["what"] != "load_started"]
    assert [event for event in again.events if event["what"] != "load_started"] == own
    # and it says what it is
    assert after.bench == "replay"
    assert after.time_note == before.time_note + NOTE
    assert after.tool.versions == {**before.tool.versions, RECORDING: before.files["balls.parquet"]}
    twice = replayed(again, tmp_path / "twice")
    assert twice.manifest.time_note == after.time_note
    assert twice.manifest.tool.versions == after.tool.versions


def test_faults_are_the_recorded_ones(tmp_path):
    faults = [Fault(code="overrun", message="the instrument lost edges (1 time)")]
    recording = recorded(tmp_path, faults=faults, planned=5_000)
    again = replayed(recording, tmp_path / "again")
    assert (again.manifest.ended, again.manifest.suspect) == ("fault", True)
    assert again.manifest.faults == faults
    assert again.manifest.counts == recording.manifest.counts


def test_balls_come_when_they_are_due(tmp_path):
    """Live: a second of the recording takes half of one at double speed, with progress."""
    recording = recorded(tmp_path, balls=2_000)
    served = np.concatenate([b["served_ns"].values for b in recording.batches()])
    seconds = (served[-1] - served[0]) / 1e9
    seen = []
    began = time.monotonic()
    replayed(recording, tmp_path / "again", Watch(lambda p: seen.append(p.balls)), speed=2)
    took = time.monotonic() - began
    assert took > seconds / 2 - 0.3
    assert len(set(seen)) > 5
    assert seen == sorted(seen)


def test_a_replay_that_is_stopped_goes_on_unless_the_recording_changed_meanwhile(tmp_path):
    recording = recorded(tmp_path)
    whole = replayed(recording, tmp_path / "whole")
    stop = []
    watch = Watch(lambda p: stop.append(True) if p.balls > 500 else None, lambda: bool(stop))
    out = tmp_path / "again"
    first = replayed(recording, out, watch, speed=20)
    assert first.manifest.ended == "interrupted"
    assert 500 < first.balls < 1_700
    assert can_go_on(first)
    recording.path.rename(tmp_path / "elsewhere")
    other = make_rally(recording.path, balls=1_700, seed=9)
    with pytest.raises(RallyError, match=f"begun with {RECORDING}"):
        resume(bench_again(out, begun_plan(out)), out, Watch())
    other.path.rename(tmp_path / "other")
    (tmp_path / "elsewhere").rename(recording.path)
    plan = begun_plan(out)
    plan = plan.model_copy(update={"speed": QUICK})
    second = resume(bench_again(out, plan), out, Watch())
    assert second.manifest.files == whole.manifest.files
    assert not part_path(out).exists()


def test_the_command(tmp_path):
    recording = recorded(tmp_path)
    out = tmp_path / "again"
    words = ["replay", str(recording.path), "--speed", "1e6"]
    done = CliRunner().invoke(cli, [*words, "--out", str(out)])
    assert done.exit_code == 0, done.output
    assert "1700 balls, 3 misses" in done.output
    assert open_rally(out).manifest.bench == "replay"
