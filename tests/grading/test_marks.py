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
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner

from tennis.cli import cli
from tennis.course import load_lab, work
from tennis.course.checking import running as checking
from tennis.course.checking.running import is_of_this_machine
from tennis.course.checks import Inconclusive
from tennis.grading import hand_in, judged, pages
from tennis.grading.findings import equals, findings, read_decisions, write_decisions
from tennis.grading.judged import Graded
from tennis.grading.marks import ClassRules, Person, handed_out, marked, read_sheet, write_sheet
from tennis.kit.errors import BenchError, DiskFullError, NotBuiltError, TennisError, UsageError
from tennis.rally import open_rally
from tests.support.hand_ins import make_work, zipped
from tests.support.made_up_class import hand_in_of, packed
from tests.support.processes import run_to_end

LAB = load_lab("01-first-serve")
SEED = {name: work.seed_of(LAB, name) for name in ("ada", "bob")}
NOON = datetime(2026, 12, 1, 12, tzinfo=UTC)
DOUBT = {"in_doubt": True}


def run(*words: str | Path):
    return CliRunner().invoke(cli, list(map(str, words)))


def listed(marks: Path) -> list[dict[str, str]]:
    with (marks / "marks.csv").open(newline="", encoding="utf-8-sig") as file:
        return list(csv.DictReader(file))


def rows(marks: Path) -> dict[str, dict[str, str]]:
    return {row["student"]: row for row in listed(marks)}


def graded(file: str, student: str = "", **about) -> Graded:
    """A hand-in as checks would report it; ``about``: facts, results, marks, or its own fields."""
    facts = {
        "lab": LAB.slug, "student": student, "minutes": 1, "rallies": {}, "texts": {},
        "files": {}, "answers": {},
    }  # fmt: skip
    for name in ("rallies", "seeds", "replayed", "answers"):
        facts |= {name: about.pop(name)} if name in about else {}
    facts["members"] = [{"name": name} for name in about.pop("members", [])]
    report = {"facts": facts, "results": about.pop("results", []), "marks": about.pop("marks", [])}
    settings = {
        "sha256": f"sha of {file}".replace("/", "-"),
        "checks_sha256": "",
        "handed_in": NOON,
        **about,
    }
    report = report if student else None
    return Graded(file=file, student=student or file, report=report, **settings)


def result(check: str, verdict: str = "fail", **about) -> dict[str, object]:
    words = {"question": None, "message": "so it is", "rationale": "", "hint": "", "seconds": 0}
    return {"check": check, "verdict": verdict, **words, **about}


def mark(question: str, points: float | None, of: int = 2) -> dict[str, object]:
    return {"question": question, "points": points, "of": of, "why": ""}


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
    # a mistake is no doubt, and words are bounded
    assert found(graded("a.zip", "ada", results=[result("check_rally[rt-idle]")])) == []
    long = result("check_x", message="x" * 999, **DOUBT)
    assert len(findings([graded("a.zip", "ada", results=[long])], LAB, set())[0].found) <= 300


def test_the_courses_recordings_are_known_by_their_balls(tmp_path):
    make_work(tmp_path / "w", LAB, "zoe")
    folders = [tmp_path / "w" / rally.name for rally in LAB.rallies]
    balls = {open_rally(folder).manifest.files["balls.parquet"] for folder in folders}
    assert set(handed_out(LAB, [tmp_path])) == set(handed_out(LAB, [tmp_path / "w"])) == balls
    with pytest.raises(UsageError, match="holds no rally: name the folder"):
        handed_out(LAB, [tmp_path / "none"])


def test_a_new_finding_waits_for_a_decision_of_its_own(tmp_path):
    one = graded("a.zip", "ada", results=[result("check_rally[rt-idle]", **DOUBT)])
    write_decisions(tmp_path, findings([one], LAB, set()), {})
    path = tmp_path / "decisions.toml"
    path.write_text(path.read_text().replace('decision = ""', 'decision = "GIVE "'))
    decided = read_decisions(tmp_path)
    assert marked([one], {}, LAB, None, decided)[0].status == "marked"
    again = one.model_copy(deep=True)
    strange = checking.Result.model_validate(result("check_honest[rt-idle]", **DOUBT))
    again.report.results.append(strange)
    assert marked([again], {}, LAB, None, decided)[0].status == "withheld"
    # another file of the same name is another hand-in
    other = one.model_copy(update={"sha256": "another"})
    assert marked([other], {}, LAB, None, decided)[0].status == "withheld"
    before = path.read_bytes()
    write_decisions(tmp_path, findings([again], LAB, set()), decided)
    assert path.read_bytes().startswith(before.rstrip())
    assert len(tomllib.loads(path.read_text())["finding"]) == 2


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
    doubt = [result("check_rally[rt-idle]", **DOUBT)]
    strange = graded("c.zip", "ada", marks=[mark("edges", 9)], results=doubt)
    (row,) = marked([strange, full], {}, LAB)
    assert (row.graded, row.status) == (full, "marked")
    assert [finding.file for finding in row.findings] == ["c.zip"]  # said, and withholds nothing
    # in one folder of a platform they are one person's
    hers = "Ada_1_assignsubmission_file_"
    moved = [one.model_copy(update={"file": f"{hers}/{one.file}"}) for one in (empty, full, broken)]
    (ada,) = marked(moved, {}, LAB)
    assert ada.graded == moved[1]
    # a person decides otherwise
    write_decisions(tmp_path, [second], {})
    path = tmp_path / "decisions.toml"
    for decided, counts in (("none", full), ("give", empty)):
        path.write_text(re.sub("decision = .*", f'decision = "{decided}"', path.read_text()))
        (row,) = marked([full, empty], {}, LAB, None, read_decisions(tmp_path))
        assert (row.graded, row.seconds) == (counts, [])


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
    statuses = {row.graded.file: row.status for row in marked([own, strange], {}, LAB)}
    assert statuses.pop(hers) == "marked"
    assert statuses in ({}, {his: "withheld"})
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
    marks = tmp_path / "in-marks"
    ada = rows(marks)["Ada"]
    assert (ada["file"], ada["so_far"], ada["other files"]) == ("ada.zip", "5", "b-newer.zip")
    assert "Ada: b-newer.zip: ada.zip counts" in (marks / "class.html").read_text()


MOODLE = "{}_{}_assignsubmission_file_/x.zip"


@pytest.mark.parametrize("folder", [MOODLE, "{}/x.zip"], ids=["Moodle", "folders"])
def test_each_student_has_one_row(tmp_path, folder):
    """Who was copied, who copied, who is called otherwise, who is a member and came alone, too."""
    (ada, bob, cy, dan) = (
        folder.format(*who) for who in (("Ada", 1), ("Bob", 2), ("Cy", 3), ("Dan", 4))
    )
    marks = [mark("edges", 2)]
    every = [
        graded(ada, "Ada", marks=marks, rallies={"rt-idle": "x"}),
        graded(
            bob, "Ada", marks=marks, rallies={"rt-idle": "x"}
        ),  # the whole of it, in Bob's folder
        graded(cy, "Cy", marks=marks),
        graded(dan, "Cy and Dan", marks=[mark("edges", 1)], members=["Cy", "Dan"]),
    ]
    pages.write(tmp_path, LAB, marked(every, {}, LAB))
    table = [(row["student"], row["file"], row["status"]) for row in listed(tmp_path)]
    statuses = ("marked", "withheld", "marked", "marked")
    assert table == [*zip(("Ada", "Bob", "Cy", "Dan"), (ada, bob, cy, dan), statuses, strict=True)]
    assert rows(tmp_path)["Cy"]["other files"] == dan


def test_a_file_without_the_number_is_that_students():
    """Of one name and no number: nobody gets a second row by it, and twins keep theirs."""

    def numbered(file: str, number: str) -> Graded:
        one = graded(file, "Ada", marks=[mark("edges", 2 if number else 0)])
        one.report.facts.number = number
        return one

    own, bare, twin = numbered("a.zip", "1"), numbered("b.zip", ""), numbered("c.zip", "2")
    (row,) = marked([own, bare], {}, LAB)
    assert (row.graded.file, [second.file for second in row.seconds]) == ("a.zip", ["b.zip"])
    assert len(marked([own, twin], {}, LAB)) == 2
    assert equals([own, twin]) == ["the name, with other numbers: Ada (a.zip), Ada (c.zip)"]


def test_the_sheet_holds_the_answer_that_is_to_be_marked(tmp_path):
    long = "word " * 2000
    answers = {
        "average": "The median.\n\n[x]\n\"\"\"'''\x1b[2J and\tthe maximum",
        "histogram": long,
        "edges": 7740,
    }
    marks = [mark("edges", 2), mark("average", None), mark("histogram", None, 3)]
    one = graded("a.zip", "ada", answers=answers, marks=marks)
    write_sheet(tmp_path, LAB, [one], {})
    text = (tmp_path / "marks.toml").read_text()
    assert tomllib.loads(text) == {"a.zip": {"average": "", "histogram": "", "comment": ""}}
    assert '# average, the answer:\n#   The median.\n#\n#   [x]\n#   """' in text
    assert "\x1b" not in text
    assert f"({len(long) - 4000:,} characters more: feedback/{one.key}.html)" in text
    assert max(map(len, text.partition('["a.zip"]')[2].splitlines())) < 110
    assert "7740" not in text.partition('["a.zip"]')[2]


def test_a_sheet_stays_as_its_editor_saved_it(tmp_path):
    before = b'\xef\xbb\xbf["a.zip"]\r\naverage = 2\r\n'
    (tmp_path / "marks.toml").write_bytes(before)
    people = read_sheet(tmp_path, LAB)
    write_sheet(tmp_path, LAB, [graded("b.zip", "b")], people)
    after = (tmp_path / "marks.toml").read_bytes()
    assert after.startswith(before)
    assert after.count(b"\n") == after.count(b"\r\n")
    assert set(read_sheet(tmp_path, LAB)) == {"a.zip", "b.zip"}


def test_half_points_are_points(tmp_path):
    for written, points in (("1.5", 1.5), ('"1,5"', 1.5), ('"1½"', 1.5), ("2", 2), ('"0.5"', 0.5)):
        (tmp_path / "marks.toml").write_text(f'["a.zip"]\naverage = {written}\n')
        assert read_sheet(tmp_path, LAB)["a.zip"].points == {"average": points}


FINDING = '[[finding]]\nfile = "a.zip"\nsha256 = "x"\nabout = "y"\n'
BROKEN = [
    ("marks", '["a.zip"]\naverage = 1.3', "write whole or half points"),
    ("marks", '["a.zip"]\naverage = -1', "write whole or half points"),
    ("marks", '["a.zip"]\naverage = true', "write whole or half points"),
    ("marks", '["a.zip"]\naverage = "a"', "write whole or half points"),
    ("marks", '["a.zip"]\naverage = 2.5', "write 0 to 2 points"),
    ("marks", '["a.zip"]\nhistogramm = 1', "no question: write histogram"),
    ("marks", '["a.zip"]\ncoment = "x"', "coment: no question: write comment"),
    ("marks", '["ö.zip"]\n["o\u0308.zip"]', "is there twice: take one of them out"),
    ("marks", "average = [", "is not TOML"),
    ("decisions", f'{FINDING}decison = "give"', "decison is unknown: write decision"),
    ("decisions", f'{FINDING}decision = "zero"', 'decision \'zero\': write "give" or "none"'),
    ("decisions", FINDING.replace("finding", "findings"), "findings is unknown: write finding"),
    ("rules", 'zone = "UTC"', "zone is unknown"),
    ("rules", "bords = true", "bords is unknown: write boards"),
    ("rules", 'boards = "x"', "boards: Input should be a valid boolean"),
]


@pytest.mark.parametrize(("name", "text", "said"), BROKEN, ids=[text for _, text, _ in BROKEN])
def test_a_line_that_would_be_ignored_or_misread_is_refused(tmp_path, name, text, said):
    (tmp_path / f"{name}.toml").write_text(f"{text}\n")
    with pytest.raises(UsageError, match=re.escape(said)) as refused:
        {"marks": lambda out: read_sheet(out, LAB), "decisions": read_decisions,
         "rules": ClassRules.read}[name](tmp_path)  # fmt: skip
    assert f"{name}.toml" in str(refused.value)


def test_rules_are_kept_for_the_next_time(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in/ada.zip").write_bytes(hand_in_of("ada"))
    assert run("grade", tmp_path / "in", "--lab", "01", "--no-replay", "--boards").exit_code == 0
    assert ClassRules.read(tmp_path / "in-marks") == ClassRules(boards=True)


@pytest.mark.parametrize("line", ["number = 0x{}", "members = [{{name = 'x', number = 0x{}}}]",
                                  "seed = 0x{}"])  # fmt: skip
def test_a_number_without_an_end_is_refused_and_the_others_are_marked(tmp_path, line):
    line = line.format("f" * 5000)
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


def test_what_nobody_has_read_is_no_zero():
    half = graded("a.zip", "ada", marks=[mark("edges", 2), mark("average", None)])
    whole = graded("b.zip", "bob", marks=[mark("edges", 0), mark("average", 1)])
    (a, b) = marked([half, whole], {}, LAB)
    assert (a.points, a.so_far, a.status) == (None, 2, "open")
    assert (b.points, b.status) == (1, "marked")
    (c,) = marked([half], {"a.zip": Person({"average": 0.5}, "")}, LAB)
    assert (c.points, c.status) == (2.5, "marked")


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
    (tmp_path / "in/bad.zip").write_bytes(b"no zip")
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
    assert "Not checked: this machine could not" in (tmp_path / "in-marks/class.html").read_text()
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
        found = judged._judged(file, LAB, plays=None)
    assert f"ended by signal {int(signal.SIGKILL)}" in found.later
    assert not found.refused
    assert not found.final
    with monkeypatch.context() as patched:
        patched.setattr(hand_in, "unpack", lambda *_: 1 / 0)
        assert "ZeroDivisionError" in judged._judged(file, LAB, plays=None).later
    with monkeypatch.context() as patched:
        patched.setattr("tempfile.tempdir", str(tmp_path / "gone"))
        assert "No such file" in judged._judged(file, LAB, plays=None).later
    with pytest.raises(TennisError, match="were ended after"):
        checking.run_checks(tmp_path / "w", blind=True, limit_s=0.01)


def test_a_check_that_this_machine_could_not_run_is_run_again():
    waits = result("check_notebook", "inconclusive", later=True, message="no box here")
    one = graded("a.zip", "ada", results=[waits], marks=[mark("edges", 2)])
    (row,) = marked([one], {}, LAB)
    assert (row.status, row.points) == ("later", None)
    by_hand = {"a.zip": Person({"edges": 1.5}, "")}
    assert marked([one], by_hand, LAB)[0].points == 1.5  # a person need not wait for a machine
    assert one.waits == ["the notebook, run again: no box here"]
    assert not judged.Judged(report=one.report).final
