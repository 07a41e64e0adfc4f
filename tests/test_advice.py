"""Advice for real-time Linux: each item has its row, and each figure is one that was recorded."""

import json
import shlex
import sys
import tomllib
from types import SimpleNamespace

import pytest

from tennis.bench.virtual.bench import VirtualBench
from tennis.compare.folders import read_side
from tennis.compare.requested import Recorded
from tennis.kit.checkout import ROOT
from tennis.kit.errors import UsageError
from tests.support.plans import plan_of
from tests.support.terminal import tennis

sys.path.insert(0, str(ROOT / "scripts"))

import advice

TABLE = tomllib.loads(advice.ITEMS.read_text())
EVERY = {one.key: one for one in advice.comparisons(TABLE)}
REFUSED = [
    pytest.param(kernel, word, id=f"{item['number']}-{kernel}")
    for item in TABLE["item"]
    for kernel, word in item.get("words", {}).items()
]
REST = "the rest undecided"
CHEAPEST = "rt-idle-handler/25-nohz-off"


def test_the_page_has_what_was_recorded():
    page = advice.PAGE.read_text()
    assert advice.written(page) == page, "scripts/advice.py write"


def test_each_item_has_a_row_with_a_verdict_or_what_is_tried():
    assert [item["number"] for item in TABLE["item"]] == list(range(1, 48))
    for item in TABLE["item"]:
        assert ("verdict" in item) != ("tries" in item), item["number"]
        assert "tries" in item or item["why"]


def test_what_was_recorded_is_of_a_comparison_in_the_table():
    """A comparison that became another one must not keep the old one's figures."""
    for key, entry in advice.recorded().items():
        assert entry["command"] == shlex.join(EVERY[key].command())
        assert entry["boots"] == 10


@pytest.mark.virtual
@pytest.mark.parametrize(("kernel", "word"), REFUSED)
def test_a_word_that_is_called_useless_is_refused_before_a_boot(kernel, word):
    with pytest.raises(UsageError, match=f"--command-line {word}: "):
        VirtualBench().parts(plan_of(kernel=kernel, command_line=word))


@pytest.mark.parametrize(
    ("verdict", "changes", "says"),
    [
        ("worse", {"usual": "later", "level": "earlier"}, "helps and harms"),
        ("worse", {"usual": "equal", "late": "later"}, "harms"),
        ("undecided", {"usual": "undecided", "level": "equal"}, "undecided"),
        ("undecided", {"usual": "earlier", "late": "undecided"}, f"helps; {REST}"),
        ("undecided", {"usual": "equal", "late": "undecided"}, f"usually {advice.NOTHING}; {REST}"),
        ("no worse", {"usual": "equal", "level": "earlier"}, "helps"),
        ("no worse", {"usual": "equal", "level": "equal", "late": "rare"}, advice.NOTHING),
        ("no worse", {"usual": "equal", "level": "not later"}, "not later"),
    ],
)
def test_a_verdict_is_no_better_than_the_comparison(verdict, changes, says):
    rows = [SimpleNamespace(what=what, change=change) for what, change in changes.items()]
    assert advice.verdict(SimpleNamespace(verdict=verdict, rows=rows)) == says


@pytest.mark.virtual
@pytest.mark.cases(more=["*"])
@pytest.mark.parametrize("key", [CHEAPEST])
def test_the_command_of_a_row_gives_its_figures(tmp_path, key):
    recorded = json.loads(advice.RECORDED.read_text())[key]
    done = tennis(*shlex.split(recorded["command"])[1:], "--out", str(tmp_path / "out"))
    assert done.returncode in advice.PLAYED, done.stderr
    paths = [tmp_path / "out" / side for side in ("before", "after")]
    sides = [Recorded(path, read_side(path)) for path in paths]
    assert advice.measured(EVERY[key], *sides) == recorded
