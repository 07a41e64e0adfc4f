"""What is not judged: a match's drills, and rallies in an open loop."""

import json

import numpy as np
import pytest

from tennis.match.folder import open_match
from tennis.rally.manifest import Drill
from tennis.replicate.match_page import _drill_rows, _match_report
from tennis.replicate.verdicts import Replication
from tests.support.forging import reseal
from tests.support.synthetic_match import MatchMaker, bursts


@pytest.fixture
def maker(tmp_path):
    return MatchMaker(tmp_path / "match")


def periodic(context: str, period_us: int) -> Drill:
    return Drill(name="periodic", context=context, period_ns=period_us * 1000)


def test_drills_are_no_rallies_of_a_match(maker):
    """A drill's widths must never be taken for latencies, nor its count for balls."""
    drill = periodic("user", 1000)
    maker.drill("rt", "idle", drill, np.full(9, 1_000_000), np.full(10, 9), boots=1)
    maker.rally("rt", "chrt", "idle", bursts(5000))
    match = maker.sealed()
    assert [rally.manifest.drill for rally in match.rallies()] == [None]
    assert [rally.manifest.drill for rally in match.drills()] == [drill]
    found = Replication(match)
    assert found.compared == []
    rows = _drill_rows(match)
    assert [(row.kernel, row.load, row.boots, row.sides.inside.n) for row in rows] == [
        ("rt", "idle", 1, 9)
    ]


def test_a_drill_of_another_setting_is_named_so(maker):
    drill = periodic("user", 1000)
    done = (np.full(9, 1_000_000), np.full(10, 9))
    maker.drill("rt", "idle", drill, *done, witness="cyclictest", boots=1)
    (row,) = _drill_rows(maker.sealed())
    assert row.name == "periodic 1000 µs, user, with cyclictest"


def test_a_rally_that_poses_as_a_drill_is_not_used(maker):
    drill = periodic("user", 1000)
    maker.drill("rt", "idle", drill, np.full(9, 1_000_000), np.full(10, 9), boots=1)
    maker.drill("rt", "memory", drill, np.full(9, 1_000_000), np.full(10, 9), boots=1)
    match = maker.sealed()
    listed = json.loads((match.path / "match.json").read_text())
    listed["fixtures"][0]["plan"]["drill"]["period_ns"] = 2_000_000
    listed["fixtures"][1]["plan"]["drill"] = None
    (match.path / "match.json").write_text(json.dumps(listed))
    again = open_match(match.path)
    assert again.drills() == [] and again.rallies() == []
    whys = list(again.damaged().values())
    assert "is not the rally that match.json lists (drill" in whys[0]
    assert "is a drill" in whys[1]


def test_a_drill_whose_own_times_are_damaged_is_left_out_and_said(maker):
    """The others speak, and the page is written."""
    drill = periodic("kernel", 1000)
    maker.drill("rt", "idle", drill, np.full(9, 1_000_000), np.full(10, 9), boots=2)
    match = maker.sealed()
    first = match.path / match.scheduled[0].name
    console = (first / "console.log").read_bytes().replace(b"tennis: fact inside", b"tennis: lost")
    (first / "console.log").write_bytes(console)
    reseal(first)
    again = open_match(match.path)
    assert "cannot be used" in again.trouble(first.name)
    assert [row.boots for row in _drill_rows(again)] == [1]
    assert "cannot be used" in _match_report(Replication(again))


def test_an_open_loop_says_nothing_of_the_thesis(maker):
    """There, an answer later than a period is a miss; the thesis waited for each."""
    for kernel, priorities in (("mainline", "default"), ("rt", "chrt")):
        maker.cell(kernel, priorities, "idle", bursts(5000), rate_hz=1000.0)
    replicated = Replication(maker.sealed())
    claim = replicated.claim("knutsson-2008", "c1")
    assert claim.verdict == "not addressed"
    assert "not played in a closed loop" in claim.why
    page = _match_report(replicated)
    assert "Tables 7.1 to 7.4" not in page
