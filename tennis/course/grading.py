# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Mark a class: every hand-in is unpacked, checked and reported, each in a process of its own.

What is found out about a hand-in is kept beside its SHA-256 and that of the checks: grading again
reads it, and only what changed is checked again. Points that a person gave are in the mark sheet,
which nothing here overwrites.
"""

import hashlib
import json
import os
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path, PurePath

from pydantic import BaseModel, ValidationError

from tennis.course import checking, hand_in
from tennis.course.labs import LABS, Lab
from tennis.course.solutions import CHECKS, SOLUTION, load_solution
from tennis.course.work import NOTEBOOK_PDF
from tennis.digests import sha256_of
from tennis.errors import TennisError, UsageError
from tennis.listener import say
from tennis.rally.disk import write_whole, writing
from tennis.rally.edited import EditedError, toml_of
from tennis.rally.text import plain

SHEET = "marks.toml"
RESULTS = "results"
PDFS = "notebooks"  # as they were handed in
WORKERS_MAX = 256  # hand-ins at once
ARCHIVES = (".zip", ".7z", ".rar", ".tar", ".gz", ".tgz", ".bz2", ".xz", ".zst")
COMMON_MIN = 2  # so many with the same wrong answer


class Graded(BaseModel):
    """What is known of one file that was handed in."""

    file: str
    sha256: str
    checks_sha256: str
    student: str
    late: bool = False
    refused: str = ""  # why it is no hand-in
    notes: list[str] = []
    report: checking.Report | None = None

    @property
    def key(self) -> str:
        """Return what names files about it: two files may hold the same."""
        return _key(self.sha256, self.file)


@dataclass(frozen=True)
class Judged:
    """What was found out about a hand-in, on whatever machine."""

    refused: str = ""
    notes: list[str] = field(default_factory=list)
    report: checking.Report | None = None
    pdf: bytes | None = None  # the notebook as it was handed in; the student made it
    final: bool = True  # False: another try may find out more


@dataclass(frozen=True)
class Person:
    """What a person gave: points of a question, and words for the student."""

    points: dict[str, int]
    comment: str


@dataclass(frozen=True)
class Marked:
    """A hand-in with all points that are known."""

    graded: Graded
    person: Person

    @property
    def by_question(self) -> dict[str, int | None]:
        """Return the points of each question; None: a person has still to read it."""
        marks = self.graded.report.marks if self.graded.report else []
        return {mark.question: self.person.points.get(mark.question, mark.points) for mark in marks}

    @property
    def points(self) -> int:
        """Return the points so far."""
        return sum(points or 0 for points in self.by_question.values())

    @property
    def open(self) -> list[str]:
        """Return the questions that still need a person."""
        return [question for question, points in self.by_question.items() if points is None]


def files(submissions: Path) -> list[Path]:
    """Return the hand-ins of a folder, and of the folders in it; some are of a kind to be refused.

    A learning platform makes a folder for each student. Raises UsageError where there are none.
    """
    if not submissions.is_dir():
        raise UsageError(f"{submissions} is no folder", next_step="name the one with the zip files")
    found = []
    for path in sorted(submissions.iterdir()):
        if not path.is_dir() or path.is_symlink():
            found += _hand_ins([path])
        elif not path.name.startswith((".", "__")):
            inside = sorted(path.iterdir())
            # a folder that lies there unpacked is refused, not forgotten
            answers = [one for one in inside if one.name.lower() in hand_in.ANSWERS_NAMES]
            of_one = _hand_ins(inside) or [one for one in answers if _is_plain(one)][:1]
            if not of_one:
                say(f"left out: {label(path)}, a folder without a zip file")
            found += of_one
    if not found:
        raise UsageError(
            f"{submissions} holds no zip files, nor do the folders in it",
            next_step="name the folder that holds them, or one folder for each student",
        )
    return found


def _hand_ins(paths: Sequence[Path]) -> list[Path]:
    """Return the archives among some files; of other kinds than zip, too: these are refused."""
    named = [
        path
        for path in paths
        if path.name.lower().endswith(ARCHIVES) and not path.name.startswith("._")
    ]
    for path in named:
        if not _is_plain(path):
            say(f"left out: {label(path)}, which is no plain file")
    return [path for path in named if _is_plain(path)]


def _is_plain(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()


def grade(  # noqa: PLR0913 (all of them named)
    paths: Sequence[Path],
    lab: Lab,
    out: Path,
    *,
    root: Path | None = None,
    replays: bool,
    workers: int,
    deadline: datetime | None = None,
    observe: Callable[[int, int, str], None] = lambda *_: None,
    stop: Callable[[], bool] = lambda: False,
) -> list[Graded]:
    """Check hand-ins, ``workers`` at a time; keep what each gives in ``out``.

    One that lies in a folder of ``root`` is called by both names. Raises LabError where the lab's
    solution is wrong, KeyboardInterrupt when told to stop: what was finished stays.
    """
    load_solution(lab)
    checks = checks_sha256(lab, replays=replays)
    judge = partial(judged, lab=lab, replays=replays)
    with writing(out):
        (out / RESULTS).mkdir(parents=True, exist_ok=True)
    done: dict[Path, Graded] = {}
    with ThreadPoolExecutor(WORKERS_MAX) as pool:
        running: dict[Future[Graded], Path] = {}
        waiting = list(paths)
        while waiting or running:
            while waiting and len(running) < min(workers, WORKERS_MAX) and not stop():
                path = waiting.pop(0)
                running[pool.submit(_one, path, label(path, root), out, checks, judge)] = path
            finished, _ = wait(running, timeout=0.2, return_when=FIRST_COMPLETED)
            for future in finished:
                path = running.pop(future)
                done[path] = future.result()
                observe(len(done), len(paths), label(path, root))
            if stop() and not running:
                raise KeyboardInterrupt
    graded = [done[path] for path in paths]
    if deadline is not None:
        graded = [
            one.model_copy(update={"late": _time(path) > deadline})
            for one, path in zip(graded, paths, strict=True)
        ]
    return graded


def label(path: Path, root: Path | None = None) -> str:
    """Return what a file is called in sheets and pages: its name, if people can read that."""
    name = str(path.relative_to(root)) if root is not None else path.name
    if name.isprintable():
        return name
    return f"{plain(name, 80)} {hashlib.sha256(os.fsencode(name)).hexdigest()[:8]}"


def _time(path: Path) -> datetime:
    return datetime.fromtimestamp(path.stat().st_mtime, UTC)


def _one(path: Path, name: str, out: Path, checks: str, judge: Callable[[Path], Judged]) -> Graded:
    """Check one hand-in, or take what is known of it."""
    digest = sha256_of(path)
    kept = out / RESULTS / f"{_key(digest, name)}.json"
    known = _known(kept, name, digest, checks)
    if known is not None:
        return known
    found = judge(path)
    graded = Graded(
        file=name,
        sha256=digest,
        checks_sha256=checks,
        student=found.report.facts.student if found.report else PurePath(name).stem,
        refused=found.refused,
        notes=found.notes,
        report=found.report,
    )
    if not found.final:
        return graded
    if found.pdf is not None:
        pdf = out / PDFS / f"{graded.key}.pdf"
        with writing(pdf):
            pdf.parent.mkdir(exist_ok=True)
            write_whole(pdf, found.pdf, force=True)
    write_whole(kept, (graded.model_dump_json(indent=1) + "\n").encode(), force=True)
    return graded


def judged(path: Path, lab: Lab, *, replays: bool) -> Judged:
    """Unpack and check one hand-in, here; whatever it does, it is judged."""
    notes: list[str] = []
    pdf: bytes | None = None
    with tempfile.TemporaryDirectory(prefix="tennis-grade-") as scratch:
        folder = Path(scratch) / "work"
        try:
            notes = hand_in.unpack(path, folder).notes
            if (folder / NOTEBOOK_PDF).is_file():
                pdf = (folder / NOTEBOOK_PDF).read_bytes()
            report = checking.check(folder, blind=False, replays=replays, lab=lab)
        except TennisError as error:
            why = plain(str(error).replace(f"{folder}/", ""), 300)
        except Exception as error:  # one hand-in must not end the others
            why = plain(f"the grader broke off: {type(error).__name__}: {error}", 300)
        else:
            return Judged("", notes, report, pdf)
    return Judged(why, notes, None, pdf)


def _known(kept: Path, name: str, digest: str, checks: str) -> Graded | None:
    try:
        known = Graded.model_validate_json(kept.read_bytes())
    except (OSError, ValidationError, ValueError):
        return None
    if (known.file, known.sha256, known.checks_sha256) != (name, digest, checks):
        return None
    return known


def _key(sha256: str, file: str) -> str:
    """Return a name of which nothing is a student's own words."""
    return f"{sha256[:16]}-{hashlib.sha256(file.encode()).hexdigest()[:8]}"


def checks_sha256(lab: Lab, *, replays: bool) -> str:
    """Return what a result depends on besides the hand-in: the lab, its checks and solution."""
    here = Path(__file__).parent
    own = [LABS / lab.slug / name for name in ("lab.toml", SOLUTION, CHECKS, *lab.files)]
    code = [checking.COMMON, here / "check_plugin.py", here / "checking.py", here / "checks.py"]
    code += [here / name for name in ("module_trial.py", "hand_in.py", "work.py")]
    code += [here / name for name in ("choices.py", "predictions.py", "written_numbers.py")]
    digest = hashlib.sha256(repr(replays).encode())
    for path in (*own, *code):
        digest.update(path.read_bytes() if path.is_file() else b"none")
    return digest.hexdigest()


# --- what a person gives ---


def read_sheet(out: Path, lab: Lab) -> dict[str, Person]:
    """Read the mark sheet, by file. Raises UsageError where somebody broke it: it is kept."""
    path = out / SHEET
    if not path.is_file():
        return {}
    try:
        content = toml_of(path.read_bytes())
    except EditedError as error:
        raise UsageError(f"{path} {error}", next_step=error.next_step) from error
    limits = {question.id: question.points for question in lab.questions}
    people: dict[str, Person] = {}
    for file, entries in content.items():
        if not isinstance(entries, dict):
            raise UsageError(f"{path}: {plain(file, 60)} is no table")
        points = {}
        for name, value in entries.items():
            if name == "comment" or value == "":
                continue
            if name not in limits or isinstance(value, bool) or not isinstance(value, int):
                raise UsageError(f"{path}: {plain(file, 60)}: {plain(name, 40)}: whole points")
            if not 0 <= value <= limits[name]:
                raise UsageError(f"{path}: {plain(file, 60)}: {name}: 0 to {limits[name]} points")
            points[name] = value
        people[file] = Person(points, plain(str(entries.get("comment", "")), 2000))
    return people


def write_sheet(out: Path, lab: Lab, graded: Sequence[Graded], people: dict[str, Person]) -> None:
    """Add what is new to the mark sheet; what a person wrote stays, word for word."""
    path = out / SHEET
    before = path.read_bytes() if path.is_file() else _sheet_head(lab).encode()
    new = [one for one in graded if one.report and one.file not in people]
    if not new and path.is_file():
        return
    text = ""
    for one in new:
        assert one.report is not None  # noqa: S101
        text += f"\n[{json.dumps(one.file, ensure_ascii=False)}]  # {plain(one.student, 60)}\n"
        for mark in one.report.open:
            why = "" if mark.why == "a person reads it" else f"; {plain(mark.why, 100)}"
            text += f'{mark.question} = ""  # of {mark.of}{why}\n'
        text += 'comment = ""\n'
    end = b"\r\n" if b"\r\n" in before else b"\n"  # as the editor of that person ends lines
    whole = before.rstrip(b"\r\n") + end + text.encode().replace(b"\n", end)
    write_whole(path, whole, force=True)


def _sheet_head(lab: Lab) -> str:
    lines = [
        f"# Lab {lab.number}, {lab.title}: points that a person gives. Put a whole number in place",
        '# of "", then run `tennis grade` again. A number for any question counts, also where the',
        "# checks had another. Nothing that you write here is overwritten.",
    ]
    solution = load_solution(lab)
    for question in lab.questions:
        answer = solution.of(question.id) if solution else None
        lines += [
            f"# {question.id}, {criterion.points}: {' '.join(criterion.text.split())}"
            for criterion in (answer.rubric if answer else ())
        ]
    return "\n".join(lines) + "\n"


def marked(graded: Sequence[Graded], people: dict[str, Person]) -> list[Marked]:
    """Put the checks' points and a person's together."""
    nobody = Person({}, "")
    return [Marked(one, people.get(one.file, nobody)) for one in graded]


# --- what is seen only across hand-ins ---


def equals(graded: Sequence[Graded]) -> list[str]:
    """Return what is the same in two hand-ins and should not be, in words."""
    found: dict[tuple[str, str], list[Graded]] = defaultdict(list)
    for one in graded:
        if one.report is not None:
            for name, digest in one.report.facts.rallies.items():
                found[f"the balls of {name}", digest].append(one)
            for name, digest in one.report.facts.texts.items():
                found[f"the words of {name}", digest].append(one)
            for name, digest in one.report.facts.files.items():
                found[f"the code of {name}", digest].append(one)
        found["the whole file", one.sha256].append(one)
    whole = {
        frozenset(one.file for one in group)
        for (what, _), group in found.items()
        if what == "the whole file" and len(group) > 1
    }
    return [
        f"{what}: {', '.join(f'{one.student} ({one.file})' for one in group)}"
        for (what, _), group in found.items()
        if len(group) > 1
        and (what == "the whole file" or frozenset(one.file for one in group) not in whole)
    ]


def common_wrong(graded: Sequence[Graded], lab: Lab) -> Iterator[tuple[str, str, int]]:
    """Yield wrong answers that several gave: question, answer, how many; the most common first."""
    wrong: Counter[tuple[str, str]] = Counter()
    short = {question.id for question in lab.questions if question.kind in {"number", "choice"}}
    for one in graded:
        for mark in one.report.marks if one.report else []:
            answers = one.report.facts.answers if one.report else {}
            if mark.points == 0 and mark.question in short & set(answers):
                wrong[mark.question, plain(str(answers[mark.question]), 40)] += 1
    for (question, answer), times in wrong.most_common(20):
        if times >= COMMON_MIN:
            yield question, answer, times
