# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""A new bench is a folder and a line, as docs/how-it-is-built.md has it."""

import re
import sys
import tomllib
from types import ModuleType

import pytest
from click.testing import CliRunner

from tennis import entries
from tennis.bench import registry
from tennis.bench.registry import Benches, bench_for
from tennis.checkout import ROOT
from tennis.cli import cli
from tennis.entries import Entry
from tennis.errors import UsageError
from tennis.match.folder import open_match
from tennis.match.plan import read_plan
from tennis.play.checking import check_rally
from tennis.play.rally import Watch, play
from tennis.play.schedule import scheduled_rallies
from tennis.stats.summary import summarize
from tests.support.plans import plan_of


@pytest.fixture
def constant(monkeypatch):
    """Return the page's bench, registered by the page's line."""
    page = (ROOT / "docs" / "how-it-is-built.md").read_text().split("## A new bench")[1]
    source, line, *_ = re.findall(r"```(?:python|toml)\n(.*?)```", page, flags=re.DOTALL)
    ((name, value),) = tomllib.loads(line).items()
    place, _, attribute = value.partition(":")
    module = ModuleType(place)
    exec(compile(source, "constant/bench.py", "exec"), module.__dict__)  # noqa: S102 (our own page)
    monkeypatch.setitem(sys.modules, place, module)
    own = entries.entries(registry.GROUP)
    with monkeypatch.context() as patch:
        added = (*own, Entry(registry.GROUP, name, value, "somebody"))
        patch.setattr(entries, "entries", lambda group: added if group == registry.GROUP else ())
        registry.forget()
        registry.benches()
    yield module.__dict__[attribute]
    registry.forget()


def test_the_pages_bench_plays(constant, tmp_path):
    plan = plan_of(kernel="constant", balls=450)
    bench = bench_for(plan)
    assert isinstance(bench, constant)
    rally = play(bench, plan, tmp_path / "r", Watch())
    summary = summarize(rally)
    assert (rally.balls, rally.misses, rally.manifest.suspect) == (450, 0, False)
    assert summary.interrupt_ns.median == summary.interrupt_ns.max == 1000
    assert summary.scheduling_ns.max == 1000
    assert rally.manifest.time_note == "no time: every answer takes 1 µs"
    assert check_rally(rally.path).balls == 450


def test_it_plays_beside_others_of_its_kind(constant):
    plans = [plan_of(kernel="constant"), plan_of(kernel="mainline")]
    together = Benches(plans)
    notes = [together.of(plan).time_note(plan) for plan in plans]
    assert notes == ["no time: every answer takes 1 µs", "virtual time, 2 ns per instruction"]
    assert isinstance(together.of(plans[0]), constant)


@pytest.mark.usefixtures("constant")
def test_a_match_plays_it(tmp_path):
    plan = tmp_path / "plan.toml"
    plan.write_text('balls = 200\nloads = ["idle"]\n[kernels.constant]\n')
    out = tmp_path / "out"
    done = CliRunner().invoke(cli, ["match", str(plan), "--out", str(out), "--workers", "1"])
    assert done.exit_code == 0, done.output
    (rally,) = open_match(out).rallies()
    assert (rally.path.name, rally.balls) == ("constant-idle-default-thread", 200)
    assert (out / "report.html").exists()


@pytest.mark.usefixtures("constant")
def test_a_match_plays_it_beside_sloth_and_by_another_name(tmp_path):
    plan = tmp_path / "plan.toml"
    plan.write_text(
        'loads = ["idle"]\n[kernels.sloth]\n[kernels.other]\ntree = "constant"\n'
        '[kernels.small]\ntree = "sloth-m0"\n'
    )
    scheduled, left = scheduled_rallies(read_plan(plan), {}, tmp_path)
    assert left == []
    assert {planned.name: planned.plan.kernel for planned in scheduled} == {
        "sloth-idle-native-task": "sloth",
        "other-idle-default-thread": "constant",
        "small-idle-native-task": "sloth-m0",
    }


@pytest.mark.usefixtures("constant")
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('loads = ["idle"]\n[kernels.mainline]\ntree = "constant"', "is not a Linux kernel"),
        ('loads = ["nowhere"]\n[kernels.constant]', "nowhere"),
        (
            'loads = ["idle"]\nrallies = false\n[kernels.constant]\n[[drill]]\nname = "switch"',
            "drills",
        ),
    ],
)
def test_a_match_refuses_what_it_does_not_have(tmp_path, text, said):
    path = tmp_path / "plan.toml"
    path.write_text(text)
    with pytest.raises(UsageError, match=said):
        scheduled_rallies(read_plan(path), {}, tmp_path)


def test_what_it_does_not_take_is_refused(constant):
    with pytest.raises(UsageError, match="--witness needs --bench virtual or --target"):
        plan_of(kernel="constant", witness="cyclictest")
    with pytest.raises(UsageError, match="--instrument pico needs"):
        plan_of(kernel="constant", instrument="pico")
    assert constant.can.takes == frozenset()


def test_benches_of_two_kinds_do_not_play_together():
    with pytest.raises(UsageError, match="virtual and pi are different benches"):
        Benches([plan_of(), plan_of(bench="pi")])
