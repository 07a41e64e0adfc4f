# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""What a ping would have met, held against a processor that really takes it."""

import numpy as np
import pytest

from tennis.errors import BenchError
from tennis.explain.sections import records as kinds
from tennis.explain.sections.calibration import calibrate
from tennis.explain.sections.figures import pieces
from tennis.explain.sections.model import (
    BEHIND_TIMER,
    WAYS,
    Constants,
    Model,
    Span,
    span,
)
from tennis.explain.sections.run import IDLE_TASK, KERNEL, SOFTIRQ, THREAD_SOFTIRQ, decode
from tests.support.made_up_sections import ANSWER, ENTRY, STEP_NS, Processor, program

CONSTANTS = Constants(
    {where: Span(STEP_NS * n, STEP_NS * n, STEP_NS * n, 1) for where, n in ENTRY.items()},
    Span(STEP_NS * ANSWER, STEP_NS * ANSWER, STEP_NS * ANSWER, 1),
)


def deadlines(seed):
    draw = np.random.default_rng(seed)
    return np.cumsum([16 * draw.integers(10, 120) for _ in range(400)]).tolist()


def others(seed):
    draw = np.random.default_rng(seed + 1)
    return np.cumsum([2 * draw.integers(50, 900) for _ in range(200)]).tolist()


@pytest.mark.parametrize("seed", range(6))
def test_every_instant_is_what_a_processor_does(seed):
    """All ways to take a ping: each instant of a run, played one by one."""
    made = program(seed, 12)
    run = Processor(deadlines(seed), others=others(seed)).run(made)
    model = Model(decode(run.array(), STEP_NS), CONSTANTS)
    low, high = int(model.run.begin[1]), int(model.run.end[-2])
    at = np.unique(np.concatenate([model.edges(low, high), np.arange(low, high, 26)])) // 2 * 2
    met = model.meet(at)
    seen = set()
    for n, instant in enumerate(at.tolist()):
        played = Processor(deadlines(seed), pings=[instant], others=others(seed)).run(made)
        seen.add(int(met.way[n]))
        if not met.sure[n]:
            continue
        what = f"{instant}: {WAYS[met.way[n]]}"
        assert (what, played.rises[0]) == (what, int(met.latency[n]))
    assert len(seen) >= 4
    assert met.sure.mean() > 0.5


def rally(seed, balls=40):
    """Return a run with balls in it, when they were served, and what they met; ns."""
    draw = np.random.default_rng(seed)
    pings = np.cumsum([2 * draw.integers(300, 700) for _ in range(balls)]).tolist()
    made = program(seed, 260)
    played = Processor(deadlines(seed), pings=list(pings), others=others(seed)).run(made)
    return played.array(), np.array(pings), np.array(played.rises)


def test_constants_come_from_the_balls():
    records, served, rise = rally(3)
    run = decode(records, STEP_NS)
    found = calibrate(run, served[2:], rise[2:])
    assert {w: s.typical for w, s in found.constants.entry.items()} == {
        w: STEP_NS * n for w, n in ENTRY.items()
    }
    assert found.constants.answer == Span(*[STEP_NS * ANSWER] * 3, len(served) - 2)
    assert found.exact == len(served) - 2
    assert sum(fit.balls for fit in found.fits) == len(served) - 2
    assert len({fit.way for fit in found.fits}) >= 3


def test_a_ball_that_does_not_fit_is_counted():
    """Never made to fit: the constants are those of the others."""
    records, served, rise = rally(3)
    served, rise = served[2:], rise[2:]
    rise[7] += 8
    rise[9] -= 2
    found = calibrate(decode(records, STEP_NS), served, rise)
    assert found.exact == len(served) - 2
    assert (found.error[7], found.error[9]) == (8, -2)
    assert sum(fit.balls - fit.exact for fit in found.fits) == 2
    assert max(fit.worst_ns for fit in found.fits) == 8
    assert found.constants.answer.least < found.constants.answer.most


def test_what_a_record_does_not_show_is_refused():
    records, served, rise = rally(3)
    hidden = records[(records["kind"] != kinds.READ) | (records["value"] != 39)]
    with pytest.raises(BenchError, match="does not show how the interrupt controller"):
        calibrate(decode(hidden, STEP_NS), served[2:], rise[2:])


@pytest.mark.parametrize(
    ("wrong", "said"),
    [("drift", "differ by up to 2 ns"), ("overlap", "overlap"), ("span", "spans, not times")],
)
def test_records_that_contradict_themselves_are_refused(wrong, said):
    records, _, _ = rally(3)
    looks = np.flatnonzero(records["kind"] == kinds.TIME)
    if wrong == "drift":
        awake = np.flatnonzero(np.diff(np.cumsum(records["kind"] == kinds.WAKE)[looks]) == 0)[5]
        records["value"][looks[awake + 1]] += 2
    elif wrong == "overlap":
        stretches = np.flatnonzero(records["kind"] == kinds.STRETCH)
        records["began"][stretches[20]] = records["began"][stretches[18]]
    else:
        writes = np.flatnonzero(records["kind"] == kinds.TIMER)
        records["how"][writes[3]] = kinds.TIMER_TVAL
    with pytest.raises(BenchError, match=said):
        decode(records, STEP_NS)


@pytest.mark.parametrize(("by", "mended"), [(1, True), (-1, False), (2, False)])
def test_a_look_in_the_middle_of_an_access_to_a_device_is_mended(by, mended):
    """One instruction was counted there, and had not taken its time; both looks around agree."""
    records, served, rise = rally(3)
    right = calibrate(decode(records, STEP_NS), served[2:], rise[2:])
    looks = np.flatnonzero(records["kind"] == kinds.TIME)
    awake = np.diff(np.cumsum(records["kind"] == kinds.WAKE)[looks]) == 0
    middle = looks[np.flatnonzero(awake[:-1] & awake[1:])[3] + 1]
    records["count"][middle] = int(records["count"][middle]) + by
    if not mended:
        with pytest.raises(BenchError, match="differ by up to"):
            decode(records, STEP_NS)
        return
    found = calibrate(decode(records, STEP_NS), served[2:], rise[2:])
    assert found.constants == right.constants
    np.testing.assert_array_equal(found.error, right.error)


def test_the_deadline_that_never_came_makes_no_figure():
    """The ping would have met a timer that the run set anew before it went off: not sure."""
    made = [("mask", 0), ("work", 3), ("sleep", 0), ("unmask", KERNEL), ("work", 200)]
    made += [("mask", 0), ("arm", 1008), ("unmask", KERNEL)]
    made += [("work", 200), ("mask", 0), ("arm", 40_000), ("unmask", KERNEL), ("work", 300)]
    made += [("mask", 0), ("work", 5), ("unmask", KERNEL), ("work", 5)]
    played = Processor([], others=[100]).run(made)
    model = Model(decode(played.array(), STEP_NS), CONSTANTS)
    at = model.edges(int(model.run.begin[1]), int(model.run.end[-2]))
    met = model.meet(at)
    unsure = at[~met.sure & (met.way == BEHIND_TIMER)]
    assert unsure.size
    assert (unsure < 1008).all()
    found = pieces(model, int(at[0]), int(at[-1]))
    assert found.length.sum() == at[-1] - at[0]


def test_a_softirq_of_a_thread_is_on_that_threads_stack():
    """So an interrupt's way in is another one, with a constant of its own."""
    records, _, _ = rally(3)
    half = len(records) // 2
    for name, found in (("ksoftirqd/0", False), ("stress", True)):
        switch = np.zeros(1, kinds.RECORD)
        switch["kind"], switch["count"] = kinds.TASK, records["count"][half]
        switch["value"], switch["began"] = np.frombuffer(name.encode().ljust(16, b"\0"), "<u8")
        run = decode(np.concatenate([records[:half], switch, records[half:]]), STEP_NS)
        behind = run.end > run.switched[0]
        assert (run.where[behind] == SOFTIRQ).any() == found
        assert (run.where[behind] == THREAD_SOFTIRQ).any() != found
        assert (run.where[~behind] == SOFTIRQ).any()


def test_what_varies_predicts_nothing():
    """An entry that is no constant: instants with it are not sure, all others are as before."""
    run = decode(rally(3)[0], STEP_NS)
    wide = Span(STEP_NS * ENTRY[IDLE_TASK], 10, 900, 5)
    some = Constants({**CONSTANTS.entry, IDLE_TASK: wide}, CONSTANTS.answer)
    at = np.arange(int(run.begin[5]), int(run.end[-5]), 10)
    all_sure, met = Model(run, CONSTANTS).meet(at), Model(run, some).meet(at)
    assert not met.sure[met.where == IDLE_TASK].any()
    others = met.where != IDLE_TASK
    assert (met.sure[others] == all_sure.sure[others]).all()
    assert met.sure.any()
    nothing = Constants(CONSTANTS.entry, wide)
    assert not Model(run, nothing).meet(at).sure.any()


def test_a_place_that_no_ball_met_has_no_figure_below_nothing():
    """Its entry is not known: its instants are not sure, and no time is made of what is missing."""
    run = decode(rally(3)[0], STEP_NS)
    some = {where: entry for where, entry in CONSTANTS.entry.items() if where != KERNEL}
    model = Model(run, Constants(some, Span(0, 0, 0, 1)))
    low, high = int(run.begin[5]), int(run.end[-5])
    assert model.meet(np.arange(low, high, 2)).latency.min() < 0
    found = pieces(model, low, high)
    assert min(found.longest.min(), found.shortest.min()) == 0
    assert not found.sure[found.longest == 0].any()
    assert found.length.sum() == high - low


def test_one_odd_time_in_thousands_does_not_end_all_predictions():
    """It is told with the balls, and more than that are no constant."""
    times = np.full(3000, 988)
    times[:100] = 980
    times[7] = 1500
    found = span(times)
    assert found == Span(988, 980, 1500, 3000, 1)
    assert found.constant
    assert not span(times[:900]).constant
    times[:4] = 1500
    assert not span(times).constant
