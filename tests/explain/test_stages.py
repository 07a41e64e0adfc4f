"""Every ball's stages: the very moments of explain, and nobody else's."""

import json
import tracemalloc

import numpy as np
import pytest
from click.testing import CliRunner

from tennis.cli import cli
from tennis.explain import stages
from tennis.explain.replayed import explain, record_stages
from tennis.kit.checkout import ROOT
from tennis.kit.errors import RallyError, UsageError
from tennis.rally import open_rally
from tennis.rally.folder import STAGES
from tennis.rally.settings import STAGES_BALLS_MAX
from tests.support.synthetic import make_rally
from tests.support.virtual import played, table


@pytest.mark.more
@pytest.mark.virtual
def test_every_ball_is_told_as_explain_tells_it(tmp_path):
    """The rally's last ball, too, behind which the instrument ends the machine."""
    rally = played(
        tmp_path / "r",
        kernel="rt",
        top_half="forced",
        load="hog",
        load_options={"hold_us": 200, "softirqs": 1},
        balls=150,
    )
    done = CliRunner().invoke(cli, ["explain", "stages", str(rally.path), "--json"])
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    found = stages.read(open_rally(rally.path))
    balls = table(rally)
    assert found["ball"].tolist() == list(range(150))
    for ours, theirs in (("rise_ns", "rise_ticks"), ("fall_ns", "fall_ticks")):
        assert found[ours].tolist() == balls.column(theirs).to_pylist()
    times = np.array([found[name].values for name in ("taken_ns", "woken_ns", "runs_ns")])
    assert (np.diff(times, axis=0) >= 0).all()
    for ball in (int(np.argmax(balls["fall_ticks"])), 149):
        story = explain(rally, ball=ball).story
        row = {name: one.tolist()[ball] for name, one in found.columns.items()}
        assert (row["taken_ns"], row["runs_ns"], row["top_half_ns"], row["bottom_half_ns"]) == (
            story.taken,
            story.thread_runs,
            story.top_half,
            story.bottom_half,
        )
        assert (row["locked_ns"], row["cause"]) == (story.thread_locks, story.cause.short)
    # known answer: who waited long waited for the softirq lock that hog's timer held
    locked = [step for step in told["stages_ns"] if step["until"] == "the thread has the lock"]
    assert 150_000 < locked[0]["latest"] < 230_000
    assert told["causes"][0]["cause"].startswith("hog_hold [hog]")
    assert sum(step["balls"] for step in told["stages_ns"] if step["until"] == "reply falls") == 150


def test_stages_of_other_balls_are_refused(tmp_path):
    rise = np.full(20, 1000)
    rally = make_rally(tmp_path / "r", rise=rise, schedule=rise)
    other = make_rally(tmp_path / "other", rise=rise + 1, schedule=rise)
    assert stages.read(rally) is None
    row = (0, *[5] * 8, 0, "interrupt", None, None, "")
    stages.write(other, [(ball, *row[1:]) for ball in range(20)])
    assert len(stages.read(other)) == 20
    open_rally(other.path)  # the rally is what it was
    (other.path / STAGES).rename(rally.path / STAGES)
    with pytest.raises(RallyError, match=r"is not of this rally's balls.*explain stages"):
        stages.read(rally)
    (rally.path / STAGES).write_bytes(b"PAR1 and more")
    with pytest.raises(RallyError, match="is damaged"):
        stages.read(rally)


def test_words_that_repeat_take_no_memory(tmp_path):
    """387 kB with one word of 100 kB, which stood in each of 30,000 rows, took 3 GB."""
    rise = np.full(500, 1000)
    rally = make_rally(tmp_path / "r", rise=rise, schedule=rise)
    row = (*[5] * 8, 0, "interrupt", "x" * 100_000, 7, "")
    stages.write(rally, [(ball, *row) for ball in range(500)])
    assert (rally.path / STAGES).stat().st_size < 10**5
    tracemalloc.start()
    found = stages.read(rally)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 2 << 20
    assert set(found["cause"].tolist()) == {"x" * 100_000}


def test_only_what_can_be_played_again_has_stages(tmp_path):
    rise = np.full(20, 1000)
    rally = make_rally(tmp_path / "r", rise=rise, schedule=rise)
    with pytest.raises(UsageError, match="only the virtual bench"):
        record_stages(rally)
    for words in (
        ["--bench", "pi"],
        ["--instrument", "pico"],
        ["--racquet", str(ROOT / "target" / "racquet" / "racquet.c")],
        ["--balls", str(STAGES_BALLS_MAX + 1)],
    ):
        done = CliRunner().invoke(cli, ["rally", *words, "--stages", "--out", str(tmp_path / "n")])
        assert "--stages" in str(done.exception)
    assert not (tmp_path / "n").exists()
