# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Several processors on the virtual bench: repeats, known answers, and what isolation is worth."""

from collections import Counter

import numpy as np
import pytest
from click.testing import CliRunner

from tennis.bench.kernels.modules import program
from tennis.bench.virtual.bench import Extras
from tennis.cli.match import match
from tennis.course.lab_files import solved
from tennis.kit.checkout import ROOT
from tennis.kit.gaps import gap_ns
from tennis.match.folder import open_match
from tennis.play.check import check_rally
from tennis.rally import open_rally
from tennis.replicate.match_settings import setting_rows
from tests.support.virtual import GUEST, played, table

virtual = pytest.mark.virtual
ISOLATED = {"command_line": "isolcpus=1 nohz_full=1 rcu_nocbs=1", "interrupt_cpu": 1}


def counted(rally, what):
    """Return what was counted, of processor 0 and of processor 1."""
    return [getattr(one, what) for one in rally.manifest.counts.where]


HOG = {"load": "hog", "load_options": {"hold_us": 200, "period_us": 1000}, "processors": 2}
APART = {**HOG, "balls": 60, "load_cpus": "0", "interrupt_cpu": 1}


@pytest.mark.cases(more=["stress"])
@virtual
@pytest.mark.parametrize("load", ["hog", "stress"])
def test_known_answers_are_exact_whatever_runs(tmp_path, load):
    """Answers that QEMU gives in the target's place: to the nanosecond, both edges."""
    answers = {"answer_seed": 7, "answer_min": 100, "answer_max": 200_000}
    rally = played(tmp_path / "r", Extras(answers=answers), load=load, processors=2, balls=150)
    drawn = np.array([gap_ns(7, n, 100, 200_000) for n in range(300)])
    rise, fall = drawn[::2], drawn[::2] + drawn[1::2]
    balls = table(rally)
    for name, wanted in (("rise_ticks", rise), ("fall_ticks", fall)):
        error = np.array(balls[name]) - wanted
        assert error.min() >= 0
        assert error.max() <= 2
    assert counted(rally, "pings") == counted(rally, "replies") == [0, 0]  # no processor answered


@virtual
def test_an_isolated_processor_is_left_alone(tmp_path):
    """The ping's interrupt, chained as it is, comes to processor 1; stress stays on the other."""
    rally = played(tmp_path / "r", load="stress", processors=2, balls=200, settle_s=0.1, **ISOLATED)
    assert rally.misses == 0
    assert rally.manifest.target.interrupt_cpu == 1
    assert rally.label.endswith("2 processors / interrupt on 1")
    assert counted(rally, "pings") == counted(rally, "replies") == [0, 200]
    busy = counted(rally, "busy")
    assert busy[0] > 150
    assert busy[1] <= 2  # a tick of the kernel's, now and then
    latest = max(rally.interrupt.values[-1], rally.scheduling.values[-1])
    assert latest < 10_000  # ns; not isolated it is a millisecond


@pytest.mark.more
@virtual
def test_a_hog_holds_up_its_own_processor_only(tmp_path):
    """Interrupts off for 200 us of each millisecond, on processor 0."""
    plan = {**HOG, "balls": 150, "load_cpus": "0"}
    here = played(tmp_path / "here", interrupt_cpu=0, **plan)
    there = played(tmp_path / "there", interrupt_cpu=1, **plan)
    assert here.interrupt.values[-1] > 100_000
    assert there.interrupt.values[-1] < 20_000
    assert there.manifest.load.cpus == "0"
    for rally, pings in ((here, [150, 0]), (there, [0, 150])):
        busy = counted(rally, "busy")
        assert 15 <= busy[0] <= 50  # of each millisecond 200 us
        assert busy[1] <= 2
        assert counted(rally, "pings") == counted(rally, "replies") == pings


@pytest.mark.more
@virtual
def test_threads_of_every_processor_have_their_priority_and_answer_where_the_ping_is(tmp_path):
    plan = {"kernel": "rt", "bottom_half": "thread", "processors": 2, "interrupt_cpu": 1}
    priorities = "irq=90,ksoftirqd=50,ktimers=40,rcuc=2"
    rally = played(tmp_path / "r", balls=60, top_half="forced", priorities=priorities, **plan)
    tasks = {task.task: (task.policy, task.priority) for task in rally.manifest.target.tasks}
    for name, priority in (("ksoftirqd", 50), ("ktimers", 40), ("rcuc", 2)):
        assert [tasks[f"{name}/{cpu}"] for cpu in (0, 1)] == [("SCHED_FIFO", priority)] * 2
    assert counted(rally, "pings") == counted(rally, "replies") == [0, 60]


@pytest.mark.more
@virtual
def test_what_is_counted_is_believed(tmp_path):
    """A Racquet of somebody's own that does not move its interrupt, as lab 3's."""
    source = tmp_path / "racquet.c"
    source.write_text(solved((ROOT / "labs/03-write-the-racquet/racquet.c").read_text()))
    rally = played(tmp_path / "r", racquet=source, processors=2, interrupt_cpu=1, balls=60)
    assert rally.manifest.suspect
    assert [fault.code for fault in rally.manifest.faults] == ["counted_elsewhere"]
    said = rally.manifest.faults[0].message
    assert said == "--interrupt-cpu 1, and pings were taken elsewhere: 60 on processor 0"


NAMES = [f"mainline-hog-default-tasklet-{setting}" for setting in ("beside", "apart")]
MATCH = """
kernels = ["mainline"]
balls = 60
processors = 2
[loads.hog]
options = { hold_us = 200, period_us = 1000 }
[settings.beside]
load_cpus = "0"
interrupt_cpu = 0
[settings.apart]
load_cpus = "0"
interrupt_cpu = 1
"""


@pytest.mark.more
@virtual
def test_a_match_plays_its_settings(tmp_path):
    """What was played is what the plan says: the hog meets the pings of one setting only."""
    (tmp_path / "plan.toml").write_text(MATCH)
    words = [str(tmp_path / "plan.toml"), "--out", str(tmp_path / "m")]
    ran = CliRunner().invoke(match, words)
    assert ran.exit_code == 0, ran.output
    beside, apart = setting_rows(open_match(tmp_path / "m"))["mainline-hog-default-tasklet"]
    assert (beside.what, apart.what) == (
        "interrupt on 0, load on 0",
        "interrupt on 1, load on 0",
    )
    assert beside.balls.endswith(", 1 boot")  # of whole cycles of the hog
    rallies = [open_rally(tmp_path / "m" / name) for name in NAMES]
    assert len({rally.manifest.protocol.seed for rally in rallies}) == 1
    latest = [rally.interrupt.values[-1] for rally in rallies]
    assert latest[0] > 5 * latest[1]


@pytest.fixture(scope="module")
def apart(tmp_path_factory):
    """Return a rally whose pings are on another processor than the hog."""
    return played(tmp_path_factory.mktemp("apart") / "r", **APART)


@pytest.mark.more
@virtual
def test_a_turn_changes_no_answer_of_a_processor_that_runs_alone(apart, tmp_path):
    """Most pings find the hog at rest: longer turns would show if it were taken for busy."""
    other = played(tmp_path / "r", Extras(answers={"fine_turn": 1000}), **APART)
    usual = [
        Counter(table(one)["rise_ticks"].to_pylist()).most_common(1)[0] for one in (apart, other)
    ]
    assert usual[0][0] == usual[1][0]
    assert min(count for _, count in usual) >= 20


@pytest.mark.more
@virtual
def test_the_same_seed_gives_the_same_folder(apart):
    """All of it is played again and compared: balls, events, console."""
    rally = apart
    assert rally.manifest.target.board == "QEMU virt, 2 Cortex-A57, PL061"
    assert "2 processors" in rally.label
    assert (rally.misses, rally.manifest.suspect) == (0, False)
    assert check_rally(rally.path).balls == 60
    assert counted(rally, "pings") == counted(rally, "replies") == [0, 60]


@pytest.mark.cases(more=["workqueue*", "user-None*"])
@virtual
@pytest.mark.parametrize(
    ("bottom_half", "pinned", "replies"),
    [("workqueue", None, [0, 60]), ("user", None, [60, 0]), ("user", 1, [0, 60])],
)
def test_threads_follow_the_ping_and_a_process_does_not(tmp_path, bottom_half, pinned, replies):
    """The kernel keeps processes away from an isolated processor, unless they are pinned to it."""
    plan = {"processors": 2, "balls": 60, "settle_s": 0.05, **ISOLATED}
    rally = played(tmp_path / "r", bottom_half=bottom_half, bottom_half_cpu=pinned, **plan)
    assert counted(rally, "pings") == [0, 60]
    assert counted(rally, "replies") == replies
    assert rally.manifest.target.bottom_half_cpu == pinned
    assert not rally.manifest.suspect
    if pinned is not None:
        assert check_rally(rally.path).balls == 60  # it is pinned again


@pytest.mark.more
@virtual
@pytest.mark.parametrize("here", [0, 1])
def test_each_processor_keeps_its_speed_while_the_other_runs(tmp_path, here):
    """50,000 instructions take 100 us and 8 us for the way there and back.

    Most balls meet the hog at work on the other processor. It waits with YIELD, as a lock does.
    """
    extras = Extras(files={"/tennis/racquet-user": program(GUEST / "spin-answer.c")})
    hog = {"load": "hog", "load_options": {"hold_us": 800, "period_us": 1000}}
    pinned = {"load_cpus": str(1 - here), "interrupt_cpu": here, "bottom_half_cpu": here}
    plan = {"processors": 2, "bottom_half": "user", "balls": 60, **hog, **pinned}
    rally = played(tmp_path / "r", extras, **plan)
    assert counted(rally, "replies")[here] == 60
    assert counted(rally, "busy")[1 - here] >= 40
    assert 104_000 < np.median(rally.scheduling.values) < 112_000


PICO = {**APART, "instrument": "pico", "settle_s": 0.01}


@pytest.mark.more
@virtual
def test_the_brickwall_plays_them(tmp_path):
    """It cannot see processors: QEMU counts where its balls were answered."""
    rally = played(tmp_path / "r", **PICO)
    assert (rally.balls, rally.misses, rally.manifest.suspect) == (60, 0, False)
    assert rally.manifest.instrument.kind == "brickwall"
    assert rally.manifest.counts.late_serves == 0
    assert counted(rally, "pings") == counted(rally, "replies") == [0, 60]
    busy = counted(rally, "busy")
    assert 4 <= busy[0] <= 30  # of each millisecond 200 us
    assert busy[1] <= 2
    assert rally.interrupt.values[-1] < 20_000
    assert check_rally(rally.path).balls == 60
