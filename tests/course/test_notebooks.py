"""Notebooks are text without outputs, and run from top to bottom."""

import base64
import contextlib
import re
import socket
import subprocess
import sys
import threading
from pathlib import Path

import jupytext
import nbformat
import pytest
from nbclient import NotebookClient

from tennis.course import LabError, load_course, load_lab, work
from tennis.course.notebook.notebook_box import Ran
from tennis.course.notebook.notebook_page import pdf, too_long
from tennis.course.notebooks import rallies
from tennis.grading import hand_in
from tennis.kit.checkout import ROOT
from tests.support.hand_ins import make_lab_drill, make_match, make_sweep, make_work
from tests.support.synthetic import make_rally

pytestmark = pytest.mark.slow

LABS = load_course()[1]
# the smallest PNG there is
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


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


def played(folder: Path, lab) -> None:
    """Make up the lab's rallies, or its match."""
    if lab.match is not None:
        make_match(folder / lab.match.name, lab, "zoe")
        return
    if lab.sweep is not None:
        make_sweep(folder / lab.sweep.name, lab, "zoe")
    for asked in lab.to_play:
        if asked.drill is not None:
            make_lab_drill(folder, asked, 7 + asked.boot)
            continue
        make_rally(
            folder / asked.name,
            kernel=asked.kernel,
            load=asked.load,
            bottom_half=asked.bottom_half,
            top_half=asked.top_half,
            priorities=asked.priorities,
            seed=7 + asked.boot,
            misses=2,
            rate_hz=asked.rate_hz,
        )


@pytest.mark.cases(more=["0[23568]*", "1[013]*", "04*", "07*", "12*"])
@pytest.mark.parametrize("lab", LABS, ids=lambda lab: lab.slug)
def test_a_notebook_runs_on_the_rallies_beside_it(lab, tmp_path):
    path = ROOT / "notebooks" / f"{lab.slug}.md"
    before = path.read_bytes()
    played(tmp_path, lab)
    shown = execute(path, tmp_path)
    for question in lab.questions:
        assert lab.fill(question.text).splitlines()[0] in shown.replace("\\n", "\n").replace(
            "\\'", "'"
        )
    assert "image/png" in shown
    assert path.read_bytes() == before


@pytest.mark.more
@pytest.mark.cases(release=["0[3-9]*", "11*", "12*", "13*"])
@pytest.mark.virtual
@pytest.mark.parametrize("lab", LABS, ids=lambda lab: lab.slug)
def test_a_notebook_runs_on_the_virtual_bench(lab, tmp_path):
    shown = execute(ROOT / "notebooks" / f"{lab.slug}.md", tmp_path)
    assert "virtual time" in shown


LIVE = """---
kernelspec:
  display_name: Python 3
  language: python
  name: python3
---

```{code-cell} ipython3
from tennis.course import load_lab
from tennis.course.notebooks import play

rally = play(load_lab("01-first-serve"), "mainline-idle", balls=300)
print(rally.balls, rally.manifest.protocol.seed)
again = play(load_lab("01-first-serve"), "mainline-idle")
print(again.balls)
```
"""


@pytest.mark.virtual
def test_a_rally_is_played_in_a_notebook_and_shows_how_far_it_is(tmp_path):
    """With the student's own seed; what is there is opened, not played again."""
    lab = load_lab("01-first-serve")
    make_work(tmp_path / "w", lab, "zoe", rallies={one.name: None for one in lab.to_play})
    (tmp_path / "live.md").write_text(LIVE)
    shown = execute(tmp_path / "live.md", tmp_path / "w")
    # what is printed and how far it is come in the order of two threads
    assert re.search(rf"(?m)^300 {work.seed_of(lab, 'zoe')}\n[\s{{}}]*^300$", shown)
    assert re.search(r"300 of 300 balls: median [\d.]+ .s, max [\d.]+ .s, 0 missed", shown)
    assert (tmp_path / "w/mainline-idle/manifest.json").is_file()


def test_a_notebook_that_fails_says_why_and_keeps_the_page_that_was_there(tmp_path):
    page = tmp_path / "page.html"
    page.write_text("the page of yesterday")
    make_rally(tmp_path / "rt-idle", kernel="rt", load="idle")  # one of two
    words = ["tennis.course.notebook.notebook_page", "01-first-serve", str(page), str(tmp_path)]
    command = [sys.executable, "-m", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert re.match(r"notebook: 01-first-serve: cell \d+ of \d+ \(.*\): \w*Error: ", line), line
    assert "Traceback" not in done.stdout + done.stderr
    assert page.read_text() == "the page of yesterday"


def test_a_notebook_that_shows_too_much_is_refused_before_it_is_printed(tmp_path, monkeypatch):
    """6 MB took five minutes, and 60 MB did not end."""
    lab = load_lab("01-first-serve")
    made = work.read(make_work(tmp_path / "w", lab, "zoe"))
    cells = [nbformat.v4.new_markdown_cell("# A"), nbformat.v4.new_code_cell("x = 1\nprint(x)")]
    notebook = nbformat.v4.new_notebook(cells=cells)
    printed = []
    monkeypatch.setattr(hand_in, "run_notebook", lambda _: Ran(2, "", notebook))
    monkeypatch.setattr(hand_in, "pdf", lambda *_: printed.append(1) or b"%PDF")

    def shows(**data: str) -> None:
        cells[1]["outputs"] = [nbformat.v4.new_output("display_data", data)]

    for data in ({"text/plain": "x" * 6_000_000}, {"image/svg+xml": "x" * 600_000}):
        shows(**data)
        with pytest.raises(work.WorkError, match=r"cell 2 of 2 \(x = 1\) shows \d\.\d MB of text"):
            hand_in.print_notebook(made)
    assert not printed
    cells[1]["outputs"] = [nbformat.v4.new_output("stream", text="x" * 500_001)]
    assert too_long(notebook)
    for data in ({"text/plain": "x" * 499_000}, {"image/png": "x" * 6_000_000}):
        shows(**data)
        hand_in.print_notebook(made)
    assert len(printed) == 2


def test_a_pdf_fetches_nothing(tmp_path):
    """Neither files of this machine nor addresses: what a cell shows may be anything."""
    secret = tmp_path / "secret.png"
    secret.write_bytes(PIXEL)
    came = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(5)

        def listen() -> None:
            with contextlib.suppress(OSError):
                server.accept()
                came.set()

        listener = threading.Thread(target=listen)
        listener.start()
        url = f"http://127.0.0.1:{server.getsockname()[1]}/a.png"
        images = f'<img src="{secret.as_uri()}"><img src="{url}"><p>kept</p>'
        cell = nbformat.v4.new_markdown_cell(images)
        made = pdf(nbformat.v4.new_notebook(cells=[cell]), "zoe")
        listener.join()
    assert made.startswith(b"%PDF-")
    assert b"/Subtype /Image" not in made
    assert not came.is_set()
    # and what is in the notebook itself is there
    inside = f'<img src="data:image/png;base64,{base64.b64encode(PIXEL).decode()}">'
    cell = nbformat.v4.new_markdown_cell(inside)
    assert b"/Image" in pdf(nbformat.v4.new_notebook(cells=[cell]), "zoe")


@pytest.mark.parametrize("path", sorted((ROOT / "notebooks").iterdir()), ids=lambda path: path.name)
def test_a_notebook_is_text_of_a_lab(path):
    assert path.name in {f"{lab.slug}.md" for lab in LABS}
    text = path.read_text()
    assert "format_name: myst" in text
    assert "output" not in text.split("---")[1]
    assert ".misses," not in text  # a table's line is of one latency: it counts what that missed


def test_a_rally_that_is_missing_is_named(tmp_path, monkeypatch):
    make_rally(tmp_path / "rt-idle", kernel="rt", load="idle")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(LabError, match="has no rally mainline-idle: play it, and name it so"):
        rallies(load_lab("01-first-serve"))
