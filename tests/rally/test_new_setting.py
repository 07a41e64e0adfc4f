"""A new setting is two files, as docs/how-it-is-built.md has it."""

import re
import shutil
import sys
from pathlib import Path

import pytest

from tennis.kit import environment
from tennis.kit.checkout import ROOT
from tests.support.processes import run_to_end

# where the page says that a block goes: its file, and what it stands before
PLACES = (
    ("tennis/rally/settings.py", "    witness: Annotated["),
    ("tennis/rally/manifest.py", "    witness: Witness = "),
)
USES = Path(__file__).with_name("new_setting_uses.txt")  # a program


@pytest.fixture
def patched(tmp_path):
    """Return a copy of the package with the page's blocks, beside what else it needs."""
    page = (ROOT / "docs" / "how-it-is-built.md").read_text().split("## A new setting")[1]
    blocks = re.findall(r"```python\n(.*?)```", page.split("\n## ")[0], flags=re.DOTALL)
    assert len(blocks) == len(PLACES)
    for one in ROOT.iterdir():
        if one.name not in {"tennis", "tests"} and not one.name.startswith("."):
            (tmp_path / one.name).symlink_to(one)
    for folder in ("tennis", "tests"):
        shutil.copytree(
            ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__")
        )
    for block, (file, before) in zip(blocks, PLACES, strict=True):
        path = tmp_path / file
        text = path.read_text()
        assert text.count(before) == 1, (file, before)
        path.write_text(text.replace(before, block + before))
    return tmp_path


def test_the_pages_setting_is_known_everywhere(patched):
    """Also the test of each setting alone passes with it, and has it."""
    shutil.copyfile(USES, patched / "uses.py")
    files = sorted((patched / "tests" / "rally").glob("test_one_setting*.py"))
    command = [sys.executable, "-B", "uses.py", *map(str, files)]
    done = run_to_end(command, cwd=patched, env=environment.for_tennis(PYTHONPATH=str(patched)))
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-2000:]
    assert re.search(r"\b[1-9]\d* passed", done.stdout), done.stdout
