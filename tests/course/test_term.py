"""A term in a box: real commands make it, and each trouble is found by the words on its page."""

import csv
import html
import re
import subprocess
import sys

import pytest

from tennis.kit.checkout import ROOT

SCRIPT = ROOT / "scripts" / "term.py"


@pytest.mark.virtual
@pytest.mark.more
def test_a_lecturer_sees_a_whole_term(tmp_path):
    out = tmp_path / "term"
    done = subprocess.run(
        [sys.executable, SCRIPT, out], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    page = (out / "index.html").read_text()
    # sixteen rows, of which one has no file: that student handed in nothing
    part = page.partition("2. Hand-ins")[2].partition("3. Mark")[0]
    row = r"<tr><td>(student \d\d)</td><td>(.*?)</td><td>(.*?)</td><td>(.*?)</td>"
    rows = re.findall(row, part)
    assert (len(rows), sum(not file for *_, file in rows)) == (16, 1)
    links = [html.unescape(link) for link in re.findall(r'href="([^"]+)"', page)]
    assert not [link for link in links if not (out / link).is_file()]
    for student, _, _, file in rows:
        for link in re.findall(r'href="([^"]+)"', file):
            assert student in (out / link).read_text()
    with (out / "marks/gradebook/moodle-worksheet.csv").open(encoding="utf-8-sig") as file:
        graded = {row["Identifier"]: row["Grade"] for row in csv.DictReader(file)}
    # 5 is undecided, 9 could not be marked, 10 handed in nothing; 6 has no points
    assert {*graded} == {f"Participant {100 + number}" for number in (1, 2, 3, 4, 6, 7, 8)}
    assert graded["Participant 106"] in {"0", "0.00"}
    assert not list((out / "students-tree").rglob("solution.toml"))
    again = subprocess.run(
        [sys.executable, SCRIPT, out], capture_output=True, text=True, check=False
    )
    assert again.returncode == 1
    assert f"{out} exists" in again.stderr
