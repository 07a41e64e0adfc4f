"""A class is marked, from files to pages: right, wrong, copied, edited and hostile hand-ins."""

import csv
import os
import re
import shlex
import shutil
import stat
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tennis.cli import cli
from tennis.course import load_lab
from tennis.course import work as folders
from tennis.course.checking.running import run_checks
from tennis.grading import hand_in, judged
from tennis.rally.manifest import Fault
from tests.support.hand_ins import make_work, right_answers, written, zipped

# one class, marked once: all on one worker
pytestmark = [pytest.mark.xdist_group("class"), pytest.mark.slow]

LAB = load_lab("01-first-serve")
NO_LAB = b'lab = "no-lab"\nstudent = "x"\nminutes = 1\nseed = 1\n'
MARKED = {"edges": 2, "prediction": 1, "bound": 2}  # by checks; a person reads the rest
SEED = {name: folders.seed_of(LAB, name) for name in ("ada", "fay", "ida", "jan")}


def run(*words: str | Path):
    return CliRunner().invoke(cli, list(map(str, words)))


def hostile(path: Path, entries: dict[str, bytes], link: str = "") -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
        if link:
            info = zipfile.ZipInfo(link)
            info.external_attr = (stat.S_IFLNK | 0o777) << 16
            archive.writestr(info, "/etc/passwd")
    return path


@pytest.fixture(scope="module")
def handed_in(tmp_path_factory) -> Path:
    """A class of 21 files: most have something of their own."""
    folder = tmp_path_factory.mktemp("class")
    here = folder / "handed-in"
    here.mkdir()

    def student(name: str, file: str = "", **about) -> Path:
        made = make_work(folder / f"work-{file or name}", LAB, name, **about)
        return zipped(made, here / f"{file or name}.zip")

    student("student 0", "student-00")
    student("ada")
    student("bob", answers={"edges": 9160})
    student("bob", "bob-again")
    student("cleo", answers={"edges": 9160, "bound": 5000})
    student("dan", answers={"prediction": "rt", "bound": None})
    student("eve", rallies={"rt-idle": None})
    student("fay", rallies={"rt-idle": {"seed": 1}})
    student("gus", rallies={"mainline-idle": {"balls": 100}})
    student("hal", rallies={"mainline-idle": {"kernel": "rt"}})
    # copied: ida's words and rallies are ada's; the seed tells
    copied = make_work(folder / "work-ida", LAB, "ida")
    text = (folder / "work-ada" / "answers.toml").read_text()
    (copied / "answers.toml").write_text(text.replace('student = "ada"', 'student = "ida"'))
    for rally in LAB.rallies:
        (copied / rally.name).rename(folder / f"ida-{rally.name}")
        (folder / "work-ada" / rally.name).rename(copied / rally.name)
    zipped(copied, here / "ida.zip")
    # edited: a manifest that says another seed
    edited = make_work(folder / "work-jan", LAB, "jan", rallies={"rt-idle": {"seed": 1}})
    manifest = edited / "rt-idle" / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"seed": 1,', f'"seed": {SEED["jan"]},'))
    with zipfile.ZipFile(here / "jan.zip", "w") as archive:
        for path in sorted(edited.rglob("*")):
            if path.is_file():
                archive.write(path, path.relative_to(edited))
    named = make_work(folder / "work-kim", LAB, "kim")
    text = (named / "answers.toml").read_text()
    (named / "answers.toml").write_text(text.replace('"kim"', '"<script>alert(1)</script>\u202e"'))
    hostile(here / "kim.zip", {"answers.toml": (named / "answers.toml").read_bytes()})
    script = "</div><script>alert('x')</script> a b c"
    student("lea", answers={"edges": 9160, "average": script})
    (here / "no-zip.zip").write_bytes(b"PK not a zip at all")
    hostile(here / "bomb.zip", {"answers.toml": b"0" * (70 << 20)})
    hostile(here / "path.zip", {"../../outside": b"x", "/etc/tennis": b"x", "answers.toml": b"a ="})
    hostile(here / "link.zip", {}, link="answers.toml")
    hostile(here / "many.zip", {f"x{number}": b"" for number in range(500)})
    hostile(here / "names.zip", {"a\x1b[2J\n<b>.txt": b"", "answers.toml": NO_LAB})
    hostile(here / "deep.zip", {"answers.toml": b"lab = " + b"[" * 20_000})
    (here / "notes.txt").write_text("not a hand-in")
    return here


@pytest.fixture(scope="module")
def marked(handed_in) -> tuple[Path, str]:
    done = run("grade", handed_in, "--lab", "01", "--no-replay")
    assert done.exit_code == 0, done.output
    return handed_in.with_name("handed-in-marks"), done.output


@pytest.fixture(scope="module")
def marks(marked) -> Path:
    return marked[0]


def rows(marks: Path) -> dict[str, dict[str, str]]:
    with (marks / "marks.csv").open(newline="", encoding="utf-8-sig") as file:
        return {row["file"].removesuffix(".zip"): row for row in csv.DictReader(file)}


def results(marks: Path, name: str) -> dict[str, tuple[str, str]]:
    for path in (marks / "results").iterdir():
        graded = judged.Graded.model_validate_json(path.read_bytes())
        if graded.file == f"{name}.zip" and graded.report:
            return {one.check: (one.verdict, one.message) for one in graded.report.results}
    return {}


@pytest.mark.more
def test_what_is_right_has_all_points_that_checks_give(marks):
    one = rows(marks)["student-00"]
    assert {name: one[name] for name in MARKED} == {n: str(p) for n, p in MARKED.items()}
    assert (one["points"], one["so_far"], one["of"], one["open"]) == ("", "5", "10", "2")
    assert (one["status"], one["refused"]) == ("open", "")
    assert {verdict for verdict, _ in results(marks, "student-00").values()} == {"pass", "not run"}


WRONG = [
    ("bob", "check_number[edges]", "fail", "9,160 ns is not the number"),
    ("cleo", "check_number[bound]", "fail", "5,000 balls is not the number"),
    ("dan", "check_answered[prediction]", "fail", "write prediction.number and pred"),
    ("dan", "check_answered[bound]", "fail", "there is no answer yet"),
    ("dan", "check_number[bound]", "not run", "check_answered[bound] did not pass"),
    ("eve", "check_rally[rt-idle]", "fail", "it is not there"),
    ("fay", "check_rally[rt-idle]", "fail", "its seed is 1; that of fay is"),
    ("gus", "check_rally[mainline-idle]", "fail", "100 balls, but the lab asks for 5000"),
    ("hal", "check_rally[mainline-idle]", "fail", "its kernel is rt, not mainline"),
    ("ida", "check_rally[mainline-idle]", "fail", "that of ida is"),
    ("jan", "check_rally[rt-idle]", "fail", "rt-idle/manifest.json"),
]
HOSTILE = {
    "no-zip": "not a whole zip file",
    "bomb": "unpacks to more than 64 MB",
    "path": "is not TOML",
    "link": "there is no answers.toml",
    "many": "holds 500 files, 400 at most",
    "names": "of the lab no-lab",
    "deep": "cannot be read",
    "kim": "is not a name",
}


def test_what_is_wrong_is_said_and_what_is_hostile_is_refused(marks):
    for name, check, verdict, words in WRONG:
        found = results(marks, name)[check]
        assert found[0] == verdict, name
        assert words in found[1], name
    for name, words in HOSTILE.items():
        row = rows(marks)[name]
        assert words in row["refused"]
        assert row["points"] == "0"
    assert len(rows(marks)) == 20
    assert not (marks.parent / "outside").exists()


def test_what_was_found_out_reaches_whoever_marks_and_waits_for_them(marked):
    """Ada was copied by Ida, Fay has a seed of nobody's, Jan's manifest was altered."""
    marks, output = marked
    said = {
        "ada": "the balls of mainline-idle: others have the same ones: ida (ida.zip); their seed "
        "is that of ada",
        "ida": f"its seed is {SEED['ada']}; that of ida is {SEED['ida']}; it is the seed of ada",
        "fay": "nobody in this class has it",
        "jan": "was altered after the rally was sealed",
    }
    page, table = (marks / "class.html").read_text(), rows(marks)
    first = page.partition("</section>")[0]
    assert {name for name, row in table.items() if row["status"] == "withheld"} == {*said}
    for student, words in said.items():
        assert words in first
        assert re.search(
            rf"(?m)^withheld: {student} \({student}.zip\): .*{re.escape(words)}", output
        )
        assert words.replace(";", ",") in table[student]["found"]
        # withheld is no zero, and nothing in the row adds up to what it would be
        assert (table[student]["points"], table[student]["so_far"]) == ("", "")
        assert not any(table[student][question.id] for question in LAB.questions)
    assert "decide about 4 hand-ins and 1 second file in" in output
    # of two files of one student the better one counts
    assert (table["bob-again"]["other files"], table["bob-again"]["edges"]) == ("bob.zip", "2")
    assert "the words of histogram: ada (ada.zip), ida (ida.zip)" in page
    assert '<th scope="row">edges</th><td>9160</td><td>2</td>' in page
    # no student's page names another student
    pages = [path.read_text() for path in (marks / "feedback").iterdir()]
    assert sum('<div class="answer">9160 ns</div>' in page for page in pages) == 3
    assert sum("Another hand-in counts in its place: bob-again.zip" in page for page in pages) == 1
    assert sum("Its points are withheld" in page for page in pages) == 4
    for page in (re.sub('(?s)<div class="answer">.*?</div>', "", page) for page in pages):
        named = {name for name in said if f": {name}</h1>" in page}
        assert not [name for name in said.keys() - named if re.search(rf"\b{name}\b", page)]


def test_pages_hold_nothing_that_runs(marks):
    pages = [path.read_text() for path in (*marks.glob("feedback/*.html"), marks / "class.html")]
    assert len(pages) == 22
    for text in pages:
        assert "<script" not in text
        assert "\x1b" not in text
        assert "default-src 'none'" in text
    assert "&lt;/div&gt;" in next(text for text in pages if "alert(&#39;x&#39;)" in text)
    # points are explained where they were lost
    assert any(
        "9,160 ns is not the number" in text and "= 7,740 ns. Fall" in text for text in pages
    )


def test_marking_again_keeps_what_a_person_wrote_and_decided(handed_in, marks):
    sheet, decisions = marks / "marks.toml", marks / "decisions.toml"
    assert {*tomllib.loads(sheet.read_text())["student-00.zip"]} == {
        *("average", "histogram", "comment")
    }
    assert "# histogram, 1: Peaks and widths" in sheet.read_text()
    begin, own, rest = sheet.read_text().partition('["student-00.zip"]  # student 0\n')
    mine = rest.replace('average = ""', "average = 1.5  # mine", 1)
    sheet.write_text(begin + own + mine.replace('comment = ""', 'comment = "Well read."', 1))
    undecided = decisions.read_text()
    files = {(one["file"], one["decision"]) for one in tomllib.loads(undecided)["finding"]}
    assert files == {(f"{name}.zip", "") for name in ("ada", "bob", "fay", "ida", "jan")}
    text = undecided
    for file, words in {"ada.zip": "give", "ida.zip": "none"}.items():
        text = re.sub(rf'(file = "{file}"(?:\n.+)*?\ndecision = )""', rf'\1"{words}"', text)
    decisions.write_text(text)
    before = [path.read_bytes() for path in (sheet, decisions)]
    kept = {path: path.stat().st_mtime_ns for path in (marks / "results").iterdir()}
    words = ("--lab", "01", "--no-replay", "--out", marks)
    done = run("grade", handed_in, *words)
    assert done.exit_code == 0, done.output
    assert [path.read_bytes() for path in (sheet, decisions)] == before
    assert {path: path.stat().st_mtime_ns for path in (marks / "results").iterdir()} == kept
    table = rows(marks)
    assert (table["student-00"]["so_far"], table["student-00"]["open"]) == ("6.5", "1")
    assert (table["ada"]["status"], table["ada"]["so_far"]) == ("open", "5")
    assert (table["ida"]["status"], table["ida"]["points"]) == ("none", "0")
    assert table["fay"]["status"] == "withheld"
    assert "no points: ida (ida.zip)" in done.output
    (page,) = (p for p in map(Path.read_text, marks.glob("feedback/*.html")) if "Well read." in p)
    # rubric and sample of what was read; what is still to be read has neither yet
    assert "Four figures of one of their own rallies" in page
    assert "µs (mainline idle, N = 5,000)" in page
    assert "Peaks and widths" not in page


def test_what_a_bench_does_wrong_and_a_recording_cost_no_points(tmp_path):
    fault = Fault(code="overrun", message="the instrument lost edges")
    for name, about, words in (
        ("fault", {"faults": [fault]}, "lost edges: play it again"),
        ("recording", {"bench": "replay", "seed": 7}, "replayed from a recording"),
    ):
        made = make_work(tmp_path / name, LAB, "zoe", rallies={"rt-idle": about})
        report = run_checks(made, blind=False)
        found = {result.check: result for result in report.results}["check_rally[rt-idle]"]
        assert (found.verdict, words in found.message) == ("inconclusive", True)
        assert report.points == sum(MARKED.values())


@pytest.mark.usefixtures("quick_judge")
def test_names_of_files_are_only_names(tmp_path):
    """They come from anywhere: whatever they hold, sheet, table and pages stay whole."""
    folder = tmp_path / "in"
    folder.mkdir()
    names = [b"\xf0\x9f\x98\x80.zip", b"a\x1b[2J.zip", b"\xff.zip", b"=1+1.zip", b'"]\n[x.zip']
    for number, name in enumerate((*names, b"<b>.zip")):
        made = make_work(tmp_path / f"w{number}", LAB, f"zoe {number}")
        shutil.move(zipped(made, tmp_path / "x.zip"), folder / os.fsdecode(name))
    for _ in range(2):  # what was written is read again
        done = run("grade", folder, "--lab", "01", "--out", tmp_path / "m")
        assert done.exit_code == 0, done.output
        assert "\x1b" not in done.output
    assert len(tomllib.loads((tmp_path / "m/marks.toml").read_text())) == 6
    assert len(rows(tmp_path / "m")) == 6
    assert "\n=" not in (tmp_path / "m/marks.csv").read_text().replace(",=", "\n=")
    assert "<b>" not in (tmp_path / "m/class.html").read_text()


def fill_in(answers: dict[str, Any]) -> None:
    """Write answers where `tennis lab start` left room for them."""
    text = Path("answers.toml").read_text().replace("minutes = 0", "minutes = 75")
    for name, answer in answers.items():
        for line in written(LAB, "Grace Hopper", name, answer):
            room = rf"(?m)^{re.escape(line.partition(' = ')[0])} = (?:\"\".*|'''\n''')$"
            assert len(re.findall(room, text)) == 1
            text = re.sub(room, lambda _, line=line: line, text)
    Path("answers.toml").write_text(text)


@pytest.mark.slow
@pytest.mark.virtual
def test_a_student_does_lab_1(tmp_path, monkeypatch):
    """As the handout says, command by command; then it is marked, with replay and notebook."""
    monkeypatch.chdir(tmp_path)
    assert run("lab", "start", "01", "--as", "Grace Hopper").exit_code == 0
    monkeypatch.chdir(tmp_path / "lab-01")
    block = Path("README.md").read_text().split("```")[1].replace("\\\n", " ")
    commands = [line for line in block.splitlines() if line.startswith("$ tennis rally ")]
    assert len(commands) == len(LAB.rallies)
    right = right_answers(LAB, "Grace Hopper")
    fill_in({"prediction": right.pop("prediction")})
    for command in commands:
        done = run(*shlex.split(command)[2:])
        assert done.exit_code == 0, done.output
    fill_in(right)
    assert run("lab", "check", "01").exit_code == 0
    done = run("lab", "submit", "01")
    assert done.exit_code == 0, done.output
    (tmp_path / "in").mkdir()
    (zipped_file,) = Path().glob("*.zip")
    with zipfile.ZipFile(zipped_file) as archive:
        names = set(archive.namelist())
        assert {f"{rally.name}/manifest.json" for rally in LAB.rallies} <= names
        assert b"/Image" in archive.read("notebook.pdf")
    zipped_file.rename(tmp_path / "in" / zipped_file.name)
    done = run("grade", tmp_path / "in", "--lab", "01")
    assert done.exit_code == 0, done.output
    found = results(tmp_path / "in-marks", zipped_file.stem)
    assert {verdict for verdict, _ in found.values()} == {"pass"}, found
    (row,) = rows(tmp_path / "in-marks").values()
    assert (row["so_far"], row["open"]) == ("5", "2")


def test_packing_is_complete_or_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = run("lab", "start", "01", "--as", "Zoe Zhang")
    assert done.exit_code == 0, done.output
    assert str(folders.seed_of(LAB, "zoe zhang")) in done.output  # case aside
    refused = run("lab", "submit", "01")
    assert refused.exit_code != 0
    for words in ("edges: there is no answer yet", "rally rt-idle: it is not there", "minutes"):
        assert words in refused.output
    assert not list(tmp_path.glob("*.zip"))
    made = make_work(tmp_path / "done", LAB, "Zoe Zhang")
    done = run("lab", "submit", "01", "--in", made)
    assert done.exit_code == 0, done.output
    (file,) = tmp_path.glob("*.zip")
    assert file.name == "01-first-serve-zoe-zhang.zip"
    before = file.read_bytes()
    again = run("lab", "submit", "01", "--in", made)
    assert "exists" in str(again.exception)
    assert file.read_bytes() == before
    # the same work is the same file
    assert run("lab", "submit", "01", "--in", made, "--out", "second.zip").exit_code == 0
    assert Path("second.zip").read_bytes() == before
    # a notebook that does not run is not handed in
    notebook = made / "notebook.md"
    code = "{code-cell} ipython3\n"
    notebook.write_text(notebook.read_text().replace(code, f"{code}1 / 0\n", 1))
    failed = run("lab", "submit", "01", "--in", made, "--out", "third.zip")
    assert re.search(r"notebook\.md: cell \d+ of \d+ \(1 / 0\): Zero", str(failed.exception))
    assert not Path("third.zip").exists()
    assert hand_in.unpack(file, tmp_path / "again").notes == []
    answers = [(folder / "answers.toml").read_bytes() for folder in (tmp_path / "again", made)]
    assert answers[0] == answers[1]
