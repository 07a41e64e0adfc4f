"""The tour runs from its top to its bottom, in one new folder, as it is written."""

import os
import re

import pytest

from tennis.kit.checkout import ROOT
from tests.support.processes import run_to_end

# what makes a command quick; the last value of an option counts
QUICK = {
    "tennis rally": "--balls 200",
    "tennis compare": "--balls 60 --boots 1 --no-explain",
    "tennis drill": "--repetitions 200",
    "tennis sweep": "--balls 200 --rates-per-decade 1 --resolution-percent 100",
}
LATE = re.compile(r"--ball \d+")  # another rally, another late ball


def commands() -> list[str]:
    """Return the commands of the page, in their order."""
    text = (ROOT / "docs/tour.md").read_text()
    blocks = re.findall(r"^```console\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    return [line[2:] for block in blocks for line in block.splitlines() if line.startswith("$ ")]


def quick(command: str) -> str:
    """Return a command with less to play."""
    first, alternative, rest = command.partition(" || ")
    for start, options in QUICK.items():
        if first.startswith(start):
            first = f"{first} {options}"
    return LATE.sub("--ball 7", first + alternative + rest)


def test_the_tour_shows_what_there_is():
    shown = {" ".join(line.split()[:2]) for line in commands()}
    assert {f"tennis {one}" for one in ("rally", "stats", "explain", "compare")} <= shown
    assert {f"tennis {one}" for one in ("drill", "sweep", "match", "replicate", "lab")} <= shown
    for line in commands():
        if re.match(r"tennis (rally|drill|sweep|compare)\b", line):
            assert "--seed 7" in line, line


@pytest.mark.more
@pytest.mark.virtual
def test_the_tour_runs(tmp_path):
    """What it needs from the tree lies one folder up; a match's boots get few balls."""
    for name in (".venv", "target", "scripts", "loads", "labs"):
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / "plans").mkdir()
    for plan in (ROOT / "plans").glob("*.toml"):
        text = re.sub(r"^balls = [\d_]+", "balls = 60", plan.read_text(), flags=re.MULTILINE)
        (tmp_path / "plans" / plan.name).write_text(text)
    script = ["set -eu"]
    for number, command in enumerate(map(quick, commands()), 1):
        script += [f"echo command {number} >&2", command]
    (tmp_path / "tour.sh").write_text("\n".join(script) + "\n")
    done = run_to_end(
        ["bash", str(tmp_path / "tour.sh")], cwd=tmp_path, env={**os.environ, "COLUMNS": "100"}
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    made = {path.name for path in (tmp_path / "tour").iterdir()}
    assert {"first", "first.html", "late.zip", "gate", "jitter", "rates", "quick"} <= made
    assert {"beneath", "isolated", "lab-01"} <= made
