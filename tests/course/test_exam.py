"""The exam set: its answers are right, as far as that can be computed, and stand where it says."""

import importlib.util
import math
import re
import subprocess
import sys
from types import ModuleType

import pytest

from tennis.kit.checkout import ROOT


def module() -> ModuleType:
    spec = importlib.util.spec_from_file_location("exam_pages", ROOT / "exam/exam_pages.py")
    assert spec
    assert spec.loader
    loaded = importlib.util.module_from_spec(spec)
    sys.modules["exam_pages"] = loaded  # pydantic looks its annotations up there
    spec.loader.exec_module(loaded)
    return loaded


PAGES = module()
EXAM = PAGES.load_exam()
# the same once more, by another way than the answer's text
COMPUTED = {
    "edges": [2310, 11050 - 2310, 11050],
    "pigeonhole": [3 * 10_000],
    "chance": [math.exp(10_000 * math.log1p(-1e-4)), math.exp(30_000 * math.log1p(-1e-4))],
    "ticks": [1e9 / 125e6, 1e9 / 150e6, 295e9 / 125e6],
    "sampling": [1e9 / 100e6 / math.sqrt(6), 1e9 / 100e6 / math.sqrt(6) / math.sqrt(400)],
    "fast-clock": [2000 * 50e-6, 5e6 * 50e-6],
    "thesis-growth": [268 / 98, 17194 / 51],
    "hog-share": [100 * (80 - 20) / 4000, 3000 * (80 - 20) / 4000, 80],
    "missed-boots": [100 * 0.75**10, math.ceil(math.log(0.01) / math.log(0.75))],
    "ceiling": [100 * 60 / 3000, 5000 * 60 / 3000],
}


def anchors(text: str) -> set[str]:
    """Return the anchors of a page: its headings as MyST writes them."""
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", one.lower()).replace(" ", "-") for one in headings}


@pytest.mark.parametrize("one", EXAM, ids=lambda one: one.id)
def test_a_reference_answers_the_question(one):
    """Its pages and headings exist, and hold each figure that was taken from them."""
    assert one.marks == sum(part.marks for part in one.marking)
    texts = []
    for source in one.sources:
        path, _, anchor = source.partition("#")
        text = (ROOT / path).read_text()
        assert not anchor or anchor in anchors(text), source
        texts.append(text)
    whole = " ".join(" ".join(texts).split())
    for figure in one.figures:
        assert figure in whole, figure
    if one.picture:
        assert (ROOT / one.picture).is_file()


@pytest.mark.parametrize("one", EXAM, ids=lambda one: one.id)
def test_what_is_computed_is_right(one):
    assert (one.kind == "compute") == (one.id in COMPUTED)
    if one.id not in COMPUTED:
        assert not one.result
        return
    assert one.result == pytest.approx(COMPUTED[one.id], rel=0.01)
    numbers = {float(found.replace(",", "")) for found in re.findall(r"\d[\d,.]*\d|\d", one.answer)}
    for value in one.result:
        assert any(value == pytest.approx(number, rel=0.005) for number in numbers), value


def test_the_paper_holds_no_answer(tmp_path):
    """And both pages build without a warning."""
    command = [sys.executable, "-m", "sphinx", "-q", "-W", ROOT / "exam", tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr

    def words(page: str) -> str:
        return " ".join(re.sub(r"<[^>]+>", "", (tmp_path / page).read_text()).split())

    paper, answers = words("paper.html"), words("answers.html")
    for number, one in enumerate(EXAM, 1):
        said = f"Question {number} ({one.marks} mark"
        assert said in paper
        assert said in answers
    assert "Answer. " not in paper
    assert answers.count("Answer. ") == len(EXAM)
    assert PAGES.paper(EXAM).count("![picture") == sum(one.picture is not None for one in EXAM)
