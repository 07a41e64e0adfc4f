# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Control charts: how often they are wrong, and how soon they are right, as the module says."""

import numpy as np
import pytest

from tennis.stats.control import BASELINE, chart

LONG = BASELINE + 60


def found(make, count=600):
    """Return when each of many charts was called drifted, counted from the baseline; inf: never."""
    charts = [chart(make(np.random.default_rng(seed)), 0.0) for seed in range(count)]
    return np.array([np.inf if c.found is None else c.found - BASELINE + 1 for c in charts])


def stepped(size):
    def make(random):
        values = random.standard_normal(LONG)
        values[BASELINE:] += size
        return values

    return make


def test_false_alarms_are_as_rare_as_said():
    # 6 and 15 %; of 600 charts three standard errors are 3 and 4.4 %
    assert 0.03 < np.isfinite(found(stepped(0))).mean() < 0.09
    heavy = found(lambda random: random.standard_t(4, LONG))
    assert 0.10 < np.isfinite(heavy).mean() < 0.20
    # 0.6 and 1 %
    for draw in (lambda random: random.standard_normal(LONG), lambda r: r.standard_t(4, LONG)):
        charts = [chart(draw(np.random.default_rng(seed)), 0.0) for seed in range(600)]
        assert np.mean([one.outside_now for one in charts]) < 0.025


@pytest.mark.parametrize(("size", "within"), [(2, 7), (3, 3), (-2, 7), (-3, 3)])
def test_a_step_is_found_as_soon_as_said(size, within):
    when = found(stepped(size))
    assert np.median(when) <= within
    assert np.isfinite(when).mean() > 0.9


def test_a_slow_drift_is_found_and_its_beginning():
    """A thirtieth of a spread more each time, from the twentieth observation on."""
    starts, when = [], []
    for seed in range(300):
        values = np.random.default_rng(seed).standard_normal(120)
        values[20:] += np.arange(100) / 15
        made = chart(values, 0.0)
        when.append(made.found)
        starts.append(made.since)
    assert all(number is not None for number in when)
    assert 20 < np.median(starts) < np.median(when) < 70


def test_what_never_varied_is_seen_at_its_resolution():
    values = np.full(40, 7.0)
    assert chart(values, 0.5).found is None
    values[25:] += 0.5
    assert chart(values, 1.0).found is None
    values[25:] += 4.5
    made = chart(values, 1.0)
    assert made.since == 25
    assert 25 <= made.found <= 30


def test_by_hand():
    """The NIST handbook's rule, with a pencil: 0 and 1 in turns."""
    values = np.array([0.0, 1.0] * 6 + [3.0])
    made = chart(values, 0.0)
    assert made.centre == 0.5
    assert made.spread == pytest.approx(1 / 1.128)
    assert made.averages[12] == pytest.approx(0.2 * 3 + 0.8 * 0.5)
    assert made.high[12] == pytest.approx(0.5 + 5 / 1.128 * 0.2)
    assert made.found is None


def test_too_few():
    assert chart(np.zeros(BASELINE), 1.0) is None
    assert chart(np.zeros(BASELINE + 1), 1.0) is not None
