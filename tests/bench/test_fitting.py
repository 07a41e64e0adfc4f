"""What goes with what: each bench takes what it says, and refuses the rest in one line."""

import pytest

from tennis.bench.fitting import CHOSEN, settings_of
from tennis.bench.registry import benches, refuse
from tennis.kit.errors import UsageError
from tennis.play.planning import RallyRequest
from tennis.rally.manifest import Drill
from tennis.rally.plan import Plan
from tennis.rally.settings import SETTINGS
from tests.support.plans import plan_of

EVERY = [bench.can for bench in benches()]
SAID = {
    "port": "/dev/x",
    "target": "bench1",
    "load_options": {"hold_us": 1},
    "command_line": "quiet",
    "instruction_ns": 4,
    "memory": "cortex-a72",
    "program": "answer.c",
    "processors": 2,
    "stage": "in-band",
    "interrupt_cpu": 0,
    "bottom_half_cpu": 0,
    "load_cpus": "1",
    "racquet": "r.c",
    "beneath": "sloth",
    "drill": Drill(name="periodic", context="user", period_ns=1000),
    "witness": "cyclictest",
    "stages": True,
    "analyser": "fx2lafw",
    "shots": 40,
}


@pytest.mark.parametrize("name", SAID)
@pytest.mark.parametrize("can", EVERY, ids=lambda can: can.name.replace(" ", "-"))
def test_a_setting_is_taken_or_refused_in_one_line(can, name):
    asked = {name: SAID[name]}
    if name in can.takes:
        can.refuse_misfits(asked, EVERY)
        return
    with pytest.raises(UsageError) as error:
        can.refuse_misfits(asked, EVERY)
    assert "\n" not in str(error.value)
    assert not str(error.value).endswith((":", " "))


def test_every_setting_is_one_that_can_be_asked_for():
    assert set(SAID) | {"instrument"} == set(CHOSEN)
    assert set(SETTINGS) - {"drill"} <= set(RallyRequest.model_fields)
    assert all(can.takes <= set(CHOSEN) for can in EVERY)


def test_what_was_recorded_is_asked_for_again():
    """A plan of a folder that somebody else wrote goes the same way."""
    plan = plan_of(kernel="sloth")
    assert settings_of(plan_of(witness="cyclictest"))["witness"] == "cyclictest"
    forged = Plan.model_validate(plan.model_dump() | {"witness": "cyclictest"})
    with pytest.raises(UsageError, match="--witness needs a Linux kernel"):
        refuse(forged, settings_of(forged))
