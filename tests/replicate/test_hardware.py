# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""A match beside published boards: every point has its source, ranks and factors are right."""

import sys

import numpy as np
import pytest

from tennis.checkout import ROOT
from tennis.errors import UsageError
from tennis.publications.hardware import points
from tennis.replicate import hardware
from tennis.replicate.hardware import ALL, HELD_OUT, groups
from tests.support.synthetic_match import MatchMaker
from tests.support.terminal import tennis

sys.path.insert(0, str(ROOT / "scripts"))

from evidence import recorded

LOADS = ("idle", "stress", "network")
THESIS = {  # interrupt, latest, of mainline and rt's three rows of loads
    point.cell: point.us
    for point in points()
    if point.source.id == "knutsson-2008"
    if point.quantity == "interrupt, latest" and point.cell
}


def test_every_point_has_a_source_that_was_read_twice():
    every = points()
    assert len(every) >= 40
    assert sum(point.source.outside for point in every) >= 20
    own = {point.source.id: point.source for point in every}
    assert {"knutsson-2008", "koeker", "linux-comparison", "gkaindl"} <= set(own)
    for source in own.values():
        assert source.where and source.unknown
        if source.id not in {"knutsson-2008", "koeker"}:  # their tables have tests of their own
            assert len(set(source.read)) == 2
    assert sum(point.source.held_out for point in every) > 0


def played(tmp_path, times_us):
    """Return a match whose cells have these latest answers, and a median of 1 µs each."""
    made = MatchMaker(tmp_path / "played")
    for cell, us in times_us.items():
        who, _, load = cell.partition(", ")
        kernel, *halves = who.split()
        rise = np.full(200, 1000)
        rise[7] = round(us * 1000)
        about = {"top": halves[0]} if halves else {}
        made.rally(
            kernel, halves[1] if halves else "default", load, rise, np.full(200, 500), **about
        )
    return made.sealed()


def of_all(match, quantity="interrupt, latest", boards=ALL):
    return next(one for one in groups(match) if one.quantity == quantity and one.boards == boards)


def test_a_bench_that_ranks_as_the_board_has_a_correlation_of_one(tmp_path):
    found = of_all(played(tmp_path, {cell: us / 10 for cell, us in THESIS.items()}))
    assert len(found.pairs) == 9
    assert found.rho[0] == pytest.approx(1.0)
    assert found.factor == pytest.approx((10, 10, 10), rel=1e-3)
    assert {pair.cell.balls for pair in found.pairs} == {200}


def test_a_bench_that_ranks_the_other_way_round_has_one_of_minus_one(tmp_path):
    found = of_all(played(tmp_path, {cell: 1e6 / us for cell, us in THESIS.items()}))
    assert found.rho[0] == pytest.approx(-1.0)
    assert found.rho[1] <= found.rho[0] <= found.rho[2]


def test_what_is_the_same_everywhere_has_no_correlation(tmp_path):
    match = played(tmp_path, dict.fromkeys(THESIS, 30.0))
    assert of_all(match).rho is None


def test_ranks_are_those_of_a_textbook():
    # Spearman 1904 by hand: d of 0, 1, -1, 0 is 1 - 6 * 2 / (4 * 15)
    one, other = np.array([1.0, 2, 3, 4]), np.array([10.0, 30, 20, 40])
    assert hardware.spearman(one, other) == pytest.approx(0.8)
    assert hardware.spearman(np.array([5.0, 1, 5, 9]), np.array([3, 1, 3, np.inf])) == 1


def test_boards_that_are_held_out_are_in_no_other_group(tmp_path):
    match = played(tmp_path, {"mainline, idle": 9.0, "mainline, stress": 900.0})
    for group in groups(match):
        held = {pair.point.source.held_out for pair in group.pairs}
        assert held == {group.boards == HELD_OUT}


def test_a_match_without_such_cells_is_refused(tmp_path):
    made = MatchMaker(tmp_path / "other")
    made.rally("xenomai", "native", "idle", np.full(10, 1000))
    with pytest.raises(UsageError, match="no cell that somebody measured"):
        groups(made.sealed())
    refused = tennis("replicate", made.path, "--hardware", "--explain")
    assert refused.returncode != 0
    assert "stands alone" in refused.stderr


def test_the_command_says_both_times(tmp_path):
    match = played(tmp_path, {cell: us / 10 for cell, us in THESIS.items()})
    said = tennis("replicate", match.path, "--hardware").stdout
    assert "Nothing is fitted" in said
    assert "17194" in said
    assert "1.72e+03" in said


def test_the_readme_says_what_comes_of_the_recorded_match():
    pages = [(ROOT / name).read_text() for name in ("README.md", "docs/evidence/hardware.md")]
    found = {
        (group.quantity, group.memory, group.boards): group
        for named, column in (("6.12", 0), ("7.3", 1))
        for group in hardware.compared(recorded(column, named))
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
    assert f"[{len(points())} of their times]" in words
    assert f"| {old[0]:.2f} ({old[1]:.2f} to {old[2]:.2f}) |" in pages[1]
