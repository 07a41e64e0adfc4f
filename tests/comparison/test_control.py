# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""The side before compared with itself: quiet boots raise no alarm, and what differs is counted."""

import numpy as np
import pytest

from tennis.comparison.before_after import Pair, judge
from tennis.comparison.boots import Boot
from tennis.comparison.control import SPLITS, control
from tennis.comparison.sides import Side

BALLS = 600


def boots(*paces, seed=7):
    """Return boots of 600 balls of about 1,000 ns times each pace; all of them differ."""
    random = np.random.default_rng(seed)
    return Side(
        [Boot.of(pace * np.exp(random.normal(0, 0.02, BALLS)) * 1000) for pace in paces],
        list(range(len(paces))),
    )


def of(before, after=None, *, latencies=("interrupt", "scheduling")):
    """Return the control of a comparison with one cell."""
    pairs = [Pair("", name, before, after or before) for name in latencies]
    return control(pairs, judge(pairs))


def test_quiet_boots_raise_no_alarm():
    found = of(boots(*[1] * 40))
    assert (found.splits, found.worse, found.undecided) == (SPLITS, 0, 0)
    assert found.words.endswith("20 times: 0 worse, 0 undecided, 20 no worse.")


@pytest.mark.parametrize("times", [2, 0.5])
def test_boots_that_differ_among_themselves_are_not_no_worse(times):
    """Every second boot has another pace: halves of such a side seldom have as many of each."""
    found = of(boots(*[1, times] * 10))
    assert found.worse + found.undecided > SPLITS / 2
    assert str(found.undecided) in found.words


def test_only_the_boots_before_are_looked_at():
    before = boots(*[1] * 40)
    assert of(before, boots(*[10] * 40, seed=8)) == of(before)


def test_the_halves_are_other_boots():
    """Halves that shared boots would be alike whatever the boots are."""
    odd = boots(*[1] * 39, 1000)
    found = of(odd, latencies=("interrupt",))
    assert found.worse + found.undecided > 0


def test_too_few_boots_have_no_control():
    assert of(boots(*[1] * 10)) is None
    assert of(boots(*[1] * 40)) is not None
