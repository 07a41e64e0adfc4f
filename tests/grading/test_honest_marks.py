# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Marks that can be stood by: findings reach a person, a machine's failure is no zero."""

import csv
import errno
import os
import re
import shlex
import signal
import subprocess
import sys
import tomllib
import unicodedata
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner

from tennis.bench import box
from tennis.bench.kernels import catalogue, own_module
from tennis.cli import cli
from tennis.course import load_lab, work
from tennis.course.checking import running as checking
from tennis.course.checking.host_faults import is_of_this_machine
from tennis.course.checks import Inconclusive
from tennis.course.people import folded
from tennis.errors import BenchError, DiskFullError, NotBuiltError, TennisError, UsageError
from tennis.grading import findings as integrity
from tennis.grading import hand_in
from tennis.grading import judged as grading
from tennis.grading import marks as mark_sheet
from tennis.grading.findings import findings, read_decisions, write_decisions
from tennis.grading.judged import Graded
from tennis.grading.marks import ClassRules, handed_out, marked, read_rules
from tennis.rally import open_rally
from tennis.rally.edited import write_readable
from tests.support.hand_ins import make_work, zipped
from tests.support.made_up_class import hand_in_of, packed
from tests.support.processes import run_to_end

LAB = load_lab("01-first-serve")
SEED = {name: work.seed_of(LAB, name) for name in ("ada", "bob", "ida", "zoe")}
NOON = datetime(2026, 12, 1, 12, tzinfo=UTC)


def run(*words: str | Path):
    return CliRunner().invoke(cli, list(map(str, words)))


def rows(marks: Path) -> dict[str, dict[str, str]]:
    with (marks / "marks.csv").open(newline="", encoding="utf-8-sig") as file:
        return {row["student"]: row for row in csv.DictReader(file)}


def graded(file: str, student: str = "", **about) -> Graded:
    """A hand-in as checks would report it; ``about``: facts, results, marks, or its own fields."""
    facts = {
        "lab": LAB.slug, "student": student, "minutes": 1, "rallies": {}, "texts": {},
        "files": {}, "answers": {},
    }  # fmt: skip
    for name in ("rallies", "seeds", "replayed", "answers", "texts"):
        facts |= {name: about.pop(name)} if name in about else {}
    report = {"facts": facts, "results": about.pop("results", []), "marks": about.pop("marks", [])}
    settings = {"sha256": f"sha of {file}", "checks_sha256": "", "handed_in": NOON, **about}
    report = report if student else None
    return Graded(file=file, student=student or file, report=report, **settings)


def result(check: str, verdict: str = "fail", **about) -> dict[str, object]:
    words = {"question": None, "message": "so it is", "rationale": "", "hint": "", "seconds": 0}
    return {"check": check, "verdict": verdict, **words, **about}


def mark(question: str, points: float | None, of: int = 2, why: str = "") -> dict[str, object]:
    return {"question": question, "points": points, "of": of, "why": why}


# --- a class, from the files to the page ---


@pytest.fixture(scope="module")
def term(tmp_path_factory) -> Path:
    """Ada is copied by Ida, Fay plays with a seed of nobody's, Bob hands in twice."""
    folder = tmp_path_factory.mktemp("term")
    (folder / "in").mkdir()
    ada = make_work(folder / "ada", LAB, "ada")
    ida = make_work(folder / "ida", LAB, "ida", rallies={r.name: None for r in LAB.rallies})
    for rally in LAB.rallies:
        subprocess.run(["cp", "-r", ada / rally.name, ida], check=True)
    fay = make_work(folder / "fay", LAB, "fay", rallies={"rt-idle": {"seed": 1}})
    first = make_work(folder / "bob", LAB, "bob", answers={"edges": 9160})
    second = make_work(folder / "bob2", LAB, "bob")
    made = {"ada": ada, "ida": ida, "fay": fay, "bob": first, "bob-again": second}
    for number, (name, one) in enumerate(made.items()):
        path = zipped(one, folder / "in" / f"{name}.zip")
        os.utime(path, ((NOON + timedelta(hours=number)).timestamp(),) * 2)
    return folder


def grade(term: Path, *words: str):
    return run("grade", term / "in", "--lab", "01", "--no-replay", *words)


def first_section(marks: Path) -> str:
    return (marks / "class.html").read_text().partition("</section>")[0]


@pytest.mark.xdist_group("term")
def test_what_was_found_out_reaches_whoever_marks_and_waits_for_them(term):
    done = grade(term)
    assert done.exit_code == 0, done.output
    marks = term / "in-marks"
    said = {
        "ada": "the balls of mainline-idle: others have the same ones: ida (ida.zip); their seed "
        "is that of ada",
        "ida": f"its seed is {SEED['ada']}; that of ida is {SEED['ida']}; it is the seed of ada",
        "fay": "nobody in this class has it",
    }
    page, table = first_section(marks), rows(marks)
    for student, words in said.items():
        assert words in page
        plain_words = words.replace("&#39;", "'")
        assert re.search(
            rf"^withheld: {student} \({student}.zip\): .*{re.escape(plain_words)}",
            done.output,
            re.MULTILINE,
        )
        assert plain_words.replace(";", ",") in table[student]["found"]
        # withheld is no zero, and nothing in the row adds up to what it would be
        assert table[student]["status"] == "withheld"
        assert (table[student]["points"], table[student]["so_far"]) == ("", "")
        assert not any(table[student][question.id] for question in LAB.questions)
    assert "decide about 3 hand-ins and 1 second file in" in done.output
    # of two hand-ins the better one counts, and says so; both have a page
    assert (table["bob"]["file"], table["bob"]["other files"]) == ("bob-again.zip", "bob.zip")
    assert table["bob"]["edges"] == "2"
    assert len(list((marks / "feedback").iterdir())) == 5
    pages = [path.read_text() for path in (marks / "feedback").iterdir()]
    assert sum("Another hand-in counts in its place: bob-again.zip" in page for page in pages) == 1
    assert sum("Its points are withheld" in page for page in pages) == 3
    # no student's page names another student
    for page in pages:
        named = {name for name in ("ada", "ida", "fay", "bob") if f": {name}</h1>" in page}
        others = {"ada", "ida", "fay", "bob"} - named
        assert not [name for name in others if re.search(rf"\b{name}\b", page)]


@pytest.mark.xdist_group("term")
def test_a_decision_holds_when_the_class_is_marked_again(term):
    marks = term / "in-marks"
    sheet = marks / "decisions.toml"
    grade(term)
    before = sheet.read_text()
    entries = tomllib.loads(before)["finding"]
    assert {(e["file"], e["decision"]) for e in entries} == {
        ("ada.zip", ""), ("ida.zip", ""), ("fay.zip", ""), ("bob.zip", ""),
    }  # fmt: skip
    decided = {"ada.zip": "give", "ida.zip": "none"}
    text = before
    for file, words in decided.items():
        text = re.sub(rf'(file = "{file}"(?:\n.+)*?\ndecision = )""', rf'\1"{words}"', text)
    sheet.write_text(text)
    done = grade(term)
    assert done.exit_code == 0, done.output
    assert sheet.read_text() == text
    table = rows(marks)
    assert (table["ada"]["status"], table["ada"]["so_far"]) == ("open", "5")
    assert (table["ida"]["status"], table["ida"]["points"]) == ("none", "0")
    assert table["fay"]["status"] == "withheld"
    assert "no points: ida (ida.zip)" in done.output
    sheet.write_text(text.replace('decision = "none"', 'decision = "zero"'))
    done = grade(term)
    assert 'decision \'zero\': write "give" or "none"' in str(done.exception)
    sheet.write_text(before)


# --- findings ---


def found(*hand_ins: Graded, recorded=frozenset()) -> list[tuple[str, str]]:
    return [(one.file, one.words) for one in findings(hand_ins, LAB, set(recorded))]


def test_sanctioned_replays_are_not_the_same_balls():
    rt = {"rt-idle": "balls"}
    given = {"rallies": rt, "replayed": ["rt-idle"], "seeds": {"rt-idle": 99}}
    a, b = graded("a.zip", "ada", **given), graded("b.zip", "bob", **given)
    one, _ = found(a, b)
    assert "if you handed them out, use --recorded DIR" in one[1]
    assert found(a, b, recorded={"balls"}) == []
    # with the handout's own seed, all that play it have the same balls
    own = {"rallies": rt, "seeds": {"rt-idle": LAB.parameters["seed"]}}
    assert found(graded("a.zip", "ada", **own), graded("b.zip", "bob", **own)) == []
    # what says that it has this seed, and is somebody's own, is a copy
    mine = {"rallies": rt, "seeds": {"rt-idle": SEED["ada"]}}
    copied = found(graded("a.zip", "ada", **mine), graded("b.zip", "bob", **own))
    assert [file for file, _ in copied] == ["a.zip", "b.zip"]
    # somebody else's rally, played back
    played = {"rallies": {"rt-idle": "x"}, "seeds": {"rt-idle": SEED["ada"]}}
    played |= {"replayed": ["rt-idle"]}
    (one,) = found(graded("a.zip", "ada"), graded("b.zip", "bob", **played))
    assert one[0] == "b.zip"
    assert "played back, with the seed of ada" in one[1]


def test_the_courses_recordings_are_known_by_their_balls(tmp_path):
    make_work(tmp_path / "w", LAB, "zoe")
    balls = {
        open_rally(tmp_path / "w" / r.name).manifest.files["balls.parquet"] for r in LAB.rallies
    }
    assert set(handed_out(LAB, [tmp_path])) == set(handed_out(LAB, [tmp_path / "w"])) == balls
    with pytest.raises(UsageError, match="holds no rally: name the folder"):
        handed_out(LAB, [tmp_path / "none"])


def test_a_new_finding_waits_for_a_decision_of_its_own(tmp_path):
    one = graded("a.zip", "ada", results=[result("check_rally[rt-idle]", in_doubt=True)])
    two = findings([one], LAB, set())
    write_decisions(tmp_path, two, {})
    path = tmp_path / "decisions.toml"
    path.write_text(path.read_text().replace('decision = ""', 'decision = "GIVE "'))
    decided = read_decisions(tmp_path)
    assert marked([one], {}, LAB, None, decided)[0].status == "marked"
    again = one.model_copy(deep=True)
    again.report.results.append(
        checking.Result.model_validate(result("check_honest[rt-idle]", in_doubt=True))
    )
    assert marked([again], {}, LAB, None, decided)[0].status == "withheld"
    # another file of the same name is another hand-in
    other = one.model_copy(update={"sha256": "another"})
    assert marked([other], {}, LAB, None, decided)[0].status == "withheld"
    before = path.read_bytes()
    write_decisions(tmp_path, findings([again], LAB, set()), decided)
    assert path.read_bytes().startswith(before.rstrip())
    assert len(tomllib.loads(path.read_text())["finding"]) == 2


def test_a_mistake_is_no_doubt():
    wrong = graded("a.zip", "ada", results=[result("check_rally[rt-idle]")])
    assert found(wrong) == []


# --- one row a student ---


def test_a_second_file_for_one_name_changes_nothing_by_itself(tmp_path):
    """The one with the most points counts, whenever it came; another one is for a person."""
    full = graded("z.zip", "Ada", marks=[mark("edges", 2)])
    empty = graded("a.zip", "ada", marks=[mark("edges", 0)], handed_in=NOON + timedelta(days=1))
    broken = graded("b.zip", refused="no zip file", handed_in=NOON + timedelta(days=2))
    for order in ([full, empty, broken], [broken, empty, full]):
        row = next(one for one in marked(order, {}, LAB) if one.graded == full)
        assert (row.points, row.others) == (2, [empty])
        (second,) = row.seconds
        assert (second.file, second.words) == ("a.zip", "a second file: z.zip counts")
    # of equal ones the older, and what is in doubt after what is not
    same = empty.model_copy(update={"report": full.report})
    assert marked([same, full], {}, LAB)[0].graded == full
    doubt = [result("check_rally[rt-idle]", in_doubt=True)]
    strange = graded("c.zip", "ada", marks=[mark("edges", 9)], results=doubt)
    assert marked([strange, full], {}, LAB)[0].graded == full
    # in one folder of a platform they are one person's
    hers = "Ada_1_assignsubmission_file_"
    moved = [one.model_copy(update={"file": f"{hers}/{one.file}"}) for one in (empty, full, broken)]
    (ada,) = marked(moved, {}, LAB)
    assert ada.graded == moved[1]
    # a person decides otherwise
    write_decisions(tmp_path, [second], {})
    path = tmp_path / "decisions.toml"
    for decided, counts, left in (("none", full, 0), ("give", empty, 0)):
        path.write_text(re.sub("decision = .*", f'decision = "{decided}"', path.read_text()))
        (row,) = marked([full, empty], {}, LAB, None, read_decisions(tmp_path))
        assert (row.graded, len(row.seconds)) == (counts, left)


@pytest.mark.parametrize(
    ("hers", "his"),
    [
        ("Ada_1_assignsubmission_file_/x.zip", "Bob_2_assignsubmission_file_/x.zip"),
        ("ada_1_11_x.zip", "bob_2_22_x.zip"),
        ("Ada/x.zip", "Bob/x.zip"),
    ],
)
def test_a_file_in_anothers_name_is_a_finding_about_that_file_alone(hers, his):
    """With the other's own balls, too: it takes nothing away, and brings nothing."""
    about = {"marks": [mark("edges", 2)], "rallies": {"rt-idle": "x"}}
    own, strange = graded(hers, "Ada", **about), graded(his, "Ada", **about)
    rows = {row.graded.file: row for row in marked([own, strange], {}, LAB)}
    assert (rows[hers].points, rows[hers].status) == (2, "marked")
    if his in rows:
        assert rows[his].status == "withheld"
    ((file, words),) = found(own, strange)
    assert (file, words.casefold()) == (his, "its name: it names ada, and came from bob")


@pytest.mark.parametrize("listed", [False, True])
def test_an_empty_file_in_anothers_name_lowers_no_mark(tmp_path, listed):
    """In a plain folder: the terminal says it, and the table of a class list has Ada's points."""
    ada = make_work(tmp_path / "ada", LAB, "Ada")
    none = {rally.name: None for rally in LAB.rallies}
    other = make_work(tmp_path / "other", LAB, "Ada", rallies=none, answers={"edges": 1})
    (tmp_path / "in").mkdir()
    for when, (name, made) in enumerate({"ada": ada, "b-newer": other}.items()):
        path = zipped(made, tmp_path / "in" / f"{name}.zip")
        os.utime(path, ((NOON + timedelta(hours=when)).timestamp(),) * 2)
    (tmp_path / "class.csv").write_text("name,moodle\nAda,1\n")
    words = ["--class-list", tmp_path / "class.csv"] if listed else []
    done = run("grade", tmp_path / "in", "--lab", "01", "--no-replay", *words)
    assert done.exit_code == 0, done.output
    assert "a second file: Ada (b-newer.zip): ada.zip counts" in done.output
    assert "decide about 1 second file in" in done.output
    (row,) = rows(tmp_path / "in-marks").items()
    assert (row[1]["file"], row[1]["so_far"], row[1]["other files"]) == (
        *("ada.zip", "5", "b-newer.zip"),
    )
    assert "Ada: b-newer.zip: ada.zip counts" in first_section(tmp_path / "in-marks")


def test_an_earlier_forgery_of_ones_own_is_said_and_withholds_nothing():
    doubt = [result("check_rally[rt-idle]", in_doubt=True)]
    first = graded("a.zip", "ada", results=doubt, rallies={"rt-idle": "x"})
    second = graded("b.zip", "ada", rallies={"rt-idle": "x"}, handed_in=NOON + timedelta(1))
    (one,) = marked([first, second], {}, LAB)
    assert one.status == "marked"
    assert [finding.file for finding in one.findings] == ["a.zip"]


def test_a_line_that_would_be_ignored_is_an_error(tmp_path):
    head = '[[finding]]\nfile = "a.zip"\nsha256 = "x"\nabout = "y"\n'
    (tmp_path / "decisions.toml").write_text(f'{head}decison = "give"\n')
    with pytest.raises(UsageError, match=r"decisions\.toml: decison is unknown: write decision"):
        read_decisions(tmp_path)
    (tmp_path / "decisions.toml").write_text(head.replace("finding", "findings"))
    with pytest.raises(UsageError, match="findings is unknown: write finding"):
        read_decisions(tmp_path)
    (tmp_path / "marks.toml").write_text('["a.zip"]\ncoment = "x"\n')
    with pytest.raises(UsageError, match="coment: no question: write comment"):
        mark_sheet.read_sheet(tmp_path, LAB)


def test_one_name_in_two_forms_of_unicode_does_not_end_marking(tmp_path):
    """Both files lie in one folder; the sheet is read again, and nothing is added twice."""
    (tmp_path / "in").mkdir()
    for form in ("NFC", "NFD"):
        name = unicodedata.normalize(form, "ö.zip")
        (tmp_path / "in" / name).write_bytes(hand_in_of(f"student {form}", minutes=7))
    sheet = tmp_path / "in-marks/marks.toml"
    done = run("grade", tmp_path / "in", "--lab", "01", "--no-replay")
    assert done.exit_code == 0, done.output
    first = sheet.read_text()
    assert len(tomllib.loads(first)) == 2
    sheet.write_text(re.sub(r'(?m)^edges = ""', "edges = 1", first))
    before = sheet.read_text()
    for _ in range(2):
        done = run("grade", tmp_path / "in", "--lab", "01", "--no-replay")
        assert done.exit_code == 0, done.output
        assert sheet.read_text() == before
    # what nobody could read again is not written
    with pytest.raises(TennisError, match=r"marks\.toml was not written: it is not TOML"):
        write_readable(sheet, b"[a]\n[a]\n")
    assert sheet.read_text() == before
    # written in another form, it is the same entry, and a second one is an error
    people = mark_sheet.read_sheet(tmp_path / "in-marks", LAB)
    sheet.write_text(unicodedata.normalize("NFD", before))
    assert mark_sheet.read_sheet(tmp_path / "in-marks", LAB) == people
    entry = '["ö.zip"]\ncomment = ""\n'
    sheet.write_text(entry + unicodedata.normalize("NFD", entry))
    with pytest.raises(UsageError, match="is there twice: take one of them out"):
        mark_sheet.read_sheet(tmp_path / "in-marks", LAB)


def test_a_name_has_one_form_everywhere():
    """Letters of full width, as Japanese keyboards write them, capitals, and accents apart."""
    forms = ("Ada Lövelace", "ADA LÖVELACE", "\uff21\uff44\uff41 Lövelace", "Ada  Lo\u0308velace")
    assert {folded(name) for name in forms} == {"ada lövelace"}
    assert len({work.seed_of(LAB, name) for name in forms}) == 1


@pytest.mark.parametrize(
    "line",
    [
        f"number = 0x{'f' * 5000}",
        f"members = [{{name = 'x', number = 0x{'f' * 5000}}}]",
        f"seed = 0x{'f' * 5000}",
        f"seed = {'9' * 5000}",
    ],
    ids=["number", "member", "seed", "decimal"],
)
def test_a_number_without_an_end_is_refused_and_the_others_are_marked(tmp_path, line):
    text = f'lab = "{LAB.slug}"\nstudent = "eve"\nminutes = 1\n{line}\n[answers]\n'
    (tmp_path / "in").mkdir()
    (tmp_path / "in/eve.zip").write_bytes(packed({"answers.toml": text.encode()}))
    (tmp_path / "in/ada.zip").write_bytes(hand_in_of("ada"))
    done = run("grade", tmp_path / "in", "--lab", "01", "--no-replay")
    assert done.exit_code == 0, done.output
    table = rows(tmp_path / "in-marks")
    assert table["eve"]["status"] == "refused"
    assert "a number" in table["eve"]["refused"]
    assert table["ada"]["status"] == "first look"


def test_late_rules_are_the_platforms_now(tmp_path):
    """What earlier versions kept is refused in one line that says what to use."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in/ada.zip").write_bytes(hand_in_of("ada"))
    words = ("grade", tmp_path / "in", "--lab", "01", "--no-replay")
    assert run(*words, "--boards").exit_code == 0
    rules = tmp_path / "in-marks/rules.toml"
    assert read_rules(rules.parent) == ClassRules(boards=True)  # kept
    for line, said in (
        (
            'zone = "UTC"\nlate_days = 3',
            "late_days, zone: remove that line; your learning platform",
        ),
        ("bords = true", "bords is unknown: write boards"),
        ('boards = "x"', "boards: Input should be a valid boolean"),
    ):
        rules.write_text(f"{line}\n")
        done = run(*words)
        assert done.exit_code != 0
        assert said in str(done.exception)


# --- points of a person ---


def test_half_points_are_points(tmp_path):
    sheet = tmp_path / "marks.toml"
    for written, points in (("1.5", 1.5), ('"1,5"', 1.5), ('"1½"', 1.5), ("2", 2), ('"0.5"', 0.5)):
        sheet.write_text(f'["a.zip"]\naverage = {written}\n')
        assert mark_sheet.read_sheet(tmp_path, LAB)["a.zip"].points == {"average": points}
    for written, said in (
        ("1.3", "write whole or half points"),
        ("2.5", "write 0 to 2 points"),
        ("-1", "write whole or half points"),
        ("true", "write whole or half points"),
        ('"a"', "write whole or half points"),
        ('""\nhistogramm = 1', "no question: write histogram"),
        ('""\nit_counts = true', 'write "give" beside the second file in decisions.toml'),
        ('""\ndays_late = 1', "there are no late rules now: remove that line"),
    ):
        sheet.write_text(f'["a.zip"]\naverage = {written}\n')
        with pytest.raises(UsageError, match=said):
            mark_sheet.read_sheet(tmp_path, LAB)


def test_the_sheet_holds_the_answer_that_is_to_be_marked(tmp_path):
    long = "word " * 2000
    answers = {
        "average": "The median.\n\n[x]\n\"\"\"'''\x1b[2J and\tthe maximum",
        "histogram": long,
        "edges": 7740,
    }
    marks = [mark("edges", 2), mark("average", None), mark("histogram", None, 3)]
    one = graded("a.zip", "ada", answers=answers, marks=marks)
    mark_sheet.write_sheet(tmp_path, LAB, [one], {})
    text = (tmp_path / "marks.toml").read_text()
    assert tomllib.loads(text) == {"a.zip": {"average": "", "histogram": "", "comment": ""}}
    assert '# average, the answer:\n#   The median.\n#\n#   [x]\n#   """' in text
    assert "\x1b" not in text
    assert f"({len(long) - 4000:,} characters more: feedback/{one.key}.html)" in text
    assert max(map(len, text.partition('["a.zip"]')[2].splitlines())) < 110
    assert "7740" not in text.partition('["a.zip"]')[2]


def test_what_nobody_has_read_is_no_zero():
    half = graded("a.zip", "ada", marks=[mark("edges", 2), mark("average", None)])
    whole = graded("b.zip", "bob", marks=[mark("edges", 0), mark("average", 1)])
    (a, b) = marked([half, whole], {}, LAB)
    assert (a.points, a.so_far, a.status) == (None, 2, "open")
    assert (b.points, b.status) == (1, "marked")
    (c,) = marked([half], {"a.zip": mark_sheet.Person({"average": 0.5}, "")}, LAB)
    assert (c.points, c.status) == (2.5, "marked")


# --- this machine ---


def test_whose_fault_it_is():
    def chained(error: Exception, cause: Exception) -> Exception:
        error.__cause__ = cause
        return error

    machine = [
        BenchError("no QEMU"),
        DiskFullError("full"),
        MemoryError(),
        OSError(errno.ENOSPC, "no space"),
        chained(Inconclusive("x"), BenchError("a box could not start")),
    ]
    assert all(map(is_of_this_machine, machine))
    theirs = [NotBuiltError("racquet.c:1"), UsageError("x"), OSError(errno.EINVAL, "x")]
    theirs += [chained(Inconclusive("x"), NotBuiltError("y")), ValueError("x")]
    assert not any(map(is_of_this_machine, theirs))


@pytest.mark.xdist_group("later")
def test_a_full_disk_is_no_zero_and_the_same_command_does_it_again(tmp_path):
    """A real one: a file system of 64 kB where hand-ins are unpacked."""
    (tmp_path / "in").mkdir()
    zipped(make_work(tmp_path / "w", LAB, "zoe"), tmp_path / "in/zoe.zip")
    (tmp_path / "bad.zip").write_bytes(b"no zip")
    (tmp_path / "bad.zip").rename(tmp_path / "in/bad.zip")
    small = tmp_path / "small"
    small.mkdir()
    tennis = [sys.executable, "-c", "from tennis.cli import main; main()"]
    command = [*tennis, "grade", "in", "--lab", "01", "--no-replay"]
    mount = f"mount -t tmpfs -o size=64k tmpfs {shlex.quote(str(small))} && exec"
    own = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    done = run_to_end(
        ["unshare", "--mount", *own, "sh", "-c", f"{mount} {shlex.join(command)}"],
        cwd=tmp_path,
        env={**os.environ, "TMPDIR": str(small)},
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert re.search("later: .*No space left on device.*zoe.zip", done.stdout), done.stdout
    assert "cost nobody a point: correct the causes above, then use the same" in done.stderr
    table = rows(tmp_path / "in-marks")
    assert (table["zoe"]["status"], table["zoe"]["points"]) == ("later", "")
    assert "No space left" in table["zoe"]["refused"]
    assert table["bad"]["status"] == "refused"
    assert "Not checked: this machine could not" in first_section(tmp_path / "in-marks")
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    zoe = rows(tmp_path / "in-marks")["zoe"]
    assert (zoe["status"], zoe["so_far"]) == ("open", "5")


def test_a_worker_that_dies_and_a_fault_of_the_grader_are_for_later(tmp_path, monkeypatch):
    file = zipped(make_work(tmp_path / "w", LAB, "zoe"), tmp_path / "zoe.zip")
    dies = tmp_path / "dies"
    dies.write_text("#!/bin/sh\nkill -KILL $$\n")
    dies.chmod(0o755)
    with monkeypatch.context() as patched:
        patched.setattr(sys, "executable", str(dies))
        judged = grading.judged(file, LAB, plays=None)
    assert f"ended by signal {int(signal.SIGKILL)}" in judged.later
    assert not judged.refused
    assert not judged.final
    with monkeypatch.context() as patched:
        patched.setattr(hand_in, "unpack", lambda *_: 1 / 0)
        judged = grading.judged(file, LAB, plays=None)
    assert "ZeroDivisionError" in judged.later
    with monkeypatch.context() as patched:
        patched.setattr("tempfile.tempdir", str(tmp_path / "gone"))
        assert "No such file" in grading.judged(file, LAB, plays=None).later


def test_a_check_that_this_machine_could_not_run_is_run_again():
    waits = result("check_notebook", "inconclusive", later=True, message="no box here")
    one = graded("a.zip", "ada", results=[waits], marks=[mark("edges", 2)])
    (row,) = marked([one], {}, LAB)
    assert (row.status, row.points) == ("later", None)
    by_hand = {"a.zip": mark_sheet.Person({"edges": 1.5}, "")}
    assert marked([one], by_hand, LAB)[0].points == 1.5  # a person need not wait for a machine
    assert one.waits == ["the notebook, run again: no box here"]
    assert not grading.Judged(report=one.report).final


def test_what_failed_while_the_kernel_ended_processes_is_not_the_boxs_fault(tmp_path, monkeypatch):
    """The kernel's count is made up: no test fills this machine's memory."""
    counts = iter([3, 4, 4, 4])
    monkeypatch.setattr(box, "oom_kills", lambda: next(counts))
    words = (["/bin/sh", "-c", "exit 1"], tmp_path, [], {}, {}, 20.0)
    with pytest.raises(BenchError, match=r"ran out of memory meanwhile.*grade fewer"):
        box.run(*words)
    assert box.run(*words).code == 1


def test_the_kernel_counts_what_it_ended(tmp_path):
    assert box.oom_kills() >= 0
    assert box.oom_kills(tmp_path) == 0
    (tmp_path / "vmstat").write_text("pgfault 12\noom_kill 7\n")
    assert box.oom_kills(tmp_path) == 7


def test_a_build_that_took_too_long_is_no_compile_error(tmp_path, monkeypatch):
    """How the box ends is made up; the next time it is asked again."""
    source = tmp_path / "racquet.c"
    source.write_text(f"/* {tmp_path} */\n")
    late = box.Ended(None, "it did not end within 300 s", "")
    ends = [
        *(late, late),  # a small module is not built either
        box.Ended(2, "", "racquet.c:1:1: error: nothing here\n"),
    ]
    monkeypatch.setattr(own_module.box, "run", lambda *_: ends.pop(0))
    kernel = catalogue.find("mainline")
    with pytest.raises(BenchError, match="could not be built here: it did not end") as caught:
        own_module.build(source, kernel)
    assert is_of_this_machine(caught.value)
    assert own_module.build(source, kernel).errors == ["racquet.c:1: nothing here"]
    with pytest.raises(NotBuiltError):
        own_module.built(source, kernel)


def test_integrity_words_are_bounded():
    one = graded("a.zip", "ada", results=[result("check_x", in_doubt=True, message="x" * 999)])
    assert len(integrity.findings([one], LAB, set())[0].found) <= 300
