"""A lab's rally, sweep and match are taken in the lab's settings: each alone, changed, is refused.

Nothing is played: rallies are made up, and what folders say of them is altered.
"""

import pytest

from tennis.course import load_lab, work
from tennis.course.checking.sweep_work import _sweep_request, whole_sweep
from tennis.course.checks import Wrong
from tennis.match.sweep.folder import SweepRecord
from tests.support.one_setting import NAMES, SERVED, before_and_after, with_setting

MADE = {"tennis": "0", "created": "2026-01-01T00:00:00+00:00", "time_note": "made up"}
# of a plan only the last of them is no setting by itself
ANY = pytest.mark.parametrize("name", sorted({*NAMES, *SERVED} - {"bottom_half_cpu"}))


@pytest.fixture(scope="module")
def work_of_sweep(tmp_path_factory):
    place = tmp_path_factory.mktemp("sweep") / "w"
    work.start(load_lab("09-faster-until-it-breaks"), "zoe", place)
    return work.read(place)


def other_plan(folder, plan, name):
    """Return a plan that differs in one setting alone."""
    usual, other = before_and_after(folder, name)
    if name in SERVED:
        served = SERVED[name]
        if plan.protocol.loop == "open" and name in {"loop", "rate_hz", "shots"}:
            served = {"rate_hz": 77.0}
        elif name in {"gap_min_ns", "gap_max_ns"}:
            served = {"gap_min_ns": 400_000, "gap_max_ns": 400_000} | served
        return plan.model_copy(update={"protocol": plan.protocol.model_copy(update=served)})
    changed = with_setting(plan, name, other)
    return changed if changed != plan else with_setting(plan, name, usual)


@ANY
def test_a_sweep_of_another_setting_is_not_the_labs(folder, work_of_sweep, name):
    asked = _sweep_request(work_of_sweep.lab, work_of_sweep.seed)
    place = work_of_sweep.folder / work_of_sweep.lab.sweep.name
    place.mkdir(exist_ok=True)

    def told(plan):
        record = SweepRecord(**MADE, bench="virtual", range=asked.range, plan=plan)
        record.write(place)
        with pytest.raises(Wrong) as error:
            whole_sweep(work_of_sweep)
        return str(error.value)

    if name == "kernel":
        assert "not played to its end" in told(asked.plan)
    assert "another sweep" in told(other_plan(folder, asked.plan, name))
