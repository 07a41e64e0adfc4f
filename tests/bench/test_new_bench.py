# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""A new bench is a folder and a line, as docs/how-it-is-built.md has it."""

import re
from types import ModuleType

import pytest

from tennis.bench import registry
from tennis.bench.registry import bench_for, bench_for_all
from tennis.checkout import ROOT
from tennis.errors import UsageError
from tennis.play.checking import check
from tennis.play.planning import plan_of
from tennis.play.rally import Watch, play
from tennis.stats.summary import summarize


@pytest.fixture
def constant(monkeypatch):
    """Return the page's bench, registered by the page's line."""
    page = (ROOT / "docs" / "how-it-is-built.md").read_text().split("## A new bench")[1]
    source, imports, line = re.findall(r"```(?:python|text)\n(.*?)```", page, flags=re.DOTALL)
    module = ModuleType("constant")
    exec(compile(source, "constant/bench.py", "exec"), module.__dict__)  # noqa: S102 (our own page)
    name = line.strip().removesuffix(",")
    assert imports.strip() == f"from tennis.bench.constant.bench import {name}"
    bench = module.__dict__[name]
    monkeypatch.setattr(registry, "BENCHES", (bench, *registry.BENCHES))
    return bench


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
    assert check(rally.path).balls == 450


def test_it_plays_beside_others_of_its_kind(constant):
    plans = [plan_of(kernel="constant"), plan_of(kernel="mainline")]
    together = bench_for_all(plans)
    assert together.time_note(plans[0]) == "no time: every answer takes 1 µs"
    assert together.time_note(plans[1]) == "virtual time, 2 ns per instruction"
    assert together.versions(plans[0]) == {"constant": "1"}
    assert isinstance(bench_for_all(plans[:1]), constant)


def test_what_it_does_not_take_is_refused(constant):
    with pytest.raises(UsageError, match="--witness belongs to --bench virtual, or to --target"):
        plan_of(kernel="constant", witness="cyclictest")
    with pytest.raises(UsageError, match="--instrument pico belongs to"):
        plan_of(kernel="constant", instrument="pico")
    assert constant.can.takes == frozenset()


def test_benches_of_two_kinds_do_not_play_together():
    with pytest.raises(UsageError, match="virtual and pi are different benches"):
        bench_for_all([plan_of(), plan_of(bench="pi")])
