"""Judge a class: every hand-in is unpacked, checked and reported, each in a process of its own.

The results of a hand-in are kept with its SHA-256 and that of the checks: grading again reads them,
and checks only changed ones again. Points that a person gave are in the mark sheet, which nothing
here overwrites.
"""

import hashlib
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path, PurePath

from pydantic import BaseModel, ValidationError

from tennis.bench.kernels import debugging
from tennis.bench.kernels.own_module import SOURCE_MAX
from tennis.course import checks, choices, predictions, work, written_numbers
from tennis.course.checking import plays as plays_of
from tennis.course.checking import running as checking
from tennis.course.lab_files import CHECKS, SOLUTION, load_solution, source_of
from tennis.course.labs import COURSE, LAB, LABS, Lab
from tennis.course.notebook import notebook_box
from tennis.course.work import NOTEBOOK_PDF, WorkError
from tennis.grading import hand_in
from tennis.grading.downloads import label, sent
from tennis.kit.digests import sha256_of
from tennis.kit.errors import TennisError
from tennis.rally.disk import write_whole, writing
from tennis.rally.text import plain

RESULTS = "results"
PDFS = "notebooks"  # as they were handed in
WORKERS_MAX = 256  # hand-ins at once
COMMON_MIN = 2  # students with the same wrong answer
NOTEBOOK = "check_notebook"


class Graded(BaseModel):
    """The state of one file that was handed in."""

    file: str
    sha256: str
    checks_sha256: str
    student: str
    handed_in: datetime | None = None  # the file's time, by the machine that marks
    refused: str = ""  # why it is no hand-in
    later: str = ""  # why this machine could not check it: the same command tries again
    notes: list[str] = []
    code: dict[str, str] = {}  # the files that a student completes, by name
    report: checking.Report | None = None

    @property
    def key(self) -> str:
        """Return what names files about it: two files may hold the same."""
        return _key(self.sha256, self.file)

    @property
    def unplayed(self) -> bool:
        """Tell whether nothing was played here: its numbers are from the hand-in."""
        # the one check that is left out with the plays, and with nothing else
        return any(one.check == NOTEBOOK and one.verdict == "not run" for one in self.results)

    @property
    def waits(self) -> list[str]:
        """Return what this machine could not check, in words; empty: it checked all."""
        if self.later:
            return [self.later]
        return [f"{checking.title(one)}: {one.message}" for one in self.results if one.later]

    @property
    def results(self) -> list[checking.Result]:
        """Return the results of all checks."""
        return self.report.results if self.report else []


def _key(sha256: str, file: str) -> str:
    """Return a name of which nothing is a student's own words."""
    return f"{sha256[:16]}-{hashlib.sha256(file.encode()).hexdigest()[:8]}"


@dataclass(frozen=True)
class Judged:
    """The results of a hand-in, which may be from another machine."""

    refused: str = ""
    later: str = ""  # why this machine could not: another try may
    notes: list[str] = field(default_factory=list)
    code: dict[str, str] = field(default_factory=dict)
    report: checking.Report | None = None
    pdf: bytes | None = None  # the notebook as it was handed in; the student made it

    @property
    def final(self) -> bool:
        """Tell whether another try would find out the same."""
        results = self.report.results if self.report else []
        return not self.later and not any(one.later for one in results)


def grade(  # noqa: PLR0913 (all of them named)
    paths: Sequence[Path],
    lab: Lab,
    out: Path,
    *,
    root: Path | None = None,
    replays: bool,
    boards: bool = False,
    workers: int,
    observe: Callable[[int, int, str], None] = lambda *_: None,
    stop: Callable[[], bool] = lambda: False,
) -> list[Graded]:
    """Check hand-ins, ``workers`` at a time; keep what each gives in ``out``.

    ``replays``: the lab's rallies are played here, and kept there, too. ``boards``: the class has
    some. One in a folder of ``root`` is called by both names. Raises LabError if the lab's solution
    is wrong, KeyboardInterrupt if ``stop`` says so: finished ones stay.
    """
    load_solution(lab)
    checks = _checks_sha256(lab, replays=replays, boards=boards)
    plays = out / plays_of.FOLDER if replays else None
    judge = partial(_judged, lab=lab, plays=plays, boards=boards)
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


def _time(path: Path) -> datetime:
    return datetime.fromtimestamp(path.stat().st_mtime, UTC)


def _one(path: Path, name: str, out: Path, checks: str, judge: Callable[[Path], Judged]) -> Graded:
    """Check one hand-in, or take its kept result."""
    digest = sha256_of(path)
    kept = out / RESULTS / f"{_key(digest, name)}.json"
    known = _cached(kept, name, digest, checks)
    if known is not None:
        return known
    found = judge(path)
    graded = Graded(
        file=name,
        sha256=digest,
        checks_sha256=checks,
        student=found.report.facts.student if found.report else _called(name),
        refused=found.refused,
        later=found.later,
        notes=found.notes,
        code=found.code,
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


def _called(name: str) -> str:
    """Return whom the name of a file names, if nothing else does."""
    platform = sent(name)
    return platform.name if platform and platform.name else PurePath(name).stem


def _judged(path: Path, lab: Lab, *, plays: Path | None, boards: bool = False) -> Judged:
    """Unpack and check one hand-in, here; it is judged even if it breaks something.

    ``plays``: the folder of the marker's own rallies; None: nothing is played.

    Only a file that is no hand-in is refused for good. Other failures are for later: this machine
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
                code = _code(folder, lab)
                report = checking.run_checks(
                    folder, blind=False, plays=plays, boards=boards, lab=lab
                )
            except WorkError as error:
                return Judged(refused=plain(str(error).replace(f"{folder}/", ""), 300), notes=notes)
            except TennisError as error:
                return Judged(later=plain(str(error).replace(f"{folder}/", ""), 300), notes=notes)
    except Exception as error:  # one hand-in must not end the others
        what = f"the grader broke off: {type(error).__name__}: {error}"
        return Judged(later=plain(what, 300), notes=notes)
    return Judged(notes=notes, code=code, report=report, pdf=pdf)


def _code(folder: Path, lab: Lab) -> dict[str, str]:
    """Return the files that students complete, as they were handed in: for people to read."""
    found = {}
    for name in dict.fromkeys(one.file for one in lab.questions if one.file):
        path = folder / name
        if path.is_file() and path.stat().st_size <= SOURCE_MAX:
            lines = path.read_text(encoding="utf-8-sig", errors="replace").splitlines()
            shown = ("".join(c if c.isprintable() or c == "\t" else " " for c in x) for x in lines)
            found[name] = "\n".join(shown)
    return found


def _cached(path: Path, name: str, digest: str, checks: str) -> Graded | None:
    try:
        known = Graded.model_validate_json(path.read_bytes())
    except (OSError, ValidationError, ValueError):
        return None
    if (known.file, known.sha256, known.checks_sha256) != (name, digest, checks):
        return None
    return known


def _checks_sha256(lab: Lab, *, replays: bool, boards: bool = False) -> str:
    """Return a hash of a result's other inputs: the lab, its checks and solution."""
    own = [lab.folder / name for name in (LAB, SOLUTION, CHECKS)]
    own += [source_of(lab, name) for name in lab.files]
    own.append(LABS / COURSE)  # its nonce is part of every seed
    parts = (hand_in, work, checks, choices, predictions, written_numbers, notebook_box)
    code = sorted(checking.COMMON.parent.glob("*.py")) + [
        Path(str(part.__file__)) for part in parts
    ]
    # a check that lacked this kernel runs once it is here
    here_too = debugging.is_built() if lab.files else None
    digest = hashlib.sha256(repr((replays, boards, here_too)).encode())
    code.append(Path(__file__))  # what is kept of a hand-in
    for path in own:
        digest.update(path.read_bytes() if path.is_file() else b"none")
    for path in code:
        digest.update(path.read_bytes())
    return digest.hexdigest()


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
