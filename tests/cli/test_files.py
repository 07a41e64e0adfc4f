"""tennis stats, plot and report: what they print, and how they fail."""

import json
import os
import shutil
import subprocess
import sys

import pytest

from tennis.rally.statistics.summary import STATISTICS
from tennis.rally.text import quoted
from tests.support.synthetic import TIME_NOTE, make_rally

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def rally(tmp_path_factory):
    return make_rally(tmp_path_factory.mktemp("cli") / "first", balls=300, misses=2).path


def test_a_terminal_without_greek_letters(rally):
    """One spelling of microseconds, and a u where a terminal cannot show it."""
    command = [sys.executable, "-c", "from tennis.cli import main; main()", "stats", rally]
    said = {}
    for encoding in ("utf-8", "ascii"):
        environment = {**os.environ, "PYTHONIOENCODING": encoding}
        output = subprocess.check_output(command, env=environment)
        said[encoding] = output.decode(encoding)
    assert " µs" in said["utf-8"]
    assert said["ascii"].count(" us") == said["utf-8"].count(" µs")  # its lines differ, too


def test_stats_as_json(typed, rally):
    code, out, _ = typed("stats", rally, "--json")
    assert code == 0
    found = json.loads(out)
    top = {"balls", "misses", "strays", "doubles", "suspect", "interrupt_ns", "scheduling_ns"}
    assert top <= set(found)
    each = {*STATISTICS, "n", "ci", "exceedance_bound_95", "latest"}
    each |= {"missed", "later_than_ns", "among_missed"}
    assert each == set(found["interrupt_ns"]) == set(found["scheduling_ns"])


def test_stats_for_people(typed, rally):
    code, out, _ = typed("stats", rally)
    assert code == 0
    for words in (TIME_NOTE, "replay", "missed", "of 300", "2 of 300 balls had no answer in time"):
        assert words in out
    # a miss is later than any maximum
    assert "3/N" not in out
    assert max(map(len, out.splitlines()[:16])) <= 80


@pytest.mark.parametrize("columns", [1, 20, 30, 40, 60, 80, 200])
def test_stats_cuts_no_figure(typed, rally, columns, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    wide = typed("stats", rally)[1]
    monkeypatch.setenv("COLUMNS", str(columns))
    narrow = typed("stats", rally)[1]
    assert "…" not in narrow
    assert ("95 % interval" in narrow) == (columns >= 60)
    words = wide.replace("..", "").split()
    table = [line.split() for line in wide.splitlines() if line.lstrip().startswith("maximum")]
    assert set(table[0]) <= set(narrow.split())
    assert set(narrow.replace("..", "").split()) <= set(words) | {
        word for word in narrow.split() if set(word) == {"─"}
    }
    if columns >= 36:
        until = narrow.splitlines().index(next(x for x in narrow.splitlines() if "Bench" in x))
        assert max(map(len, narrow.splitlines()[1:until])) <= columns


def test_a_rally_that_was_interrupted_says_so(typed, tmp_path):
    nothing = make_rally(tmp_path / "none", balls=0, ended="interrupted", planned=50).path
    out = typed("stats", nothing)[1]
    assert "Interrupted: 0 of 50 planned balls." in out
    assert "No ball was played." in out
    assert "All 0" not in out
    assert typed("plot", nothing)[0] == 0
    assert "no ball was played" in (tmp_path / "none-plots" / "series.svg").read_text()
    some = make_rally(tmp_path / "some", balls=40, ended="interrupted", planned=50).path
    assert "Interrupted: 40 of 50 planned balls." in typed("stats", some)[1]
    found = json.loads(typed("stats", some, "--json")[1])
    assert (found["ended"], found["planned"], found["balls"]) == ("interrupted", 50, 40)


def test_plot_writes_what_it_says(typed, rally, tmp_path):
    out = tmp_path / "pictures"
    code, said, _ = typed("plot", rally, "--out", out)
    assert code == 0
    written = [out / f"{kind}.svg" for kind in ("histogram", "distribution", "series")]
    assert said.split() == list(map(str, written))
    assert all(path.read_bytes().startswith(b"<?xml") for path in written)
    code, said, err = typed("plot", rally, "--out", out, "--kind", "histogram")
    assert (code, said) == (2, "")
    assert "histogram.svg exists: choose another name, or remove it" in err
    code, said, _ = typed("plot", rally, "--out", out, "--kind", "series", "--format", "png")
    assert (code, said.split()) == (0, [str(out / "series.png")])
    # nothing is written where one of them exists
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "series.svg").write_text("mine")
    assert typed("plot", rally, "--out", tmp_path / "other")[0] == 2
    assert [path.name for path in (tmp_path / "other").iterdir()] == ["series.svg"]


def test_plot_draws_several_rallies_on_common_axes(typed, rally, tmp_path):
    out = tmp_path / "pictures"
    code, said, _ = typed("plot", rally, rally, "--out", out)
    assert code == 0
    assert said.split() == [
        str(out / f"{kind}.svg") for kind in ("overview", "histogram", "distribution")
    ]
    code, _, err = typed("plot", rally, rally, "--out", out, "--kind", "series")
    assert code == 2
    assert "no picture of several rallies: use overview, histogram, distribution" in err
    code, _, err = typed("plot", *[rally] * 17, "--out", out)
    assert code == 2
    assert "at most 16" in err


def test_report(typed, rally, tmp_path):
    out = tmp_path / "page.html"
    assert typed("report", rally, "--out", out)[:2] == (0, f"{out}\n")
    assert out.read_text().startswith("<!doctype html>")
    assert typed("report", rally, "--out", out)[0] == 2


def test_no_name_moves_the_cursor(typed, rally, tmp_path):
    named = tmp_path / "a\x1b[31mred"
    shutil.copytree(rally, named)
    for words in (("plot", named), ("report", named, "--out", tmp_path / "\x1b[2J.html")):
        code, out, err = typed(*words)
        assert (code, "\x1b" in out + err) == (0, False)
        assert "[31m" in out or "[2J" in out


def test_a_path_with_control_characters_is_shown_as_a_shell_reads_it(tmp_path):
    named = tmp_path / "a\x1b'b\\c"
    named.mkdir()
    listed = subprocess.run(
        ["bash", "-c", f"ls -d {quoted(named)}"], capture_output=True, check=True
    )
    assert listed.stdout.decode() == f"{named}\n"
    assert quoted(named).isprintable()
