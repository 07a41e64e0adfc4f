# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""The model's constants, from a rally that was recorded with its balls; and how they fit them."""

from dataclasses import dataclass, replace

import numpy as np

from tennis.errors import BenchError
from tennis.explain.sections.model import (
    PING,
    WAYS,
    Constants,
    Met,
    Model,
    Span,
    span,
)
from tennis.explain.sections.run import USER, WHERE, Run, Times

FROM_USER = 0x1480  # the vector of an interrupt that user space is interrupted by


@dataclass(frozen=True)
class Fit:
    """How far the balls of one way and place were from what the model says; ns."""

    way: str
    where: str  # "": it does not matter
    balls: int
    exact: int
    within_10_ns: int
    worst_ns: int  # of what was measured and predicted, the largest difference


@dataclass(frozen=True)
class Calibration:
    """Constants, and all balls: measured less predicted, ns, shape (balls,)."""

    constants: Constants
    error: Times
    fits: list[Fit]

    @property
    def exact(self) -> int:
        """Return how many balls were predicted to the nanosecond."""
        return int(np.count_nonzero(self.error == 0))


def calibrate(run: Run, served: Times, rise: Times) -> Calibration:
    """Return the constants of a run, and what they predict of its own balls.

    ``served``: when each ball was served; ``rise``: its measured latency; ns, of all balls that
    were answered. What the record holds of a ball's own interrupt is not used to predict it. Balls
    before the second section are left out: what went before them is not known.
    Raises BenchError where a ball's interrupt is not in the record.
    """
    known = served > run.begin[1]
    served, rise = served[known], rise[known]
    constants = Constants(entries(run), _answer(run, served, rise))
    met = predict(run, constants, served)
    error = rise - met.latency
    return Calibration(constants, error, fits(met, error))


def _answer(run: Run, served: Times, rise: Times) -> Span:
    """Return the answer: from the read that gave the ping to the reply."""
    answer = span(served + rise - ball_reads(run, served, rise))
    assert answer is not None  # noqa: S101 (there is a ball)
    return answer


def ball_reads(run: Run, served: Times, rise: Times) -> Times:
    """Return when the interrupt controller gave each ball's interrupt.

    Raises BenchError if the record does not show that.
    """
    pings = run.read[run.number == PING]
    index = np.searchsorted(pings, served, "right")
    known = index < len(pings)
    read = pings[np.minimum(index, max(0, len(pings) - 1))] if len(pings) else served
    if not len(served) or not (known & (read < served + rise)).all():
        raise BenchError(
            "the record does not show how the interrupt controller gave each ball's interrupt: "
            "this kernel asks it in a way that Tennis does not know",
            next_step="play it on a kernel of `tennis kernels`",
        )
    return read


def entries(run: Run) -> dict[int, Span]:
    """Return the entries of all interrupts, by where they found the processor."""
    entered = np.flatnonzero(run.entered & (run.first_read < len(run.read)))
    entered = entered[entered > 0]
    where = np.where(run.began_how[entered] == FROM_USER, USER, run.where[entered - 1])
    took = run.read[run.first_read[entered]] - run.begin[entered]
    found = {place: span(took[where == place]) for place in range(len(WHERE))}
    return {place: seen for place, seen in found.items() if seen}


def predict(run: Run, constants: Constants, served: Times) -> Met:
    """Return what the model says of a run's own balls, without what they did to it."""
    kept = _without_own(run, served)
    # a ball that wakes the processor: the sleep ends with it
    woken = np.isin(served, kept.woke)
    met = Model(kept, constants).meet(served - woken)
    latency = met.latency - np.where(met.ramp & woken, 1, 0)
    return replace(met, latency=latency)


def _without_own(run: Run, served: Times) -> Run:
    """Return a run without the interrupts that its balls began."""
    own = run.entered & (run.first_read < len(run.read))
    own[own] = run.number[run.first_read[own]] == PING
    # one that came between another's interrupt and its first read began none
    last = np.searchsorted(served, run.first_read_ns, "left") - 1
    own &= (last >= 0) & (served[np.maximum(last, 0)] <= run.begin)
    names = (
        *("begin", "end", "began_how", "how", "where"),
        *("began_place", "place", "began_caller", "caller"),
    )
    return replace(run, **{name: getattr(run, name)[~own] for name in names})


def fits(met: Met, error: Times) -> list[Fit]:
    """Return how balls fit, by way and place."""
    found = []
    for way, name in enumerate(WAYS):
        for where in np.unique(met.where[met.way == way]).tolist():
            of = np.abs(error[(met.way == way) & (met.where == where)])
            place = WHERE[where] if where >= 0 else ""
            near = int(np.count_nonzero(of <= 10))
            exact = int(np.count_nonzero(of == 0))
            found.append(Fit(name, place, len(of), exact, near, int(of.max())))
    return found
