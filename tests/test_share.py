"""What may be used of a machine: affinity and control groups, of both versions."""

import os
import subprocess
import sys

import pytest

from tennis.kit.share import free_memory_bytes, processors

GB = 1 << 30
MEMINFO = f"MemTotal: {64 << 20} kB\nMemAvailable: {32 << 20} kB\n"


def machine(folder, cgroup, mounts, files):
    """Make /proc and the folders of control groups of a machine; return its /proc."""
    proc = folder / "proc"
    (proc / "self").mkdir(parents=True)
    (proc / "meminfo").write_text(MEMINFO)
    (proc / "self/cgroup").write_text(cgroup)
    lines = []
    for root, place, kind, options in mounts:
        where = str(folder / place).replace(" ", "\\040")
        lines.append(f"30 23 0:26 {root} {where} rw - {kind} {kind} rw{options}")
    (proc / "self/mountinfo").write_text("\n".join(["1 0 8:1 / / rw - ext4 /dev/sda rw", *lines]))
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return proc


V2 = [("/", "cg", "cgroup2", "")]
V1 = [("/", "cpu", "cgroup", ",cpu,cpuacct"), ("/", "mem x", "cgroup", ",memory")]
CASES = {
    "no group": ("0::/\n", V2, {}, None, 32 * GB),
    "of a job": (
        "0::/slurm/job7\n",
        V2,
        {
            "cg/slurm/job7/cpu.max": "100000 100000\n",
            "cg/slurm/job7/memory.max": f"{2 * GB}\n",
            "cg/slurm/job7/memory.current": f"{GB}\n",
            "cg/slurm/job7/memory.stat": f"anon 5\ninactive_file {GB // 2}\nfile 9\n",
        },
        1,
        3 * GB // 2,
    ),
    "the one around has less": (
        "0::/user/a\n",
        V2,
        {
            "cg/user/a/cpu.max": "max 100000\n",
            "cg/user/a/memory.max": "max\n",
            "cg/user/a/memory.current": "1\n",
            "cg/user/cpu.max": "150000 100000\n",
            "cg/user/memory.max": f"{GB}\n",
            "cg/user/memory.current": f"{2 * GB}\n",
        },
        1,
        0,
    ),
    "version 1": (
        "5:memory:/job\n3:cpu,cpuacct:/job\n0::/\n",
        V1,
        {
            "cpu/job/cpu.cfs_quota_us": "100000\n",
            "cpu/job/cpu.cfs_period_us": "100000\n",
            "mem x/job/memory.limit_in_bytes": f"{4 * GB}\n",
            "mem x/job/memory.usage_in_bytes": f"{3 * GB}\n",
            "mem x/job/memory.stat": f"cache 1\ntotal_inactive_file {GB}\n",
            "mem x/memory.limit_in_bytes": "9223372036854771712\n",
            "mem x/memory.usage_in_bytes": "1\n",
        },
        1,
        2 * GB,
    ),
    "a container sees its own group only": (
        "0::/docker/abc\n",
        [("/docker/abc", "cg", "cgroup2", "")],
        {"cg/cpu.max": "100000 100000\n"},
        1,
        32 * GB,
    ),
    "its path is one outside": (
        "4:memory:/outside/abc\n",
        [("/elsewhere", "mem x", "cgroup", ",memory")],
        {"mem x/memory.limit_in_bytes": f"{GB}\n", "mem x/memory.usage_in_bytes": "0\n"},
        None,
        GB,
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_the_share_counts_and_not_the_machine(case, tmp_path):
    cgroup, mounts, files, cores, memory = CASES[case]
    proc = machine(tmp_path, cgroup, mounts, files)
    assert processors(proc) == (cores or len(os.sched_getaffinity(0)))
    assert free_memory_bytes(proc) == memory


def test_where_nothing_is_said(tmp_path):
    assert processors(tmp_path) == len(os.sched_getaffinity(0))
    assert free_memory_bytes(tmp_path) is None


def test_one_allowed_processor_is_one_worker():
    one = min(os.sched_getaffinity(0))
    code = f"import os; os.sched_setaffinity(0, {{{one}}})\n"
    code += "from tennis.cli.options import workers_here; print(workers_here())"
    words = [sys.executable, "-c", code]
    assert subprocess.run(words, check=True, capture_output=True, text=True).stdout == "1\n"
