# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""A new bench is a folder and a line, as docs/how-it-is-built.md has it."""

import re
import shlex
import struct
import sys
import tomllib
from itertools import repeat
from types import ModuleType

import numpy as np
import pytest
from click.testing import CliRunner, Result

from tennis import entries, wire
from tennis.bench import calculated, registry
from tennis.bench.registry import Benches, bench_for
from tennis.checkout import ROOT
from tennis.cli import cli
from tennis.course.labs import LabRally, in_other_processes
from tennis.entries import Entry
from tennis.errors import BenchError, UsageError
from tennis.gaps import gap_ns
from tennis.match.folder import open_match
from tennis.match.plan import read_plan
from tennis.play.check import check_rally
from tennis.play.planning import plan_for
from tennis.play.rally import Watch, play
from tennis.play.schedule import scheduled_rallies
from tennis.rally import Rally, open_rally
from tennis.rally.settings import OF_TARGET, differences
from tennis.stats.summary import summarize
from tests.support.plans import plan_of


def register(monkeypatch, *changes: tuple[str, str]):
    """Return the page's bench, registered by the page's line; ``changes`` of its source."""
    page = (ROOT / "docs" / "how-it-is-built.md").read_text().split("## A new bench")[1]
    source, line, *_ = re.findall(r"```(?:python|toml)\n(.*?)```", page, flags=re.DOTALL)
    for old, new in changes:
        assert old in source
        source = source.replace(old, new)
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
    return module.__dict__[attribute]


@pytest.fixture
def constant(monkeypatch):
    """Return the page's bench."""
    yield register(monkeypatch)
    registry.forget()


@pytest.fixture
def tunnel(monkeypatch):
    """Return the page's bench with a kind of its own, and with a second kernel that is later."""
    yield register(
        monkeypatch,
        ('kind = "virtual"', 'kind = "tunnel"'),
        ('("constant",)  #', '("constant", "later")  #'),
        ("repeat((1000, 2000))", "repeat((1000, 2000) if plan.kernel[0] == 'c' else (4000, 5000))"),
    )
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
    said = "--kernel constant takes no --witness: that needs another kernel of --bench virtual or "
    with pytest.raises(UsageError, match=said):
        plan_of(kernel="constant", witness="cyclictest")
    with pytest.raises(UsageError, match="--kernel constant has no --instrument pico"):
        plan_of(kernel="constant", instrument="pico")
    assert constant.can.takes == frozenset()


def test_benches_of_two_kinds_do_not_play_together():
    with pytest.raises(UsageError, match="virtual and pi are different benches"):
        Benches([plan_of(), plan_of(bench="pi")])


@pytest.mark.parametrize(
    ("asked", "option"),
    [
        ({"load": "forks"}, "--load forks"),
        ({"top_half": "forced"}, "--top-half forced"),
        ({"bottom_half": "workqueue"}, "--bottom-half workqueue"),
        ({"priorities": "chrt"}, "--priorities chrt"),
    ],
)
def test_what_it_has_not_is_refused_before_it_plays(constant, asked, option):
    with pytest.raises(UsageError, match=f"--kernel constant has no {option}: use "):
        plan_of(kernel="constant", **asked)
    # nor is it taken from a folder that says so
    with pytest.raises(UsageError, match=f"--kernel constant has no {option}: use "):
        bench_for(plan_of(kernel="constant").model_copy(update=asked))
    assert constant.can.has


@pytest.mark.usefixtures("constant")
def test_a_match_does_not_list_what_it_has_not(tmp_path):
    plan = tmp_path / "plan.toml"
    plan.write_text('loads = ["idle", "stress"]\n[kernels.constant]\n')
    done = run("match", plan, "--list")
    assert done.exit_code != 0
    assert "--kernel constant has no --load stress" in str(done.exception)


@pytest.mark.usefixtures("constant")
def test_it_serves_by_the_plans_protocol(tmp_path):
    def served(name: str, **asked: object) -> tuple[Rally, np.ndarray]:
        plan = plan_of(kernel="constant", balls=450, **asked)
        rally = play(bench_for(plan), plan, tmp_path / name, Watch())
        column = [batch["served_ns"].to_numpy() for batch in rally.batches(["served_ns"])]
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
    assert list(calculated.served(protocol, answers)) == [(first + t, r, f) for t, r, f in rows]
    with pytest.raises(BenchError, match="there are answers to 1 ball only, and the rally has 3"):
        list(calculated.served(protocol, iter([None])))


def test_it_ends_when_it_is_told_to():
    protocol = plan_of(balls=5000).protocol
    session = calculated.CalculatedSession(protocol, repeat((1, 2)))
    kinds = []
    for frame in session.frames():
        kinds.append(frame.kind)
        session.stop()
        last = frame
    assert kinds == [wire.HELLO, wire.END]
    assert struct.unpack(wire.END_FORMAT, last.payload)[:2] == (calculated.STOPPED, 0)


@pytest.mark.usefixtures("constant")
def test_what_cannot_be_done_with_it_is_said_by_its_name(tmp_path):
    plan = plan_of(kernel="constant", balls=50)
    play(bench_for(plan), plan, tmp_path / "r", Watch())
    done = run("explain", tmp_path / "r")
    assert "was played on the bench constant, which has no kernel code" in str(done.exception)
    listed = run("kernels").stdout
    assert "The bench constant has kernels of its own:\nconstant.\n" in listed
    assert "constant" not in listed.partition("The bench constant")[0]
    done = run("rally", "--kernel", "constnat", "--out", tmp_path / "no")
    assert "no kernel 'constnat': use mainline, rt" in str(done.exception)
    assert ", constant, or the folder" in str(done.exception)
    registry.forget()  # as if its package were gone
    done = run("check", tmp_path / "r")
    said = "was played on constant, which is no Linux, and no bench here has it"
    assert said in str(done.exception)


@pytest.mark.usefixtures("constant")
def test_a_labs_rally_that_says_no_halves_has_those_of_the_bench(monkeypatch, tmp_path):
    asked = LabRally(name="r", kernel="constant", balls=20)
    assert asked.command(7) == (
        "tennis rally --kernel constant --load idle --balls 20 --seed 7 --out r"
    )
    # what the command plays, and what the marker does
    out = tmp_path / "r"
    assert run(*shlex.split(asked.command(7))[1:-1], out).exit_code == 0
    assert list(differences(open_rally(out).manifest, asked, OF_TARGET)) == []
    plan = plan_for(asked.request(None), asked.served(7))
    assert (plan.bottom_half, plan.top_half) == ("thread", "hard")
    # processes that judge a hand-in import no package: they are told
    told = in_other_processes()
    registry.forget()
    for name, value in told.items():
        monkeypatch.setenv(name, value)
    assert LabRally(name="r", kernel="constant", balls=20) == asked
    assert LabRally(name="r", kernel="mainline", balls=20).bottom_half == "tasklet"


@pytest.mark.usefixtures("tunnel")
def test_a_bench_with_a_word_of_its_own_is_checked_and_compared(tmp_path):
    done = run("rally", "--bench", "tunnel", "--out", tmp_path / "r")
    said = "the bench tunnel has no kernel unknown: use --kernel constant or later"
    assert said in str(done.exception)
    for words in (("rally", "--kernel", "later"), ("compare", "later", "rt")):
        done = run(*words, "--out", tmp_path / "no")
        assert "the kernel later needs --bench tunnel" in str(done.exception)
    of = ("--bench", "tunnel", "--balls", "300")
    assert run("rally", *of, "--kernel", "later", "--out", tmp_path / "r").exit_code == 0
    done = run("check", tmp_path / "r")
    assert done.exit_code == 0, done.exception
    assert "300 balls" in done.stdout
    words = ("constant", "later", *of, "--boots", "7", "--workers", "1", "--once")
    done = run("compare", *words, "--out", tmp_path / "c")
    assert done.exit_code in {0, 1}, done.exception
    assert "later" in done.stdout
    assert "in which order" not in done.stdout  # the bench repeats: no time changes it
    assert len(list((tmp_path / "c" / "after").glob("0*"))) == 7
    done = run("explain", tmp_path / "r")
    assert "was played on the bench constant, which has no kernel code" in str(done.exception)


def test_a_bench_that_has_one_kernel_need_not_be_told_which(monkeypatch):
    register(monkeypatch, ('kind = "virtual"', 'kind = "tunnel"'))
    try:
        assert plan_of(bench="tunnel").kernel == "constant"
    finally:
        registry.forget()


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


def test_what_means_other_times_is_refused_before_it_is_played(monkeypatch, tmp_path):
    note = ('"no time: every answer takes 1 µs"', 'f"the time of {plan.kernel}"')
    register(monkeypatch, note, ('("constant",)  #', '("constant", "later")  #'))
    try:
        words = ("constant", "later", "--balls", "300", "--boots", "7", "--workers", "1")
        done = run("compare", *words, "--out", tmp_path / "c")
        said = "not mean the same on both sides (the time of constant; the time of later)"
        assert said in str(done.exception)
        assert not (tmp_path / "c" / "before").exists()
    finally:
        registry.forget()
