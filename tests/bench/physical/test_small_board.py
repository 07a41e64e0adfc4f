"""Managed rallies on a real kernel in QEMU: modules, priorities, loads, interrupts are real.

The instrument is a fake: the balls are made up, and nothing here measures a latency.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tennis.bench.physical.managed import PiBench
from tennis.bench.targets import snapshot
from tennis.bench.targets.ssh import SshTarget
from tennis.kit.checkout import ROOT
from tennis.kit.errors import RallyError
from tennis.play.rally import Watch, play
from tennis.rally import Rally, witness
from tennis.rally.folder import CONSOLE
from tennis.rally.inside import read_inside
from tennis.rally.manifest import Drill
from tests.support.fake_brickwall import FakeBrickwall
from tests.support.plans import drill_plan, plan_of
from tests.support.small_board import HOST, SmallBoard

# all on one worker: they share a machine
pytestmark = [pytest.mark.virtual, pytest.mark.slow, pytest.mark.xdist_group("small-board")]

FIFO = ("SCHED_FIFO", 99)
# what a rally changes, as the board tells it
STATE = (
    "cat /proc/modules | grep -c ^racquet; cat /sys/module/racquet/parameters/bottom_half; "
    "ls -d /var/tmp/tennis-*; for comm in /proc/[0-9]*/comm; do read -r name < $comm; "
    'case $name in stress) echo "$name";; ksoftirqd/*) chrt -p $(echo "$comm" | cut -d / -f 3);; '
    "esac; done; true"
)


@pytest.fixture(scope="module")
def board(tmp_path_factory) -> Iterator[SmallBoard]:
    machine = SmallBoard(tmp_path_factory.mktemp("board"))
    yield machine
    machine.close()


@pytest.fixture(scope="module")
def connection(board) -> Iterator[SshTarget]:
    """Return one connection for all tests: to open it takes an emulated board a second."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TENNIS_SSH_CONFIG", str(board.config))
        with SshTarget(HOST) as found:
            yield found


@pytest.fixture
def target(connection, monkeypatch, tmp_path) -> SshTarget:
    monkeypatch.setenv("TENNIS_DATA", str(tmp_path / "data"))
    connection.wait_until_up(180)  # after some seconds without a command it is opened again
    return connection


def state(target: SshTarget) -> str:
    return target.run(STATE, what="looking")


def played(out: Path, *, rate: float = 200, **asked) -> Rally:
    with FakeBrickwall() as fake:
        fake.balls_a_second = rate
        plan = plan_of(bench="pi", port=fake.port, target=HOST, **{"balls": 200, **asked})
        return play(PiBench(HOST, fake.port), plan, out, Watch())


@pytest.mark.cases(more=["thread*"], release=["user*"])
@pytest.mark.parametrize(
    ("bottom_half", "answering"), [("thread", "irq/"), ("user", "racquet-user")]
)
def test_a_rally_leaves_the_board_as_it_was(target, tmp_path, bottom_half, answering):
    target.run("modprobe racquet bottom_half=workqueue", what="loading")  # as at boot
    before = state(target)
    assert "workqueue" in before
    rally = played(
        tmp_path / "r", load="stress", priorities="chrt", bottom_half=bottom_half, kernel="mainline"
    )
    manifest = rally.manifest
    assert (rally.balls, manifest.faults, manifest.ended) == (200, [], "complete")
    tasks = {task.task: (task.policy, task.priority) for task in manifest.target.tasks}
    assert any(name.startswith(answering) and how == FIFO for name, how in tasks.items()), tasks
    health = {figure.name: figure for figure in manifest.load.health}
    assert (health["tasks"].start, health["tasks"].end) == (17, 17)
    after = snapshot.read(rally.file("target-after.txt").read_text())
    assert any("racquet" in line for line in after.lines("interrupts"))
    assert manifest.target.config_sha256
    assert "Linux version" not in rally.console()  # the kernel's words since the rally began
    assert f"bottom half: {bottom_half}" in rally.console()
    assert state(target) == before


PROGRAM = ROOT / "target" / "programs" / "answer.c"
# what a program of somebody's own changes, as the board tells it
OF_A_PROGRAM = (
    "ls -l /dev/gpiochip*; ls /run | grep program; find /proc -maxdepth 1 -user 64917; "
    "grep -e GPIO17 -e GPIO27 /sys/kernel/debug/gpio; ls -l /dev/racquet; true"
)


def test_a_program_answers_as_nobody_and_leaves_the_board_as_it_was(target, tmp_path):
    """The fake instrument pings nobody: the program has its lines, a priority, locked memory."""
    target.run("modprobe racquet bottom_half=workqueue", what="loading")  # as at boot
    looked = f"{STATE}; {OF_A_PROGRAM}"
    before = target.run(looked, what="looking")
    rally = played(tmp_path / "r", kernel="mainline", program=PROGRAM, priorities="irq=60")
    manifest = rally.manifest
    assert (rally.balls, manifest.faults, manifest.ended) == (200, [], "complete")
    target_of = manifest.target
    assert (target_of.module, target_of.module_sha256) == ("none", None)
    assert target_of.program.name == "answer.c"
    assert target_of.program.locked_kb > 100
    assert target_of.program.page_faults == 0
    tasks = {(task.task, task.policy, task.priority) for task in target_of.tasks}
    line, own = (task for task in sorted(tasks, reverse=True) if task[0].endswith("answer"))
    assert line[0].startswith("irq/")
    assert line[1:] == ("SCHED_FIFO", 60)
    assert own == ("answer", "SCHED_FIFO", 50)
    assert target.run(looked, what="looking") == before


def drilled(out: Path, name: str, context: str, **asked) -> Rally:
    """Do a drill: the board's side is real, the pulses that the instrument saw are made up."""
    with FakeBrickwall(ball=lambda _, clock: (clock, 0, 625)) as fake:
        fake.balls_a_second = 1e9
        drill = Drill(name=name, context=context, period_ns=1_000_000)
        plan = drill_plan(
            drill, 300, 1, **{"bench": "pi", "port": fake.port, "target": HOST, **asked}
        )
        return play(PiBench(HOST, fake.port), plan, out, Watch())


@pytest.mark.release
@pytest.mark.parametrize(
    ("name", "context", "tasks"),
    [
        ("switch", "user-rt", {"drill": ("SCHED_FIFO", 98)}),
        ("switch", "user", {"drill": ("SCHED_OTHER", 0)}),
    ],
)
def test_a_drill_leaves_the_board_as_it_was(target, tmp_path, name, context, tasks):
    target.run("modprobe racquet bottom_half=workqueue", what="loading")  # as at boot
    before = state(target) + target.run("ls /sys/module | wc -l", what="looking")
    rally = drilled(tmp_path / "d", name, context, load="stress")
    manifest = rally.manifest
    assert (rally.balls, manifest.faults, manifest.ended) == (300, [], "complete")
    assert manifest.target.module == f"drill {name}"
    inside = read_inside(rally)
    assert inside.duration_ns.size == 300
    assert inside.failures == 0
    found = {task.task: (task.policy, task.priority) for task in manifest.target.tasks}
    assert tasks.items() <= found.items()
    assert state(target) + target.run("ls /sys/module | wc -l", what="looking") == before


@pytest.mark.more
def test_a_witness_looks_on_and_leaves_the_board_as_it_was(target, tmp_path):
    """The fake instrument pings nobody, so nothing ties the clocks: a line says so."""
    traces = "ls /sys/kernel/tracing/instances /dev/shm; pidof cyclictest; true"
    before = state(target) + target.run(traces, what="looking")
    rally = played(tmp_path / "r", rate=100, load="stress", witness="cyclictest", balls=300)
    manifest = rally.manifest
    assert (rally.balls, manifest.faults, manifest.target.witness) == (300, [], "cyclictest")
    told = witness._read_samples(rally, rally.file(CONSOLE).read_text())
    (inside,) = witness.READERS["cyclictest"](told)
    assert inside.began[-1] - inside.began[0] > 2_500_000_000  # 300 balls in 3 s
    # an emulated board beside other work leaves wake-ups out
    assert set(np.diff(inside.began) % witness.INTERVAL_NS) == {0}
    with pytest.raises(RallyError, match="nothing ties the target's clock"):
        witness.samples(rally)
    assert state(target) + target.run(traces, what="looking") == before
