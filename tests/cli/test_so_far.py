"""A match shows its results from the first boot on, and claims no more than they show."""

import io
import re

import numpy as np
import pytest
from rich.console import Console

from tennis.cli import so_far
from tennis.match.demo import demonstration
from tennis.rally.manifest import Fault
from tennis.replicate.so_far import LineSoFar
from tests.support.synthetic import make_rally
from tests.support.synthetic_match import bursts

BALLS = 3000
CELLS = (("mainline", "idle", 3_000), ("mainline", "stress", 900_000), ("rt", "stress", 12_000))


@pytest.fixture
def lines(tmp_path):
    """Make three boots of each cell, a round after the other; return what a match says of them."""
    said = ["Playing 10 rallies"]
    for boot in (1, 2, 3):
        for kernel, load, late in CELLS:
            name = f"{kernel}-{load}-r{boot}"
            make_rally(
                tmp_path / name,
                kernel=kernel,
                load=load,
                top_half="forced" if kernel == "rt" else "hard",
                rise=bursts(late * boot, BALLS),
                seed=boot,
            )
            said.append(f"{len(said)}/10 {name}: played, {BALLS} balls, 0 missed, 2 min left")
    make_rally(
        tmp_path / "bad",
        kernel="rt",
        rise=bursts(9_000_000, BALLS),
        faults=[Fault(code="load_died", message="a fault")],
    )
    return [*said, "10/10 bad: played, 3000 balls, 0 missed, SUSPECT: a fault"]


def test_a_pipe_gets_a_line_from_each_cells_first_boot_on(lines, tmp_path, capsys):
    with so_far.figures_so_far(tmp_path, 3, 3, live=True) as tell:
        heard = []
        for line in lines:
            tell(line)
            heard.append(capsys.readouterr().out)
    assert "".join(heard).count("so far") == 6  # after three rounds the story tells
    assert [text.count("so far") for text in heard[:7]] == [0, 1, 1, 1, 0, 0, 3]
    assert "so far, idle, mainline: usually" in heard[1]
    assert "so far, stress, rt, forced: usually" in heard[3]
    assert "1 in 1,000 after 12.0 µs (one boot), the latest 12.0 µs" in heard[3]
    assert "(3.00 to 6.00 µs, 50 %), the latest 6.00 µs" in heard[6]
    assert all("9.00 ms" not in text for text in heard)  # a suspect boot tells nothing
    assert lines[-1] in heard[-1]


def test_a_terminal_gets_a_table_that_stays_one(lines, tmp_path, monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=80, color_system=None)
    monkeypatch.setattr(so_far, "Console", lambda **_: console)
    with so_far.figures_so_far(tmp_path, 3, 3, live=True) as tell:
        for line in lines:
            tell(line)
        shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", out.getvalue())
    last = [line.rstrip() for line in re.split(r"[\r\n]+", shown[shown.rindex("so far") :])]
    assert max(len(line) for line in re.split(r"[\r\n]+", shown)) <= 80
    assert any(re.search(r"rt, forced +3 .* 24.0 µs +12.0 to 36.0 µs, 75 %", o) for o in last)
    assert "…" not in shown
    assert any(line.startswith("9/10 rt-stress-r3: played") for line in last)
    assert "10/10 bad: played, 3000 balls, 0 missed, SUSPECT: a fault" in shown
    assert out.getvalue().count("\x1b[1A") > 20  # refined in place


@pytest.mark.parametrize("boots", [2, 5, 10])
def test_an_interval_is_as_sure_as_it_says(boots):
    draws = np.random.default_rng(boots).random((20_000, boots))
    holds = np.mean((draws.min(axis=1) < 0.5) & (draws.max(axis=1) > 0.5))
    line = LineSoFar("idle", "rt", boots, 0, 1.0, 1.0, 1.0, 2.0, 2.0)
    assert line.sure == pytest.approx(holds, abs=0.01)
    assert "100 %" not in line.said_interval


@pytest.mark.more
@pytest.mark.virtual
def test_the_demo_plays_a_boot_of_each_cell_first():
    names = [one.name for one in demonstration(6000, 10).scheduled]
    assert len(set(names)) == 50
    assert not any(re.search(r"-r\d+$", name) for name in names[:5])
    assert all(name.endswith("-r2") for name in names[5:10])
    assert ["idle" in name for name in names[:5]] == [True, True, False, False, False]
