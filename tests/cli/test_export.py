"""tennis export: every ball as it is in the folder, for a spreadsheet."""

import csv
import io
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from tennis.cli import cli
from tennis.course import load_lab
from tennis.rally import balls as table
from tennis.rally.inside import LONGEST
from tennis.rally.manifest import Drill
from tests.support.forging import reseal
from tests.support.hand_ins import make_sweep
from tests.support.synthetic import TIME_NOTE, make_rally
from tests.support.synthetic_drill import make_drill
from tests.support.tables import arrow_of


def run(*words: str | Path):
    return CliRunner().invoke(cli, ["export", *map(str, words)])


def read(text: str) -> tuple[list[str], list[dict[str, str]]]:
    """Return the lines that begin with #, and the rows, as any reader of CSV reads them."""
    lines = text.splitlines(keepends=True)
    notes = [line.rstrip("\n") for line in lines if line.startswith("#")]
    return notes, list(csv.DictReader(lines[len(notes) :]))


@pytest.mark.parametrize("tick_hz", [10**9, 125_000_000, 24_000_000, 19_200_000, 10**12])
def test_every_ball_to_the_tick(tick_hz, tmp_path, monkeypatch):
    monkeypatch.setattr(table, "GROUP_ROWS", 1 << 16)
    most = (2**32 - 2) // (1 if tick_hz > 10**10 else 40)
    rise = np.linspace(1, most // 2, 300, dtype=np.int64)
    rally = make_rally(tmp_path / "r", rise=rise, schedule=rise + 1, misses=7, tick_hz=tick_hz)
    done = run(rally.path)
    assert done.exit_code == 0, done.output
    _, rows = read(done.stdout)
    balls = [row for batch in rally.batches() for row in arrow_of([batch], 1).to_pylist()]
    assert len(rows) == len(balls) == 300
    off = Fraction(0 if 10**9 % tick_hz == 0 or tick_hz == 10**12 else 1, 2000)
    for row, ball in zip(rows, balls, strict=True):
        assert (row["ball"], row["served_ns"]) == (str(ball["ball"]), str(ball["served_ns"]))
        ticks = {"rise_ns": ball["rise_ticks"], "fall_ns": ball["fall_ticks"]}
        missed = ball["fall_ticks"] is None
        ticks["scheduling_ns"] = None if missed else ball["fall_ticks"] - ball["rise_ticks"]
        for name, count in ticks.items():
            if count is None:
                assert row[name] == ""
            else:
                assert abs(Fraction(row[name]) - Fraction(count * 10**9, tick_hz)) <= off
    assert ("." in rows[1]["rise_ns"]) == (10**9 % tick_hz != 0)


def test_the_first_lines_say_what_it_is(tmp_path):
    rally = make_rally(tmp_path / "r", balls=20, seed=42, kernel="rt", load="stress")
    notes, rows = read(run(rally.path).stdout)
    assert notes[0].endswith("/ rally / bench replay / kernel rt / load stress / seed 42")
    for note in (f"# time: {TIME_NOTE}", "# tick: 1 ns at 1000000000 Hz", "# ended: complete"):
        assert note in notes
    assert set(rows[0]) == {"ball", "served_ns", "rise_ns", "fall_ns", "scheduling_ns"}
    assert not any("missed: " in note for note in notes)
    some = make_rally(tmp_path / "s", balls=20, misses=2, rate_hz=1000.0)
    notes, rows = read(run(some.path).stdout)
    assert "# missed: an empty edge came later than 999996 ns or never" in notes
    assert [row["rise_ns"] for row in rows].count("") == 2


def test_no_cell_is_a_formula_and_no_word_ends_one(tmp_path):
    path = make_rally(tmp_path / "r", balls=20).path
    evil = '=1+1;=cmd|x,"=2\n=3\t@a\x1b[2J\u202e\r-4\u2028=5'
    reseal(path, target__kernel=evil, load__name=evil, target__release=evil, time_note=evil)
    done = run(path)
    assert done.exit_code == 0, done.output
    assert done.stdout.isascii()
    assert "\x1b" not in done.stdout
    for delimiter in ",;\t|":
        for row in csv.reader(io.StringIO(done.stdout), delimiter=delimiter):
            assert not any(cell.startswith(("=", "+", "-", "@")) for cell in row)
    assert len(read(done.stdout)[1]) == 20


def test_a_drill_by_both_clocks(tmp_path):
    intervals = np.full(39, 1_000_000) + np.arange(39)
    drill = Drill(name="allocate", context="user", period_ns=1_000_000)
    took = np.arange(40) + 8_000
    took[5] = LONGEST
    made = make_drill(
        tmp_path / "d", drill, intervals, took, outside=np.arange(40) + 9_000, kernel="rt"
    )
    notes, rows = read(run(made.path).stdout)
    assert "/ drill / bench replay" in notes[0]
    assert len(rows) == 40
    assert (rows[0]["interval_inside_ns"], rows[0]["interval_outside_ns"]) == ("", "")
    for number, row in enumerate(rows[1:], 1):
        assert row["interval_inside_ns"] == row["interval_outside_ns"] == str(999_999 + number)
        assert row["duration_inside_ns"] == ("" if number == 5 else str(8_000 + number))
        assert row["duration_outside_ns"] == str(9_000 + number)
        assert row["size_bytes"] == str(64 << number % 15)


def test_a_sweep_rate_by_rate(tmp_path):
    lab = load_lab("09-faster-until-it-breaks")
    make_sweep(tmp_path / "s", lab, "zoe", rates=4)
    notes, rows = read(run(tmp_path / "s").stdout)
    assert "/ sweep / bench virtual" in notes[0]
    assert [int(row["rate_hz"]) for row in rows] == sorted(int(row["rate_hz"]) for row in rows)
    assert len(rows) == 4
    for row in rows:
        kinds = ("paired", "unanswered", "doubtful", "cut", "several")
        assert sum(int(row[kind]) for kind in kinds) == int(row["pings"])
        assert 1_000 <= int(row["interrupt_min_ns"]) <= int(row["interrupt_max_ns"]) <= 1_010
        assert row["suspect"] == "0"


def test_a_file_is_written_whole_and_none_is_overwritten(tmp_path):
    rally = make_rally(tmp_path / "r", balls=20)
    out = tmp_path / "r.csv"
    assert run(rally.path, "--out", out).stdout == f"{out}\n"
    assert out.read_text() == run(rally.path).stdout
    out.write_text("mine")
    done = run(rally.path, "--out", out)
    assert "exists: choose another name, or remove it" in str(done.exception)
    assert out.read_text() == "mine"
    # nothing is left where the balls turn out to be damaged
    data = bytearray((rally.path / "balls.parquet").read_bytes())
    data[10] ^= 1
    (rally.path / "balls.parquet").write_bytes(data)
    assert "altered" in str(run(rally.path, "--out", tmp_path / "other.csv").exception)
    assert {path.name for path in tmp_path.iterdir()} == {"r", "r.csv"}
