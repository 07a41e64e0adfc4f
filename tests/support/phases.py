"""Made-up phases of a wait, as the profiler writes them."""

import zlib
from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType

import numpy as np

from tennis.bench.virtual.profiler import _EVENT, _NODE, _SEGMENT, _STALL
from tennis.rally.phases import Phase, Symbol


def named(*names: str) -> list[Symbol]:
    """Return functions by their names, with their module as in ``main[program]``."""
    found = [name.removesuffix("]").partition("[") for name in names]
    return [
        Symbol(0x1000 * n, name, module or None) for n, (name, _, module) in enumerate(found, 1)
    ]


def thread_of(task: str) -> int:
    """Return the number of the only task of a name."""
    return zlib.crc32(task.encode()) << 4


def made_phase(
    number: int,
    nodes: Sequence[tuple[int, int]],
    segments: Sequence[tuple[int, int, int]],
    tasks: Sequence[str],
    *,
    threads: Sequence[int] | None = None,
    priorities: Mapping[str, int] = MappingProxyType({}),
    of_program: Collection[str] = (),
    allowed: int = 0,
    processor: int = 0,
    events: Sequence[tuple[int, int, int, int, int, str]] = (),
    stalls: Sequence[tuple[int, int, int, int]] = (),
) -> Phase:
    """Return a phase of ball 3 that began at 1000 ns.

    ``nodes``: (parent, function), ``segments``: (node, masked, ns), ``events``: (ns since the phase
    began, kind, node, what, other, name), ``stalls``: (ns since the phase began, kind, node, ns).
    ``threads``: the tasks' numbers, by default ``thread_of`` their names; ``priorities`` by name.
    """
    times = [[0, 0] for _ in nodes]
    for node, masked, ns in segments:
        times[node][0] += ns
        times[node][1] += ns * masked
    return Phase(
        ball=3,
        phase=number,
        processor=processor,
        began=1000,
        ended=1000 + sum(ns for _, _, ns in segments),
        tasks=list(tasks),
        threads=list(map(thread_of, tasks)) if threads is None else list(threads),
        priorities=[priorities.get(task, -1) for task in tasks],
        of_program=[task in of_program for task in tasks],
        allowed=[allowed for _ in tasks],
        nodes=np.array([(*node, 0, *ns) for node, ns in zip(nodes, times, strict=True)], _NODE),
        segments=np.array([(*one, 0) for one in segments], _SEGMENT),
        events=np.array([(1000 + at, *rest, name.encode()) for at, *rest, name in events], _EVENT),
        stalls=np.array([(1000 + at, *rest) for at, *rest in stalls], _STALL),
        cut=0,
    )
