# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Notebooks are text without outputs, and run from top to bottom."""

import os
from pathlib import Path

import jupytext
import pytest
from nbclient import NotebookClient

from tennis.checkout import ROOT
from tennis.course import LabError, load_course, load_lab
from tennis.course.notebooks import VARIABLE, rallies
from tests.support.hand_ins import make_match
from tests.support.synthetic import make_rally

LABS = load_course()[1]


def execute(path: Path, folder: Path) -> str:
    """Run a notebook in ``folder`` and return all that it printed and showed."""
    notebook = jupytext.read(path)
    NotebookClient(
        notebook, timeout=600, kernel_name="python3", resources={"metadata": {"path": str(folder)}}
    ).execute()
    shown = []
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            shown.append(output.get("text", ""))
            shown.append(str(output.get("data", {})))
    return "\n".join(shown)


def played(folder: Path, lab) -> str:
    """Make up the lab's rallies, or its match; return what TENNIS_RALLY must be."""
    if lab.match is not None:
        make_match(folder / lab.match.name, lab, "zoe")
        return str(folder / lab.match.name)
    made = (
        make_rally(
            folder / asked.name,
            kernel=asked.kernel,
            load=asked.load,
            bottom_half=asked.bottom_half,
            top_half=asked.top_half,
            priorities=asked.priorities,
            seed=7 + asked.boot,
            misses=2,
        )
        for asked in lab.rallies
    )
    return os.pathsep.join(str(rally.path) for rally in made)


@pytest.mark.parametrize("lab", LABS, ids=lambda lab: lab.slug)
def test_a_notebook_runs_on_rallies_that_it_is_given(lab, tmp_path, monkeypatch):
    path = ROOT / "notebooks" / f"{lab.slug}.md"
    before = path.read_bytes()
    monkeypatch.setenv(VARIABLE, played(tmp_path, lab))
    shown = execute(path, tmp_path)
    for question in lab.questions:
        assert lab.fill(question.text).splitlines()[0] in shown.replace("\\n", "\n").replace(
            "\\'", "'"
        )
    assert "image/png" in shown
    assert path.read_bytes() == before


@pytest.mark.virtual
@pytest.mark.parametrize("lab", LABS, ids=lambda lab: lab.slug)
def test_a_notebook_runs_on_the_virtual_bench(lab, tmp_path, monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    shown = execute(ROOT / "notebooks" / f"{lab.slug}.md", tmp_path)
    assert "virtual time" in shown


@pytest.mark.parametrize("path", sorted((ROOT / "notebooks").iterdir()), ids=lambda path: path.name)
def test_a_notebook_is_text_of_a_lab(path):
    assert path.name in {f"{lab.slug}.md" for lab in LABS}
    text = path.read_text()
    assert "format_name: myst" in text
    assert "output" not in text.split("---")[1]


def test_a_rally_that_is_missing_is_named(tmp_path, monkeypatch):
    lab = load_lab("01-first-serve")
    rally = make_rally(tmp_path / "rt", kernel="rt", load="idle")
    monkeypatch.setenv(VARIABLE, str(rally.path))
    with pytest.raises(LabError, match="TENNIS_RALLY has no rally mainline-idle: play it"):
        rallies(lab)
