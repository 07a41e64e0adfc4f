"""Bad input ends in one line and an exit code that says whose mistake it is; nothing is left.

A row of ``refusals.toml`` is a command and what its line must contain: the option or key to change,
or the word to use. The exit code is 2 if the words were wrong, and 1 if what they name cannot be
used.
"""

import shlex
import tomllib
from pathlib import Path

import numpy as np
import pytest

from tennis.cli.removed import REMOVED
from tennis.rally.manifest import Drill
from tests.support.kernel_trees import IMAGE, kernel_tree
from tests.support.synthetic import make_rally
from tests.support.synthetic_drill import make_drill

SAID = tomllib.loads(Path(__file__).with_name("refusals.toml").read_text())
LONG_SEED = {"--seed " + "9" * 100_000: "seed"}
LONG_PLANS = {"a = " + "[" * 5000: "is not TOML", "#" * (1 << 20) + "##": "larger than 1 MiB"}
PLANS = SAID["plans"] | LONG_PLANS


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    """Return a folder with what the rows name."""
    desk = tmp_path_factory.mktemp("refusals")
    (desk / "file").write_text("no program")
    (desk / "empty").mkdir()
    (desk / "match").mkdir()
    (desk / "match/match.json").write_text("{}")
    (desk / "full").mkdir()
    (desk / "full/thesis.txt").write_text("mine")
    (desk / "answer.c").write_text("int main(void) { return 0; }\n")
    (desk / "good.toml").write_text('kernels = ["sloth"]\nloads = ["idle"]\n')
    kernel_tree(desk / "tree", "CONFIG_SMP")
    kernel_tree(desk / "traced-tree", "CONFIG_SMP", "CONFIG_FTRACE")
    kernel_tree(desk / "evl-tree", "CONFIG_EVL")
    kernel_tree(desk / "old-tree", release="5.4.0")
    (kernel_tree(desk / "hollow-tree") / IMAGE).write_bytes(b"")
    make_rally(desk / "rally", balls=60)
    switch = Drill(name="switch", context="kernel", period_ns=1_000_000)
    make_drill(desk / "drilled", switch, np.full(9, 1_000_000), np.full(10, 900))
    return desk


def content(folder):
    """Return all that is in a folder, without what it says."""
    return sorted(path.relative_to(folder) for path in folder.rglob("*"))


def refused(typed, desk, monkeypatch, words, said):
    before = content(desk)
    monkeypatch.chdir(desk)
    code, out, line = typed(*words)
    assert said in line
    assert line.startswith("tennis: ")
    assert (len(line.splitlines()), out) == (1, "")
    assert len(line) < 2100
    assert "\x1b" not in line
    assert content(desk) == before
    return code


ROWS = [
    *((2, f"rally --out r {words}", said) for words, said in (SAID["rally"] | LONG_SEED).items()),
    *((2, words, said) for words, said in SAID["commands"].items()),
    *((1, words, said) for words, said in SAID["unusable"].items()),
    *((2, f"{name} first", said) for name, said in REMOVED.items()),
]


@pytest.mark.parametrize("row", ROWS, ids=[row[1][:70] for row in ROWS])
@pytest.mark.usefixtures("in_time")
def test_a_command(typed, desk, monkeypatch, row):
    exit_code, words, said = row
    assert refused(typed, desk, monkeypatch, shlex.split(words), said) == exit_code


@pytest.mark.parametrize(("text", "said"), PLANS.items(), ids=[text[:60] for text in PLANS])
def test_a_plan(typed, desk, monkeypatch, text, said):
    plan = desk / "plan.toml"
    plan.write_text(text.replace("PLAN", 'kernels = ["sloth"]\nloads = ["idle"]'))
    assert refused(typed, desk, monkeypatch, ["match", "plan.toml", "--list"], said) == 2
