"""In which order two sides were played, and boots that drift."""

import numpy as np
import pytest

from tennis.compare.order import DRIFT, InTime, drift, in_turns


def minutes(numbers):
    return [f"2026-01-01T{number // 60:02d}:{number % 60:02d}:00+00:00" for number in numbers]


@pytest.mark.parametrize(
    ("before", "after", "turns"),
    [
        (range(8), range(8, 16), False),
        (range(8, 16), range(8), False),
        (range(0, 16, 2), range(1, 16, 2), False),  # each second one may be warm
        ([*range(8), *range(24, 32)], range(8, 24), False),  # so may the middle
        ([0, 5, 6, 7, 10, 12, 13], [1, 2, 3, 4, 8, 9, 11], True),  # shuffled
        ([0, 3, 4, 7, 8, 11], [1, 2, 5, 6, 9, 10], True),  # A B B A
        ([*range(7), 15], range(7, 15), False),  # one boot does not make it turns
        ([0, 1], [0, 2], None),  # two boots of one minute: nobody knows
    ],
)
def test_turns_are_read_from_times(before, after, turns):
    assert in_turns(minutes(before), minutes(after)) is turns


def test_without_drift_few_sides_are_said_to_drift():
    random = np.random.default_rng(1)
    said = [drift(random.normal(size=12)) <= DRIFT for _ in range(200)]
    assert np.mean(said) <= 0.09


@pytest.mark.parametrize("boots", [10, 32])
def test_what_drifts_decides_nothing(boots):
    """A walk of 5 % a boot made 21 of 100 wrong, and 1 % a boot 69 of 100."""
    random = np.random.default_rng(2)
    for _ in range(20):
        noise = random.normal(0, 0.01, boots)
        assert drift(0.01 * np.arange(boots) + noise) <= DRIFT / 4
    walks = [drift(np.cumsum(random.normal(0, 0.05, boots))) <= DRIFT / 4 for _ in range(100)]
    assert np.mean(walks) >= (0.35 if boots == 10 else 0.97)


def test_alike_boots_and_few_do_not_drift():
    assert drift([5.0] * 12) == 1
    assert drift([1.0, 2.0, 3.0]) == 1


def test_a_condition_is_said_unless_sides_took_turns():
    assert InTime(True, ["before drifted"]).condition == ""
    assert not InTime(True, ["before drifted"]).undecided
    assert InTime(False).condition == InTime(None).condition == "if nothing drifted"
    assert InTime(None, ["before drifted"]).undecided
