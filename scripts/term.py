#!/usr/bin/env python3
"""A term in a box: a made-up class of ten hands in lab 1, and a lecturer sees what marking is.

    term.py OUT     a new folder, outside of this tree

Names and texts are made up. All else is real: the commands that OUT/index.html shows made the
students' tree, rallies, hand-ins, marks and tables. Sixteen kinds of trouble are in the hand-ins,
and the page quotes what `tennis grade` said of each.
"""

import csv
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # for tests.support

from tennis.course import load_lab, work
from tennis.course.lab_files import load_solution
from tennis.grading.judged import Graded
from tennis.kit.checkout import ROOT
from tennis.kit.errors import TennisError, UsageError
from tennis.kit.share import processors
from tennis.report.pages.templates import template
from tests.support.hand_ins import make_work

TENNIS = Path(sys.executable).with_name("tennis")
LAB = load_lab("01-first-serve")
TEXTS = ("average", "histogram")
RALLIES = [rally.name for rally in LAB.rallies]
NUMBERS = range(1, 11)
# a student's number, what is wrong, and the words by which `tennis grade` says so
TROUBLE = (
    (2, "a wrong number", "9,160 ns is not the number"),
    (3, "a question without an answer", "there is no answer yet"),
    (3, "a rally that is missing", "it is not there"),
    (4, "a rally with too few balls", "100 balls, but the lab asks"),
    (4, "a rally with another kernel", "its kernel is mainline, not rt"),
    (5, "a rally with a seed of nobody's", "nobody in this class has it"),
    (5, "a manifest that was edited", "was altered after the rally was sealed"),
    (6, "somebody else's rallies", "it is the seed of student 01"),
    (6, "somebody else's words", "the words of average: .*student 06"),
    (7, "quotation marks of a word processor", "a quotation mark of a"),
    (7, "a second file, packed again on a Mac", "a second file: student 07"),
    (8, "a file that names another student", "another file counts: .*it names student 01"),
    (8, "a notebook that does not run", "ZeroDivisionError"),
    (9, "a file that unpacks to 70 MB", "unpacks to more than 64 MB"),
    (9, "an archive of another kind", "pack the student's whole folder"),
    (10, "nothing handed in", "no hand-in is this student's"),
)
PAGE = Path(__file__).with_name("term.html.j2")


def name_of(number: int) -> str:
    """Return the name of a student who does not exist."""
    return f"student {number:02}"


class Term:
    """A folder with a made-up term, and what commands printed for its page."""

    def __init__(self, out: Path) -> None:
        self.out = out.resolve()
        self.said: dict[str, str] = {}

    def run(self, *words: object, keep: str = "") -> None:
        """Run ``tennis`` in the folder; keep what it printed as ``keep``. Raises TennisError."""
        command = [str(TENNIS), *map(str, words)]
        done = subprocess.run(command, cwd=self.out, capture_output=True, text=True, check=False)
        if done.returncode:
            raise TennisError(f"tennis {' '.join(command[1:])}: {done.stderr[-1000:]}")
        if keep:
            self.said[keep] = f"$ tennis {' '.join(command[1:])}\n{done.stdout}"

    def sent_by(self, number: int) -> Path:
        """Return the folder that Moodle makes of what a student sent."""
        folder = f"{name_of(number)}_{100 + number}_assignsubmission_file_"
        return self.out / "submissions" / folder

    def student(
        self,
        number: int,
        plays: Mapping[str, Mapping[str, object] | None] | None = None,
        then: Callable[[Path], None] | None = None,
        **answers: Any,
    ) -> Path:
        """Do lab 1 and hand it in; return the folder.

        ``plays``: other options of some rallies, or None for one that is not played. ``then``
        alters the folder, which is packed by hand.
        """
        texts = {one: text_of(one, number) for one in TEXTS}
        folder, none = self.out / "work" / f"{number:02}", dict.fromkeys(RALLIES)
        make_work(folder, LAB, name_of(number), answers={**texts, **answers}, rallies=none)
        for rally in LAB.rallies:
            other = (plays or {}).get(rally.name, {})
            if other is None:
                continue
            options = {"kernel": rally.kernel, "balls": rally.balls}
            options |= {"seed": work.seed_of(LAB, name_of(number)), **other}
            words = [word for name, value in options.items() for word in (f"--{name}", value)]
            self.run("rally", *words, "--out", folder / rally.name)
        self.sent_by(number).mkdir(parents=True)
        place = self.sent_by(number) / "lab-01.zip"
        if then is None:
            self.run("lab", "submit", "01", "--in", folder, "--out", place, "--partial")
        else:
            then(folder)
            pack(folder, place)
        return folder

    def copy_rallies(self, folder: Path) -> None:
        """Take the rallies of the first student."""
        for name in RALLIES:
            shutil.copytree(self.out / "work/01" / name, folder / name)

    def hand_in(self, number: int) -> None:
        """Let a student hand in what the table of troubles says."""
        place = self.sent_by(number)
        if number == 2:
            self.student(2, edges=9160)
        elif number == 3:
            self.student(3, {"rt-idle": None}, bound=None)
        elif number == 4:
            self.student(4, {"mainline-idle": {"balls": 100}, "rt-idle": {"kernel": "mainline"}})
        elif number == 5:
            self.student(5, {"mainline-idle": {"seed": 2}, "rt-idle": {"seed": 3}}, claim_seed)
        elif number == 6:
            own = {one: text_of(one, 1) for one in TEXTS}  # words and rallies of the first one
            self.student(6, dict.fromkeys(RALLIES), self.copy_rallies, **own)
        elif number == 7:
            folder = self.student(7)
            pack(folder, place / "again.zip", below="lab")
            answers = (folder / work.ANSWERS).read_text()
            only(place / "a-first-try.zip", answers.replace('student = "', "student = “"))
        elif number == 8:
            said = f"<script>alert('hello')</script> {text_of('average', 8)}"
            folder = self.student(8, then=break_notebook, average=said)
            answers = (folder / work.ANSWERS).read_text()
            only(place / "for-a-friend.zip", answers.replace(name_of(8), name_of(1)))
        elif number == 9:
            place.mkdir(parents=True)
            only(place / "lab.zip", " " * (70 << 20))
            (place / "lab.rar").write_bytes(b"Rar!\x1a\x07\x01" + bytes(300))
        else:
            self.student(number)


def text_of(question: str, number: int) -> str:
    """Return a text as a student may write it: some sentences of the sample answer."""
    solution = load_solution(LAB)
    known = solution.of(question) if solution else None
    sample = known.sample if known else None
    parts = re.split(r"(?<=\.)\s+", (sample or "").strip())
    return " ".join([*parts[: 1 + number % len(parts)], f"(As number {number} understood it.)"])


def pack(folder: Path, place: Path, below: str = "") -> None:
    """Pack a folder as a system's file manager does: all of it, unchecked."""
    with zipfile.ZipFile(place, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            archive.write(path, Path(below, path.relative_to(folder)))
        if below:
            archive.writestr("__MACOSX/._lab", b"\0\5\26\7")


def only(place: Path, answers: str) -> None:
    """Pack a file of answers alone."""
    with zipfile.ZipFile(place, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(work.ANSWERS, answers)


def claim_seed(folder: Path) -> None:
    """Write one's own seed into the manifest of a rally with another one."""
    manifest, own = folder / "mainline-idle/manifest.json", work.read(folder, LAB).seed
    manifest.write_text(manifest.read_text().replace('"seed": 2,', f'"seed": {own},'))


def break_notebook(folder: Path) -> None:
    """Let the first cell divide by zero."""
    notebook, cell = folder / work.NOTEBOOK, "{code-cell} ipython3\n"
    notebook.write_text(notebook.read_text().replace(cell, f"{cell}1 / 0\n", 1))


def worksheet(path: Path) -> None:
    """Write the class's list as Moodle's grading worksheet has it."""
    head = ("Identifier", "Full name", "Email address", "Status", "Grade", "Maximum grade")
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow((*head, "Last modified (grade)", "Feedback comments"))
        for n in NUMBERS:
            who = (f"Participant {100 + n}", name_of(n), f"{n}@example.org")
            rows.writerow((*who, "Submitted - Not marked", "", f"{LAB.points}.00", "-", ""))


def sign(marks: Path) -> str:
    """Write points and decisions as a teacher would; return the lines that changed."""
    sheet, decisions = marks / "marks.toml", marks / "decisions.toml"
    before = [*sheet.read_text().splitlines(), *decisions.read_text().splitlines()]
    count = iter(range(1000))  # not all alike: who reads gives different points
    empty, text = r'(?m)^(average|histogram) = ""', sheet.read_text()
    sheet.write_text(re.sub(empty, lambda m: f"{m[1]} = {1 + next(count) % 3 / 2}", text))
    text = decisions.read_text()
    for number, word in ((1, "give"), (6, "none")):
        own = rf'(file = "{name_of(number)}_(?:.+\n)*?decision = )""'
        text = re.sub(own, rf'\1"{word}"', text)
    decisions.write_text(text)
    after = [*sheet.read_text().splitlines(), *decisions.read_text().splitlines()]
    return "\n".join(new for old, new in zip(before, after, strict=True) if old != new)


def troubles(term: Term) -> list[dict[str, str]]:
    """Return for each trouble the sentence about it, and its page. Raises TennisError."""
    graded = [
        Graded.model_validate_json(path.read_bytes())
        for path in sorted((term.out / "first/results").iterdir())
    ]
    printed = term.said["first"].splitlines()
    with (term.out / "first/gradebook/students.csv").open(encoding="utf-8-sig") as file:
        printed += [f"{row['student']}: {row['left out']}" for row in csv.DictReader(file)]
    found = []
    for number, what, words in TROUBLE:
        own = [one for one in graded if one.file.startswith(term.sent_by(number).name)]
        said = [(line, one) for one in own for line in (one.refused, *one.notes)]
        said += [(result.message, one) for one in own for result in one.results]
        said += [(line, one) for line in printed for one in own if one.file in line]
        hits = [(line, one) for line, one in said if re.search(words, line)]
        row = {"student": name_of(number), "what": what, "file": "", "page": ""}
        if hits:
            quote, one = hits[0]
            row |= {"file": one.file.rpartition("/")[2], "page": f"first/feedback/{one.key}.html"}
        else:  # nobody's file
            lines = [line for line in printed if re.search(f"{name_of(number)}: {words}", line)]
            if not lines:
                raise TennisError(f"{name_of(number)}: nothing says {words!r} of {what}")
            quote = lines[0]
        found.append(row | {"quote": quote})
    return found


def make(out: Path) -> None:
    """Make the term and its page. Raises TennisError."""
    term = Term(out)
    term.out.mkdir(parents=True)
    term.run("course", "release", "student", "--out", "students-tree", keep="release")
    with ThreadPoolExecutor(processors()) as pool:
        list(pool.map(term.hand_in, [n for n in NUMBERS if n not in (6, 10)]))
    term.hand_in(6)
    worksheet(term.out / "worksheet.csv")
    grade = ["grade", "submissions", "--lab", "01", "--out", "marks"]
    grade += ["--class-list", "worksheet.csv"]
    term.run(*grade, keep="first")
    marks = term.out / "marks"
    shutil.copytree(marks, term.out / "first", ignore=shutil.ignore_patterns("played"))
    changed = sign(marks)
    term.run(*grade, keep="again")

    def table(name: str) -> list[list[str]]:
        with (term.out / name).open(newline="", encoding="utf-8-sig") as file:
            return list(csv.reader(file))

    lab = f"labs/{LAB.slug}"
    names = {path.name for path in (ROOT / lab).iterdir()}
    left_out = sorted(names - {path.name for path in (term.out / "students-tree" / lab).iterdir()})
    page = template("class.html.j2").environment.from_string(PAGE.read_text())
    shown = {"said": term.said, "left_out": left_out, "troubles": troubles(term)}
    (term.out / "index.html").write_text(page.render(**shown, changed=changed, table=table))


def main() -> None:
    """Make the term where the command line says."""
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    out = Path(sys.argv[1])
    try:
        if out.exists():
            raise UsageError(f"{out} exists", next_step="remove it, or name another folder")
        make(out)
    except TennisError as error:
        sys.exit(f"term: {error}")
    print(f"term: {out / 'index.html'}")


if __name__ == "__main__":
    main()
