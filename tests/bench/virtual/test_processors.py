"""Several processors on the virtual bench: repeats, known answers, and what isolation is worth."""

import numpy as np
import pytest

from tennis.bench.virtual.bench import Extras
from tennis.kit.gaps import gap_ns
from tennis.play.check import check_rally
from tests.support.virtual import played, table

virtual = pytest.mark.virtual
ISOLATED = {"command_line": "isolcpus=1 nohz_full=1 rcu_nocbs=1", "interrupt_cpu": 1}


def counted(rally, what):
    """Return what was counted, of processor 0 and of processor 1."""
    return [getattr(one, what) for one in rally.manifest.counts.where]


HOG = {"load": "hog", "load_options": {"hold_us": 200, "period_us": 1000}, "processors": 2}
APART = {**HOG, "balls": 60, "load_cpus": "0", "interrupt_cpu": 1}


@pytest.mark.more
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


@pytest.mark.more
@virtual
def test_an_isolated_processor_is_left_alone(tmp_path):
    """The ping's interrupt and the process come to processor 1; stress stays on the other."""
    answering = {"bottom_half": "user", "bottom_half_cpu": 1, **ISOLATED}
    plan = {"load": "stress", "processors": 2, "balls": 200, "settle_s": 0.1, **answering}
    rally = played(tmp_path / "r", **plan)
    assert rally.misses == 0
    target = rally.manifest.target
    assert (target.interrupt_cpu, target.bottom_half_cpu) == (1, 1)
    assert "2 processors / interrupt on 1" in rally.label
    assert counted(rally, "pings") == counted(rally, "replies") == [0, 200]
    busy = counted(rally, "busy")
    assert busy[0] > 150
    assert busy[1] <= 2  # a tick of the kernel's, now and then
    latest = max(rally.interrupt.values[-1], rally.scheduling.values[-1])
    assert latest < 20_000  # ns; not isolated it is a millisecond


@pytest.fixture(scope="module")
def apart(tmp_path_factory):
    """Return a rally whose pings are on another processor than the hog."""
    return played(tmp_path_factory.mktemp("apart") / "r", **APART)


@pytest.mark.more
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
