"""A lab's sweep: the one that was asked for, and the marker plays it, too."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from tennis.bench.registry import bench_for
from tennis.course import load_lab, work
from tennis.course.checking import sweep_work
from tennis.course.checking.plays import Plays
from tennis.course.checking.sweep_work import compare_sweep, sweep_here, whole_sweep
from tennis.course.checks import InDoubt, Wrong
from tennis.match.sweep.playing import play_sweep
from tennis.play.rally import unobserved
from tests.support.forging import reseal

pytestmark = pytest.mark.xdist_group("sweep-work")  # one worker plays the sweep that all read
LAB = load_lab("09-faster-until-it-breaks")
# as small as it can be: two rates, both of which hold, on SLOTH, which boots in no time
SMALL = LAB.model_copy(
    update={
        "sweep": LAB.sweep.model_copy(  # type: ignore[union-attr]
            update={"kernel": "sloth", "balls": 60, "to_hz": 12_000}
        )
    }
)
LOW, HIGH = "10000-hz", "12000-hz"


@pytest.fixture(scope="module")
def played(tmp_path_factory) -> Path:
    """Return a student's folder with a real sweep."""
    folder = tmp_path_factory.mktemp("sweep") / "w"
    work.start(LAB, "zoe", folder)
    asked = sweep_work._sweep_request(SMALL, work.seed_of(LAB, "zoe"))
    play_sweep(
        bench_for(asked.plan), asked, folder / "rates", lambda _: unobserved(), lambda: False
    )
    return folder


def opened(folder: Path) -> work.Work:
    return replace(work.read(folder), lab=SMALL)


@pytest.mark.virtual
def test_a_sweep_is_played_by_the_marker_and_compared(played, tmp_path):
    assert sorted(whole_sweep(opened(played)).rates) == [10_000, 12_000]
    plays = Plays(tmp_path / "played")
    said = compare_sweep(opened(played), plays, boards=False)
    assert said == "all 2 rates are what they were here"
    ours = sweep_here(opened(played), plays, boards=False)
    assert ours.path.parent == tmp_path / "played"

    # of another seed
    other = tmp_path / "other"
    work.start(LAB, "max", other)
    shutil.copytree(played / "rates", other / "rates")
    with pytest.raises(Wrong, match="its seed is"):
        whole_sweep(opened(other))

    # one rate's balls, sealed again as if they were another's: only a replay finds it
    forged = tmp_path / "forged"
    shutil.copytree(played, forged)
    low, high = (forged / "rates" / name for name in (LOW, HIGH))
    protocol = json.loads((low / "manifest.json").read_text())["protocol"]
    shutil.rmtree(low)
    shutil.copytree(high, low)
    with pytest.raises(Wrong, match="protocol"):
        whole_sweep(opened(forged))
    reseal(low, protocol=protocol)
    whole_sweep(opened(forged))
    with pytest.raises(InDoubt, match="does not repeat: ball"):
        compare_sweep(opened(forged), plays, boards=False)
    # what answers are compared with is the marker's
    assert sweep_here(opened(forged), plays, boards=False).rates == ours.rates
