"""The bench beside boards: the tables of docs/evidence/hardware.md."""

import sys
from collections import Counter

import numpy as np
import pytest

from tennis.bench.virtual import memory
from tennis.kit.checkout import ROOT
from tennis.rally import memory as profiles
from tennis.rally.memory import canonical
from tests.support.synthetic import make_rally
from tests.support.synthetic_match import MatchMaker

sys.path.insert(0, str(ROOT / "scripts"))

import boards
import cycles


def test_ranks_are_those_of_a_textbook():
    # Spearman 1904 by hand: d of 0, 1, -1, 0 is 1 - 6 * 2 / (4 * 15)
    one, other = np.array([1.0, 2, 3, 4]), np.array([10.0, 30, 20, 40])
    assert boards.spearman(one, other) == pytest.approx(0.8)
    assert boards.at_most(np.array([1.0, 10, 100, 1000])) == 1
    assert abs(boards.at_most(np.array([10.0, 10.1, 10.2, 10.3, 10.4]))) < 0.1


def test_every_board_has_its_points_and_its_profile_can_be_played():
    found = Counter((point.what, point.which) for point in boards.points())
    assert found["interrupt", "earliest"] == 11  # the thesis' nine, and Koeker's two
    assert found["scheduling", "earliest"] == found["scheduling", "latest"] == 9
    assert found["interrupt", "usual"] == 12
    earliest = [
        p.us for p in boards.points() if (p.board, p.cell) == (boards.THESIS, "rt chrt, idle")
    ]
    assert earliest == [98 - 86, 98, 97 - 90, 97]
    for profile in boards.PROFILES.values():
        assert memory.has_clock(canonical(profile))


def test_a_match_of_its_own_has_its_cells(tmp_path):
    made = MatchMaker(tmp_path / "played")
    rise = np.full(200, 1000)
    rise[7] = 5100
    made.rally("mainline", "default", "idle", rise, np.full(200, 500))
    summary, cells = boards.tables(list(made.sealed().rallies()))
    assert ["interrupt, latest", boards.THESIS, "none", "1", "10.00", "10 to 10", ""] in summary
    assert {row[1] for row in summary[1:]} == {boards.THESIS, boards.OTHERS, boards.HELD_OUT}
    (row,) = [row for row in cells if row[:2] == [boards.THESIS, "mainline, idle: interrupt"]]
    assert row[2:] == ["3", "1", "", "", "", "", "51", "5.1", ""]


def test_two_clocks_divide_an_answer_and_a_dearer_class_counts_itself(tmp_path, monkeypatch):
    monkeypatch.setattr(profiles, "FOLDER", tmp_path)
    for name, ns in (("as-assumed-1000", 2600), ("as-assumed-500", 4700), ("barrier", 3400)):
        make_rally(tmp_path / f"beaglebone-{name}", balls=9, rise=np.full(9, ns))
    assert cycles.line(tmp_path, "beaglebone", "as assumed") == pytest.approx((0.5, 2100))
    figures = memory._figures(cycles.OWN / "beaglebone.toml")
    assert cycles.usual_us(tmp_path, "beaglebone-barrier", figures) == 3.4  # 8 of 100 cycles more
    made = memory._read(tmp_path / "beaglebone-barrier.toml")
    assert made == memory._read(cycles.OWN / "beaglebone.toml")
    assert sum(part == "cycles" for part, *_ in cycles.costs(figures)) == 10
