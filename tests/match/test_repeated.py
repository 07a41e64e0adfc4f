"""A match that lists one rally several times: ten copies of a boot are no ten boots."""

import shutil

import numpy as np
import pytest
from click.testing import CliRunner

from tennis.cli.replicate import replicate
from tennis.compare.folders import read_side
from tennis.kit.errors import RallyError
from tennis.match.folder import open_match
from tennis.rally import balls as rally_balls
from tennis.rally import parquet
from tennis.rally.columns import Column, Table
from tennis.rally.folder import BALLS
from tests.support.forging import reseal
from tests.support.synthetic_match import MatchMaker

RISE = np.full(200, 1000)


@pytest.fixture
def maker(tmp_path):
    return MatchMaker(tmp_path / "match")


def copied(maker, name: str, seed: int) -> None:
    """List a copy of the only rally, sealed again as a boot with another seed."""
    first = maker.scheduled[0]
    folder = maker.path / name
    shutil.copytree(maker.path / first.name, folder)
    protocol = first.plan.protocol.model_copy(update={"seed": seed})
    plan = first.plan.model_copy(update={"protocol": protocol})
    maker.scheduled.append(first.model_copy(update={"name": name, "plan": plan, "repetition": 2}))
    reseal(folder, protocol__seed=seed)


def refused(maker) -> str:
    """Return the one line with which ``tennis replicate`` refuses a match."""
    with pytest.raises(RallyError) as error:
        maker.sealed()
    done = CliRunner().invoke(replicate, [str(maker.path)])
    assert done.exit_code == 1
    assert isinstance(done.exception, RallyError)
    assert "\n" not in str(error.value)
    return str(error.value)


def test_one_rally_that_is_listed_ten_times(maker):
    maker.rally("rt", "chrt", "idle", RISE)
    maker.scheduled *= 10
    assert "rt-idle-chrt-tasklet-forced is in " in refused(maker)


@pytest.mark.parametrize("packed", ["as it is", "another way"])
def test_the_balls_of_another_rally(maker, packed, monkeypatch):
    """Sealed again with another seed; in another packing the file's hash is another one, too."""
    maker.rally("rt", "chrt", "idle", RISE)
    copied(maker, "other", seed=2)
    balls = maker.path / "other" / BALLS
    if packed == "another way":
        (table,), before = rally_balls.batches(balls), balls.read_bytes()
        with monkeypatch.context() as patch:
            patch.setattr(parquet, "BLOCK", 512)
            rally_balls.write(balls, table, 1_000_000_000)
        assert balls.read_bytes() != before
        reseal(maker.path / "other", protocol__seed=2)
    match = maker.sealed()
    assert [rally.path.name for rally in match.rallies()] == ["rt-idle-chrt-tasklet-forced"]
    said = "holds the balls of rt-idle-chrt-tasklet-forced, tick for tick: it is not a boot"
    assert match.trouble("other") == said
    done = CliRunner().invoke(replicate, [str(maker.path)])
    assert done.exit_code == 1
    assert f"other {said}" in str(done.exception)


def test_boots_whose_latencies_are_the_same_are_boots(maker):
    """SLOTH answers each ball in the same time: what differs is when it was served."""
    maker.cell("rt", "chrt", "idle", RISE)
    match = maker.sealed()
    assert len(match.rallies()) == 10
    assert not open_match(maker.path).damaged()


# what a boot of a kernel looks like: hardly two answers alike
DRAWN = np.random.default_rng(5).integers(900, 4_000, 200)


def shifted(place, seed: int, *, by_ns: int = 0, later_ns: int = 0) -> None:
    """Move all times of a rally, or make all of its answers later, and seal it with a seed."""
    (table,) = rally_balls.batches(place / BALLS)
    number, served, rise, fall = (one.values for one in table.columns.values())
    every = [number, served + by_ns, rise + np.uint32(later_ns), fall + np.uint32(later_ns)]
    columns = {name: Column(one) for name, one in zip(table.columns, every, strict=True)}
    rally_balls.write(place / BALLS, Table(columns), 1_000_000_000)
    reseal(place, protocol__seed=seed)


def test_one_boot_nine_times_with_other_times_and_seeds_is_one_boot(maker):
    maker.rally("rt", "chrt", "idle", DRAWN)
    for number in range(1, 10):
        copied(maker, f"other-{number}", seed=1 + number)
        shifted(maker.path / f"other-{number}", 1 + number, by_ns=number)
    match = maker.sealed()
    assert [rally.path.name for rally in match.rallies()] == ["rt-idle-chrt-tasklet-forced"]
    said = "holds the balls of rt-idle-chrt-tasklet-forced, answer by answer: it is not a boot"
    assert {match.trouble(f"other-{number}") for number in range(1, 10)} == {said}


def test_gaps_tell_where_answers_were_altered_and_answers_where_gaps_were(maker):
    maker.rally("rt", "chrt", "idle", DRAWN)
    first = maker.path / "rt-idle-chrt-tasklet-forced"
    copied(maker, "slower", seed=2)
    shifted(maker.path / "slower", 2, later_ns=50)
    copied(maker, "apart", seed=3)
    (table,) = rally_balls.batches(first / BALLS)
    times = Column(table["served_ns"].values + np.arange(len(table)))
    table = Table({**table.columns, "served_ns": times})
    rally_balls.write(maker.path / "apart" / BALLS, table, 1_000_000_000)
    reseal(maker.path / "apart", protocol__seed=3)
    match = maker.sealed()
    assert len(match.rallies()) == 1
    assert "gap by gap" in match.trouble("slower")
    assert "answer by answer" in match.trouble("apart")
    # a side of a comparison is made of boots, too
    for name in ("slower", "apart"):
        folder = maker.path.with_name(f"side {name}")
        folder.mkdir()
        for one in (first.name, name):
            shutil.copytree(maker.path / one, folder / one)
        with pytest.raises(RallyError, match=r"holds the balls of .*it is not a boot"):
            read_side(folder)
