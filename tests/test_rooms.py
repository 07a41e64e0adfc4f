# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""The core without the rooms around it: it imports none, and says what to install for one."""

import os
import re
import subprocess
import sys
import tomllib

import numpy as np
import pytest

from tennis import entries
from tennis.checkout import ROOT
from tests.support.processes import run_to_end
from tests.support.synthetic import make_rally
from tests.support.terminal import TENNIS
from tests.support.without_rooms.sitecustomize import of_rooms

BLOCKED = ROOT / "tests" / "support" / "without_rooms"
CORE = """
import importlib, pathlib, sys
from sitecustomize import of_rooms
rooms = of_rooms()
root = pathlib.Path(sys.argv[1])
count = 0
for file in sorted((root / "tennis").rglob("*.py")):
    name = ".".join(file.relative_to(root).with_suffix("").parts).removesuffix(".__init__")
    if not any(name == room or name.startswith(room + ".") for room in rooms):
        importlib.import_module(name)
        count += 1
print(count)
"""


def without_rooms(*words: object) -> subprocess.CompletedProcess[str]:
    """Run Python where no room is installed."""
    environment = {**os.environ, "PYTHONPATH": str(BLOCKED), "COLUMNS": "100"}
    command = [sys.executable, *map(str, words)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_the_core_imports_no_room():
    # notebooks are written and run with packages of the labs
    done = without_rooms("-c", CORE, ROOT)
    assert done.returncode == 0, done.stderr[-2000:]
    assert int(done.stdout) > 250


def test_what_installs_a_room_is_there():
    """It is told in three places: tennis.entries imports nothing to know it."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]
    assert set(entries.ROOMS.values()) <= set(extras)
    table = (
        (ROOT / "scripts" / "setup.sh").read_text().partition("STAGES=$(")[2].partition("END\n)")[0]
    )
    stages = {line.split(" ")[0] for line in table.splitlines()}
    assert set(entries.STAGES) == stages & set(entries.ROOMS.values())
    named = {re.split(r"[=<>\[-]", one)[0] for room in extras.values() for one in room}
    assert named - {"ansible", "pyserial"} <= set(entries.ROOMS)  # pyserial is `serial`


def test_every_room_exists():
    for module in of_rooms():
        place = ROOT.joinpath(*module.split("."))
        assert place.is_dir() or place.with_suffix(".py").is_file(), module


@pytest.fixture(scope="module")
def rally(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rooms") / "r"
    return make_rally(folder, rise=np.array([1000, 4130, 2000])).path


def test_the_core_reads(rally, tmp_path):
    for words in (
        ("--help",),
        ("stats", rally),
        ("export", rally),
        ("report", rally, "--out", tmp_path / "r.html"),
        ("rally", "--help"),
        ("match", ROOT / "plans" / "quick.toml", "--list"),
    ):
        done = without_rooms(TENNIS, *words)
        assert (done.returncode, done.stderr) == (0, ""), words


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("umpire", "--help"), "the command umpire of the package tennis needs"),
        (("benches",), "the command benches of the package tennis needs"),
        (
            ("match", "plans/quick.toml", "--cluster", "tcp://head:8786", "--store", "/shared"),
            "--cluster: the crew cluster of the package tennis needs",
        ),
        (
            ("rally", "--bench", "pi", "--out", "nowhere"),
            "no bench pi here; 4 cannot be used, the last: the bench wired ",
        ),
        (("doctor", "--target", "pi"), "--target: the check target of the package tennis needs"),
    ],
)
def test_a_command_says_which_room_it_needs(words, said):
    done = without_rooms(TENNIS, *words)
    assert done.returncode in {1, 2}
    (line,) = done.stderr.splitlines()
    assert said in line


def test_a_command_says_what_to_install(tmp_path):
    (tmp_path / "serial.py").write_text("raise ModuleNotFoundError(name='serial')")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    for words, said in (
        (("brickwall", "verify"), "needs the Python module serial, which is not installed"),
        (("rally", "--bench", "pi", "--out", "r"), "needs the Python module serial"),
    ):
        done = run_to_end([sys.executable, TENNIS, *words], env=environment)
        assert done.returncode in {1, 2}
        (line,) = done.stderr.splitlines()
        assert said in line
        assert "run 'scripts/setup.sh'" in line
