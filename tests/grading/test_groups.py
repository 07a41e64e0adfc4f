"""A group hands in once, and each of its members has the points; nobody else has."""

import csv
import io
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from tennis.cli import cli
from tennis.course import load_lab, work
from tennis.course.checking.running import Facts, Report
from tennis.course.people import Member
from tennis.grading.findings import findings
from tennis.grading.judged import Graded
from tennis.grading.marks import marked as marked_of
from tests.support.importers import moodle_feedback, moodle_worksheet
from tests.support.made_up_class import LAB, hand_in_of, packed, rows_of, unpacked

ADA, BLAISE, CY = Member("Ada Lovelace", "1"), Member("Blaise Pascal", "2"), Member("Cy Young")
GROUP = "Ada Lovelace and Blaise Pascal"
ALL = float(LAB.points)


def started(folder: Path, *words: str):
    return CliRunner().invoke(cli, ["lab", "start", "01", "--out", str(folder), *words])


def test_a_group_has_one_seed_in_whatever_order_it_is_named(tmp_path):
    whole = ["--as", "Blaise Pascal", "--as", "Ada Lovelace", "--number", "2", "--number", "1"]
    assert started(tmp_path / "w", *whole).exit_code == 0
    answers = work.read_answers(tmp_path / "w/answers.toml")
    assert answers.student == GROUP
    assert answers.members == (ADA, BLAISE)
    seed = work.seed_of(LAB, GROUP)
    assert answers.seed == seed == work.read(tmp_path / "w").seed
    assert f"**{seed}**" in (tmp_path / "w/README.md").read_text()
    # one number for two would be taken for either's
    for few in (["--number", "1"], ["--email", "a@example.org"]):
        done = started(tmp_path / "x", "--as", "a", "--as", "b", *few)
        assert "once for each --as" in str(done.exception)
    for names in (("ada", "Ada"), tuple("abcde")):
        done = started(tmp_path / "x", *(word for name in names for word in ("--as", name)))
        assert "two to 4 names, each of them once" in str(done.exception)
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize(
    ("line", "said"),
    {
        'members = "Ada"': "members: 4 at most",
        "members = [1]": "members: 4 at most",
        "members = [{}]": "members: None is not a name: it holds no letter",
        'members = [{name = "a\\u0000"}]': "is not a name",
        'members = [{name = "Ada", number = "=1"}]': "number: '=1' is not one: write it",
        'number = "=1"': "number: '=1' is not one: write it",
        "number = [1]": "number:",
        "members = [" + '{name = "a"},' * 5 + "]": "members: 4 at most",
    }.items(),
)
def test_broken_members_are_named(line, said, tmp_path):
    path = tmp_path / "answers.toml"
    head = f'lab = "{LAB.slug}"\nstudent = "x"\nminutes = 1\nseed = 1'
    path.write_text(f"{head}\n{line}\n[answers]\n")
    with pytest.raises(work.WorkError, match=said):
        work.read_answers(path)


def graded(file: str, student: str, *members: Member, balls: str = "same") -> Graded:
    facts = Facts(
        lab=LAB.slug,
        student=student,
        members=[vars(one) for one in members],
        minutes=1,
        rallies={"rt-idle": balls},
        texts={},
        files={},
        answers={},
    )
    report = Report(facts=facts, results=[], marks=[])
    return Graded(file=file, sha256=file, checks_sha256="", student=student, report=report)


def folder(name: str, number: int) -> str:
    return f"{name}_{number}_assignsubmission_file_/lab.zip"


OF_ADA = graded(folder("Ada Lovelace", 101), GROUP, ADA, BLAISE)
OF_BLAISE = graded(folder("Blaise Pascal", 102), GROUP, BLAISE, ADA)


def accused(*every: Graded) -> set[str]:
    return {one.file for one in findings(every, load_lab(LAB.slug), set())}


def test_both_members_may_hand_in_the_same():
    assert not accused(OF_ADA, OF_BLAISE)
    (row,) = marked_of([OF_ADA, OF_BLAISE], {}, LAB)
    assert len(row.others) == 1
    assert not accused(graded("a/lab.zip", GROUP, ADA, BLAISE))  # alone, too


@pytest.mark.parametrize(
    "copy",
    [
        graded(folder("Cy Young", 103), GROUP, ADA, BLAISE, CY),  # with the own name added
        graded(folder("Cy Young", 103), GROUP, ADA, CY),
        graded(folder("Cy Young", 103), "Ada Lovelace and Cy Young", ADA, CY),
        graded(folder("Blaise Pascal", 102), GROUP),  # and with all names taken out
    ],
)
def test_anybody_elses_copy_is_a_copy(copy):
    assert accused(OF_ADA, copy) == {OF_ADA.file, copy.file}
    assert len(marked_of([OF_ADA, copy], {}, LAB)) == 2  # it replaces nothing


def test_the_groups_file_from_anybody_else_says_nothing_about_the_group():
    copy = graded(folder("Cy Young", 103), GROUP, ADA, BLAISE)  # as it was
    assert accused(OF_ADA, copy) == {copy.file}


def test_who_names_another_as_a_member_has_not_the_others_balls():
    alone = graded(folder("Ada Lovelace", 101), "Ada Lovelace")
    both = graded(folder("Cy Young", 103), "Ada Lovelace and Cy Young", ADA, CY)
    assert accused(alone, both) == {alone.file, both.file}


STUDENTS = {101: "Ada Lovelace", 102: "Blaise Pascal", 103: "Cy Young", 104: "Dora"}


def marked(tmp_path: Path, entries: dict[str, bytes], *, archive: bool = True) -> tuple[Path, str]:
    text = io.StringIO()
    columns = ["Identifier", "Full name", "ID number", "Grade", "Last modified (grade)"]
    rows = [[f"Participant {number}", name, "", "", "-"] for number, name in STUDENTS.items()]
    csv.writer(text).writerows([columns, *rows])
    (tmp_path / "list.csv").write_text(text.getvalue())
    if archive:
        (tmp_path / "class.zip").write_bytes(packed(entries))
    else:
        unpacked(entries, tmp_path / "class")
    words = ["--lab", "01", "--class-list", str(tmp_path / "list.csv")]
    where = tmp_path / ("class.zip" if archive else "class")
    done = CliRunner().invoke(cli, ["grade", str(where), *words])
    assert done.exit_code == 0, (done.output, done.exception)
    return tmp_path / "class-marks", done.output


def points(marks: Path) -> dict[str, float]:
    data = (marks / "gradebook/moodle-worksheet.csv").read_bytes()
    return moodle_worksheet(data, STUDENTS, ALL)[0]


def left_out(marks: Path) -> dict[str, str]:
    rows = rows_of((marks / "gradebook/students.csv").read_bytes())
    return {row["student"]: row["left out"] for row in rows if row["left out"]}


@pytest.mark.usefixtures("quick_judge")
def test_both_have_a_row_the_points_and_the_page(tmp_path):
    group = hand_in_of(GROUP, members=[ADA, BLAISE])
    entries = {OF_ADA.file: group, folder("Cy Young", 103): hand_in_of("Cy Young")}
    entries[OF_BLAISE.file] = group  # and so confirms it
    marks, said = marked(tmp_path, entries)
    assert points(marks) == {"Ada Lovelace": ALL, "Blaise Pascal": ALL, "Cy Young": ALL}
    pages = moodle_feedback((marks / "gradebook/moodle-feedback.zip").read_bytes(), STUDENTS)
    assert set(pages) == {"Ada Lovelace", "Blaise Pascal", "Cy Young"}
    assert pages["Ada Lovelace"] == pages["Blaise Pascal"]
    of_each = rows_of((marks / "marks.csv").read_bytes())
    assert {row["student"]: row["points"] for row in of_each} == {
        "Ada Lovelace": f"{ALL:g}", "Blaise Pascal": f"{ALL:g}", "Cy Young": f"{ALL:g}"
    }  # fmt: skip
    assert left_out(marks) == {"Dora": "no hand-in is this student's"}
    assert "3 hand-ins of 2 students, 0 that could not be marked" in said  # a group is marked once
    assert "moodle-worksheet.csv: 3 of 3 students" in said


def decide(marks: Path, **decisions: str) -> None:
    """Write what a teacher decides about members, by the first word of their names."""
    sheet = marks / "decisions.toml"
    text = sheet.read_text()
    for name, decided in decisions.items():
        entry = rf'(about = "member {name}.*"\nfound = .*\ndecision = )""'
        text, count = re.subn(entry, rf'\1"{decided}"', text)
        assert count
    sheet.write_text(text)


@pytest.mark.usefixtures("quick_judge")
def test_a_strangers_file_keeps_nobodys_points_back_and_gives_nobody_any(tmp_path):
    """Ada handed in alone; Blaise names her, and Dora, who handed in nothing."""
    dora = Member("Dora")
    entries = {
        folder("Ada Lovelace", 101): hand_in_of("Ada Lovelace"),
        folder("Blaise Pascal", 102): hand_in_of("All", members=[ADA, BLAISE, dora]),
    }
    marks, said = marked(tmp_path, entries)
    assert points(marks) == {"Ada Lovelace": ALL, "Blaise Pascal": ALL}
    assert "unconfirmed: member Dora: named by the group" in said
    assert "decide about 2 members in" in said
    assert "not confirmed: decide in decisions.toml" in left_out(marks)["Dora"]
    page = (marks / "class.html").read_text()
    assert "Members of groups who did not confirm" in page.partition("</section>")[0]
    each = rows_of((marks / "marks.csv").read_bytes())
    table = {(row["student"], row["file"][:3]): (row["points"], row["status"]) for row in each}
    assert table["Dora", "Bla"] == ("", "unconfirmed")
    assert [file for student, file in table if student == "Ada Lovelace"] == ["Ada"]
    assert table["Ada Lovelace", "Ada"] == (f"{ALL:g}", "marked")
    # a teacher decides about each
    decide(marks, Dora="give", Ada="none")
    marks, _ = marked(tmp_path, entries)
    assert points(marks) == {"Ada Lovelace": ALL, "Blaise Pascal": ALL, "Dora": ALL}
    each = rows_of((marks / "marks.csv").read_bytes())
    table = {(row["student"], row["file"][:3]): (row["points"], row["status"]) for row in each}
    assert ("Ada Lovelace", "Bla") not in table
    # of who was confirmed, and handed in something else, too, one file counts
    decide_again = (marks / "decisions.toml").read_text().replace('"none"', '"give"')
    (marks / "decisions.toml").write_text(decide_again)
    marks, said = marked(tmp_path, entries)
    assert points(marks) == {"Ada Lovelace": ALL, "Blaise Pascal": ALL, "Dora": ALL}
    second = f"a second file: {folder('Ada Lovelace', 101)} counts"
    assert left_out(marks)["Ada Lovelace"] == second
    assert second in said


@pytest.mark.usefixtures("quick_judge")
def test_a_group_that_the_list_does_not_have_gets_no_points_in_silence(tmp_path):
    twins = [Member("Cy Young"), Member("Young Cy")]
    entries = {
        OF_ADA.file: hand_in_of("Ada Lovelace and Nobody", members=[ADA, Member("Nobody")]),
        folder("Cy Young", 103): hand_in_of("Cy Young and Young Cy", members=twins),
        folder("Dora", 104): hand_in_of("Ada", members=[BLAISE]),
    }
    marks, _ = marked(tmp_path, entries)
    assert points(marks) == {"Ada Lovelace": ALL}
    assert "are one student of the list" in left_out(marks)["Cy Young"]  # both came from Cy Young
    assert "nobody in the list is called Nobody" in left_out(marks)["Nobody"]
    assert left_out(marks)["Dora"] == "no hand-in is this student's"


@pytest.mark.usefixtures("quick_judge")
def test_who_is_no_member_hands_in_for_nobody_and_keeps_nobodys_points_back(tmp_path):
    group = hand_in_of(GROUP, members=[ADA, BLAISE])
    entries = {OF_ADA.file: group, folder("Dora", 104): hand_in_of(GROUP, members=[ADA, BLAISE])}
    marked(tmp_path, entries)
    decide(tmp_path / "class-marks", Blaise="give")  # of both files
    marks, _ = marked(tmp_path, entries)
    assert points(marks) == {"Ada Lovelace": ALL, "Blaise Pascal": ALL}
    rows = rows_of((marks / "gradebook/students.csv").read_bytes())
    of_dora = {row["student"]: row["left out"] for row in rows if "Dora" in row["file"]}
    assert set(of_dora) == {ADA.name, BLAISE.name}
    assert all("moodle has it from Dora, who is no member" in why for why in of_dora.values())
    # in the teacher's table and page that file is Dora's, who handed it in
    table = (marks / "class.html").read_text().partition("<h2>By student</h2>")[2]
    assert [name in table for name in (GROUP, ">Dora</a>")] == [True, True]
    by_student = {row["student"]: row for row in rows_of((marks / "marks.csv").read_bytes())}
    assert {name: row["status"] for name, row in by_student.items()} == {
        ADA.name: "marked", BLAISE.name: "marked", "Dora": "withheld",
    }  # fmt: skip
