# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""What a ping would have met whose answer comes from a thread, against a scheduler that runs it."""

import numpy as np
import pytest

from tennis.errors import BenchError
from tennis.explain.sections import records as kinds
from tennis.explain.sections.model import TAKEN, WAYS, Span
from tennis.explain.sections.run import KERNEL, USER, decode
from tennis.explain.sections.switching import (
    ENABLES,
    GIVES_WAY,
    KINDS,
    OFFERS,
    RETURNS,
    Thread,
    find_thread,
    switching_of,
)
from tennis.explain.sections.thread_calibration import calibrate_thread
from tennis.explain.sections.thread_model import LOCK, ThreadConstants, ThreadModel
from tests.support.made_up_sections import ENTRY, STEP_NS
from tests.support.made_up_threads import INTERRUPT, NAME, RUNS, Scheduler, program


def always(instructions):
    return Span(*[STEP_NS * instructions] * 3, 1)


CONSTANTS = ThreadConstants(
    {where: always(n) for where, n in ENTRY.items()},
    always(INTERRUPT),
    {where: always(INTERRUPT + RUNS) for where in (USER, KERNEL)},
    {kind: always(RUNS) for kind in (ENABLES, OFFERS, RETURNS, GIVES_WAY, LOCK)},
)


@pytest.mark.parametrize("forced", [False, True])
@pytest.mark.parametrize("preempts", [False, True])
@pytest.mark.parametrize("seed", range(2))
def test_every_instant_is_what_a_scheduler_does(seed, preempts, forced):
    """All ways to wait: each instant of a run, played one by one."""
    made = program(seed, 14)

    def machine(*pings):
        return Scheduler([], pings=list(pings), preempts=preempts, forced=forced)

    records = machine().run(made).array()
    run = decode(records, STEP_NS)
    switching = switching_of(records, run, Thread(NAME, 49, forced), preempts=preempts)
    model = ThreadModel(run, switching, CONSTANTS)
    low, high = int(run.begin[1]), int(run.end[-4])
    at = np.unique(np.concatenate([model.edges(low, high), np.arange(low, high, 14)])) // 2 * 2
    met = model.meet(at)
    # a lock's holder is boosted by the thread, which this scheduler does not do
    assert (met.sure == (met.way != len(TAKEN) + LOCK)).all()
    for n, instant in enumerate(at.tolist()):
        played = machine(instant).run(made)
        what = f"{instant}: {WAYS[met.way[n]]}"
        assert (what, played.rises[0]) == (what, int(met.latency[n]))
    assert len(np.unique(met.way)) >= 4


def rally(*, preempts, forced=False, balls=60):
    """Return a run with balls in it, when they were served, and what they met; ns."""
    draw = np.random.default_rng(1)
    pings = np.cumsum([2 * draw.integers(400, 900) for _ in range(balls)]).tolist()
    machine = Scheduler([], pings=list(pings), preempts=preempts, forced=forced)
    played = machine.run(program(1, 400))
    served = np.array(pings[: len(played.rises)])
    return played.array(), served, np.array(played.rises)


@pytest.mark.parametrize("preempts", [False, True])
def test_times_come_from_the_balls(preempts):
    """Those of the processor's, and each ball is what they say."""
    records, served, rise = rally(preempts=preempts)
    run = decode(records, STEP_NS)
    thread = find_thread(records, run, forced=False)
    assert thread == Thread(NAME, 49, False)
    switching = switching_of(records, run, thread, preempts=preempts)
    found = calibrate_thread(run, switching, served[2:], rise[2:])
    assert found.constants.interrupt == Span(*[STEP_NS * INTERRUPT] * 3, len(served) - 2)
    assert {w: s.typical for w, s in found.constants.at_once.items()}[USER] == STEP_NS * (
        INTERRUPT + RUNS
    )
    kind = ENABLES if preempts else OFFERS
    assert found.constants.chance[kind].typical == STEP_NS * RUNS
    assert {fit.way for fit in found.fits} >= {TAKEN[0], KINDS[kind]}
    assert np.count_nonzero(found.error) <= 0.1 * len(found.error)
    assert found.within((50,)) == [0]


def test_a_forced_thread_waits_for_the_lock_of_bottom_halves():
    """And a lock that somebody holds beyond the reply was not what it waited for."""
    records, served, rise = rally(preempts=True, forced=True)
    run = decode(records, STEP_NS)
    switching = switching_of(records, run, Thread(NAME, 49, True), preempts=True)
    found = calibrate_thread(run, switching, served[2:], rise[2:]).constants.chance
    assert found[LOCK].typical == STEP_NS * RUNS
    assert all(one.least >= 0 for one in found.values())
    unrelated = records.copy()
    unrelated["value"][unrelated["kind"] == kinds.BOTTOM] = 0
    first = np.flatnonzero(unrelated["kind"] == kinds.BOTTOM)[0]
    unrelated["value"][first], unrelated["how"][first] = 512, 1
    switching = switching_of(unrelated, run, Thread(NAME, 49, True), preempts=True)
    assert LOCK not in calibrate_thread(run, switching, served[2:], rise[2:]).constants.chance


def test_a_ball_that_does_not_fit_is_counted():
    records, served, rise = rally(preempts=True)
    served, rise = served[2:], rise[2:]
    rise[7] += 500
    run = decode(records, STEP_NS)
    switching = switching_of(records, run, Thread(NAME, 49, False), preempts=True)
    found = calibrate_thread(run, switching, served, rise)
    assert found.error[7] == 500
    assert max(fit.worst_ns for fit in found.fits) >= 500


def test_a_thread_that_never_runs_is_no_thread():
    records, served, rise = rally(preempts=True)
    hidden = records[(records["kind"] != kinds.TASK) | (records["priority"] != 49)]
    run = decode(hidden, STEP_NS)
    assert find_thread(hidden, run, forced=False) is None
    switching = switching_of(hidden, run, Thread(NAME, 49, False), preempts=True)
    with pytest.raises(BenchError, match="does not show that irq/17-racquet ran"):
        calibrate_thread(run, switching, served[2:], rise[2:])
