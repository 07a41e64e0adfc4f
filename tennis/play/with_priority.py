# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""What a shot would have waited if the Racquet's interrupt thread had had another priority.

One boot plays the instant again, once as it was and once with each priority. These are children of
one run at one instant, and the first must be the shot. target/virtual/priority.c says what is
written, and why a thread that sleeps is the only one for which that is what chrt does.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tennis.bench.qemu import plugins
from tennis.bench.qemu.plugins import QemuPlugin
from tennis.bench.virtual.bench import VirtualBench
from tennis.bench.virtual.machine import Extras
from tennis.errors import UsageError
from tennis.log import log
from tennis.play.rally import Watch
from tennis.play.repeat import NONE, balls_of, plan_again, unlike
from tennis.play.sections import answers_in_thread
from tennis.play.shots import shoot
from tennis.rally import Rally
from tennis.rally.shots import are_shots

PRIORITIES_MAX = 6  # of one boot: as many as target/virtual/priority.c takes
_SETTING = re.compile(r"priorities=irq=([1-9][0-9]?)")


@dataclass(frozen=True)
class WithPriority:
    """A shot whose thread has another SCHED_FIFO priority; ns since the ping."""

    priority: int
    rise_ns: int
    fall_ns: int


@dataclass(frozen=True)
class Raised:
    """A shot as it was, and with each other priority; ns since the ping."""

    at_ns: int
    rise_ns: int
    fall_ns: int
    now: list[WithPriority]


def with_priorities(
    rally: Rally,
    settings: Sequence[str],
    *,
    ball: int,
    watch: Watch | None = None,
    extras: Extras | None = None,
) -> Raised:
    """Play one shot again as it was, and with each setting: ``priorities=irq=NUMBER``.

    ``extras``: what was added to the target when the rally was played.
    Raises UsageError for what is no rally of shots with a thread that answers, RallyError where the
    shot is not the rally's, BenchError where the thread does not sleep at that instant.
    """
    plan = plan_again(rally)
    priorities = [_priority(setting) for setting in settings]
    _check(rally, priorities, ball)
    table = balls_of(rally)
    shot = table[ball]
    if not answers_in_thread(plan):
        raise UsageError(
            f"{rally.path}: its top half is in the interrupt itself, and no thread answers",
            next_step="play shots with --top-half explicit",
        )
    if plan.processors > 1:
        raise UsageError(
            f"{rally.path} has {plan.processors} processors: its children begin before the "
            "instant, and the priority would be another one from then on",
            next_step="--try without --ball plays other boots",
        )
    if shot[2] == NONE:
        raise UsageError(f"shot {ball} had no complete answer", next_step="name another --ball")
    bench = VirtualBench()
    qemu = bench.parts(plan).qemu
    plugins.check_exports(qemu, "priority", "another priority at an instant")
    packed = sum(priority << (8 * number) for number, priority in enumerate(priorities, start=1))
    plugin = QemuPlugin(plugins.build(qemu, "priority"), {"shots": packed})
    words = ", ".join(map(str, priorities))
    log.info(f"playing the instant {int(shot[0]):,} ns in one boot, as it was and with irq={words}")
    every = [int(shot[0])] * (1 + len(priorities))
    with_plugin = replace(extras or Extras(), plugin=plugin)
    rows = shoot(rally, plan, every, watch or Watch(), with_plugin)
    if not np.array_equal(rows[0], shot):
        raise unlike(rally, f"the shot at {shot[0]:,} ns differs", bench.versions(plan))
    at_ns, rise_ns, fall_ns = map(int, shot)
    now = [
        WithPriority(priority, int(row[1]), int(row[2]))
        for priority, row in zip(priorities, rows[1:], strict=True)
    ]
    return Raised(at_ns, rise_ns, fall_ns, now)


def _priority(setting: str) -> int:
    found = _SETTING.fullmatch(setting)
    if not found:
        raise UsageError(
            f"--try {setting}: at one instant, only the Racquet's own interrupt thread surely "
            "sleeps, so only its priority can be another one",
            next_step="say priorities=irq=NUMBER, or leave --ball out",
        )
    return int(found[1])


def _check(rally: Rally, priorities: Sequence[int], ball: int) -> None:
    if not are_shots(rally.manifest.protocol):
        raise UsageError(
            f"{rally.path}: its balls follow each other, and only shots are played like that",
            next_step="play it with --shots, or leave --ball out",
        )
    if len(set(priorities)) > PRIORITIES_MAX or len(set(priorities)) < len(priorities):
        raise UsageError(
            f"--try takes up to {PRIORITIES_MAX} different priorities of one shot",
            next_step="leave some out",
        )
    if not 0 <= ball < rally.balls:
        raise UsageError(
            f"--ball {ball}", next_step=f"name one of the shots 0 to {rally.balls - 1}"
        )
