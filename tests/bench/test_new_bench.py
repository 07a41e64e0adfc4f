"""A new bench is a folder and a line, as docs/how-it-is-built.md has it."""

import ast
import re
import struct
import sys
from itertools import repeat
from types import ModuleType

import numpy as np
import pytest
from click.testing import CliRunner, Result

from tennis.bench import calculated, registry
from tennis.bench.registry import Benches, bench_for
from tennis.cli import cli
from tennis.kit import wire
from tennis.kit.checkout import ROOT
from tennis.kit.errors import BenchError
from tennis.kit.gaps import gap_ns
from tennis.play.check import check_rally
from tennis.play.rally import Watch, play
from tennis.rally import Rally
from tennis.rally.statistics.summary import summarize
from tests.support.plans import plan_of


def register(monkeypatch, *changes: tuple[str, str]):
    """Return the page's bench, registered by the page's line; ``changes`` of its source."""
    page = (ROOT / "docs" / "how-it-is-built.md").read_text().split("## A new bench")[1]
    source, line, *_ = re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)
    for old, new in changes:
        assert old in source
        source = source.replace(old, new)
    (value,) = ast.literal_eval(f"({line.strip()})")
    place, _, attribute = value.partition(":")
    module = ModuleType(place)
    exec(compile(source, "constant/bench.py", "exec"), module.__dict__)  # noqa: S102 (our own page)
    monkeypatch.setitem(sys.modules, place, module)
    with monkeypatch.context() as patch:
        patch.setattr(registry, "BENCHES", (*registry.BENCHES, value))
        registry.forget()
        registry.benches()
    return module.__dict__[attribute]


@pytest.fixture
def constant(monkeypatch):
    """Return the page's bench."""
    yield register(monkeypatch)
    registry.forget()


def run(*words: object) -> Result:
    """Run the command here."""
    return CliRunner().invoke(cli, [str(word) for word in words])


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
def test_it_serves_by_the_plans_protocol(tmp_path):
    def served(name: str, **asked: object) -> tuple[Rally, np.ndarray]:
        plan = plan_of(kernel="constant", balls=450, **asked)
        rally = play(bench_for(plan), plan, tmp_path / name, Watch())
        column = [batch["served_ns"].values for batch in rally.batches(["served_ns"])]
        return rally, np.concatenate(column)

    rally, served_ns = served("closed", seed=7, settle_s=0.5)
    drawn = [gap_ns(7, ball, 500_000, 1_500_000) for ball in range(450)]
    assert served_ns[0] == 500_000_000 + drawn[0]
    assert (np.diff(served_ns) == np.array(drawn[1:]) + 2000).all()
    _, at_a_rate = served("open", loop="open", rate_hz=20_000)
    assert (np.diff(at_a_rate) == 50_000).all()
    assert rally.misses == 0


def test_a_reply_later_than_the_timeout_did_not_come():
    protocol = plan_of(balls=3, timeout_ms=0.01, gap_min_us=20, gap_max_us=20).protocol
    answers = iter([(1000, 20_000), (11_000, 12_000), None])
    first = protocol.settle_ns + 20_000
    none = wire.NONE_TICKS
    rows = [(0, 1000, none), (30_000, none, none), (60_000, none, none)]
    assert list(calculated._served(protocol, answers)) == [(first + t, r, f) for t, r, f in rows]
    with pytest.raises(BenchError, match="there are answers to 1 ball only, and the rally has 3"):
        list(calculated._served(protocol, iter([None])))


def test_it_ends_when_it_is_told_to():
    protocol = plan_of(balls=5000).protocol
    session = calculated._CalculatedSession(protocol, repeat((1, 2)))
    kinds = []
    for frame in session.frames():
        kinds.append(frame.kind)
        session.stop()
        last = frame
    assert kinds == [wire.HELLO, wire.END]
    assert struct.unpack(wire.END_FORMAT, last.payload)[:2] == (calculated.STOPPED, 0)


def test_boots_that_are_copies_are_refused_after_two_pairs(monkeypatch, tmp_path):
    ignores_the_seed = """def start(self, plan, folder):
        protocol = plan.protocol.model_copy(update={"seed": 1})
        return super().start(plan.model_copy(update={"protocol": protocol}), folder)

    def answers"""
    copies = ("def answers", ignores_the_seed)
    two = ('("constant",)  #', '("constant", "later")  #')
    register(monkeypatch, copies, two)
    try:
        words = ("constant", "later", "--balls", "300", "--boots", "7", "--workers", "1")
        done = run("compare", *words, "--out", tmp_path / "c")
        assert "02 holds the balls of 01, tick for tick: it is not a boot" in str(done.exception)
        assert "does not draw a boot from its seed" in str(done.exception)
        assert len(list((tmp_path / "c" / "before").glob("0*"))) == 2
    finally:
        registry.forget()
