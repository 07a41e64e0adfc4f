"""A ball's wait if memory, TLBs or registers had cost nothing.

The rally is played again to that ball. From its ping on, one cost is zero. All balls before it must
be the rally's, tick for tick: so the ball meets what it met then, and only its own wait differs.

In a rally of shots, one boot plays the shot again, once with all costs and once without each. These
are children of one run at one instant, and the first must be the shot.
"""

import contextlib
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tennis.bench.protocol import Session
from tennis.bench.virtual.bench import VirtualBench
from tennis.bench.virtual.machine import Extras
from tennis.explain.replayed import explain
from tennis.explain.stalls import CAUSES, COSTS, stalled_ns
from tennis.explain.story import Story
from tennis.kit import wire
from tennis.kit.errors import RallyError, UsageError
from tennis.kit.log import log
from tennis.play.progress import Progress
from tennis.play.rally import Watch
from tennis.play.repeat import Edges, balls_of, compare_balls, edges_of, plan_again, unlike
from tennis.play.shots import shoot
from tennis.rally import Rally
from tennis.rally.balls import records
from tennis.rally.memory import NONE as NO_PROFILE
from tennis.rally.plan import Plan
from tennis.rally.shots import are_shots


@dataclass(frozen=True)
class _Without:
    """A ball as it was and as it is if a cost is zero from its ping on; ns since the ping.

    None: the reply did not come. ``stalls_ns``: what the ball's stalls of that cost were together.
    """

    cost: str
    was: Edges
    now: Edges
    stalls_ns: int

    @property
    def share_ns(self) -> int | None:
        """Return by how much the wait is shorter; None: the reply did not come, then or now."""
        if self.was[1] is None or self.now[1] is None:
            return None
        return self.was[1] - self.now[1]


def without(
    rally: Rally, costs: Sequence[str], *, ball: int | None = None, watch: Watch | None = None
) -> tuple[Story, list[_Without]]:
    """Return the story of a ball (by default the latest one), and what it is without each cost.

    Raises UsageError for a rally without a memory profile, and for a drill; RallyError if a
    ball before it is not the rally's, or the shot itself is not; BenchError.
    """
    if rally.manifest.target.memory == NO_PROFILE:
        raise UsageError(
            f"{rally.path} was played without a memory profile: nothing in it has such a cost",
            next_step="play it with --memory, and explain that",
        )
    if rally.manifest.drill:
        raise UsageError(
            f"{rally.path} is a drill: only balls of rallies are played without a cost",
            next_step="name a rally",
        )
    explanation = explain(rally, ball=ball, worst=1 if ball is None else None, watch=watch)
    story = explanation.story
    plan, table = plan_again(rally), balls_of(rally)
    was, watch = (story.rise, story.fall), watch or Watch()
    if are_shots(plan.protocol):
        came = _in_children(rally, plan, table[story.ball], costs, watch)
    else:
        came = [_played(rally, plan, table, story.ball, cost, watch) for cost in costs]
    return story, [
        _Without(cost, was, now, stalled_ns(story.parts, COSTS[cost]))
        for cost, now in zip(costs, came, strict=True)
    ]


def _causes(cost: str) -> int:
    """Return the causes of a cost, as bits."""
    return sum(1 << cause for cause in COSTS[cost])


def _in_children(
    rally: Rally, plan: Plan, shot: NDArray[np.int64], costs: Sequence[str], watch: Watch
) -> list[Edges]:
    """Play a shot again without each cost, all in one boot; return rise and fall of each."""
    log.info(f"playing the instant {int(shot[0]):,} ns in one boot, without {', '.join(costs)}")
    free = sum(_causes(cost) << (number * CAUSES) for number, cost in enumerate(costs, start=1))
    every = [int(shot[0])] * (1 + len(costs))
    rows = shoot(rally, plan, every, watch, Extras(memory={"free_shots": free}))
    if not np.array_equal(rows[0], shot):
        raise unlike(rally, f"the shot at {shot[0]:,} ns differs", VirtualBench().versions(plan))
    return [edges_of(row) for row in rows[1:]]


def _played(  # noqa: PLR0913, PLR0917 (a rally, a ball of it, and what it is without)
    rally: Rally, plan: Plan, table: NDArray[np.int64], ball: int, cost: str, watch: Watch
) -> Edges:
    """Play to a ball, and return its rise and fall in ns since the ping."""
    log.info(f"playing ball {ball} without {cost}")
    bench = VirtualBench()
    versions = bench.versions(plan)
    freed = {"free_causes": _causes(cost), "free_from_ns": int(table[ball, 0])}
    protocol = plan.protocol.model_copy(update={"balls": ball + 1})
    with tempfile.TemporaryDirectory(prefix="tennis-without-") as scratch:
        playing = VirtualBench(Extras(protocol=protocol, memory=freed))
        came = _last_ball(
            playing.start(plan, Path(scratch)),
            table,
            ball,
            watch,
            lambda text: unlike(rally, text, versions),
        )
    if int(came["served"]) != int(table[ball, 0]):
        raise unlike(rally, f"ball {ball} is served at another time", versions)
    return edges_of(came)


def _last_ball(
    session: Session, table: NDArray[np.int64], ball: int, watch: Watch, differs: Any
) -> Any:
    """Return the record of a ball, those before which must be the table's."""
    progress = Progress(planned=ball + 1)
    with contextlib.closing(session):
        for frame in session.frames():
            if frame is not None and frame.kind == wire.BALLS:
                came, first = records(frame.payload), progress.balls
                compare_balls(came[: max(0, ball - first)], table, first, differs)
                progress.add(frame.payload)
                if progress.balls > ball:
                    session.stop()
                    return came[ball - first]
            if watch.stop():
                raise KeyboardInterrupt
            watch.observe(progress)
    error: RallyError = differs(f"it ended after {progress.balls} balls")
    raise error
