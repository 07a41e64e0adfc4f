"""Play balls at chosen instants of a rally's machine: all in one boot, each in a child of its own.

Each is the first ball of that boot. docs/shots.md says how.
"""

import contextlib
import struct
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tennis.bench.fitting import settings_of
from tennis.bench.registry import refuse
from tennis.bench.virtual.bench import VirtualBench
from tennis.bench.virtual.machine import Extras
from tennis.kit import wire
from tennis.kit.errors import BenchError, UsageError
from tennis.play.progress import Progress
from tennis.play.rally import Watch
from tennis.play.repeat import NONE
from tennis.play.sealing import SHOT_EVENTS
from tennis.rally import Rally
from tennis.rally.balls import records
from tennis.rally.manifest import Protocol
from tennis.rally.plan import Plan
from tennis.rally.shots import SHOTS

GAP_NS = 10_000  # of a ball that is played by itself
REPEATS = "`tennis check` tells whether the rally repeats here"


def ready_ns(rally: Rally) -> int:
    """Return when a rally's target was ready. Raises UsageError if that is unknown."""
    found = next((event["at_ns"] for event in rally.events if event["what"] == "ready"), None)
    if found is None:
        raise UsageError(
            f"{rally.path} does not say when its target was ready", next_step="play it again"
        )
    return int(found)


def _rows(payload: bytes) -> NDArray[np.int64]:
    """Return served, rise and fall of a frame's balls; int64, shape (balls, 3), NONE: none came."""
    came = records(payload)
    return np.stack([came[name].astype(np.int64) for name in ("served", "rise", "fall")], axis=1)


def first_ball_at(rally: Rally, plan: Plan, at_ns: int) -> Protocol:
    """Return the protocol of a boot that serves its only ball at an instant: a shot by itself."""
    return plan.protocol.model_copy(
        update={
            "loop": "closed",
            "balls": 1,
            "gap_min_ns": GAP_NS,
            "gap_max_ns": GAP_NS,
            "settle_ns": at_ns - ready_ns(rally) - GAP_NS,
        }
    )


def refuse_unfit(plan: Plan) -> None:
    """Raise UsageError for a plan that shots do not go with."""
    if plan.protocol.loop not in {"closed", SHOTS}:
        raise UsageError(
            f"shots: its balls are of a loop that is {plan.protocol.loop}",
            next_step="play it without --loop",
        )
    shots = plan.model_copy(
        update={"protocol": plan.protocol.model_copy(update={"loop": SHOTS, "balls": 1})}
    )
    refuse(plan, settings_of(shots))


def shoot(
    rally: Rally, plan: Plan, every: Sequence[int], watch: Watch, extras: Extras | None = None
) -> NDArray[np.int64]:
    """Play a ball at each of some instants, which rise; ns. ``plan`` is the rally's, played again.

    ``extras``: additions to the target. Returns served, rise and fall of each, int64, shape
    (instants, 3). Raises UsageError for an instant at which the target was not ready, and
    BenchError if a ball did not come, or was not answered in time, or its child did not end.
    """
    if not every:
        return np.zeros((0, 3), np.int64)
    if every[0] <= ready_ns(rally):
        raise UsageError(
            f"at {every[0]:,} ns the target of {rally.path} was not ready",
            next_step=f"name instants behind {ready_ns(rally):,} ns",
        )
    balls = _played(plan, replace(extras or Extras(), instants_ns=every), watch)
    for at_ns, (served_ns, rise_ns, _) in zip(every, balls.tolist(), strict=True):
        # between two instructions nothing can be served
        if not 0 <= served_ns - at_ns < plan.instruction_ns:
            raise BenchError(f"the ball at {at_ns} ns came at {served_ns} ns", next_step=REPEATS)
        if rise_ns == NONE:
            raise BenchError(
                f"the ball at {at_ns} ns was not answered in time",
                next_step="play the rally with a longer --timeout-ms",
            )
    return balls


def _played(plan: Plan, extras: Extras, watch: Watch) -> NDArray[np.int64]:
    every = extras.instants_ns or ()
    found: list[NDArray[np.int64]] = []
    progress = Progress(planned=len(every))
    with (
        tempfile.TemporaryDirectory(prefix="tennis-shots-") as scratch,
        contextlib.closing(VirtualBench(extras).start(plan, Path(scratch))) as session,
    ):
        for frame in session.frames():
            if watch.stop():
                raise KeyboardInterrupt
            watch.observe(progress)
            if frame is not None and frame.kind == wire.EVENTS:
                _refuse_lost(frame.payload)
            if frame is not None and frame.kind == wire.BALLS:
                progress.add(frame.payload)
                found.append(_rows(frame.payload))
            if progress.balls == len(every):
                session.stop()
                return np.concatenate(found)
    raise BenchError(f"no ball came at {every[progress.balls]} ns", next_step=REPEATS)


def _refuse_lost(payload: bytes) -> None:
    """Raise BenchError if the child of a shot hung or broke: its row is no answer."""
    for at_ns, what, value in struct.iter_unpack(wire.EVENT, payload):
        if what not in SHOT_EVENTS:
            continue
        how = "did not end" if SHOT_EVENTS[what] == "shot_hung" else f"broke ({value})"
        raise BenchError(f"the child of the shot at {at_ns:,} ns {how}", next_step="try again")
