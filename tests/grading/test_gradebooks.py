"""Points and feedback reach the student that they are of, in Moodle and in Canvas, or nobody."""

import csv
import io
import re
import unicodedata
import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner

from tennis.cli import cli
from tennis.course import work
from tests.support.importers import Canvas, canvas_feedback, moodle_feedback, moodle_worksheet
from tests.support.made_up_class import LAB, OPEN_MINUTES, hand_in_of, packed, rows_of, unpacked

pytestmark = pytest.mark.usefixtures("quick_judge")

ALL = float(LAB.points)
FORMULA = '=HYPERLINK("http://example.org";"Ed")'
# by participant of Moodle, which is 100 less in Canvas: name, number, what the hand-in says
STUDENTS = {
    101: ("Ada Lovelace", "0471", {"student": "Ada Lovelace"}),
    102: ("Zoë Müller", "0472", {"student": unicodedata.normalize("NFD", "Zoë Müller")}),
    103: ("Zoe Muller", "0473", {"student": "Zoe Muller"}),
    104: ("Anna Schmidt", "0474", {"student": "Anna Schmidt", "number": "0474"}),
    105: ("Anna Schmidt", "0475", {"student": "Anna Schmidt", "number": "0475"}),
    106: ("李明", "0476", {"student": "李明"}),
    107: ("محمد علي", "0477", {"student": "محمد علي"}),
    108: ("Ольга", "0478", {"student": "Olga"}),
    109: ("🎾 Kim", "0479", {"student": "kim"}),
    110: (FORMULA, "0480", {"student": "ed"}),
    111: ("Lea_Open", "0481", {"student": "Lea", "minutes": OPEN_MINUTES}),
    112: ("Ida", "0482", {"student": "Ida", "number": "0471"}),  # another's number
    113: ("Max Missing", "0483", None),
    114: ("Gus", "0484", {"student": "Gus"}),
}
SETTLED = {101, 102, 103, 104, 105, 106, 107, 108, 109, 110, 112}
IN_MOODLE = SETTLED | {116}  # whose last hand-in of two counts


def email(number: int) -> str:
    return f"student-{number}@example.org"


def cleaned(name: str) -> str:
    """As Moodle's clean_filename does."""
    return re.sub(r"[\x00-\x1f&<>\"`|':\\/]", "", name.replace("_", " "))


def moodle_class() -> dict[str, bytes]:
    """Return what Moodle's archive holds: also a broken one, two of one, and a group's."""
    entries = {}
    for number, (name, _, says) in STUDENTS.items():
        if says is not None and number != 114:
            folder = f"{cleaned(name)}_{number}_assignsubmission_file_"
            entries[f"{folder}/lab.zip"] = hand_in_of(**says)
    entries["Bea Broken_115_assignsubmission_file_/lab.zip"] = b"PK\3\4"
    for file in ("a", "b"):
        entries[f"Tim Twice_116_assignsubmission_file_/{file}.zip"] = hand_in_of(f"Tim {file}")
    entries["Group 3_114_assignsubmission_file_/lab.zip"] = hand_in_of("group 3")
    return entries


MORE = {115: ("Bea Broken", "0485", None), 116: ("Tim Twice", "0486", None)}
WORKSHEET_COLUMNS = (
    *("Identifier", "Full name", "ID number", "Email address", "Status", "Grade", "Maximum grade"),
    *("Last modified (submission)", "Online text", "Last modified (grade)", "Feedback comments"),
)


def written(path: Path, rows) -> Path:
    text = io.StringIO()
    csv.writer(text).writerows(rows)
    path.write_bytes(text.getvalue().encode())
    return path


def worksheet(path: Path, maximum: str = f"{ALL:.2f}") -> Path:
    rows: list[list[str]] = [list(WORKSHEET_COLUMNS)]
    for number, (name, register, _) in (STUDENTS | MORE).items():
        who = [f"Participant {number}", name, register, email(number), "Submitted - Not marked", ""]
        rows.append([*who, maximum, "Monday, 2 November", "=1+1", "-", "<p>typed there</p>"])
    return written(path, rows)


def canvas_list(path: Path, possible: str = f"{LAB.points}") -> Path:
    titles = [f"{LAB.title} (77)", "Another (78)"]
    rows = [["Student", "ID", "SIS User ID", "SIS Login ID", "Section", *titles, "Final Score"]]
    rows += [
        ["", "", "", "", "", "Manual Posting", "", ""],
        ["    Points Possible", "", "", "", "", possible, "3", "(read only)"],
    ]
    for number, (name, register, _) in STUDENTS.items():
        login = f"login{number}"
        rows.append([_sortable(name), f"{number - 100}", register, login, "A, B", "", "", ""])
    return written(path, rows)


def _sortable(name: str) -> str:
    first, _, last = name.partition(" ")
    return f"{last}, {first}" if last else name


def canvas_class() -> dict[str, bytes]:
    """Return what Canvas's archive holds."""
    entries = {}
    for number, (name, _, says) in STUDENTS.items():
        if says is not None:
            short = "".join(re.findall(r"\w", _sortable(name).lower())).replace("_", "")
            late = "_LATE" if number % 2 else ""
            entries[f"{short}{late}_{number - 100}_{number + 800}_lab_1.zip"] = hand_in_of(**says)
    return entries


def marked(
    tmp_path: Path, entries, *words: str | Path, form: str = "class.zip"
) -> tuple[Path, str]:
    """Mark a class; return its folder, and the output."""
    given = tmp_path / form
    if form.endswith(".zip"):
        given.write_bytes(packed(entries))
    else:
        unpacked(entries, given)
    done = CliRunner().invoke(cli, list(map(str, ["grade", given, "--lab", "01", *words])))
    assert done.exit_code == 0, (done.output, done.exception)
    return tmp_path / f"{given.stem}-marks", done.output


def sound(folder: Path) -> None:
    """No cell of any table is a formula, in a spreadsheet of whatever country."""
    for path in [*folder.glob("gradebook/*.csv"), folder / "marks.csv"]:
        text = path.read_bytes().decode("utf-8-sig")
        assert path.read_bytes().startswith(b"\xef\xbb\xbf")
        for row in csv.reader(io.StringIO(text, newline="")):
            for cell in row:
                assert not cell.strip().startswith(("=", "+", "@", "\t"))
                assert not re.match(r"-.", cell)
                assert "HYPERLINK" not in cell or not re.search(r";\s*[=+@-]", cell)


@pytest.fixture
def moodle(tmp_path) -> Path:
    marks, _ = marked(tmp_path, moodle_class(), "--class-list", worksheet(tmp_path / "w.csv"))
    return marks


def test_moodles_worksheet_gives_each_student_the_own_points(moodle):
    data = (moodle / "gradebook/moodle-worksheet.csv").read_bytes()
    participants = {number: str(number) for number in STUDENTS | MORE}
    points, comments = moodle_worksheet(data, participants, ALL)
    assert points == {str(number): ALL for number in IN_MOODLE}
    assert set(comments.values()) == {"<p>typed there</p>"}  # not removed
    assert [*rows_of(data)[0]] == [*WORKSHEET_COLUMNS]
    names = {row["Identifier"]: row["Full name"] for row in rows_of(data)}
    assert names["Participant 102"] == "Zoë Müller"
    assert names["Participant 110"].startswith("'=HYPERLINK(")
    sound(moodle)


def test_a_comment_reaches_moodle_as_it_was_written(tmp_path):
    words = ("--class-list", worksheet(tmp_path / "w.csv"))
    marks, _ = marked(tmp_path, moodle_class(), *words)
    sheet = (marks / "marks.toml").read_text()
    file = "Zoë Müller_102_assignsubmission_file_/lab.zip"
    before, own, after = sheet.partition(f'["{file}"]')
    after = after.replace('comment = ""', "comment = '-a < b & \"c\"; =1'", 1)
    (marks / "marks.toml").write_text(before + own + after)
    marked(tmp_path, moodle_class(), *words)
    data = (marks / "gradebook/moodle-worksheet.csv").read_bytes()
    _, comments = moodle_worksheet(data, {102: "zoe", 101: "ada"}, ALL)
    assert comments == {"ada": "<p>typed there</p>", "zoe": '&#45;a &lt; b &amp; "c"; =1'}


def test_moodles_feedback_has_a_folder_for_each_student(moodle):
    participants = {number: str(number) for number in STUDENTS | MORE}
    data = (moodle / "gradebook/moodle-feedback.zip").read_bytes()
    pages = moodle_feedback(data, participants)
    # why something could not be marked helps its student; open points stay open
    assert set(pages) == {str(number) for number in IN_MOODLE | {115}}
    assert {name for name, _ in pages.values()} == {f"{LAB.slug}-feedback.html"}
    assert "Zoë Müller" in pages["102"][1].decode()
    assert "Zoe Muller" in pages["103"][1].decode()
    assert "could not be marked" in pages["115"][1].decode()
    with zipfile.ZipFile(moodle / "gradebook/moodle-feedback.zip") as archive:
        names = archive.namelist()
    assert len({unicodedata.normalize("NFKD", name).casefold() for name in names}) == len(names)
    assert "李明_106_assignsubmission_file_/01-first-serve-feedback.html" in names
    assert all(name.isprintable() and not set(name) & set('<>:"|?*\\') for name in names)


def test_who_is_left_out_is_said(moodle):
    of_all = rows_of((moodle / "marks.csv").read_bytes())
    assert "Bea Broken" in {row["student"] for row in of_all}  # and not "lab", as its file
    rows = rows_of((moodle / "gradebook/students.csv").read_bytes())
    left_out = {row["file"] or row["student"]: row["left out"] for row in rows if row["left out"]}
    assert left_out == {
        "Lea Open_111_assignsubmission_file_/lab.zip": f"to be read: {LAB.questions[0].id}",
        "Bea Broken_115_assignsubmission_file_/lab.zip": "it could not be marked",
        "Group 3_114_assignsubmission_file_/lab.zip":
            "moodle calls it Group 3, and 114 is Gus in the list",
        "Max Missing": "no hand-in is this student's",
        "Gus": "no hand-in is this student's",
    }  # fmt: skip
    remarks = {row["student"]: row["remark"] for row in rows if row["remark"]}
    assert remarks == {"Ida": "the hand-in has the number or the e-mail of Ada Lovelace"}


def course() -> Canvas:
    return Canvas(
        {number - 100: str(number) for number in STUDENTS},
        {register: str(number) for number, (_, register, _) in STUDENTS.items()},
        {f"login{number}": str(number) for number in STUDENTS},
    )


def test_canvas_gives_each_student_the_own_points(tmp_path):
    words = ("--class-list", canvas_list(tmp_path / "canvas.csv"))
    marks, said = marked(tmp_path, canvas_class(), *words)
    data = (marks / "gradebook/canvas-gradebook.csv").read_bytes()
    heading, possible, points = course().gradebook(data)
    assert (heading, possible) == ("First serve (77)", ALL)
    assert points == {str(number): ALL for number in SETTLED | {114}}
    assert f"gradebook/canvas-gradebook.csv: {len(SETTLED) + 1} of 13 hand-ins" in said
    sound(marks)
    data = (marks / "gradebook/canvas-feedback.zip").read_bytes()
    attachments = {(number - 100, number + 800): str(number) for number in STUDENTS}
    pages = canvas_feedback(data, attachments)
    assert set(pages) == {str(number) for number in SETTLED | {114}}
    # Canvas shows it under the name of the student's own zip file: it is one
    with zipfile.ZipFile(io.BytesIO(pages["102"])) as archive:
        assert "Zoë Müller" in archive.read("01-first-serve-feedback.html").decode()


def test_another_maximum_makes_no_table(tmp_path):
    """10 of 10 points would be 10 of 100."""
    words = ("--class-list", worksheet(tmp_path / "w.csv", maximum="100.00"))
    marks, said = marked(tmp_path, moodle_class(), *words)
    assert (
        "moodle-worksheet.csv was not made: the assignment's maximum grade in Moodle is 100" in said
    )
    assert "set it to 10 there" in said
    assert not (marks / "gradebook/moodle-worksheet.csv").exists()
    words = ("--class-list", canvas_list(tmp_path / "c.csv", possible="5"))
    marks, said = marked(tmp_path, canvas_class(), *words, form="canvas.zip")
    assert "canvas-gradebook.csv was not made: the assignment's points in Canvas is 5" in said
    assert not (marks / "gradebook/canvas-gradebook.csv").exists()


def test_points_of_before_are_not_left_lying_there(tmp_path):
    listed = ("--class-list", worksheet(tmp_path / "w.csv"))
    marks, _ = marked(tmp_path, moodle_class(), *listed, form="class")
    assert (marks / "gradebook/moodle-worksheet.csv").exists()
    (marks / "gradebook/mine.txt").write_text("mine")
    marked(tmp_path, moodle_class(), form="class")
    assert {path.name for path in (marks / "gradebook").iterdir()} == {
        *("mine.txt", "canvas-gradebook.csv", "students.csv")
    }


def test_an_assignment_is_the_one_that_was_meant(tmp_path):
    listed = canvas_list(tmp_path / "canvas.csv")
    words = ("--class-list", listed, "--assignment", "Another")
    _, said = marked(tmp_path, canvas_class(), *words)
    assert "canvas-gradebook.csv was not made: the assignment's points in Canvas is 3" in said
    words = ("grade", tmp_path / "class.zip", "--lab", "1", "--class-list", listed)
    done = CliRunner().invoke(cli, [*map(str, words), "--assignment", "None"])
    assert done.exit_code != 0
    assert "--assignment None is not one of the list's: use First serve, Another" in str(
        done.exception
    )
    listed.write_text(listed.read_text().replace("Another (78)", "First serve II (78)"))
    done = CliRunner().invoke(cli, [*map(str, words)])
    assert "2 assignments of the list may be lab 1: say --assignment" in str(done.exception)


OWN = "name,number,e-mail,moodle,canvas,login,section\n"


def by_own_list(tmp_path: Path, lines: str, entries) -> dict[str, tuple[str, str, str]]:
    """Mark with a list of one's own; return student, why not and remark, by file."""
    (tmp_path / "own.csv").write_text(OWN + lines)
    marks, _ = marked(tmp_path, entries, "--class-list", tmp_path / "own.csv", form="class")
    rows = rows_of((marks / "gradebook/students.csv").read_bytes())
    return {row["file"]: (row["number"], row["left out"], row["remark"]) for row in rows}


def test_two_of_one_name_stay_two(tmp_path):
    lines = "Anna Schmidt,1,,,,,\nAnna Schmidt,2,,,,,\nBo,3,,,,,\nBo,4,,,,,\n"
    entries = {
        "a.zip": hand_in_of("Anna Schmidt", "2"),
        "b.zip": hand_in_of("Anna Schmidt", "1"),
        "c.zip": hand_in_of("Bo"),
    }
    found = by_own_list(tmp_path, lines, entries)
    assert found["a.zip"] == ("2", "", "")
    assert found["b.zip"] == ("1", "", "")
    assert found["c.zip"] == ("", "2 in the list are called Bo", "")
    seeds = {work.seed_of(LAB, "Anna Schmidt", number) for number in ("", "1", "2")}
    assert len(seeds) == 3


def test_whose_a_hand_in_is_is_never_guessed(tmp_path):
    lines = (
        "Zoë Müller,1,zoe@example.org,,,,\nMuller Zoe,2,bo@example.org,,,,\nCy,3,,,,,\n"
        "Dan,4,,,,,\nEve,5,,,,,\n"
    )
    entries = {
        "name.zip": hand_in_of(unicodedata.normalize("NFD", "zoë müller")),
        "email.zip": hand_in_of("Zo", "", "BO@example.org"),
        "two.zip": hand_in_of("Cy", "3", "zoe@example.org"),
        "nobody.zip": hand_in_of("Fay"),
        "other.zip": hand_in_of("Dan", "44"),
        "eve-1.zip": hand_in_of("Eve"),
        "eve-2.zip": hand_in_of("Yves", "5"),
    }
    found = by_own_list(tmp_path, lines, entries)
    assert found["name.zip"] == ("1", "", "")
    assert found["email.zip"] == ("2", "", "the hand-in calls itself Zo")
    assert found["two.zip"][1] == "its number is that of Zoë Müller, its e-mail is not"
    assert found["nobody.zip"][1] == "nobody in the list is called Fay"
    assert found["other.zip"][1] == "Dan has another number than 44"
    assert found["eve-1.zip"] == ("5", "", "")
    assert found["eve-2.zip"][1] == "a second file: eve-1.zip counts"


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("--number", "=1+1", "is not a student's number: use letters"),
        ("--number", "1" * 50, "is not a student's number"),
        ("--email", "zoe", "is not an e-mail address: write NAME@DOMAIN"),
        ("--email", "+zoe@example.org", "is not an e-mail address"),
        ("--email", 'a"b@example.org', "is not an e-mail address"),
    ],
)
def test_a_number_or_an_address_that_is_none_is_refused(tmp_path, option, value, said):
    words = ["lab", "start", "1", "--as", "Zoë", "--out", str(tmp_path / "w"), option, value]
    assert said in str(CliRunner().invoke(cli, words).exception)
    assert not (tmp_path / "w").exists()


def test_a_file_in_anothers_name_is_not_said_to_count(tmp_path):
    folders = [f"{name}_{n}_assignsubmission_file_" for n, name in enumerate(("Ada", "Bob"), 1)]
    entries = {f"{folder}/a.zip": hand_in_of(folder[:3]) for folder in folders}
    _, said = marked(tmp_path, {**entries, f"{folders[1]}/b.zip": hand_in_of("Ada")})
    assert f"another file counts: Bob ({folders[1]}/b.zip): its name: it names Ada" in said
