# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""The bench beside boards: the README's figures are those of the recorded match."""

import sys

import numpy as np
import pytest

from tennis.kit.checkout import ROOT
from tests.support.synthetic_match import MatchMaker

sys.path.insert(0, str(ROOT / "scripts"))

import hardware_table
from hardware_table import ALL, HELD_OUT


def test_ranks_are_those_of_a_textbook():
    # Spearman 1904 by hand: d of 0, 1, -1, 0 is 1 - 6 * 2 / (4 * 15)
    one, other = np.array([1.0, 2, 3, 4]), np.array([10.0, 30, 20, 40])
    assert hardware_table.spearman(one, other) == pytest.approx(0.8)
    assert hardware_table.spearman(np.array([5.0, 1, 5, 9]), np.array([3, 1, 3, np.inf])) == 1


def test_a_match_of_its_own_has_its_cells(tmp_path):
    made = MatchMaker(tmp_path / "played")
    rise = np.full(200, 1000)
    rise[7] = 5100
    made.rally("mainline", "default", "idle", rise, np.full(200, 500))
    made.rally("mainline", "default", "hog", rise, np.full(200, 500))  # which no board had
    match = made.sealed()
    groups = list(hardware_table.compared(hardware_table.cells(match.path)))
    (group,) = [one for one in groups if (one.quantity, one.boards) == ("interrupt, latest", ALL)]
    ((point, cell),) = [pair for pair in group.pairs if pair[0].source == "knutsson-2008"]
    assert (point.us, cell.times["interrupt, latest"], cell.balls) == (51, 5.1, 200)
    for one in groups:  # a board that is held out is in no other group
        assert {point.held_out for point, _ in one.pairs} == {one.boards == HELD_OUT}


def test_the_readme_says_what_comes_of_the_recorded_match():
    pages = [(ROOT / name).read_text() for name in ("README.md", "docs/evidence/hardware.md")]
    found = {
        (group.quantity, group.memory, group.boards): group
        for named, column in (("6.12", 0), ("7.3", 1))
        for group in hardware_table.compared(hardware_table.recorded(column, named))
    }
    rho = {key[:2]: group.rho for key, group in found.items() if key[2] == "knutsson-2008"}
    new, old = rho["interrupt, latest", "7.3"], rho["interrupt, latest", "6.12"]
    flat = [found["scheduling, latest", kernel, ALL].rho[0] for kernel in ("7.3", "6.12")]
    usual = [found["interrupt, usual", kernel, ALL].factor for kernel in ("7.3", "6.12")]
    least, most = min(one[1] for one in usual), max(one[2] for one in usual)
    words = " ".join(pages[0].split())
    assert f"rank correlation {new[0]:.2f}, 95 % interval {new[1]:.2f} to {new[2]:.2f}" in words
    assert f"not surely with 6.12 ({old[0]:.2f})" in words
    assert old[1] < 0  # so it is not sure
    assert f"({flat[0]:.2f} and {flat[1]:.2f})" in words
    assert f"took {least:.1f} to {most:.1f} times as long" in words
    assert f"[{len(hardware_table.points())} of their times]" in words
    assert f"| {old[0]:.2f} ({old[1]:.2f} to {old[2]:.2f}) |" in pages[1]
