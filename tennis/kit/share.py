"""The share of this machine that this process may use: processors and memory.

A job of a cluster, a container or a student's server has a part of a machine: the processors of
its affinity, and the limits of its control group and of those around it, of version 1 or 2.
"""

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

PROC = Path("/proc")


def processors(proc: Path = PROC) -> int:
    """Return how many processors may be used at once; one at least.

    A quota of a control group that is no whole number of them counts as the next smaller one.
    """
    counts = [len(os.sched_getaffinity(0))]
    for group in control_groups(proc, "cpu"):
        quota = _numbers(group / "cpu.max") or (
            *_numbers(group / "cpu.cfs_quota_us"),
            *_numbers(group / "cpu.cfs_period_us"),
        )
        if len(quota) == 2 and quota[0] > 0 and quota[1] > 0:
            counts.append(quota[0] // quota[1])
    return max(1, min(counts))


def free_memory_bytes(proc: Path = PROC) -> int | None:
    """Return how much memory may still be used; None if nothing says it.

    For a control group: its limit without the used memory; the kernel's cache of files, which it
    would give up first, counts as free.
    """
    free = [kb * 1024 for kb in _fields(proc / "meminfo", "MemAvailable:")]
    for group in control_groups(proc, "memory"):
        for limit, used, kept in (
            ("memory.max", "memory.current", "inactive_file"),
            ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
        ):
            limits, uses = _numbers(group / limit), _numbers(group / used)
            if limits and uses:
                given = sum(_fields(group / "memory.stat", kept))
                free.append(max(0, limits[0] - uses[0] + given))
    return min(free, default=None)


def control_groups(proc: Path, controller: str) -> Iterator[Path]:
    """Yield the folders of this process's control group of a controller, then those around it."""
    paths: dict[str, str] = {}  # a group's paths by controllers; "" for version 2
    with suppress(OSError):
        for line in (proc / "self/cgroup").read_text().splitlines():
            _, names, path = line.split(":", 2)
            paths |= dict.fromkeys(names.split(","), path)
    with suppress(OSError):
        for line in (proc / "self/mountinfo").read_text().splitlines():
            fields, _, about = line.partition(" - ")
            root, place = (_unescaped(field) for field in fields.split()[3:5])
            kind, _, options = (*about.split(maxsplit=2), "", "")[:3]
            name = {"cgroup2": "", "cgroup": controller}.get(kind)
            if name not in paths or (name and name not in options.split(",")):
                continue
            # in a container the group's path may be one of the machine outside
            inside = Path(paths[name]).is_relative_to(root)
            below = Path(paths[name]).relative_to(root).parts if inside else ()
            for depth in range(len(below), -1, -1):
                yield Path(place, *below[:depth])


def _unescaped(field: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), field)


def _numbers(path: Path) -> tuple[int, ...]:
    """Return the numbers of a file; nothing if it is missing, or says no limit ("max")."""
    with suppress(OSError, ValueError):
        return tuple(map(int, path.read_text().split()))
    return ()


def _fields(path: Path, name: str) -> list[int]:
    """Return the number after a name, as a list: empty if it is missing."""
    with suppress(OSError, ValueError):
        lines = (line.split() for line in path.read_text().splitlines())
        return [int(words[1]) for words in lines if words[:1] == [name]]
    return []
