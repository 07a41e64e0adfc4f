"""Check a student's folder: the same checks for a student and for a marker.

pytest runs them in a process of its own, with an end. A student's run knows no solution. The plugin
adds the lab's own ``checks.py`` once it knows the lab.
"""

import errno
import itertools
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from tennis.course.labs import LABS, Lab, Question, in_other_processes, load_lab
from tennis.course.work import WorkError
from tennis.kit import environment
from tennis.kit.checkout import PACKAGES
from tennis.kit.errors import BenchError, DiskFullError, NotBuiltError
from tennis.rally.manifest import Verdict
from tennis.rally.text import plain

COMMON = Path(__file__).parent / "common_checks.py"
UNSEALED = ("not run", "check_sealed")  # nobody knows, and it costs nothing
LINES_MAX = 10_000
LIMIT_S = 3600.0  # of all checks of one hand-in
# Python looks through all that was imported again and again, and at the end: a seventh of the time
PYTEST = """
import gc, sys
gc.set_threshold(50_000)
import pytest
code = pytest.console_main()
gc.freeze()
sys.exit(code)
"""


class Result(BaseModel):
    """The result of one check."""

    check: str
    question: str | None
    verdict: Verdict
    message: str
    rationale: str
    hint: str
    in_doubt: bool = False  # it may not be this student's own work
    not_here: bool = False  # this machine lacks what it needs: it is run once that is here
    later: bool = False  # this machine could not: the same command tries again
    details: list[str] = []  # lines to look at: a console, a compiler's errors
    seconds: Annotated[float, Field(ge=0)]


class Mark(BaseModel):
    """A question's points: None if a person decides, or nobody can yet."""

    question: str
    points: int | None
    of: int
    why: str


class _Person(BaseModel):
    """A member of a group, as the group says."""

    name: str
    number: str = ""
    email: str = ""


class Facts(BaseModel):
    """The contents of a student's folder, for comparison with others."""

    lab: str
    student: str
    number: str = ""  # the student's, as the student says
    email: str = ""
    members: list[_Person] = []  # of a group; empty: a student alone
    minutes: int
    rallies: dict[str, str]  # SHA-256 of the balls, by the rally's name
    seeds: dict[str, int] = {}  # of single rallies, by name
    replayed: list[str] = []  # the names of those that are recordings, played back
    texts: dict[str, str]  # SHA-256 of long answers, case and spaces aside
    files: dict[str, str]  # SHA-256 of completed files, without comments and spaces
    answers: dict[str, int | float | str]


class Report(BaseModel):
    """All that the checks found out about one hand-in."""

    facts: Facts
    results: list[Result]
    marks: list[Mark]

    @property
    def points(self) -> int:
        """Return the points that are certain."""
        return sum(mark.points or 0 for mark in self.marks)

    @property
    def of(self) -> int:
        """Return the points of all questions."""
        return sum(mark.of for mark in self.marks)

    @property
    def open(self) -> list[Mark]:
        """Return the marks that a person decides."""
        return [mark for mark in self.marks if mark.points is None]


def run_checks(  # noqa: PLR0913 (all of them named)
    folder: Path,
    *,
    blind: bool,
    plays: Path | None = None,
    boards: bool = False,
    lab: Lab | None = None,
    limit_s: float = LIMIT_S,
) -> Report:
    """Run a lab's checks on a student's folder; ``blind``: without the solution.

    ``plays``: the folder of the marker's own rallies, from which marks are computed; None: nothing
    is played, and the folder's are read. ``boards``: the class has some. The checks' own process
    reads the folder, so a hostile one cannot harm this process. Raises WorkError if it is no lab
    folder, or not ``lab``'s, BenchError if this machine could not run the checks.
    """
    with tempfile.TemporaryDirectory(prefix="tennis-checks-") as scratch:
        results = Path(scratch) / "results.jsonl"
        results.touch()
        options = [*(["--blind"] if blind else []), *(["--boards"] if boards else [])]
        options += ["--plays", str(plays.resolve())] if plays is not None else []
        options += ["--lab", lab.slug] if lab else []
        said = _run([*options, str(COMMON)], folder, results, limit_s)
        lines = _lines(results)
    refused = next((line["refused"] for line in lines if "refused" in line), None)
    if refused is not None:
        raise WorkError(str(refused))
    facts = next((line["facts"] for line in lines if "facts" in line), None)
    found = [Result.model_validate(line) for line in lines if "check" in line]
    if facts is None or said:
        why = said or next((result.message for result in found), "they printed nothing")
        raise BenchError(
            f"the checks of {folder} broke off: {plain(why, 300)}", next_step="try again"
        )
    known = Facts.model_validate(facts)
    marks = [mark(question, found) for question in (lab or load_lab(known.lab)).questions]
    return Report(facts=known, results=found, marks=marks)


def _run(words: Sequence[str], folder: Path, results: Path, limit_s: float) -> str:
    """Let pytest run the checks; return its last output if it broke off, else an empty text."""
    command = [
        *(sys.executable, "-c", PYTEST, "-q", "--no-header", "--tb=short"),
        *("-p", "tennis.course.checking.check_plugin", "-p", "no:cacheprovider"),
        *("-c", os.devnull, "--rootdir", str(LABS), "--import-mode=importlib"),
        # python_files stays as it is: pytest rewrites every module that is imported and matches it,
        # and with * that took four fifths of the time (files that are named are run in any case)
        *("-o", "python_functions=check_*"),
        *("--work", str(folder.resolve()), "--results", str(results)),
        *words,
    ]
    own = {"PYTHONPATH": str(PACKAGES), "PYTHONDONTWRITEBYTECODE": "1", **in_other_processes()}
    # nothing is imported from the current folder
    own |= {"PYTHONSAFEPATH": "1", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    try:
        done = environment.completed(command, environment.for_tennis(**own), timeout=limit_s)
    except subprocess.TimeoutExpired:
        late = Result(
            check="time",
            question=None,
            verdict="inconclusive",
            message=f"the checks were ended after {limit_s:g} s",
            rationale="Checks have an end.",
            later=True,
            hint="",
            seconds=limit_s,
        )
        with results.open("a", encoding="utf-8") as file:
            file.write(late.model_dump_json() + "\n")
        return ""
    if "No module named 'pytest'" in done.stderr:
        raise BenchError(
            "the checks need pytest, which is not installed", next_step="scripts/setup.sh --lab"
        )
    if done.returncode < 0:
        return f"their process was ended by signal {-done.returncode}"
    # 0: all passed, 1: some did not; the plugin ends with 4 if it refused the folder
    return "" if done.returncode in {0, 1, 4} else (done.stdout + done.stderr).strip()[-300:]


def _lines(results: Path) -> list[dict[str, Any]]:
    found = []
    with results.open("rb") as file:
        for line in itertools.islice(file, LINES_MAX):
            try:
                found.append(json.loads(line))
            except ValueError:  # the line that was being written when it ended
                continue
    return [line for line in found if isinstance(line, dict)]


def mark(question: Question, results: Sequence[Result]) -> Mark:
    """Return a question's points: its worst check's.

    A failed check gives none. An inconclusive check, or one that did not run, costs no points: a
    person decides, as for every text.
    """

    def decided(points: int | None, why: str) -> Mark:
        return Mark(question=question.id, points=points, of=question.points, why=why)

    own = [result for result in results if result.question == question.id]
    failed = [result for result in own if result.verdict == "fail"]
    if failed:
        return decided(0, failed[0].message)
    undecided = [
        result
        for result in own
        if result.verdict != "pass" and (result.verdict, result.check.partition("[")[0]) != UNSEALED
    ]
    if undecided:
        return decided(None, undecided[0].message)
    if question.kind == "text" or not own:
        return decided(None, "a person reads it")
    return decided(question.points, "")


WORDS = {
    "check_answered": "{}, answered",
    "check_name": "the name",
    "check_sealed": "{}, sealed",
    "check_number": "{}, the number",
    "check_choice": "{}, the choice",
    "check_rally": "rally {}",
    "check_needed": "{}, its rallies",
    "check_honest": "rally {}, played again",
    "check_notebook": "the notebook, run again",
}


def title(result: Result) -> str:
    """Return a check in words: ``bound, the number``, ``rally rt-idle, played again``."""
    name, _, parameter = result.check.removesuffix("]").partition("[")
    words = WORDS.get(name, name.removeprefix("check_").replace("_", " "))
    return words.format(parameter)


# --- each question's state for a student: "answered" and "right" are two things ---


ANSWERED, NEEDED, SEALED = "check_answered", "check_needed", UNSEALED[1]
Right = Literal["yes", "no", "waits", "not judged here"]


class QuestionReport(BaseModel):
    """A question, as far as a student's own run can tell."""

    question: str
    answered: bool
    understood: str  # the answer as it was read, or what it lacks
    right: Right
    why: str


def questions(lab: Lab, report: Report) -> list[QuestionReport]:
    """Return the report of each question, in the lab's order."""
    return [_report(question, report.results) for question in lab.questions]


def _report(question: Question, results: Sequence[Result]) -> QuestionReport:
    own = {one.check.partition("[")[0]: one for one in results if one.question == question.id}
    answer = own.pop(ANSWERED, None)
    sealed = own.pop(SEALED, None)
    if NEEDED in own and own[NEEDED].verdict == "pass":
        del own[NEEDED]  # its rallies are there: that judges no answer
    answered = answer is not None and answer.verdict == "pass"
    right, why = _judged(question, list(own.values())) if answered else ("not judged here", "")
    if answered and question.kind == "prediction" and sealed is not None:
        why = f"a prediction may be wrong; {sealed.message}"
    return QuestionReport(
        question=question.id,
        answered=answered,
        understood=answer.message if answer is not None else "its check broke off",
        right=right,
        why=why,
    )


def _judged(question: Question, results: Sequence[Result]) -> tuple[Right, str]:
    """Return the verdict of the checks that judge an answer. All checks of a file judge one."""
    failed = next((one for one in results if one.verdict == "fail"), None)
    if failed is not None:
        return "no", failed.message
    waiting = next((one for one in results if one.not_here), None)
    if waiting is not None:  # other checks of it are still missing
        return "waits", waiting.message
    undecided = next((one for one in results if one.verdict != "pass"), None)
    if undecided is not None:
        return "not judged here", undecided.message
    if question.kind == "text" or not results:
        return "not judged here", "a person reads it"
    return "yes", ""


def not_run(report: Report) -> list[Result]:
    """Return the checks that were not run here, except those of single questions."""
    return [one for one in report.results if one.verdict == "not run" and one.question is None]


# --- whose fault a failure is: what this machine refused is done later, by the same command ---


SHORT_OF = {
    *(errno.ENOSPC, errno.EDQUOT, errno.ENOMEM, errno.EMFILE, errno.ENFILE, errno.EAGAIN),
    *(errno.EIO, errno.EROFS),
}


def is_of_this_machine(error: BaseException | None) -> bool:
    """Tell whether an error, or what it was raised from, is this machine's fault."""
    while error is not None:
        if isinstance(error, NotBuiltError):
            return False
        if isinstance(error, BenchError | DiskFullError | MemoryError):
            return True
        if isinstance(error, OSError) and error.errno in SHORT_OF:
            return True
        error = error.__cause__ or error.__context__
    return False
