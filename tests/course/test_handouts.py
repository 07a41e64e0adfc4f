"""Handouts show what lab.toml says, and say so when they cannot."""

import re
import shutil
import subprocess
import sys
from html import unescape
from pathlib import Path

import pytest

from tennis.course import load_course, load_lab
from tennis.course.authoring.sessions import load_sessions
from tennis.explain.remedies import BOOTS
from tennis.kit.checkout import ROOT

pytestmark = pytest.mark.slow

PAGE = "# A page\n\n"
ALL = "\n```{lab-questions}\n```\n"


def build(folder: Path, page: str, name: str = "01-first-serve") -> tuple[str, str]:
    """Build a book of one page; return its HTML and Sphinx's output."""
    source = folder / "book"
    source.mkdir()
    (source / "conf.py").write_text(
        'extensions = ["myst_parser", "tennis.course.authoring.sphinx"]\n'
        f'root_doc = "{name}"\nhtml_theme = "basic"\n'
    )
    (source / f"{name}.md").write_text(page)
    command = [sys.executable, "-m", "sphinx", "-q", "-b", "html", source, folder / "html"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return (folder / "html" / f"{name}.html").read_text(), done.stderr


def test_values_questions_and_commands(tmp_path):
    lab = load_lab("01-first-serve")
    html, said = build(
        tmp_path,
        PAGE + "{lab}`parameters.balls` balls\n\n```{lab-console}\n$ x --balls {balls}\n```\n"
        "```{lab-facts}\n```\n" + ALL,
    )
    assert said == ""
    balls = lab.value("parameters.balls")
    assert f"{balls:,} balls" in html
    assert f"--balls {balls}" in re.sub(r"<[^>]*>", "", html)
    assert f"{lab.minutes} minutes · {lab.points} points" in html
    (session,) = (one.session for one in load_sessions() if one.session.slug == lab.slug)
    text = " ".join(re.sub(r"<[^>]*>", "", html).split())
    assert "Know before: " + " ".join(session.before) in unescape(text)
    for goal in session.goals:
        assert goal in unescape(text)
    for question in lab.questions:
        assert html.count(f'id="question-{question.id}"') == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{lab}`parameters.bulls`" + ALL, "has no 'parameters.bulls': use title"),
        ("{lab}`09-none:title`" + ALL, "there is no lab '09-none'"),
        ("```{lab-questions} edges none\n```\n" + ALL, "has no question 'none'"),
        ("```{lab-questions} edges\n```\n", "question 'bound' of lab.toml is asked 0 times"),
        ("```{lab-questions} edges\n```\n" * 2 + ALL, "'edges' of lab.toml is asked 2 times"),
        ("```{lab-questions} bound edges\n```\n" + ALL, "of lab.toml comes before 'bound'"),
        ("```{lab-console}\n$ {bulls}\n```\n" + ALL, "{bulls} names no parameter of the lab"),
    ],
)
def test_what_a_page_gets_wrong_is_a_warning(tmp_path, text, message):
    assert message in build(tmp_path, PAGE + text)[1]


def test_a_page_of_no_lab(tmp_path):
    assert "is not a lab's page" in build(tmp_path, PAGE + "{lab}`title`", "welcome")[1]
    shutil.rmtree(tmp_path / "book")
    html, said = build(tmp_path, PAGE + "{lab}`01-first-serve:title`", "welcome")
    assert said == ""
    assert load_lab("01-first-serve").title in html


def test_each_page_says_how_many_boots_a_remedy_takes():
    """It was five for a day, and students still waited for seven."""
    numbers = {"three": 3, "five": 5, "seven": 7, "nine": 9, "ten": 10, "thirteen": 13}
    boots = r"boots (?:each|a side|of each side|of each kernel)|pairs(?: of boots)?"
    said = re.compile(rf"\b({'|'.join(numbers)}) (?:({boots})|(new rallies))", re.IGNORECASE)
    pages = ["docs/explain.md", "exam/questions.toml", "labs/05-preempt-rt/solution.toml"]
    pages += ["handouts/04-under-load.md", "handouts/05-preempt-rt.md", "slides/05-preempt-rt.md"]
    for page in pages:
        parts = [part for part in (ROOT / page).read_text().split("\n\n") if "pairs" in part]
        found = said.findall("\n".join(parts))
        assert found, page
        for word, _, new in found:  # the student's own rally is the first of them
            assert numbers[word.lower()] == (2 * BOOTS - 1 if new else BOOTS), (page, word)


@pytest.mark.parametrize("slug", [lab.slug for lab in load_course()[1]])
def test_commands_find_the_trees_files_from_a_lab_folder(slug):
    """Handouts say `cd lab-NN` first: what the tree holds is one folder up."""
    text = (ROOT / "handouts" / f"{slug}.md").read_text()
    lab = load_lab(slug)
    text += "\n".join([*lab.extensions, *(question.text for question in lab.questions)])
    folders = "|".join(path.name for path in ROOT.iterdir() if path.is_dir())
    for command in re.findall(r"^\$ tennis .*$|`tennis [^`]*`", text, re.MULTILINE):
        assert not re.search(rf"\s({folders})/", command), command
        for path in re.findall(r"\s\.\./([^\s`]+)", command):
            assert (ROOT / path).exists(), command
