"""Texts are read by a person: each beside its rubric and its code, and none signed unread."""

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tennis.cli import cli
from tennis.course import load_lab
from tennis.grading import pages, texts
from tennis.grading.judged import Graded, _judged
from tennis.grading.marks import Person, marked
from tests.support.hand_ins import make_work, zipped
from tests.support.made_up_class import hand_in_of

LAB = load_lab("01-first-serve")
CODE = load_lab("13-a-program-that-answers-in-time")
SHEET = "\n".join(f'["s-{number}.zip"]\nhistogram = ""\naverage = ""\n' for number in range(8))


def sheet(points: list[float], question: str = "histogram") -> dict[str, Person]:
    return {f"s-{n}.zip": Person({question: given}, "") for n, given in enumerate(points)}


def test_texts_that_all_got_the_same_points_are_asked_about_once(tmp_path):
    alike = sheet([3.0] * 8)
    assert texts.signed_alike(tmp_path, LAB, alike) == [
        "histogram: 3 of 3 points for each of 8 texts"
    ]
    texts.keep_signed(tmp_path, alike)
    assert texts.signed_alike(tmp_path, LAB, alike) == []
    # one that came later is no signature of many; three are, and so is a change of all
    more = alike | sheet([3.0] * 9)
    assert texts.signed_alike(tmp_path, LAB, more) == []
    assert len(texts.signed_alike(tmp_path, LAB, alike | sheet([3.0] * 11))) == 1
    assert len(texts.signed_alike(tmp_path, LAB, sheet([0.0] * 8))) == 1
    # texts of different codes, a number's points, and two texts ask nothing
    (tmp_path / texts.SIGNED).write_text("[")
    for told_apart in (sheet([3.0, 2.5, 3.0]), sheet([2.0] * 8, "edges"), sheet([3.0] * 2)):
        assert texts.signed_alike(tmp_path, LAB, told_apart) == []


@pytest.mark.usefixtures("quick_judge")
def test_eight_texts_signed_by_one_command_ask_before_anything_is_marked(tmp_path):
    (tmp_path / "in").mkdir()
    for number in range(8):
        (tmp_path / f"in/s-{number}.zip").write_bytes(hand_in_of(f"student-{number:02}"))
    out = tmp_path / "in-marks"
    out.mkdir()
    (out / "marks.toml").write_text(SHEET.replace('histogram = ""', "histogram = 3"))

    def grade(said: str = "") -> Result:
        words = ["grade", str(tmp_path / "in"), "--lab", "01"]
        return CliRunner().invoke(cli, words, input=said)

    for answer in ("", "n\n"):
        refused = grade(answer)
        assert refused.exit_code == 1
        assert "signed alike: histogram: 3 of 3 points for each of 8 texts" in refused.output
        assert "texts.html" in str(refused.exception.next_step)
        assert {path.name for path in out.iterdir()} == {"marks.toml"}
    assert grade("y\n").exit_code == 0
    again = grade()
    assert again.exit_code == 0, again.output
    assert "signed alike" not in again.output


@pytest.fixture(scope="module")
def handed_in(tmp_path_factory) -> dict[str, Graded]:
    """Hand-ins of a lab with code: one with both texts, one without the text about the code."""
    folder = tmp_path_factory.mktemp("class")
    found = {}
    for name, answers in {"student-01": {}, "student-02": {"mended": None}}.items():
        mine = f"/* <of> {name}\x1b[2J */\n"

        def edited(file: str, text: str, mine: str = mine) -> str:
            return text + mine if file == "answer.c" else text

        made = make_work(folder / name, CODE, name, answers=answers, edited=edited)
        about = _judged(zipped(made, folder / f"{name}.zip"), CODE, plays=None)
        assert about.report is not None, about
        found[name] = Graded(
            file=f"{name}.zip", sha256=name, checks_sha256="", student=name, code=about.code,
            report=about.report,
        )  # fmt: skip
    return found


@pytest.mark.slow
def test_each_text_is_beside_its_rubric_and_the_code_that_it_is_about(handed_in, tmp_path):
    pages.write(tmp_path, CODE, marked([*handed_in.values()], {}, CODE))
    page = (tmp_path / texts.PAGE).read_text()
    mended = page.partition("<h2>mended")[2].partition("<h2>kernel")[0]
    one, two = (part for part in mended.split("<h3>")[1:])
    for part, name in ((one, "student-01"), (two, "student-02")):
        assert f">{name}</a>" in part
        assert "mlockall before the first ping" in part  # the rubric
        assert f"/* &lt;of&gt; {name} [2J */" in part
    assert "student-01 on mended: " in one
    assert "to be read" in one
    assert "There is no answer." in two
    assert "0 of 4" in two
    # all points for code without its text come first in the class's page
    first = (tmp_path / pages.CLASS).read_text().partition("</section>")[0]
    assert "student-02 (student-02.zip): in-time 6 of 6; no answer to mended" in first
    assert "student-01 (student-01.zip): in-time" not in first
    assert 'href="texts.html"' in (tmp_path / pages.CLASS).read_text()


def test_what_a_hand_in_says_of_its_code_is_bounded_and_plain(tmp_path):
    lab = CODE
    made = make_work(tmp_path / "w", lab, "student-01", rallies={r.name: None for r in lab.rallies})
    (made / "answer.c").write_bytes(b"x" * (1 << 19))
    path: Path = zipped(made, tmp_path / "x.zip")
    assert _judged(path, lab, plays=None).code == {}
