# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""What a ping at any instant of a run would have met, with a top half in a thread.

The interrupt only wakes the thread. Until the interrupt's handler is done, all is as in ``model``.
Then the thread runs at once, if it can; if not, it *waits* for the next chance (``switching``). So
a latency is the way to the read of the interrupt controller, plus either the *answer* from there,
or the rest of the *interrupt*, the wait, and the answer from the chance. A forced thread on
PREEMPT_RT waits until bottom halves are let go, too.

None of these answers is constant: the scheduler has more or less to do. So a prediction has the
usual answer, and the balls say how far off it is.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tennis.explain.sections.model import BEHIND_INTERRUPT, TAKEN, WAYS, Constants, Met, Model, Span
from tennis.explain.sections.run import IDLE_TASK, NEVER, USER, WHERE, Run, Times
from tennis.explain.sections.switching import KINDS, Switching

LOCK = len(KINDS)
NOTHING_ANSWERED = Span(0, 0, 0, 1)  # a model with it says when the controller is read


@dataclass(frozen=True)
class ThreadConstants:
    """Times of a thread that answers.

    ``interrupt``: from the read that gives the ping to the interrupt's end. ``at_once``: from that
    read to the reply, by where the interrupt found the processor. ``chance``: from a chance to the
    reply, by its kind.
    """

    entries: Mapping[int, Span]
    interrupt: Span
    at_once: Mapping[int, Span]
    chance: Mapping[int, Span]

    @property
    def until_read(self) -> Constants:
        """Return the constants with which ``Model`` says when the controller is read."""
        return Constants(self.entries, NOTHING_ANSWERED)


def middle(values: Times) -> Span:
    """Return the median of some times, and their ends."""
    return Span(int(np.median(values)), int(values.min()), int(values.max()), len(values))


class ThreadModel:
    """The formula above, for one run."""

    def __init__(self, run: Run, switching: Switching, constants: ThreadConstants) -> None:
        self.run, self.constants, self._switching = run, constants, switching
        self._until_read = Model(run, constants.until_read)
        self._entry = constants.until_read.entries()

    def meet(self, at: Times) -> Met:
        """Return what pings at these instants would have met.

        ``section`` of those that wait is the number of masked stretches, plus the chance's number.
        """
        found = self._until_read.meet(at)
        behind = found.way == BEHIND_INTERRUPT
        resumes = np.where(behind, at + found.latency, found.taken)
        none = can_run(self._switching, found, resumes)
        wait = until_let_go(self._switching, until_chance(self._switching, resumes, none))
        once, known = _column(self.constants.at_once, len(WHERE))
        chance, seen = _column(self.constants.chance, len(WAYS) - len(TAKEN))
        entry = np.where(behind, 0, self._entry[found.where])
        waits, until = ~wait.none, np.where(wait.seen, wait.until, resumes)
        later = until - at + entry + self.constants.interrupt.typical + chance[wait.kind]
        return replace(
            found,
            latency=np.where(waits, later, found.latency + once[found.context]),
            ramp=found.ramp | waits,
            way=np.where(waits, len(TAKEN) + wait.kind, found.way).astype(np.int8),
            section=np.where(waits, len(self.run.begin) + wait.index, found.section),
            # a waiting thread lends the holder of its lock its priority: how soon that lets go is
            # not what a run without a ball shows
            sure=found.sure
            & np.where(waits, wait.seen & seen[wait.kind], known[found.context])
            & (wait.kind != LOCK),
        )

    def edges(self, low: int, high: int) -> Times:
        """Return the instants in [low, high) at which the formula changes; low is the first."""
        of = self._switching
        more = np.concatenate([of.chance, of.counted, of.switched, of.bottom])
        more = more[(more >= low) & (more < high)]
        return np.union1d(self._until_read.edges(low, high), more)

    def waits(self) -> Run:
        """Return the run whose sections are the masked stretches, and behind them the waits."""
        run, of = self.run, self._switching
        return replace(
            run,
            begin=np.concatenate([run.begin, of.began]),
            end=np.concatenate([run.end, of.chance]),
            began_how=np.concatenate([run.began_how, of.began_how]),
            began_place=np.concatenate([run.began_place, of.began_place]),
            began_caller=np.concatenate([run.began_caller, of.began_caller]),
            how=np.concatenate([run.how, of.how]),
            place=np.concatenate([run.place, of.place]),
            caller=np.concatenate([run.caller, of.caller]),
        )


@dataclass(frozen=True)
class Wait:
    """What a thread waits for, woken at some times; arrays of one length.

    ``none``: it can run. Otherwise it waits until the chance ``index``, or, of the kind LOCK, until
    bottom halves are let go. ``seen``: when that is, is in the record.
    """

    none: NDArray[np.bool_]
    until: Times
    kind: NDArray[np.int8]
    index: Times
    seen: NDArray[np.bool_]


def can_run(switching: Switching, found: Met, resumes: Times) -> NDArray[np.bool_]:
    """Return whether a thread can run at once, woken by interrupts taken as ``found``.

    ``resumes``: when what was interrupted goes on. Another interrupt's handler goes on first, and
    then what that one interrupted; of these only the idle task has no chance of its own.
    """
    idle = found.context == IDLE_TASK
    free = (found.where == USER) | switching.can_preempt(resumes)
    free &= (found.way != BEHIND_INTERRUPT) & ~switching.goes_before(resumes)
    none: NDArray[np.bool_] = idle | free
    return none


def until_chance(switching: Switching, resumes: Times, none: NDArray[np.bool_]) -> Wait:
    """Return what a thread waits for if its code goes on at some times; not where ``none``."""
    index = switching.next_chance(resumes)
    seen = none | (index < len(switching.chance))
    index = np.minimum(index, len(switching.chance) - 1)
    until = np.where(none, resumes, switching.chance[index])
    return Wait(none, until, switching.kind[index], index, seen)


def until_let_go(switching: Switching, wait: Wait) -> Wait:
    """Return the same of a thread that, if it is forced, takes the lock of bottom halves."""
    if not switching.thread.forced:
        return wait
    let_go = switching.bottom_free(wait.until)
    locked = wait.seen & (let_go > wait.until)
    return replace(
        wait,
        none=wait.none & ~locked,
        until=np.where(locked, let_go, wait.until),
        kind=np.where(locked, LOCK, wait.kind).astype(np.int8),
        seen=wait.seen & (let_go < NEVER),
    )


def _column(spans: Mapping[int, Span], length: int) -> tuple[Times, NDArray[np.bool_]]:
    """Return the typical time of each span, by its number, and whether there is one."""
    typical = np.array([spans[n].typical if n in spans else 0 for n in range(length)], np.int64)
    return typical, np.array([n in spans for n in range(length)])
