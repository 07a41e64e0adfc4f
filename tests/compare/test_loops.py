"""Control loops compared: made-up drills, of which it is known what one does worse."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

from tennis.cli import cli
from tennis.compare.loops import Drift, drifts_of, jitter_of
from tennis.rally.manifest import Drill
from tennis.report.plots import sides
from tests.support.synthetic import make_rally
from tests.support.synthetic_drill import make_drill
from tests.support.synthetic_match import MatchMaker

PERIOD_NS = 1_000_000
RISES = 600


def loop(out, seed, *, longer_ns=0, late_ns=0, left_out=0, period_ns=PERIOD_NS, name="periodic"):
    """Make a loop that wakes late by chance, and one that does one thing worse.

    Periods longer by ``longer_ns``; one in a hundred late by ``late_ns``; so many left out.
    """
    late = np.random.default_rng(seed).lognormal(7, 0.4, RISES).astype(np.int64)
    rises = np.arange(RISES) * (PERIOD_NS + longer_ns) + late
    rises[50::100] += late_ns
    rises[RISES // 2 :] += left_out * PERIOD_NS
    drill = Drill(name=name, context="user", period_ns=period_ns)
    return make_drill(out, drill, np.diff(rises), np.full(RISES, 1000), seed=seed)


def side(folder, seeds=range(1, 11), **worse):
    for seed in seeds:
        loop(folder / f"{seed:02d}", seed, **worse)
    return folder


def compare(*words):
    return CliRunner().invoke(cli, ["compare", *map(str, words)], terminal_width=200)


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    return side(tmp_path_factory.mktemp("loops") / "good")


@pytest.mark.parametrize(
    ("worse", "what"),
    [
        ({"longer_ns": 60_000}, ("drift", "drift of a period")),
        ({"late_ns": 300_000}, ("jitter", "1 in 100")),
        ({"left_out": 30}, ("jitter", "periods without a rise")),
    ],
)
def test_what_became_worse_is_named(good, tmp_path, worse, what):
    done = compare(good, side(tmp_path / "worse", **worse), "--json")
    assert done.exit_code == 1, done.output
    told = json.loads(done.stdout)
    rows = {(one["latency"], one["quantity"]): one["change"] for one in told["rows"]}
    assert rows[what] == "later"
    # nothing but a drift drifts, and nothing but periods that were left out are overruns
    assert (rows["drift", "drift of a period"] == "later") == ("longer_ns" in worse)
    assert (("jitter", "periods without a rise") in rows) == ("left_out" in worse)
    assert "balls" not in done.stdout


def test_loops_that_are_alike_are_no_worse(good, tmp_path):
    alike = side(tmp_path / "alike", range(11, 21))
    done = compare(good, alike, "--margin", 50, "--out", tmp_path / "page")
    assert done.exit_code == 0, done.output
    said = " ".join(done.output.split())
    assert "jitter median" in said
    assert "No worse: no quantity above is worse by more than 50 %." in said
    assert "jitter, median: " in (tmp_path / "page/compare.html").read_text()


def test_a_drift_that_its_ends_may_give_is_none(tmp_path):
    """The last rise is late, and the periods are as long as they should be."""
    rises = np.arange(101) * PERIOD_NS
    rises[-1] += 5_000
    drill = Drill(name="periodic", context="user", period_ns=PERIOD_NS)
    rally = make_drill(tmp_path / "d", drill, np.diff(rises), np.full(101, 1000))
    drift, ((boot,),) = drifts_of([[rally]])
    assert boot.values[0] == pytest.approx(50)
    assert drift == Drift(pytest.approx(100))
    assert drift.of(boot) == drift.least_ns
    overrun = loop(tmp_path / "o", 1, left_out=2)
    drawn, counted = sides._jitter(overrun), jitter_of(overrun)
    assert (counted.lost, drawn.missed) == (2, 2)
    assert counted.values[-1] == drawn.values[-1] < 20_000


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"period_ns": 500_000}, "is periodic every 1.00 ms and"),
        ({"name": "switch"}, "is the drill switch: a comparison takes rallies, and of drills"),
        (None, "is periodic every 1.00 ms and"),
    ],
)
def test_what_does_not_compare_is_said_in_one_line(good, tmp_path, other, said):
    if other is None:
        make_rally(tmp_path / "other", balls=RISES)
    else:
        loop(tmp_path / "other", 1, **other)
    done = compare(good, tmp_path / "other")
    assert done.exit_code, done.output
    assert said in str(done.exception)
    assert len(str(done.exception).splitlines()) == 1


def test_a_match_of_drills_alone_is_no_side(good, tmp_path):
    made = MatchMaker(tmp_path / "match")
    drill = Drill(name="periodic", context="user", period_ns=PERIOD_NS)
    made.drill("rt", "idle", drill, np.full(20, PERIOD_NS), np.full(21, 1000), boots=1)
    made.sealed()
    done = compare(good, tmp_path / "match")
    assert "is a match of drills alone: name the folders of" in str(done.exception)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["GOOD", "GOOD"], "--period-us: both sides were played already"),
        (["program=a.c", "plan.toml"], "--period-us: plan.toml is a plan, which says itself"),
    ],
)
def test_a_period_is_of_loops_that_are_played(good, tmp_path, monkeypatch, words, said):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.c").write_text("int main(void) { return 0; }\n")
    done = compare(*(str(good) if one == "GOOD" else one for one in words), "--period-us", 1000)
    assert done.exit_code
    assert said in str(done.exception)
