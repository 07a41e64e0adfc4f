"""Every command and option is documented, and every example in the documents works."""

import re
import shlex
import sys
from pathlib import Path

import click
import pytest

from tennis.cli import _names, cli
from tennis.course import load_course
from tennis.course.lab_files import solved
from tennis.kit.checkout import ROOT
from tennis.match.plan import Setting
from tennis.match.settings import OF_A_MATCH, KernelSettings
from tennis.rally.settings import option_of, rows_of
from tests.support.terminal import tennis

sys.path.insert(0, str(ROOT / "scripts"))

import reference
import tennis_boxes

pytestmark = pytest.mark.slow

REFERENCE = {page.stem: page.read_text() for page in (ROOT / "docs/commands").glob("*.md")}
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def test_pages_have_what_the_code_says_today(capsys):
    """Else `scripts/reference.py write` makes these parts again."""
    assert reference.main() == 0, capsys.readouterr().out


def test_a_part_that_is_not_what_the_code_says_is_found():
    text = f"# A\n\n{reference.BEGIN}settings -->\n\nof yesterday\n\n{reference.END}\n"
    made = reference.rewritten(text)
    assert "yesterday" not in made and "| `--memory` |" in made
    assert reference.rewritten(made) == made
    with pytest.raises(KeyError):
        reference.rewritten(text.replace("settings", "nothing"))


def test_a_box_has_what_the_lab_says_today():
    page = ROOT / "handouts/06-out-of-band.md"
    every = page.read_text()
    assert every.count("Question 1, prediction (1 point; a number in %") == 1
    stale = every.replace("hog` turns interrupts off for 100", "hog` turns interrupts off for 99")
    stale = stale.replace("1. Your prediction is in", "1. Nothing is in")
    assert stale != every and tennis_boxes.boxed(page, stale) == every
    kept = "```{lab-console}\n$ tennis stats rt-hog\n```\n"
    assert tennis_boxes.boxed(page, kept) == kept


def test_the_reference_has_no_command_too_many():
    assert set(REFERENCE) == {"index", *_names()}


def commands_of(page: Path) -> list[list[str]]:
    """Return the `tennis` commands of a page's console blocks, lab parameters filled in."""
    found = []
    labs = {lab.slug: lab for lab in load_course()[1]}
    for kind, block in re.findall(
        r"^```({lab-rallies}[^\n]*|{lab-console}|console)\n(.*?)^```",
        page.read_text(),
        re.MULTILINE | re.DOTALL,
    ):
        if kind.startswith("{lab-rallies}"):
            lab, names = labs[page.stem], kind.split()[1:]
            every = [*lab.to_play, *([lab.sweep] if lab.sweep else [])]
            asked = [one for one in every if not names or one.name in names]
            found += [shlex.split(one.command(7))[1:] for one in asked]
            continue
        text = labs[page.stem].fill(block, prose=False) if kind == "{lab-console}" else block
        lines = text.replace("\\\n", " ").splitlines()
        found += [shlex.split(line)[2:] for line in lines if line.startswith("$ tennis ")]
    return found


# what makes a command quick
FEW = {
    "rally": ["--balls", "200"],
    "sweep": ["--balls", "200", "--rates-per-decade", "1", "--resolution-percent", "100"],
    "drill": ["--repetitions", "200"],
    "explain shots": ["--shots", "40"],
    "explain try": ["--boots", "1"],
}
HANDOUTS = [ROOT / "handouts" / f"{lab.slug}.md" for lab in load_course()[1]]
TOUR = ROOT / "docs/tour.md"  # it runs as a whole: tests/test_tour.py
EXAMPLES = [page for page in PAGES + HANDOUTS if page != TOUR and commands_of(page)]


@pytest.mark.parametrize("page", EXAMPLES, ids=lambda page: page.stem)
def test_every_example_can_be_parsed(page):
    for words in commands_of(page):
        command = cli.get_command(click.Context(cli), words[0])
        assert command is not None, words
        command.make_context(words[0], list(words[1:]))


@pytest.mark.cases(
    more=["[A-QS-Za-z]*", "01*", "02*", "10*", "13*"],
    release=["brickwall", "0[3-9]*", "11*", "12*"],
)
@pytest.mark.virtual
@pytest.mark.parametrize("page", EXAMPLES, ids=lambda page: page.stem)
def test_every_example_works(page, tmp_path, monkeypatch):
    """The commands of a page, in their order, in one folder; few balls and rates.

    What a lab's students complete lies there completed.
    """
    for file in (ROOT / "labs" / page.stem).glob("*.[ch]"):
        (tmp_path / file.name).write_text(solved(file.read_text()))
    (tmp_path / "labs").symlink_to(ROOT / "labs")  # recorded rallies lie there
    monkeypatch.chdir(tmp_path)
    for words in commands_of(page):
        few = FEW.get(words[0], []) + FEW.get(" ".join(words[:2]), [])
        done = tennis(*words, *few)
        assert done.returncode == 0, f"tennis {shlex.join(words)}\n{done.stdout}{done.stderr}"


INDEX = ROOT / "docs/index.md"


def linked(page: Path) -> set[Path]:
    """Return the pages that a page of the book links to, in its text or its table of contents."""
    text = page.read_text()
    names = re.findall(r"\]\(([\w./-]+\.md)", text)
    for entries in re.findall(r"^```\{toctree\}\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        for entry in entries.splitlines():
            if entry and not entry.startswith(":"):
                names += [path.name for path in page.parent.glob(f"{entry}.md")] or [f"{entry}.md"]
    return {path for name in names if (path := (page.parent / name).resolve()).exists()}


def test_every_page_of_the_book_is_two_clicks_from_the_index():
    # what a reader sees: the index' own table of contents is hidden
    first = {
        (INDEX.parent / name).resolve()
        for name in re.findall(r"\]\(([\w./-]+\.md)", INDEX.read_text())
    }
    second = {page for one in first for page in linked(one)}
    pages = {path for path in INDEX.parent.rglob("*.md") if "_build" not in path.parts}
    assert sorted(pages - first - second - {INDEX}) == []


def test_pages_name_what_a_side_and_a_plan_take():
    """From the table of settings: a reader takes what a page does not name for refused."""
    for page, what in (("compare", "side"), ("match", "match")):
        assert f"{reference.BEGIN}settings-of {what} -->" in (ROOT / f"docs/{page}.md").read_text()
    words = {option_of(row.name).removeprefix("--") for row in rows_of("side")}
    assert set(reference.settings_of("side").split("`")[1::2]) == words
    keys = {*OF_A_MATCH, "command_line"}
    assert set(reference.settings_of("match").split("`")[1::2]) == keys
    assert keys == {*KernelSettings.model_fields, *Setting.model_fields}
