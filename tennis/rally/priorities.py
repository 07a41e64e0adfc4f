"""The priorities of the threads that answer: a preset, or a map such as ``irq=90,ksoftirqd=50``.

A number is that of SCHED_FIFO. The kernel's own priority holds for threads that a map leaves out.
"""

import re

from pydantic_core import PydanticCustomError

# in the order in which they are set; the names are those that ps shows, without CPU and interrupt
THREADS = {
    "irq": "the interrupt thread of the Racquet, or of a program's line",
    "ksoftirqd": "what runs softirqs that were raised and left",
    "ktimers": "what runs the timers' softirq on PREEMPT_RT",
    "rcuc": "what runs RCU's callbacks on PREEMPT_RT",
    "kworker": "the worker of the bottom half workqueue",
    "user": "the program of the bottom half user",
    "program": "a program of one's own that answers",
}
PRESETS: dict[str, dict[str, int]] = {
    "default": {},
    # thesis, chapter 7: interrupt handler and softirq of high-priority tasklets at SCHED_FIFO 99
    "chrt": {"irq": 99, "ksoftirqd": 99, "kworker": 99, "user": 99, "program": 99},
    # Linux 2.6 with PREEMPT_RT gave each softirq, and each interrupt, a thread at SCHED_FIFO 50
    "thesis-2008": {"irq": 50, "ksoftirqd": 50, "ktimers": 50, "rcuc": 50},
    "native": {},
    "unknown": {},
}
_ENTRY = re.compile(r"([a-z]+)=([1-9][0-9]?)")


def entries(priorities: str) -> dict[str, int]:
    """Return the threads of a preset or a map with their SCHED_FIFO priorities."""
    if priorities in PRESETS:
        return dict(PRESETS[priorities])
    return {name: int(number) for name, number in _ENTRY.findall(priorities)}


def canonical(value: object) -> object:
    """Return priorities as they are kept: a map in the order of ``THREADS``.

    A pydantic validator. Raises PydanticCustomError unless it is a preset or a map.
    """
    if not isinstance(value, str) or value in PRESETS:
        return value
    words = [_ENTRY.fullmatch(word.strip()) for word in value.split(",")]
    named = [word[1] for word in words if word]
    if not all(words) or len(set(named)) < len(named) or set(named) - set(THREADS):
        presets = ", ".join(name for name in PRESETS if name != "unknown")
        raise PydanticCustomError(
            "priorities",
            "are neither one of {presets} nor a map THREAD=1..99,... of {threads}",
            {"presets": presets, "threads": ", ".join(THREADS)},
        )
    given = {word[1]: word[2] for word in words if word}
    return ",".join(f"{name}={given[name]}" for name in THREADS if name in given)


def file_name(priorities: str) -> str:
    """Return priorities as a part of a folder's name."""
    return priorities.replace("=", "").replace(",", "+")
