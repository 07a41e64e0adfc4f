# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""tennis stats, plot and report: what they print, and how they fail."""

import json

import pytest
from synthetic import TIME_NOTE, make_rally

from tennis.cli import main
from tennis.stats.summary import STATISTICS


@pytest.fixture
def tennis(monkeypatch, capsys):
    """Give a function that runs the command and returns (exit code, output, errors)."""

    def run(*words):
        monkeypatch.setattr("sys.argv", ["tennis", *map(str, words)])
        code = 0
        try:
            main()
        except SystemExit as stopped:
            code = stopped.code or 0
        out, err = capsys.readouterr()
        return code, out, err

    return run


@pytest.fixture(scope="module")
def rally(tmp_path_factory):
    return make_rally(tmp_path_factory.mktemp("cli") / "first", balls=300, misses=2).path


def test_stats_as_json(tennis, rally):
    code, out, _ = tennis("stats", rally, "--json")
    assert code == 0
    found = json.loads(out)
    top = {"balls", "misses", "strays", "doubles", "tainted", "interrupt_ns", "scheduling_ns"}
    assert top <= set(found)
    each = {*STATISTICS, "n", "ci", "exceedance_bound_95"}
    assert each == set(found["interrupt_ns"]) == set(found["scheduling_ns"])


def test_stats_for_people(tennis, rally):
    code, out, _ = tennis("stats", rally)
    assert code == 0
    for words in (TIME_NOTE, "replay", "missed", "of 300", "3/N", "N = 298", "maximum"):
        assert words in out
    assert max(map(len, out.splitlines()[:16])) <= 80


def test_plot_writes_what_it_says(tennis, rally, tmp_path):
    out = tmp_path / "pictures"
    code, said, _ = tennis("plot", rally, "--out", out)
    assert code == 0
    written = [out / f"{kind}.svg" for kind in ("histogram", "distribution", "series")]
    assert said.split() == list(map(str, written))
    assert all(path.read_bytes().startswith(b"<?xml") for path in written)
    before = written[0].read_bytes()
    code, said, err = tennis("plot", rally, "--out", out, "--kind", "histogram")
    assert (code, said) == (2, "")
    assert "--force" in err
    code, said, _ = tennis("plot", rally, "--out", out, "--kind", "histogram", "--force")
    assert code == 0
    assert written[0].read_bytes() == before
    code, said, _ = tennis("plot", rally, "--out", out, "--kind", "series", "--format", "png")
    assert (code, said.split()) == (0, [str(out / "series.png")])


def test_plot_writes_nothing_where_one_picture_exists(tennis, rally, tmp_path):
    (tmp_path / "series.svg").write_text("mine")
    assert tennis("plot", rally, "--out", tmp_path)[0] == 2
    assert [path.name for path in tmp_path.iterdir()] == ["series.svg"]


def test_report(tennis, rally, tmp_path):
    out = tmp_path / "page.html"
    assert tennis("report", rally, "--out", out)[:2] == (0, f"{out}\n")
    assert out.read_text().startswith("<!doctype html>")
    assert tennis("report", rally, "--out", out)[0] == 2
    assert tennis("report", rally, rally, "--out", out, "--force")[0] == 0


@pytest.mark.parametrize("command", ["stats", "plot", "report"])
def test_failures_are_one_line_and_exit_1(tennis, tmp_path, command, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for folder in (tmp_path / "none", tmp_path):
        code, out, err = tennis(command, folder)
        assert (code, out) == (1, "")
        assert err.startswith("tennis: ")
        assert err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "words",
    [
        ("stats",),
        ("stats", "a", "--what"),
        ("plot", "a", "--kind", "pie"),
        ("plot", "a", "--format", "gif"),
        ("report",),
    ],
)
def test_usage_errors_exit_2(tennis, words):
    code, out, err = tennis(*words)
    assert (code, out) == (2, "")
    assert "Error" in err


def test_a_place_that_cannot_be_written(tennis, rally, tmp_path):
    (tmp_path / "file").write_text("x")
    for words in (
        ("report", rally, "--out", tmp_path / "file" / "page.html"),
        ("report", rally, "--out", tmp_path / "none" / "page.html"),
        ("plot", rally, "--out", tmp_path / "file" / "pictures"),
    ):
        code, _, err = tennis(*words)
        assert code == 1, err
        assert "cannot write" in err
        assert err.count("\n") == 1
