# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""The workflow of docs/compare.md: its commands, run in a fresh folder as far as they can be."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tennis.checkout import ROOT

PAGE = (ROOT / "docs/compare.md").read_text()
WORKFLOW = re.search(r"```yaml\n(.*?)```", PAGE, re.DOTALL)[1]
STEPS = re.findall(r"(?m)^ +- run: (.*)$", WORKFLOW)
NOBODY = 65534


def step(program: str) -> str:
    (found,) = [line for line in STEPS if line.split()[0].endswith(program)]
    return found


def run(line: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["sh", "-e", "-c", line],
        cwd=folder,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )


def git(folder: Path, *words: str) -> None:
    subprocess.run(["git", "-C", folder, *words], check=True, capture_output=True)


@pytest.fixture
def checkouts(tmp_path):
    """Make what both checkouts leave: the driver's branch and main, and the kit."""
    origin, driver = tmp_path / "origin", tmp_path / "driver"
    origin.mkdir()
    git(origin, "init", "-q", "-b", "main")
    (origin / "racquet.c").write_text("/* before */\n")
    git(origin, "add", ".")
    me = ("-c", "user.name=x", "-c", "user.email=x@y", "-c", "commit.gpgsign=false")
    git(origin, *me, "commit", "-q", "-m", "before")
    git(tmp_path, "clone", "-q", str(origin), "driver")
    git(driver, "checkout", "-q", "--detach")
    (driver / "racquet.c").write_text("/* after */\n")
    (tmp_path / "tennis").symlink_to(ROOT)
    return tmp_path


def test_the_image_is_a_system_that_setup_takes(checkouts):
    image, version = re.search(r"container: (\w+):(\d+)", WORKFLOW).groups()
    release = checkouts / "os-release"
    release.write_text(f'ID={image}\nVERSION_ID="{version}"\n')
    line = step("make").replace("make -C tennis setup", "tennis/scripts/setup.sh --plan")
    assert line != step("make")
    done = run(line, checkouts, TENNIS_OS_RELEASE=str(release))
    assert done.returncode == 0, done.stderr
    release.write_text('ID=ubuntu\nVERSION_ID="24.04"\n')  # what runs-on names
    assert run(line, checkouts, TENNIS_OS_RELEASE=str(release)).returncode == 1


def test_what_was_before_is_read_from_a_checkout_of_somebody_else(checkouts):
    for path in [checkouts / "driver", *(checkouts / "driver").rglob("*")]:
        if os.getuid() == 0:  # as in the container
            os.chown(path, NOBODY, NOBODY)
    done = run(step("git"), checkouts, HOME=str(checkouts))
    assert done.returncode == 0, done.stderr
    assert (checkouts / "before.c").read_text() == "/* before */\n"


def test_the_gate_takes_its_options(checkouts):
    """The first of its files is not there: it says so, and plays nothing."""
    tennis = f"{sys.executable} -c 'from tennis.cli import main; main()'"
    line = step("tennis").replace("tennis/.venv/bin/tennis", tennis)
    assert line != step("tennis")
    done = run(line, checkouts)
    assert done.returncode == 2, done.stderr
    assert "before.c" in done.stderr
    assert not (checkouts / "gate").exists()


def test_undecided_is_a_warning(checkouts):
    page = checkouts / "gate" / "compare.html"
    page.parent.mkdir()
    for verdict, said in (("Undecided: 1 of 2 levels.", 1), ("No worse: no level", 0)):
        page.write_text(f"<p><strong>{verdict}</strong></p>")
        done = run(step("if"), checkouts)
        assert (done.returncode, done.stdout.count("::warning::")) == (0, said), done


def test_all_commands_are_looked_at():
    assert [line.split()[0] for line in STEPS] == [
        *("apt-get", "make", "git", "tennis/.venv/bin/tennis", "if")
    ]
