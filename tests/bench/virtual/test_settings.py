"""Boots that differ, and what a reader sets: priorities, the command line, the instruction."""

import pytest

from tennis.bench.virtual.bench import VirtualBench
from tennis.kit.errors import UsageError
from tennis.play.repeat import plan_again
from tests.support.plans import plan_of
from tests.support.virtual import played

pytestmark = pytest.mark.virtual


def test_all_that_can_be_set_is_there_and_is_asked_for_again(tmp_path):
    plan = {
        "kernel": "rt-7",
        "top_half": "forced",
        "priorities": "irq=90,ksoftirqd=50,rcuc=2",
        "command_line": "rcu_nocbs=0 skew_tick=1",
        "instruction_ns": 4,
        "balls": 60,
        "seed": 11,
    }
    one = played(tmp_path / "one", **plan)
    assert (one.balls, one.misses, one.manifest.suspect) == (60, 0, False)
    target = one.manifest.target
    tasks = {task.task: (task.policy, task.priority) for task in target.tasks}
    assert tasks["irq/17-racquet"] == ("SCHED_FIFO", 90)
    assert tasks["ksoftirqd/0"] == ("SCHED_FIFO", 50)
    assert tasks["rcuc/0"] == ("SCHED_FIFO", 2)
    assert target.added == "rcu_nocbs=0 skew_tick=1"
    assert {"rcu_nocbs=0", "skew_tick=1"} <= set(target.command_line.split())
    assert one.manifest.time_note == "virtual time, 4 ns per instruction"
    assert one.manifest.counts.late_serves == 0
    assert target.release.startswith("7.")
    again = plan_again(one)
    assert (again.command_line, again.instruction_ns) == ("rcu_nocbs=0 skew_tick=1", 4)
    assert again.priorities == "irq=90,ksoftirqd=50,rcuc=2"


@pytest.mark.more
def test_an_instruction_takes_as_long_as_was_asked_for(tmp_path):
    """The reply of an idle target comes after as many instructions."""
    quick, slow = (
        played(tmp_path / str(ns), balls=60, instruction_ns=ns).interrupt.at(30) for ns in (1, 4)
    )
    assert slow == pytest.approx(4 * quick, rel=0.1)


@pytest.mark.parametrize(
    ("kernel", "words", "unknown"),
    [
        ("mainline", "rcu_nocbs=0 rcu_nocb=0", "rcu_nocb=0"),
        ("mainline", "possible_cpus=1", "possible_cpus=1"),
        ("rt-7", "threadirqs", "threadirqs"),  # PREEMPT_RT has no choice to make
    ],
)
def test_a_word_that_the_kernel_does_not_know_is_refused(kernel, words, unknown):
    with pytest.raises(UsageError, match=f"--command-line {unknown}: {kernel} does not know"):
        VirtualBench().parts(plan_of(kernel=kernel, command_line=words))


@pytest.mark.parametrize(
    "words", ["tsc=reliable", "idle=poll", "clocksource=tsc", "cpuidle.off=1", "intel_pstate=off"]
)
def test_a_word_for_hardware_that_is_not_here_is_refused(words):
    with pytest.raises(UsageError, match=f"--command-line {words}: it is for .* does nothing"):
        VirtualBench().parts(plan_of(kernel="rt", command_line=f"skew_tick=1 {words}"))


def test_the_price_of_a_target_that_never_sleeps_is_named_before_its_boot(heard):
    VirtualBench().parts(
        plan_of(command_line="nohlt", settle_s=1, rate_hz=1000, loop="open", balls=1000)
    )
    assert heard[-1].startswith(
        "--command-line nohlt: the target never sleeps, so this rally's 2.00 s "
    )
    assert "are 1,000,000,000 instructions" in heard[-1]
    heard.clear()
    VirtualBench().parts(plan_of(command_line="skew_tick=1"))
    assert heard == []


def test_a_sysctl_is_set_before_the_load_and_read_back(tmp_path):
    """Linux sets it, and the target reads it; other words are looked for as before."""
    words = "sysctl.vm.stat_interval=120 sysctl.kernel.sched_rt_runtime_us=-1"
    rally = played(tmp_path / "r", command_line=words, balls=10)
    assert (rally.balls, rally.manifest.faults) == (10, [])
    assert rally.manifest.target.added == words


def test_a_kernel_s_files_are_written_before_the_load_and_read_back(tmp_path):
    words = "/sys/devices/virtual/workqueue/cpumask=2 /proc/irq/default_smp_affinity=1 skew_tick=1"
    rally = played(tmp_path / "r", command_line=words, processors=2, balls=10)
    assert (rally.balls, rally.manifest.faults, rally.manifest.target.added) == (10, [], words)


@pytest.mark.parametrize("word", ["/sys/power/state=mem", "/proc/irq/../sysrq-trigger=c", "/sys/a"])
def test_a_file_that_the_kernel_s_documents_do_not_offer_is_refused(word):
    with pytest.raises(UsageError, match="no file that can be set"):
        plan_of(kernel="rt", command_line=word)


@pytest.mark.cases(more=["sysctl.vm.swapiness*", "/sys/*"])
@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (
            "sysctl.vm.swappiness=250",
            "sysctl_refused",
            "the kernel did not take sysctl.vm.swappiness=250: /proc/sys/vm/swappiness is 60",
        ),
        (
            "sysctl.vm.swapiness=10",
            "unknown_parameter",
            "this kernel has no /proc/sys/vm/swapiness (sysctl.vm.swapiness=10)",
        ),
        (
            "/sys/kernel/mm/ksm/run=9",
            "file_refused",
            "the kernel did not take /sys/kernel/mm/ksm/run=9: /sys/kernel/mm/ksm/run is 0",
        ),
    ],
)
def test_a_sysctl_that_the_kernel_did_not_take_is_not_played(tmp_path, words, code, said):
    rally = played(tmp_path / "r", kernel="mainline", command_line=words, balls=10)
    fault = rally.manifest.faults[0]
    assert (fault.code, fault.message, rally.balls) == (code, said, 0)


def test_a_word_that_only_the_target_finds_unknown_is_not_played(tmp_path):
    """Of a name with a dot the image does not tell: a module may have it."""
    words = "rcutre.kthread_prio=1"
    rally = played(tmp_path / "r", kernel="mainline", command_line=words, balls=10)
    fault = rally.manifest.faults[0]
    assert fault.code == "unknown_parameter"
    assert fault.message.startswith(f"this kernel knows no parameter {words} ")
    assert not rally.balls
