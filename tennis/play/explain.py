# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Why a ball was late: a rally of the virtual bench is played again, and looked at.

The same plan and the same versions give the same balls. So the late ones can be had again, with a
profiler beside the instrument (``tennis.bench.profile``), and every ball of the replay is held
against the rally: what is explained is what happened then, not something like it.
"""

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tennis.bench.profile import symbols
from tennis.bench.profile.plugin import Phase, Profile, Window
from tennis.bench.targets.virtual.bench import VirtualBench
from tennis.bench.targets.virtual.machine import Extras
from tennis.errors import BenchError, UsageError
from tennis.play.explain_story import (
    Frame,
    Names,
    Share,
    Story,
    causes,
    flame,
    share_json,
    shares,
    tell,
)
from tennis.play.rally import Watch
from tennis.play.replaying import NONE, balls_of, changes, plan_again, replay, unlike
from tennis.rally import Rally, open_rally
from tennis.units import format_count

WORST = 20
WORST_MAX = 1000


@dataclass(frozen=True)
class Explanation:
    """The late balls of a rally, and why they were late."""

    rally: Rally
    rule: str  # which balls these are, in words
    stories: list[Story]  # the latest ball first
    replayed: int  # balls that were played again, all the same as in the rally
    changed: list[str]  # versions that are not the rally's; its balls came all the same

    @property
    def story(self) -> Story:
        """Return the latest ball's."""
        return self.stories[0]

    @property
    def waited(self) -> int:
        """Return how long all of them waited together, in ns."""
        return sum(story.waited for story in self.stories)

    def shares(self) -> list[Share]:
        """Return what ran while they waited, the longest first."""
        return shares(self.stories)

    def causes(self) -> list[tuple[str, int, int]]:
        """Return their causes: in words, how many balls, and their ns together."""
        return causes(self.stories)

    def flame(self) -> Frame:
        """Return all their call stacks as one tree."""
        return flame(self.stories)

    def as_json(self) -> dict[str, Any]:
        """Return everything but the call stacks as JSON values; times in ns."""
        return {
            "rally": self.rally.label,
            "time_note": self.rally.manifest.time_note,
            "balls": self.rally.balls,
            "replayed": self.replayed,
            "identical": True,
            "changed_versions": self.changed,
            "rule": self.rule,
            "sentence": self.story.sentence,
            "waited_ns": self.waited,
            "causes": [
                {"cause": words, "balls": balls, "ns": ns} for words, balls, ns in self.causes()
            ],
            "shares": [share_json(share) for share in self.shares()],
            "explained": [story.as_json() for story in self.stories],
        }


def explain(  # noqa: PLR0913
    path: Path | Rally,
    *,
    ball: int | None = None,
    worst: int | None = None,
    kernel: str | None = None,
    watch: Watch | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> Explanation:
    """Play a rally again as far as needed, and explain one ball or the latest ones.

    ``ball`` counts from 0; ``worst`` is how many of the latest (default 20, or all that there are).
    The latest are those with the longest time from the ping to the reply's fall, and missed balls
    before them. ``kernel`` is the built tree of a rally that was played on one. ``say`` gets a line
    where something takes a while.

    Raises UsageError for what cannot be meant or explained, RallyError where the replay's balls are
    not the rally's, BenchError, and KeyboardInterrupt when told to stop.
    """
    rally = path if isinstance(path, Rally) else open_rally(path)
    plan = plan_again(rally, kernel)
    if ball is not None and worst is not None:
        raise UsageError("--ball and --worst: use one of them")
    if not rally.balls:
        raise UsageError(f"{rally.path} holds no balls: there is nothing to explain")
    if ball is not None and not 0 <= ball < rally.balls:
        raise UsageError(f"--ball {ball}: the rally has the balls 0 to {rally.balls - 1}")
    if worst is not None and not 1 <= worst <= WORST_MAX:
        raise UsageError(f"--worst {worst}: use 1 to {WORST_MAX}")
    table = balls_of(rally)
    chosen = [ball] if ball is not None else _latest(table, worst or WORST)
    windows = [_window(rally, table, number) for number in sorted(chosen)]

    bench = VirtualBench()
    versions = bench.versions(plan)
    changed = changes(rally, versions)
    parts = bench.parts(plan)
    functions = symbols.functions(parts, Extras(), say)
    with (
        Profile(parts.qemu, functions, windows) as profile,
        tempfile.TemporaryDirectory(prefix="tennis-explain-") as scratch,
    ):
        playing = VirtualBench(Extras(onlooker=profile.onlooker()))
        replayed = replay(
            playing.start(plan, Path(scratch)),
            table,
            max(chosen),
            watch or Watch(),
            lambda text: unlike(rally, text, versions),
        )
        phases: dict[int, list[Phase]] = {}
        for phase in profile.phases():
            phases.setdefault(phase.ball, []).append(phase)
    missing = [number for number in chosen if len(phases.get(number, [])) < 2]
    if missing:
        raise BenchError(
            f"ball {missing[0]} came, but its profile did not: is the disk of "
            f"{tempfile.gettempdir()} full?"
        )
    names = Names(functions)
    stories = [
        tell(number, int(table[number, 0]), _edges(table, number), phases[number], names)
        for number in chosen
    ]
    rule = (
        f"ball {ball}, as asked for"
        if ball is not None
        else f"the {format_count(len(chosen), 'latest ball', 'latest balls')} of {rally.balls:,}, "
        "from the ping to the reply's fall, missed ones first"
    )
    return Explanation(rally, rule, stories, replayed, changed)


def _latest(table: NDArray[np.int64], count: int) -> list[int]:
    """Return the numbers of the latest balls, the latest first; missed ones count as latest."""
    order = np.argsort(-table[:, 2], kind="stable")
    return [int(number) for number in order[:count]]


def _edges(table: NDArray[np.int64], ball: int) -> tuple[int | None, int | None]:
    _, rise, fall = table[ball].tolist()
    return (None if rise == NONE else rise), (None if fall == NONE else fall)


def _window(rally: Rally, table: NDArray[np.int64], ball: int) -> Window:
    """Return when a ball waited; a missed one until it was given up, or the next was served."""
    served = int(table[ball, 0])
    rise, fall = _edges(table, ball)
    end = served + rally.manifest.protocol.timeout_ns
    if ball + 1 < len(table):
        end = min(end, int(table[ball + 1, 0]))
    end = end if fall is None else served + fall
    return Window(ball, served, end if rise is None else served + rise, end)
