"""The demonstration: all of it, with few balls."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tennis.rally import open_rally

pytestmark = pytest.mark.virtual

TENNIS = str(Path(sys.executable).with_name("tennis"))


def demo(out: Path, *more: str) -> subprocess.CompletedProcess[str]:
    command = [TENNIS, "demo", "--balls", "150", "--boots", "1", "--out", str(out), *more]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.more
def test_it_tells_its_story(tmp_path):
    out = tmp_path / "demo"
    done = demo(out)
    assert done.returncode == 0, done.stderr
    assert "Playing 5 rallies of 150 balls" in done.stdout
    assert "played, 150 balls, 0 missed" in done.stdout
    # the story: the thesis' tables 7.2 and 7.4, and a verdict on each sentence
    assert "When did the answer come? 150 answers each, of 1 boot" in done.stdout
    for maximum in ("51 µs", "17.2 ms", "98 µs", "268 µs"):
        assert maximum in done.stdout
    assert "answers earlier" in done.stdout
    assert re.search(
        r"request_threaded_irq\)\s+answers", done.stdout
    )  # as a driver is written today
    assert "INCONCLUSIVE" in done.stdout  # 150 balls are too few
    assert "CONFIRMED" not in done.stdout
    story = done.stdout[done.stdout.index("When did") : done.stdout.index("The picture,")]
    assert max(len(line) for line in story.splitlines() if "tennis explain" not in line) <= 80
    assert (out / "overview.png").read_bytes().startswith(b"\x89PNG")
    page = (out / "report.html").read_text()
    assert page.index("What was found") < page.index("<h2>The thesis' conclusions")
    assert page.count("2 ns per instruction") > 10
    assert len([open_rally(folder) for folder in out.glob("[mr]*-*")]) == 5

    # other plans' data are not touched
    other = demo(out, "--balls", "100")
    assert other.returncode == 1
    assert "another plan" in other.stderr
    assert len(other.stderr.splitlines()) == 1


def test_foreign_folders_are_left_alone(tmp_path):
    (tmp_path / "thesis.doc").touch()
    done = demo(tmp_path)
    assert done.returncode == 2
    assert "choose another --out" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.doc"]
