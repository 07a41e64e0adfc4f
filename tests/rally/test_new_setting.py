"""A new setting is two files, as docs/how-it-is-built.md has it."""

import re
import shutil
import sys

import pytest

from tennis.kit import environment
from tennis.kit.checkout import ROOT
from tests.support.processes import run_to_end

# where the page says that a block goes: its file, and what it stands before
PLACES = (
    ("tennis/rally/settings.py", "    witness: Annotated["),
    ("tennis/rally/manifest.py", "    witness: Witness = "),
)
USES = """
import sys
from types import SimpleNamespace
from click.testing import CliRunner
import pytest
from tennis.bench.virtual import machine
from tennis.cli.drill import drill
from tennis.cli.rally import rally
from tennis.kit.errors import UsageError
from tennis.match.plan import parse_plan
from tests.support.plans import plan_of
from tennis.match.schedule import scheduled_rallies
from tennis.compare.requested import side_of
from tennis.compare.request import CompareRequest
from tennis.rally.request import RallyRequest
from tennis.rally.serving import Serving
from tennis.rally.settings import differences
from pathlib import Path

for command, word in ((rally, "--help-all"), (drill, "--help")):
    told = CliRunner().invoke(command, [word]).output
    heading, _, others = told.partition("Other options:")
    assert "--preempt [none|voluntary|full]" in heading and "--preempt" not in others, told
plan = plan_of(preempt="full")
assert plan.preempt == "full"
assert plan.of_target()["preempt"] == "full"
machine._phase_us = lambda plan, load: 0
answerer = SimpleNamespace(bottom_half="tasklet", parameters="")
parts = SimpleNamespace(plan=plan, answerer=answerer, load=None)
line = machine._command_line(parts, machine.Extras())
assert line.endswith(" preempt=full"), line
parts.plan = plan_of()
assert "preempt" not in machine._command_line(parts, machine.Extras())
# once is enough: by its option, or by the kernel's word
with pytest.raises(UsageError, match="--preempt full cannot be used with --command-line preempt="):
    plan_of(preempt="full", command_line="threadirqs preempt=none")
assert plan_of(preempt="full", command_line="threadirqs").kernel_words == "preempt=full threadirqs"
asked = {"preempt": "full"}
for other in ({"bench": "pi"}, {"kernel": "sloth"}):
    with pytest.raises(UsageError, match="--preempt needs "):
        plan_of(**asked, **other)
common = RallyRequest(), Serving(balls=60), CompareRequest()
assert side_of("rt preempt=none", *common).plans[""].preempt == "none"
text = b'kernels = ["rt"]\\nloads = ["idle"]\\n[settings.full]\\npreempt = "full"\\n'
assert parse_plan(text, Path("p")).settings["full"].of_a_match == asked
# a drill would be done without it
with pytest.raises(UsageError, match="preempt: a drill is done without"):
    scheduled_rallies(parse_plan(text + b'[[drill]]\\nname = "switch"', Path("p")), {}, Path())
text += b'[[skip]]\\npreempt = "none"\\n[[rally]]\\nkernel = "rt"\\nload = "idle"\\n'
made = parse_plan(text + b'preempt = "full"', Path("p"))
assert (made.rally[0].of_a_match, made.skip[0].of_a_match) == (asked, {"preempt": "none"})
alone = ["-q", "-p", "no:cacheprovider", "-n", "0", "-k", "preempt]"]
sys.exit(pytest.main([*alone, *sys.argv[1:]]))
"""


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
    (patched / "uses.py").write_text(USES)
    files = sorted((patched / "tests" / "rally").glob("test_one_setting*.py"))
    command = [sys.executable, "-B", "uses.py", *map(str, files)]
    done = run_to_end(command, cwd=patched, env=environment.for_tennis(PYTHONPATH=str(patched)))
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-2000:]
    assert re.search(r"\b[1-9]\d* passed", done.stdout), done.stdout
