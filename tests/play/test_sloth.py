"""Rallies against SLOTH: their folders, what is refused, an application of one's own."""

import json
from pathlib import Path

import numpy as np
import pytest

from tennis.bench.sloth import KERNELS
from tennis.bench.sloth.image import SLOTH
from tennis.kit.errors import UsageError
from tennis.match.plan import MatchPlan
from tennis.match.schedule import scheduled_rallies
from tennis.play import repeat
from tennis.play.check import check_rally
from tennis.rally import open_rally
from tennis.rally.plan import Plan
from tennis.rally.record_file import seal_of
from tests.support.plans import plan_of
from tests.support.virtual import played

# all on one worker: they share rallies, and each takes a second
pytestmark = [pytest.mark.virtual, pytest.mark.xdist_group("sloth")]

HOG = {"load": "hog", "load_options": {"hold_us": 100, "period_us": 1000, "ceiling": 2}}


@pytest.fixture(scope="module")
def hog(tmp_path_factory):
    """Return a rally in which the bottom half waits for a resource."""
    return played(tmp_path_factory.mktemp("sloth") / "r", kernel="sloth", balls=500, **HOG)


def answers(rally):
    return repeat.balls_of(rally)[:, 1:]


def test_the_folder_says_who_answered_and_with_which_priorities(hog):
    target, manifest = hog.manifest.target, hog.manifest
    assert (manifest.schema_version, manifest.ended, manifest.suspect) == (2, "complete", False)
    assert (target.kernel, target.bottom_half, target.priorities) == ("sloth", "task", "native")
    assert {task.task: task.priority for task in target.tasks} == {"Raise": 3, "Lower": 2, "Hog": 1}
    assert {task.policy for task in target.tasks} == {"NVIC"}
    assert {c.resource: c.ceiling for c in target.ceilings} == {"Line": 2}
    assert (target.board, target.release) == ("QEMU lm3s6965evb, Cortex-M3", "SLOTH")
    assert manifest.load.command == "HOLD_US=100 PERIOD_US=1000 CEILING=2"
    assert [event["what"] for event in hog.each_event()] == ["ready"]


def test_the_ceiling_decides_who_waits(hog):
    rise, fall = answers(hog).T
    assert set(rise) == {26}
    assert 90_000 < (fall - rise).max() < 100_200


@pytest.mark.cases(more=["sloth-m0*"])
@pytest.mark.parametrize(("kernel", "rise"), [("sloth-m33", 26), ("sloth-m0", 32)])
def test_other_processors_play(tmp_path, kernel, rise):
    rally = played(tmp_path / "r", kernel=kernel, balls=100)
    assert set(answers(rally)[:, 0]) == {rise}
    assert KERNELS[kernel].upper() in rally.manifest.target.board


def test_a_folder_of_schema_1_is_read(tmp_path):
    """Tennis before SLOTH knew neither tasks nor ceilings."""
    rally = played(tmp_path / "r", kernel="sloth", balls=50)
    path = rally.path / "manifest.json"
    content = json.loads(path.read_text())
    content["schema_version"] = 1
    content["target"].pop("ceilings")
    content["target"]["bottom_half"] = "tasklet"
    content["seal"] = seal_of(content)
    path.write_text(json.dumps(content))
    assert open_rally(rally.path).manifest.target.ceilings == []
    plan = tmp_path / "plan.json"
    text = plan_of(kernel="mainline").text
    plan.write_text(text.replace('"schema_version": 2', '"schema_version": 1'))
    assert Plan.read(tmp_path).kernel == "mainline"


def test_a_match_plays_it_beside_linux():
    """A load that only one of them has is left out for the other, and the plan says so."""
    plan = MatchPlan.model_validate(
        {
            "title": "both",
            "kernels": {"mainline": {}, "sloth": {}},
            "loads": {"hog": {}, "stress": {}, "storm": {}},
        }
    )
    rallies, left = scheduled_rallies(plan, {}, Path())
    assert {rally.name for rally in rallies} == {
        "mainline-hog-default-tasklet",
        "mainline-stress-default-tasklet",
        "sloth-hog-native-task",
        "sloth-storm-native-task",
    }
    assert {entry.name: entry.why for entry in left} == {
        "sloth-stress-native-task": "the load stress is not for SLOTH",
        "mainline-storm-default-tasklet": "the load storm is not for Linux",
    }


def own(folder: Path, code: str = "", header: str = "") -> Path:
    """Write the kit's Racquet as one's own, with some of it replaced."""
    for suffix, changed in ((".c", code), (".h", header)):
        text = (SLOTH / f"racquet{suffix}").read_text()
        if changed:
            old, new = changed.split(" -> ")
            assert old in text
            text = text.replace(old, new, 1)
        (folder / f"mine{suffix}").write_text(text)
    return folder / "mine.c"


def test_ones_own_application_plays(tmp_path, hog):
    """The kit's own text gives the kit's balls; another priority gives others."""
    source = own(tmp_path)
    rally = played(tmp_path / "r", kernel="sloth", balls=500, racquet=source, **HOG)
    assert np.array_equal(answers(rally), answers(hog))
    assert rally.manifest.target.module == "racquet, one's own"
    assert check_rally(rally.path, racquet=source).balls == 500
    with pytest.raises(UsageError, match="its file is not here"):
        check_rally(rally.path)
    # a bottom half that is as high as the top half runs behind it all the same
    other = own(tmp_path, header="FREE_LINE(0), 2 -> FREE_LINE(0), 3")
    idle = played(tmp_path / "s", kernel="sloth", balls=100, racquet=other)
    assert {task.priority for task in idle.manifest.target.tasks} == {3, 1}
    assert not idle.misses


def test_ones_own_application_that_is_never_ready(tmp_path):
    """The instrument waits for ten seconds of virtual time, and says so."""
    source = own(tmp_path, "ready_up(); -> ;")
    rally = played(tmp_path / "r", kernel="sloth", balls=10, racquet=source)
    assert (rally.balls, rally.manifest.ended) == (0, "fault")
    assert [fault.code for fault in rally.manifest.faults] == ["never_ready"]
