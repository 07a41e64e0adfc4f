# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""A sweep's label names what its target was, as far as that is not usual."""

from pathlib import Path

import pytest

from tennis.match.sweep.folder import Sweep, SweepRecord
from tennis.match.sweep.search import Range
from tests.support.plans import plan_of


@pytest.mark.parametrize(
    ("asked", "more"),
    [
        ({}, ""),
        ({"command_line": "nohz=off"}, " / nohz=off"),
        ({"processors": 2, "interrupt_cpu": 1}, " / 2 processors / interrupt on 1"),
        ({"memory": "cortex-a72"}, " / memory cortex-a72@f768cd68"),
    ],
)
def test_its_label_names_what_is_not_usual(asked, more):
    plan = plan_of(**{"load": "idle", "loop": "open", "rate_hz": 1000.0, **asked})
    record = SweepRecord(
        tennis="1", created="", bench="virtual", time_note="", range=Range(), plan=plan
    )
    label = Sweep(Path(), record, {}, {}).label
    assert label == f"mainline / {plan.load} / tasklet / default{more}"
