"""What moves latency on a kernel that runs: each is a fact, from the files that the kernel has."""

from pathlib import Path

import pytest

from tennis.bench.targets import snapshot
from tennis.bench.targets.latency_settings import changed, settings_of
from tests.support.processes import run_to_end

CPU = "sys/devices/system/cpu"
# file -> what it holds, the setting, its value
FILES = {
    "sys/kernel/debug/sched/preempt": ("none voluntary (full) lazy", "preempt", "full"),
    "sys/kernel/debug/sched/features": ("PLACE_LAG NO_HRTICK", "sched/features",
                                        "PLACE_LAG NO_HRTICK"),
    "sys/kernel/debug/sched/base_slice_ns": ("3000000", "sched/base_slice_ns", "3000000"),
    "sys/kernel/debug/sched/fair_server/cpu0/runtime": ("50000000", "sched/fair_server/runtime",
                                                        "50000000|0"),
    "sys/kernel/debug/sched/fair_server/cpu1/runtime": ("0", "sched/fair_server/runtime",
                                                        "50000000|0"),
    "sys/kernel/mm/transparent_hugepage/enabled": ("always [madvise] never", "huge_pages",
                                                   "madvise"),
    "sys/kernel/mm/ksm/run": ("1", "ksm", "1"),
    "sys/kernel/rcu_expedited": ("0", "rcu_expedited", "0"),
    f"{CPU}/cpuidle/current_governor": ("menu", "cpuidle/governor", "menu"),
    f"{CPU}/cpu0/cpufreq/scaling_max_freq": ("1800000", "frequency/max", "1800000"),
    f"{CPU}/cpu1/cpufreq/scaling_max_freq": ("1800000", "frequency/max", "1800000"),
    "sys/devices/virtual/workqueue/cpumask": ("f", "workqueue/cpumask", "f"),
    "proc/sys/kernel/sched_rt_runtime_us": ("-1", "kernel/sched_rt_runtime_us", "-1"),
    "proc/sys/kernel/timer_migration": ("0", "kernel/timer_migration", "0"),
    "proc/sys/kernel/numa_balancing": ("1", "kernel/numa_balancing", "1"),
    "proc/sys/vm/stat_interval": ("1", "vm/stat_interval", "1"),
    "proc/irq/default_smp_affinity": ("1", "irq/default_smp_affinity", "1"),
}  # fmt: skip


@pytest.fixture
def tree(tmp_path) -> Path:
    for file, (content, _, _) in FILES.items():
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text(f"{content}\n")
    return tmp_path


def told(tree: Path, shell: str = "sh") -> snapshot.Snapshot:
    done = run_to_end(
        [*shell.split(), snapshot.SCRIPT, "no-config"],
        env={
            "PATH": "/usr/bin:/bin",
            "TENNIS_SYS": str(tree / "sys"),
            "TENNIS_SYSCTL": str(tree / "proc/sys"),
        },
        check=True,
    )
    return snapshot.read(done.stdout)


@pytest.mark.parametrize("shell", ["dash", "bash", "busybox sh"])
def test_each_setting_is_a_fact(tree, shell):
    found = settings_of(told(tree, shell))
    assert {name: found.get(name) for _, name, _ in FILES.values()} == {
        name: value for _, name, value in FILES.values()
    }
    assert found["runs/irqbalance"] in {"yes", "no"}


@pytest.mark.parametrize("file", FILES)
def test_what_changes_is_named_and_what_is_gone_is_not_told(tree, file):
    before = told(tree)
    assert not list(changed(before, told(tree)))
    (tree / file).write_text("77\n")
    (words,) = changed(before, told(tree))
    assert words.startswith(f"{FILES[file][1]}, from {FILES[file][2]} to ")
    (tree / file).unlink()
    gone = list(changed(before, told(tree)))
    assert gone == [] if file.endswith("scaling_max_freq") else len(gone) == 1  # one of two
