# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""What is said of sections: figures against the instants themselves, and what is refused."""

import json
import math

import numpy as np
import pyarrow.parquet as pq
import pytest

from tennis.errors import RallyError, UsageError
from tennis.explain.sections import storage
from tennis.explain.sections.figures import balls_for, chance, time_over
from tennis.explain.sections.summary import causes, curve, summarize_sections
from tennis.play.sections import check
from tests.support.commands import invoke
from tests.support.made_up_sections import (
    made_up_run,
    made_up_sections,
    met_at_every_instant,
)
from tests.support.plans import plan_of
from tests.support.synthetic import make_rally


@pytest.fixture(scope="module")
def sections():
    return made_up_sections()


@pytest.fixture
def rally(tmp_path, sections):
    rally = make_rally(tmp_path / "r", rise=np.full(40, 90), schedule=np.full(40, 200))
    storage.write(rally, sections)
    return rally


def test_shares_are_those_of_the_instants_themselves(sections):
    """The histogram of pieces, against a count of every single nanosecond."""
    latency, sure = met_at_every_instant()
    limits = np.array([60, 90, 100, 150, 200, 250, 300])
    found = time_over(sections.groups.filter(sections.groups.column("sure")), limits)
    counted = [np.count_nonzero(latency[sure] > limit) for limit in limits]
    assert len(latency) == sections.about.time_ns
    np.testing.assert_allclose(found, counted)
    told = summarize_sections(sections, 90)
    assert told.worst.latency_ns == latency[sure].max()
    assert math.isclose(told.not_sure, np.mean(~sure))
    assert math.isclose(sum(cause.share for cause in causes(sections)), np.mean(sure))
    over_ns, share = curve(sections)
    assert (np.diff(share) <= 0).all()
    assert (over_ns[-1], share.min() > 0) == (told.worst.latency_ns, True)


def test_how_many_balls_meet_it():
    assert balls_for(0.0005) == 5990
    assert math.isclose(chance(0.0002, 5000), 1 - (1 - 0.0002) ** 5000)
    assert chance(0.0005, 5990) >= 0.95 > chance(0.0005, 5989)
    assert (balls_for(0.0), balls_for(1.0), chance(1.0, 1)) == (None, 1, 1.0)


def test_what_is_recorded_is_told_by_all(rally, sections):
    """And nobody plays it again for that: this rally cannot be."""
    told = invoke("explain", rally.path, "--sections")
    assert told.exit_code == 0, told.output
    worst = summarize_sections(sections, None).worst.latency_ns
    assert f"{worst} ns at" in told.output
    assert "38 of 38 balls are predicted to the nanosecond." in told.output
    assert f"{worst} ns at" in " ".join(invoke("stats", rally.path).output.split())
    found = json.loads(invoke("stats", rally.path, "--json").output)["sections"]
    told = json.loads(invoke("explain", rally.path, "--sections", "--json").output)
    assert found == {name: told[name] for name in found}
    assert told["causes"][0]["worst_ns"] == worst
    drawn = invoke("plot", rally.path, "--kind", "distribution", "--out", rally.path.parent / "p")
    assert drawn.exit_code == 0, drawn.output
    assert "at every instant" in (rally.path.parent / "p" / "distribution.svg").read_text()


def test_sections_of_other_balls_are_refused(tmp_path, rally):
    other = make_rally(tmp_path / "other", rise=np.full(40, 91), schedule=np.full(40, 200))
    assert storage.read(other) is None
    for name in (storage.SECTIONS, storage.WORST):
        (other.path / name).write_bytes((rally.path / name).read_bytes())
    with pytest.raises(RallyError, match=r"is not of this rally's balls.*--sections"):
        storage.read(other)
    # a row less: the time is not all of it
    path = rally.path / storage.SECTIONS
    pq.write_table(pq.read_table(path).slice(1), path)
    with pytest.raises(RallyError, match="is not of this rally's balls"):
        storage.read(rally)
    path.write_bytes(b"PAR1 and more")
    with pytest.raises(RallyError, match="is damaged"):
        storage.read(rally)


def test_only_a_rally_of_the_virtual_bench_has_sections(tmp_path):
    rally = make_rally(tmp_path / "r", rise=np.full(20, 1000), schedule=np.full(20, 1000))
    for look in ("--sections", "--exact"):
        assert "only the virtual bench" in str(invoke("explain", rally.path, look).exception)
    two = (["--shots", "9"], ["--exact", "--worst", "3"], ["--sections", "--until", "fall"])
    for words in (*two, ["--sections", "--stages"], ["--sections", "--worst", "3"]):
        assert "--" in str(invoke("explain", rally.path, *words).exception)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            {"kernel": "rt", "top_half": "forced", "balls": 5_001},
            "5,001 balls, and sections are recorded of 5,000 at most with top half forced",
        ),
        ({"loop": "open", "rate_hz": 1000}, "an open loop"),
        ({"command_line": "irqchip.gicv3_pseudo_nmi=1"}, "masked in another way"),
        ({"processors": 2}, "2 processors"),
        ({"beneath": "sloth"}, "SLOTH answered"),
        ({"kernel": "sloth"}, "played on SLOTH"),
        ({}, "20 balls, 1 of them missed"),
    ],
)
def test_what_the_model_does_not_know_is_refused(tmp_path, words, said):
    """In one line, before anything is booted; the last one has a missed ball."""
    rally = make_rally(tmp_path / "r", balls=20, misses=0 if words else 1)
    with pytest.raises(UsageError, match=said):
        check(rally, plan_of(**words))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--kernel", "rt", "--top-half", "explicit", "--balls", "5001"], "5,000 at most with"),
        (["--loop", "open", "--rate-hz", "1000"], "an open loop"),
        (["--load", "idle", "--balls", "20"], "the machine sleeps, and what a ping meets"),
        (["--balls", "20"], "the machine sleeps"),  # idle is what nobody asked for
        (["--balls", "20001"], "20,001 balls, and sections are recorded of 20,000 at most"),
        (["--command-line", "kpti=on"], "masked in another way"),
        (["--bench", "pi"], "--sections needs Linux on --bench virtual"),
        (["--kernel", "sloth"], "--sections needs Linux on --bench virtual"),
        (["--processors", "2"], "2 processors"),
    ],
)
def test_a_rally_without_sections_is_refused_before_it_is_played(tmp_path, words, said):
    done = invoke("rally", "--sections", *words, "--out", tmp_path / "r")
    assert isinstance(done.exception, UsageError)
    assert said in str(done.exception)
    assert "\n" not in str(done.exception)
    assert done.exception.next_step or "needs" in str(done.exception)
    assert not list(tmp_path.iterdir())


def test_what_was_recorded_behind_the_time_is_not_counted():
    """QEMU is stopped by the host's clock: the same rally leaves more of it, or less."""
    about, (_, quiet) = made_up_sections().about, made_up_run()
    assert about.high_ns == quiet.end[-5]
    assert about.records == len(quiet.begin) - 4
