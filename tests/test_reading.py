# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""What reads rallies loads nothing that drives a bench."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.synthetic import make_rally
from tests.support.synthetic_match import MatchMaker, bursts

PROGRAM = """
import sys
from tennis.cli import main
try:
    main()
finally:
    heavy = [name for name in sys.modules if name.startswith(("tennis.bench", "tennis.play"))]
    print("loaded:", *heavy)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    made = tmp_path_factory.mktemp("reading")
    make_rally(made / "rally", balls=300)
    maker = MatchMaker(made / "match")
    for kernel in ("mainline", "rt"):
        maker.rally(kernel, "default", "idle", bursts(9000))
    maker.sealed()
    return made


READING = [
    ["stats", "rally"],
    ["plot", "rally", "--out", "rally.png"],
    ["report", "rally", "--out", "rally.html"],
    ["report", "match/mainline-idle-default-tasklet", "match/rt-idle-default-tasklet-forced"],
    ["replicate", "match"],
    ["umpire", "simulate", "rally", "--out", "capture.sr"],
    ["umpire", "check", "rally", "--capture", "capture.sr"],
]


def test_reading_loads_no_bench(folder):
    for words in READING:
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, *words],
            capture_output=True,
            text=True,
            cwd=folder,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout.splitlines()[-1] == "loaded:", words
