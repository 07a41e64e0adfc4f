# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""tennis explain --try: the same seed with another setting, and what counts as help."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

from tennis.cli import cli
from tennis.errors import UsageError
from tennis.explain.remedies import remedies
from tennis.play.planning import plan_of
from tennis.play.trying import _counted, changed
from tests.support.synthetic import make_rally
from tests.support.virtual import played

PLAN = plan_of(kernel="rt", load="idle", top_half="threaded", balls=100, seed=9)


def test_a_setting_changes_that_and_nothing_else():
    tried = changed(PLAN, ["priorities=irq=90", "command-line=rcu_nocbs=0"])
    assert (tried.priorities, tried.command_line) == ("irq=90", "rcu_nocbs=0")
    same = {"priorities": PLAN.priorities, "command_line": PLAN.command_line}
    assert tried.model_copy(update=same) == PLAN


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("kernel", "say NAME=VALUE, with one of kernel, command-line"),
        ("load=stress", "say NAME=VALUE"),
        ("priorities=best", "neither one of default"),
        ("command-line=init=/bin/sh", "the bench's own"),
    ],
)
def test_what_cannot_be_tried_is_refused(setting, words):
    with pytest.raises(UsageError, match=words):
        changed(PLAN, [setting])


@pytest.mark.parametrize(
    ("late", "verdict"), [((20, 0), "helps"), ((0, 20), "harms"), ((3, 0), "undecided")]
)
def test_help_is_more_than_chance(tmp_path, late, verdict):
    rallies = []
    for name, count in zip(("before", "after"), late, strict=True):
        rise = np.full(1000, 2000)
        rise[:count] = 500_000
        rallies.append(make_rally(tmp_path / name, rise=rise, schedule=rise))
    tried = _counted(*rallies, "x", 100_000)
    assert (tried.late_before, tried.late_after, tried.verdict) == (*late, verdict)


def test_late_is_one_in_a_thousand_where_nobody_says(tmp_path):
    rise = np.arange(1000, 9000)
    rally = make_rally(tmp_path / "r", rise=rise, schedule=np.zeros_like(rise))
    tried = _counted(rally, rally, "x", None)
    assert (tried.late_before, tried.verdict) == (8, "undecided")


def test_missed_balls_are_late(tmp_path):
    rise = np.full(1000, 2000)
    before = make_rally(tmp_path / "b", rise=rise, schedule=rise, misses=30)
    after = make_rally(tmp_path / "a", rise=rise, schedule=rise)
    tried = _counted(before, after, "x", 100_000)
    assert (tried.late_before, tried.late_after, tried.verdict) == (30, 0, "helps")


LOCK = (
    "Ball 7 waited 1.29 ms: irq/17-racquet (FIFO 99) waited 1.27 ms for the softirq lock that "
    "rcuc/0 (FIFO 1) held, most of it in free_pcppages_bulk."
)


def test_remedies_are_offered_where_they_may_help():
    had = {"kernel": "rt", "priorities": "chrt", "command-line": ""}
    assert [one.setting for one in remedies(LOCK, had)] == [
        "command-line=rcu_nocbs=0",
        "kernel=rt-7",
    ]
    assert [one.setting for one in remedies(LOCK, {**had, "command-line": "rcu_nocbs=0"})] == [
        "kernel=rt-7"
    ]
    mainline = {"kernel": "mainline", "priorities": "default", "command-line": ""}
    said = "Ball 9 waited 1.05 ms: interrupts were off for 1.04 ms in __rmqueue_pcplist."
    assert [one.setting for one in remedies(said, mainline)] == ["kernel=rt"]
    assert not remedies("Ball 1 waited 3.1 µs: the interrupt was taken after 124 ns.", mainline)


@pytest.mark.virtual
def test_a_remedy_is_played_and_counted(tmp_path):
    """Mainline's bottom half needs no thread: every ball is earlier."""
    played(tmp_path / "r", kernel="rt", balls=60, seed=4)
    words = ["explain", str(tmp_path / "r"), "--try", "kernel=mainline", "--over", "6us"]
    done = CliRunner().invoke(cli, [*words, "--json"])
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert (told["late"], told["balls"], told["verdict"]) == ([60, 0], [60, 60], "helps")
    assert told["after"] == str(tmp_path / "r.try-kernel-mainline")
    # it is there now: nothing is played again
    shown = CliRunner().invoke(cli, words)
    assert "It helps: fewer balls are late." in shown.output
    assert "playing it" not in shown.output
    refused = CliRunner().invoke(cli, [*words[:2], "--try", "kernel=rt"])
    assert "changes nothing" in str(refused.exception)
