# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""A match takes no foreign rally: each setting that a plan has is compared with the rally's."""

import pytest

from tennis.match.folder import another
from tennis.match.plan import ScheduledRally
from tennis.rally.manifest import OWN, Program
from tennis.rally.plan import Plan
from tennis.rally.settings import not_as_published
from tests.support.plans import plan_of
from tests.support.synthetic import make_rally, saying

# what a plan has besides, and a rally's balls do not depend on, or `MatchFolder` compares
ELSEWHERE = {
    *("schema_version", "bench", "port", "target", "operator", "umpire", "analyser"),
    *("versions", "phase_of_a_second", "recording", "speed"),
}
# a setting of the plan -> what of the manifest says another one; and how that is said
ANSWERED = Program(
    name="answer",
    kind="C",
    sha256="0" * 64,
    built_sha256="0" * 64,
    command="answer",
    way="GPIO character device",
    priority=None,
)
OTHERS = {
    "kernel": ("target", {"kernel": "rt"}, "kernel rt"),
    "instrument": ("instrument", {"kind": "brickwall"}, "instrument pico"),
    "racquet": ("target", {"module": OWN}, f"Racquet {OWN}"),
    "program": ("target", {"program": ANSWERED}, "program answer, SHA-256 000000000000"),
    "load": ("load", {"name": "hog"}, "load hog"),
    "load_options": ("load", {"options": {"hold_us": 7}}, "load options"),
    "top_half": ("target", {"top_half": "forced"}, "top half forced"),
    "bottom_half": ("target", {"bottom_half": "user"}, "bottom half user"),
    "priorities": ("target", {"priorities": "chrt"}, "priorities chrt"),
    "stage": ("target", {"module": "racquet"}, "stage in-band"),
    "command_line": ("target", {"added": "nosmp"}, "command line nosmp"),
    "instruction_ns": ("target", {"instruction_ns": 4}, "instruction ns 4"),
    "memory": ("target", {"memory": "pxa270@12345678"}, "memory pxa270@12345678"),
    "witness": ("target", {"witness": "cyclictest"}, "witness cyclictest"),
    "beneath": ("target", {"beneath": "sloth"}, "beneath sloth"),
    "processors": ("target", {"processors": 2}, "processors 2"),
    "interrupt_cpu": ("target", {"interrupt_cpu": 1}, "interrupt's CPU 1"),
    "bottom_half_cpu": ("target", {"bottom_half_cpu": 1}, "bottom half's CPU 1"),
    "load_cpus": ("load", {"cpus": "1"}, "load's CPUs 1"),
    "protocol": ("protocol", {"seed": 4711}, "protocol seed 4711"),
    "drill": (None, {"drill": "a drill"}, "drill a drill"),
}

# what the rally is before, if that matters
FIRST = {
    "interrupt_cpu": {"interrupt_cpu": 0},
    "stage": {"kernel": "evl", "module": "racquet_evl"},
}


def test_every_setting_of_a_plan_is_looked_at():
    assert set(Plan.model_fields) == set(OTHERS) | ELSEWHERE


@pytest.mark.parametrize("setting", OTHERS)
def test_a_rally_of_another_setting_is_not_the_one_that_is_listed(tmp_path, setting):
    rally = make_rally(tmp_path / "r", kernel="mainline", bottom_half="tasklet")
    rally = saying(rally, target=FIRST.get(setting, {}))
    manifest = rally.manifest
    plan = plan_of(load=manifest.load.name, interrupt_cpu=0 if setting == "interrupt_cpu" else None)
    plan = plan.model_copy(
        update={"protocol": manifest.protocol, "priorities": manifest.target.priorities}
    )
    if setting == "stage":
        plan = plan.model_copy(update={"versions": {"kernel_name": manifest.target.kernel}})
    planned = ScheduledRally(name="r", kernel="mainline", repetition=1, plan=plan)
    assert another(rally, planned) == ""
    part, changes, words = OTHERS[setting]
    other = saying(rally, **(changes if part is None else {part: changes}))
    assert another(other, planned).startswith(words)


@pytest.mark.parametrize(
    ("bench", "difference"),
    [("pi", ""), ("wind-tunnel", ""), ("virtual", "interrupt's CPU 1")],
)
def test_where_nobody_asked_only_the_virtual_bench_puts_the_interrupt_nowhere(
    tmp_path, bench, difference
):
    made = make_rally(tmp_path / "r", kernel="mainline", bottom_half="tasklet", bench=bench)
    rally = saying(made, target={"interrupt_cpu": 1})
    manifest = rally.manifest
    update = {"protocol": manifest.protocol, "priorities": manifest.target.priorities}
    plan = plan_of(load=manifest.load.name).model_copy(update=update)
    planned = ScheduledRally(name="r", kernel="mainline", repetition=1, plan=plan)
    assert another(rally, planned) == difference
    # nor is it another rally than what was published
    said = not_as_published(manifest, {"kernel", "load", "priorities", "bottom_half"})
    assert ("interrupt's CPU 1" in said) == bool(difference)
