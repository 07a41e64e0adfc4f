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
import re
import tempfile
import textwrap
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path, PurePath
from typing import Literal

from pydantic import ValidationError

from tennis.bench.kernels import debugging
from tennis.course import checking, hand_in
from tennis.course.attempts import Attempt, attempts, owner
from tennis.course.deadline import Rules
from tennis.course.graded import Graded, key
from tennis.course.integrity import Decision, Finding, decision, findings
from tennis.course.labs import LABS, Lab
from tennis.course.solutions import CHECKS, SOLUTION, load_solution
from tennis.course.work import NOTEBOOK_PDF, WorkError
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
WHOLE = "the whole file"
ANSWER_MAX = 4000  # characters of an answer in the sheet
ANSWER_COLUMNS = 96
# lines of the sheet that are no question's points
OTHERS = {"comment", "it_counts", "days_late"}
COMMON_MIN = 2  # so many with the same wrong answer


@dataclass(frozen=True)
class Judged:
    """What was found out about a hand-in, on whatever machine."""

    refused: str = ""
    later: str = ""  # why this machine could not: another try may
    notes: list[str] = field(default_factory=list)
    report: checking.Report | None = None
    pdf: bytes | None = None  # the notebook as it was handed in; the student made it

    @property
    def final(self) -> bool:
        """Tell whether another try would find out the same."""
        return not self.later and not any(one.later for one in results_of(self.report))


@dataclass(frozen=True)
class Person:
    """What a person gave: points of a question, and words for the student.

    ``it_counts``: whether this is the hand-in that counts; ``days_late`` in place of the file's.
    """

    points: dict[str, float]
    comment: str
    it_counts: bool | None = None
    days_late: int | None = None


Status = Literal["marked", "open", "withheld", "none", "later", "refused"]


@dataclass(frozen=True)
class Marked:
    """A student's hand-in with all points that are known.

    ``replaced``: earlier hand-ins of the same student. ``lost``: points, for ``days_late``.
    """

    graded: Graded
    person: Person
    replaced: Sequence[Graded] = ()
    findings: Sequence[Finding] = ()
    decision: Decision = "give"
    days_late: int = 0
    lost: float = 0

    @property
    def by_question(self) -> dict[str, float | None]:
        """Return the points of each question; None: a person has still to read it."""
        marks = self.graded.report.marks if self.graded.report else []
        return {mark.question: self.person.points.get(mark.question, mark.points) for mark in marks}

    @property
    def open(self) -> list[str]:
        """Return the questions that still need a person."""
        return [question for question, points in self.by_question.items() if points is None]

    @property
    def status(self) -> Status:
        """Return what becomes of it: points stand only where it is marked, refused or none."""
        if self.graded.refused:
            return "refused"
        if self.graded.report is not None and self.decision != "give":
            return "none" if self.decision == "none" else "withheld"
        if self.graded.waits:
            return "later"
        return "open" if self.open else "marked"

    @property
    def so_far(self) -> float:
        """Return the points that are known, less those lost for being late."""
        if self.decision == "none":
            return 0
        known = sum(points or 0 for points in self.by_question.values())
        return max(0, round(known - self.lost, 2))

    @property
    def points(self) -> float | None:
        """Return the points that stand; None as long as somebody, or a machine, has to see to it.

        No zero stands here for what nobody has judged.
        """
        return self.so_far if self.status in {"marked", "none", "refused"} else None


def results_of(report: checking.Report | None) -> list[checking.Result]:
    """Return the results of a report, if there is one."""
    return report.results if report else []


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
    return [done[path].model_copy(update={"handed_in": _time(path)}) for path in paths]


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
    kept = out / RESULTS / f"{key(digest, name)}.json"
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
        later=found.later,
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
    """Unpack and check one hand-in, here; whatever it does, it is judged.

    Refused for good is only what is no hand-in. What failed otherwise is for later: this machine
    may have had no room, no memory, no kernel, or a fault of its own.
    """
    notes: list[str] = []
    pdf: bytes | None = None
    try:
        with tempfile.TemporaryDirectory(prefix="tennis-grade-") as scratch:
            folder = Path(scratch) / "work"
            try:
                notes = hand_in.unpack(path, folder).notes
                if (folder / NOTEBOOK_PDF).is_file():
                    pdf = (folder / NOTEBOOK_PDF).read_bytes()
                report = checking.check(folder, blind=False, replays=replays, lab=lab)
            except WorkError as error:
                return Judged(refused=plain(str(error).replace(f"{folder}/", ""), 300), notes=notes)
            except TennisError as error:
                return Judged(later=plain(str(error).replace(f"{folder}/", ""), 300), notes=notes)
    except Exception as error:  # one hand-in must not end the others
        what = f"the grader broke off: {type(error).__name__}: {error}"
        return Judged(later=plain(what, 300), notes=notes)
    return Judged(notes=notes, report=report, pdf=pdf)


def _known(kept: Path, name: str, digest: str, checks: str) -> Graded | None:
    try:
        known = Graded.model_validate_json(kept.read_bytes())
    except (OSError, ValidationError, ValueError):
        return None
    if (known.file, known.sha256, known.checks_sha256) != (name, digest, checks):
        return None
    return known


def checks_sha256(lab: Lab, *, replays: bool) -> str:
    """Return what a result depends on besides the hand-in: the lab, its checks and solution."""
    here = Path(__file__).parent
    own = [LABS / lab.slug / name for name in ("lab.toml", SOLUTION, CHECKS, *lab.files)]
    code = [checking.COMMON, here / "check_plugin.py", here / "checking.py", here / "checks.py"]
    code += [here / name for name in ("module_trial.py", "hand_in.py", "work.py", "replays.py")]
    code += [here / name for name in ("choices.py", "predictions.py", "written_numbers.py")]
    code += [here / name for name in ("match_work.py", "sweep_work.py", "notebook_box.py")]
    # a check that lacked this kernel runs once it is here
    here_too = debugging.is_built() if lab.files else None
    digest = hashlib.sha256(repr((replays, here_too)).encode())
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
        where = f"{path}: {plain(file, 60)}"
        given = {name: value for name, value in entries.items() if value != ""}
        people[file] = Person(
            {name: _points(where, name, given[name], limits) for name in given.keys() - OTHERS},
            plain(str(entries.get("comment", "")), 2000),
            _it_counts(where, given.get("it_counts")),
            _days(where, given.get("days_late")),
        )
    return people


def _points(where: str, name: str, value: object, limits: Mapping[str, int]) -> float:
    """Return whole or half points, as a number or in quotes. Raises UsageError."""
    text = str(value).strip().replace(",", ".").replace("½", ".5")
    if name not in limits:
        known = ", ".join(limits)
        raise UsageError(f"{where}: {plain(name, 40)}: no question", next_step=f"use {known}")
    if isinstance(value, bool) or not re.fullmatch(r"\d*(\.[05]0*)?", text) or text in {"", "."}:
        raise UsageError(
            f"{where}: {name} = {plain(text, 30)}", next_step="write whole or half points: 1 or 1.5"
        )
    points = float(text)
    if points > limits[name]:
        raise UsageError(
            f"{where}: {name} = {points:g}", next_step=f"write 0 to {limits[name]} points"
        )
    return points


def _it_counts(where: str, value: object) -> bool | None:
    if value is not None and not isinstance(value, bool):
        raise UsageError(f"{where}: it_counts", next_step="write true or false, without quotes")
    return value


def _days(where: str, value: object) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise UsageError(f"{where}: days_late", next_step="write a whole number of days, or 0")
    return value


def write_sheet(out: Path, lab: Lab, graded: Sequence[Graded], people: dict[str, Person]) -> None:
    """Add what is new to the mark sheet; what a person wrote stays, word for word.

    ``graded``: those that count.
    """
    path = out / SHEET
    before = path.read_bytes() if path.is_file() else _sheet_head(lab).encode()
    new = [one for one in graded if one.report and one.file not in people]
    if not new and path.is_file():
        return
    text = "".join(_sheet_entry(one) for one in new)
    end = b"\r\n" if b"\r\n" in before else b"\n"  # as the editor of that person ends lines
    whole = before.rstrip(b"\r\n") + end + text.encode().replace(b"\n", end)
    write_whole(path, whole, force=True)


def _sheet_entry(one: Graded) -> str:
    """Return a table of the sheet: below each answer that is to be marked, room for its points."""
    assert one.report is not None  # noqa: S101
    text = f"\n[{json.dumps(one.file, ensure_ascii=False)}]  # {plain(one.student, 60)}\n"
    for mark in one.report.open:
        why = "" if mark.why == "a person reads it" else f"; {plain(mark.why, 100)}"
        text += _as_comment(mark.question, one.report.facts.answers.get(mark.question), one.key)
        text += f'{mark.question} = ""  # of {mark.of}{why}\n'
    return text + 'comment = ""\n'


def _as_comment(question: str, answer: float | str | None, key: str) -> str:
    """Return an answer as comments of TOML; of a long one its beginning, and where the rest is."""
    if answer is None:
        return ""
    whole = str(answer)
    text = f"# {question}, the answer:\n"
    for line in whole[:ANSWER_MAX].splitlines():
        for piece in textwrap.wrap(plain(line, ANSWER_MAX), ANSWER_COLUMNS) or [""]:
            text += f"#   {piece}".rstrip() + "\n"
    left = len(whole) - ANSWER_MAX
    return text + (f"#   ({left:,} characters more: feedback/{key}.html)\n" if left > 0 else "")


def _sheet_head(lab: Lab) -> str:
    lines = [
        f"# Lab {lab.number}, {lab.title}: points that a person gives. Put a number in place of",
        '# "", half points too (1.5), then run `tennis grade` again. A number for any question',
        "# counts, also where the checks had another. Nothing that you write here is overwritten.",
        "# Further lines that you may add to a hand-in:",
        "#   it_counts = true   of several hand-ins of one student, this one counts (false: not)",
        "#   days_late = 0      so many days count, whatever the file's time says",
    ]
    solution = load_solution(lab)
    for question in lab.questions:
        answer = solution.of(question.id) if solution else None
        lines += [
            f"# {question.id}, {criterion.points}: {' '.join(criterion.text.split())}"
            for criterion in (answer.rubric if answer else ())
        ]
    return "\n".join(lines) + "\n"


def counting(graded: Sequence[Graded], people: Mapping[str, Person]) -> list[Attempt]:
    """Return the hand-ins that count, each with those that it replaces."""
    told = {file: one.it_counts for file, one in people.items() if one.it_counts is not None}
    return attempts(graded, told)


def marked(
    graded: Sequence[Graded],
    people: Mapping[str, Person],
    lab: Lab,
    rules: Rules | None = None,
    decided: Mapping[tuple[str, str, str], Decision] | None = None,
) -> list[Marked]:
    """Put the checks' points and a person's together, what was found out, and what was decided."""
    rules, nobody = rules or Rules(), Person({}, "")
    of_file: dict[str, list[Finding]] = defaultdict(list)
    for one in findings(graded, lab, set(rules.recorded)):
        of_file[one.file].append(one)
    rows = []
    for attempt in counting(graded, people):
        own = of_file[attempt.counts.file]
        person = people.get(attempt.counts.file, nobody)
        days = person.days_late
        days = rules.days_late(attempt.counts.handed_in) if days is None else days
        rows.append(
            Marked(
                attempt.counts,
                person,
                attempt.replaced,
                [*own, *(found for old in attempt.replaced for found in of_file[old.file])],
                decision(own, decided or {}),
                days,
                rules.lost(days, lab),
            )
        )
    return rows


# --- what is seen only across hand-ins ---


def equals(graded: Sequence[Graded]) -> list[str]:
    """Return words, code and files that two students share, in words; balls are findings."""
    found: dict[tuple[str, str], list[Graded]] = defaultdict(list)
    for one in graded:
        if one.report is not None:
            for name, digest in one.report.facts.texts.items():
                found[f"the words of {name}", digest].append(one)
            for name, digest in one.report.facts.files.items():
                found[f"the code of {name}", digest].append(one)
        found[WHOLE, one.sha256].append(one)
    groups = [
        (what, group) for (what, _), group in found.items() if len(set(map(owner, group))) > 1
    ]
    whole = {frozenset(one.file for one in group) for what, group in groups if what == WHOLE}
    return [
        f"{what}: {', '.join(f'{one.student} ({one.file})' for one in group)}"
        for what, group in groups
        if what == WHOLE or frozenset(one.file for one in group) not in whole
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
