"""Processors, as a kernel's command line names them."""

import re

# flags that isolcpus may have before its list
FLAGS = frozenset({"nohz", "domain", "managed_irq"})
_PART = re.compile(r"(\d{1,4}|N)(?:-(\d{1,4}|N)(?::(\d{1,4})/(\d{1,4}))?)?")


def cpus_of(cpus: str, processors: int) -> set[int]:
    """Return the processors that a list names as the kernel reads it: 1, 2-3, 1-N, 0-7:1/2, all.

    A malformed list names none: the kernel itself complains.
    """
    found: set[int] = set()
    last = processors - 1
    for part in cpus.split(","):
        if part == "all":
            found |= set(range(processors))
        match = _PART.fullmatch(part)
        if part in FLAGS or match is None:
            continue
        low, high = (last if end == "N" else int(end) for end in (match[1], match[2] or match[1]))
        used, group = int(match[3] or 1), int(match[4] or 1)
        found |= {cpu for cpu in range(low, high + 1) if (cpu - low) % max(group, 1) < used}
    return found
