# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""The times of a thread that answers, from a rally that was recorded with its balls."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tennis.errors import BenchError
from tennis.explain.sections.calibration import Fit, ball_reads, entries, fits, predict
from tennis.explain.sections.model import TAKEN, Met
from tennis.explain.sections.records import BY_RETURN_TO_USER, VECTOR
from tennis.explain.sections.run import Run, Times
from tennis.explain.sections.switching import GIVES_WAY, RETURNS, Switching
from tennis.explain.sections.thread_model import (
    ThreadConstants,
    Wait,
    can_run,
    middle,
    until_chance,
    until_let_go,
)

LEAVES_NS = 500  # from the last section before it to the scheduler's, on the way to user space


@dataclass(frozen=True)
class ThreadCalibration:
    """Times, and all balls: measured less predicted, ns, shape (balls,)."""

    thread: str
    constants: ThreadConstants
    error: Times
    fits: list[Fit]

    def within(self, percentages: tuple[int, ...]) -> list[int]:
        """Return how far off so many percent of the balls are at most; ns."""
        found = np.percentile(np.abs(self.error), percentages, method="higher")
        return [int(one) for one in found]


def calibrate_thread(
    run: Run, switching: Switching, served: Times, rise: Times
) -> ThreadCalibration:
    """Return the times of a rally's thread, and what they predict of its balls.

    ``served`` and ``rise`` as for ``calibrate``. Where a ball's own thread ran instead of what
    would have gone on, the chance is what its switch shows.
    """
    known = served > run.begin[1]
    served, rise = served[known], rise[known]
    reads, reply = ball_reads(run, served, rise), served + rise
    section = np.searchsorted(run.begin, reads, "left") - 1
    ends = run.end[section]
    # from user space the way out lets the thread run before the interrupt's section ends
    first = ThreadConstants(entries(run), middle(ends - reads), {}, {})
    met = predict(run, first.until_read, served)
    waited = _waited(run, switching, met, _Answers(reads, ends, reply))
    at_once, chance = {}, {}
    for where in np.unique(met.context[waited.none]).tolist():
        at_once[where] = middle((reply - reads)[waited.none & (met.context == where)])
    for kind in np.unique(waited.kind[~waited.none]).tolist():
        chance[kind] = middle((reply - waited.until)[~waited.none & (waited.kind == kind)])
    constants = replace(first, at_once=at_once, chance=chance)
    typical = np.zeros(len(served), np.int64)
    for where, one in at_once.items():
        typical[waited.none & (met.context == where)] = one.typical
    for kind, one in chance.items():
        typical[~waited.none & (waited.kind == kind)] = one.typical
    behind = constants.interrupt.typical + waited.until - ends
    latency = met.latency + typical + np.where(waited.none, 0, behind)
    way = np.where(waited.none, met.way, len(TAKEN) + waited.kind).astype(np.int8)
    error = rise - latency
    return ThreadCalibration(
        switching.thread.name, constants, error, fits(replace(met, way=way), error)
    )


@dataclass(frozen=True)
class _Answers:
    """Of each ball: when the controller gave its interrupt, when that ended, and the reply."""

    reads: Times
    ends: Times
    reply: Times


def _waited(run: Run, switching: Switching, met: Met, answers: _Answers) -> Wait:
    """Return what the thread waited for behind each ball's interrupt."""
    none = can_run(switching, met, met.taken)
    ran = _first_run(run, switching.thread.name, answers.reads)
    found = until_chance(switching, answers.ends, none)
    # its own switch came instead of what the chance would have been without it
    own = ~none & (found.until > ran)
    left, leaves = _way_out(run, ran)
    found = replace(
        found,
        kind=np.where(own, np.where(leaves, RETURNS, GIVES_WAY), found.kind).astype(np.int8),
        until=np.where(own, np.where(leaves, left, ran), found.until),
    )
    let_go = until_let_go(switching, found)
    # what is let go before it runs is not what it waits for, nor what is let go behind its reply
    locked = (let_go.until > ran) & (let_go.until <= answers.reply)
    return replace(
        let_go,
        none=none & ~locked,
        until=np.where(locked, let_go.until, found.until),
        kind=np.where(locked, let_go.kind, found.kind),
    )


def _first_run(run: Run, thread: str, since: Times) -> Times:
    """Return when the thread ran first behind some times. Raises BenchError if it did not."""
    own = run.switched[np.array(run.tasks) == thread]
    index = np.searchsorted(own, since, "right")
    if not (index < len(own)).all():
        raise BenchError(
            f"the record does not show that {thread} ran behind each ball",
            next_step="`tennis explain` without --sections names what late balls waited for",
        )
    found: Times = own[index]
    return found


def _way_out(run: Run, ran: Times) -> tuple[Times, NDArray[np.bool_]]:
    """Return when each task would have been in user space, and whether it was on its way there.

    Then the last section before the scheduler's is the one in which the kernel looks whether
    somebody else is to run. It usually leads out: ``typical`` is how long it takes then.
    """
    scheduler = np.searchsorted(run.begin, ran, "right") - 1
    last = np.maximum(scheduler - 1, 0)
    short = run.end[last] - run.begin[last] + run.begin[scheduler] - run.end[last] < LEAVES_NS
    outs = np.flatnonzero((run.how == BY_RETURN_TO_USER) & (run.began_how < VECTOR))
    typical = int(np.median(run.end[outs] - run.begin[outs])) if len(outs) else 0
    return run.begin[last] + typical, short & ~run.entered[last]
