"""A lab's match: the one that was asked for, and the marker plays it, too."""

import contextlib
import json
import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tennis.course import load_lab, work
from tennis.course.checking import match_work
from tennis.course.checking.match_work import compare_match, whole_match
from tennis.course.checking.plays import Plays
from tennis.course.checks import Wrong
from tennis.rally import balls
from tests.support.forging import reseal
from tests.support.tables import plain, schema
from tests.support.terminal import tennis

LAB = load_lab("11-the-report")
# on SLOTH, which boots in no time: what is judged is the same
FIRST, OTHER = "sloth-idle-native-task", "sloth-idle-native-task-r2"
pytestmark = pytest.mark.xdist_group("match-work")  # one worker plays the match that all read
PLAN = """title = "Small"
seed = {seed}
balls = 200
repetitions = 2
loads = ["idle"]

[kernels.sloth]
"""


def test_the_plan_has_the_students_seed(tmp_path):
    work.start(LAB, "zoe", tmp_path / "w")
    plan = (tmp_path / "w/plan.toml").read_text()
    assert f"\nseed = {work.seed_of(LAB, 'zoe')}\n" in plan
    assert plan.count("seed = ") == 1


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    """A student's folder with a real match, as small as it can be."""
    folder = tmp_path_factory.mktemp("match") / "w"
    work.start(LAB, "zoe", folder)
    text = PLAN.format(seed=work.seed_of(LAB, "zoe"))
    (folder / "plan.toml").write_text(text)
    answers = folder / "answers.toml"
    words = answers.read_text().replace('prediction.number = ""', "prediction.number = 2")
    answers.write_text(
        words.replace("prediction.reason = '''\n", "prediction.reason = '''\nA guess.\n")
    )
    with contextlib.chdir(folder):
        done = tennis("--quiet", "match", "plan.toml", "--out", "main-result")
    assert done.returncode == 0, done.stderr
    return folder, text


@pytest.mark.virtual
def test_a_match_is_played_by_the_marker_and_compared(played, monkeypatch, tmp_path):
    folder, text = played
    monkeypatch.setattr(match_work, "plan_of_match", lambda *_: text)
    opened = work.read(folder)
    assert len(whole_match(opened).rallies()) == 2
    plays = Plays(tmp_path / "played")
    assert compare_match(opened, plays, boards=False) == "all 2 rallies are what they were here"

    # another boot's balls as if they were this boot's are found without playing
    forged = tmp_path / "forged"
    shutil.copytree(folder, forged)
    first, second = (forged / "main-result" / name for name in (FIRST, OTHER))
    content = json.loads((first / "manifest.json").read_text())
    shutil.copy(second / "balls.parquet", first / "balls.parquet")
    reseal(first, content)
    with pytest.raises(Wrong, match="holds the balls of"):
        whole_match(work.read(forged))

    # one ball that was lowered, sealed again: only a replay finds it
    table = pq.read_table(folder / "main-result" / FIRST / "balls.parquet")
    fall = table.column("fall_ticks").to_pylist()
    fall[7] += 1
    hz = content["instrument"]["tick_hz"]
    columns = [*table.columns[:-1], pa.array(fall, pa.uint32())]
    assert table.column_names[-1] == "fall_ticks"
    lowered = plain(pa.table(columns, schema=schema(hz)))
    balls.write(first / "balls.parquet", lowered, hz)
    reseal(first, content)
    whole_match(work.read(forged))
    with pytest.raises(Wrong, match=f"{FIRST} does not repeat: ball 7"):
        compare_match(work.read(forged), plays, boards=False)
