# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Thousands of matches that nobody played, whose truth is known: how often is a verdict wrong?

The statements lie at the edge of their rules, where it is easiest to be wrong.
``benchmarks/verdicts.py`` plays more of them, and prints the table of docs/match.md.
"""

import pytest

from tests.support.made_up_boots import HARD, IDLE, KINDS, simulate

MATCHES = 200  # of each of five kinds, with few balls and with four times as many


@pytest.mark.parametrize("kind", KINDS)
def test_verdicts_are_wrong_at_most_once_in_twenty(kind):
    """And few of them turn round when there are four times as many balls."""
    few, many = (simulate(KINDS[kind], balls, MATCHES) for balls in (3_000, 12_000))
    for simulated in (few, many):
        assert simulated.wrong <= 0.05 * MATCHES, simulated
    turned = sum(
        {one, other} == {"confirmed", "contradicted"}
        for one, other in zip(few.verdicts, many.verdicts, strict=True)
    )
    assert turned <= 0.05 * MATCHES


def test_what_is_far_from_the_edge_is_decided():
    simulated = simulate(KINDS["single"], 12_000, 60, times=3)
    assert simulated.verdicts.count("confirmed") >= 0.9 * 60, simulated
    assert not simulated.wrong


def test_one_late_ball_contradicts_and_none_never_does():
    """ "Stays below" is false where one ball in 500 is later; true where none ever is."""
    late = simulate(HARD, 3_000, 60, below=3.162)
    assert late.verdicts == ["contradicted"] * 60
    quiet = simulate(IDLE, 3_000, 60, below=3.162)
    assert quiet.verdicts == ["confirmed"] * 60
