"""A drill is checked by its reply wire alone: what was planted is found, another drill is not."""

import numpy as np
import pytest

from tennis.rally.manifest import Drill
from tennis.report.umpire import Check, open_capture
from tennis.report.umpire.agreement.check import check_capture
from tennis.report.umpire.analyser import Analyser
from tennis.report.umpire.rally import facts, table
from tennis.report.umpire.simulate import simulate
from tests.support.synthetic_drill import make_drill

REPETITIONS = 2000
SWITCH = Drill(name="switch", context="user-rt", period_ns=1_000_000)


def a_drill(out, seed=1, duration=None):
    random = np.random.default_rng(seed)
    intervals = 1_000_000 + random.integers(-400, 400, REPETITIONS - 1)
    if duration is None:
        duration = 8_000 + random.exponential(900, REPETITIONS).astype(np.int64)
    return make_drill(out, SWITCH, intervals, duration)


@pytest.fixture(scope="module")
def drill(tmp_path_factory):
    return a_drill(tmp_path_factory.mktemp("umpire") / "drill")


def checked(drill, folder, of=None, **analyser) -> Check:
    path = folder / "capture.sr"
    path.unlink(missing_ok=True)
    simulate(of or drill, path, Analyser(clock_ppm=20, **analyser))
    return check_capture(drill, open_capture(path))


def test_nothing_planted_nothing_found(drill, tmp_path):
    result = checked(drill, tmp_path)
    assert (result.verdict, result.balls, result.unmatched) == ("pass", REPETITIONS, 0)
    low, high = result.scheduling.bias_ci_ns
    assert low <= 0 <= high
    assert high - low < 4
    assert result.clock.ppm == pytest.approx(20, abs=0.2)
    told = facts(result)
    assert "Duration bias" in told
    assert "Interrupt bias" not in told
    assert {row["kind"] for row in table(result)} == {"duration"}
    assert set(result.as_json()) >= {"duration", "clock_ppm"}
    assert "interrupt" not in result.as_json()


@pytest.mark.parametrize("bias_ns", [430, -90])
def test_a_planted_bias_is_found(drill, tmp_path, bias_ns):
    result = checked(drill, tmp_path, scheduling_bias_ns=bias_ns)
    assert result.verdict == "fail"
    assert "the Brickwall's duration is off by" in result.reason
    low, high = result.scheduling.bias_ci_ns
    assert low <= bias_ns <= high


def test_a_capture_that_begins_late_is_paired_by_the_durations(drill, tmp_path):
    result = checked(drill, tmp_path, late_ms=100)
    assert result.verdict == "pass"
    assert result.uncovered == pytest.approx(100, abs=2)
    assert result.balls + result.uncovered == REPETITIONS


def test_another_drill_is_not_this_one(drill, tmp_path):
    other = a_drill(tmp_path / "other", seed=2)
    assert checked(drill, tmp_path, of=other).verdict == "not run"


def test_what_is_wrong_with_the_reply_wire_is_no_pass_and_the_other_is_not_looked_at(
    drill, tmp_path
):
    assert checked(drill, tmp_path, lose_ms=30).verdict in {"inconclusive", "not run"}
    assert checked(drill, tmp_path, invert_reply=True).verdict == "not run"
    assert checked(drill, tmp_path, glitches=20).verdict != "pass"
    # whatever hangs on that channel: a drill has no pings
    assert checked(drill, tmp_path, invert_ping=True).verdict == "pass"
