# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""The demonstration: all of it, with few balls."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tennis.rally import open_rally
from tests.support.patience import end_of, wait_until

pytestmark = pytest.mark.virtual

TENNIS = str(Path(sys.executable).with_name("tennis"))


def demo(out: Path, balls: int = 150) -> subprocess.CompletedProcess[str]:
    command = [TENNIS, "demo", "--balls", str(balls), "--out", str(out)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_interrupted_and_gone_on_with(tmp_path):
    out = tmp_path / "demo"
    process = subprocess.Popen(
        [TENNIS, "demo", "--balls", "150", "--out", str(out)], stdout=subprocess.PIPE, text=True
    )
    wait_until((out / "mainline-idle-chrt-tasklet").exists, process, limit_s=600)
    process.send_signal(signal.SIGINT)
    said, _ = end_of(process)
    assert process.returncode == 1
    assert "mainline" in said

    done = demo(out)
    assert done.returncode == 0, done.stderr
    assert "1/8 mainline-idle-default-tasklet: kept, 150 balls, 0 missed" in done.stdout
    assert "8/8 rt-stress-chrt-tasklet: played, 150 balls, 0 missed" in done.stdout
    # thesis, tables 7.2 to 7.4
    for maximum in ("51 µs", "17.2 ms", "169 µs", "98 µs", "653 µs", "268 µs", "155 µs"):
        assert maximum in done.stdout
    assert "c1: not addressed" in done.stdout  # it is judged on threaded top halves
    page = (out / "report.html").read_text()
    assert page.count("2 ns per instruction") > 10
    assert len([open_rally(folder) for folder in out.glob("[mr]*-*")]) == 8

    # other plans' data are not touched
    other = demo(out, balls=100)
    assert other.returncode == 1
    assert "another plan" in other.stderr
    assert len(other.stderr.splitlines()) == 1


def test_foreign_folders_are_left_alone(tmp_path):
    (tmp_path / "thesis.doc").touch()
    done = demo(tmp_path)
    assert done.returncode == 2
    assert "choose another --out" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.doc"]
