"""A plugin of pytest's: checks are its tests, a student's folder and the lab its fixtures.

Each check's result is written when it is known, a line of JSON, so that a run that is ended leaves
those that were decided.
"""

import hashlib
import json
import re
import resource
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from tennis.bench.kernels.own_module import SOURCE_MAX
from tennis.course.checking.evidence import PlayedHere
from tennis.course.checking.plays import Plays
from tennis.course.checking.running import is_of_this_machine
from tennis.course.checking.sweep_work import balls_of
from tennis.course.checks import Inconclusive, InDoubt, Note, NotHere, NotRun, Wrong, choice, number
from tennis.course.lab_files import CHECKS, Solution, load_solution
from tennis.course.labs import Lab, Question
from tennis.course.work import ANSWERS, Work, WorkError, read, starter_of
from tennis.kit.errors import TennisError
from tennis.match.folder import open_match
from tennis.match.sweep.folder import open_sweep
from tennis.rally.folder import BALLS
from tennis.rally.text import plain

WORK = pytest.StashKey[Work]()
SOLUTION = pytest.StashKey[Solution | None]()
PLAYS = pytest.StashKey[Plays | None]()
NOTE = pytest.StashKey[str]()
NOTE_MAX = 400  # characters
DETAILS_MAX = 120  # lines
SAME_TEXT_MIN = 60  # characters: shorter answers may well be equal
# of the process that reads what anybody handed in
LIMITS = {resource.RLIMIT_CORE: 0, resource.RLIMIT_FSIZE: 1 << 30}
VERDICTS = pytest.StashKey[dict[str, str]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add what the grader says."""
    for option in ("--work", "--results"):
        parser.addoption(option, type=Path)
    parser.addoption("--lab", help="The slug of the lab that it must be.")
    parser.addoption("--plays", type=Path, help="The folder of the marker's own rallies.")
    parser.addoption("--boards", action="store_true", help="The class has boards.")
    parser.addoption("--blind", action="store_true", help="Without the solution.")


def pytest_configure(config: pytest.Config) -> None:
    """Read the folder once."""
    config.addinivalue_line("markers", "check(question, needs, ...): what a check judges")
    for limit, most in LIMITS.items():
        resource.setrlimit(limit, (most, most))
    try:
        work = read(config.getoption("--work"))
        wanted = config.getoption("--lab")
        if wanted not in {None, work.lab.slug}:
            raise WorkError(f"{ANSWERS} is of the lab {work.lab.slug}, not of {wanted}")
    except Exception as error:
        # a folder that breaks its reader breaks nothing else
        if is_of_this_machine(error):
            raise
        why = str(error) if isinstance(error, TennisError) else f"it cannot be read: {error!r}"
        _write(config, {"refused": plain(why, 500)})
        raise pytest.UsageError(plain(why, 500)) from error
    blind = config.getoption("--blind")
    solution = None if blind else load_solution(work.lab)
    _write(config, {"facts": _facts(work)})
    own = work.lab.folder / CHECKS
    config.args += [str(own)] if own.is_file() else []
    folder = config.getoption("--plays")
    plays = Plays(folder, work) if folder is not None else None
    config.stash[WORK] = work if plays is None else replace(work, rallies=PlayedHere(work, plays))
    config.stash[SOLUTION] = solution
    config.stash[PLAYS] = plays
    config.stash[VERDICTS] = {}


@pytest.fixture
def work(pytestconfig: pytest.Config) -> Work:
    """Return the student's folder."""
    return pytestconfig.stash[WORK]


@pytest.fixture
def lab(work: Work) -> Lab:
    """Return the lab."""
    return work.lab


@pytest.fixture
def solution(pytestconfig: pytest.Config) -> Solution | None:
    """Return the solution; None if a student runs the checks."""
    return pytestconfig.stash[SOLUTION]


@pytest.fixture
def blind(pytestconfig: pytest.Config) -> bool:
    """Tell whether a student asks."""
    return bool(pytestconfig.getoption("--blind"))


@pytest.fixture
def note(request: pytest.FixtureRequest) -> Note:
    """Return a function that keeps words to show if the check passes."""

    def keep(words: str) -> None:
        request.node.stash[NOTE] = plain(words, NOTE_MAX)

    return keep


@pytest.fixture
def plays(pytestconfig: pytest.Config) -> Plays | None:
    """Return the marker's plays; None if nothing is played."""
    return pytestconfig.stash[PLAYS]


@pytest.fixture
def boards(pytestconfig: pytest.Config) -> bool:
    """Tell whether rallies of boards are taken: a class may have none, a student is not asked."""
    return bool(pytestconfig.getoption("--boards") or pytestconfig.getoption("--blind"))


def _mark(item: Any) -> dict[str, Any]:
    found = item.get_closest_marker("check")
    return dict(found.kwargs) if found else {"question": None, "needs": None, "kinds": ()}


def _needs(item: pytest.Item) -> Sequence[str]:
    """Return the checks that must have passed before one."""
    mark = _mark(item)
    name = mark["question"]
    if name is None or mark["needs"] is not None:
        return mark["needs"] or ()
    asked = item.config.stash[WORK].lab.question(name)
    return [f"check_answered[{name}]", *(f"check_rally[{one}]" for one in asked.rallies)]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Ask a check for each question, or each rally, of the lab."""
    lab = metafunc.config.stash[WORK].lab
    mark = next((m for m in metafunc.definition.iter_markers("check")), None)
    kinds = mark.kwargs["kinds"] if mark else ()
    needing = bool(mark and mark.kwargs["rallies"])
    if "question" in metafunc.fixturenames:
        asked = [
            question
            for question in lab.questions
            if (not kinds or (question.kind in kinds and not question.computed))
            and not (needing and not question.rallies)
        ]
        metafunc.parametrize("question", asked, ids=[question.id for question in asked])
    if "lab_rally" in metafunc.fixturenames:
        rallies = lab.rallies if mark is None or mark.kwargs["recorded"] else lab.to_play
        metafunc.parametrize("lab_rally", rallies, ids=[rally.name for rally in rallies])


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave out checks that apply to no question and no rally."""
    items[:] = [item for item in items if not item.name.endswith("[NOTSET]")]


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Leave out a check whose needs did not pass."""
    verdicts = item.config.stash[VERDICTS]
    parameter = item.name[item.name.find("[") :] if "[" in item.name else ""
    for need in _needs(item):
        name = need.replace("[*]", parameter)
        # a star if the check itself has no parameter: all of them
        names = (
            [one for one in verdicts if one.startswith(need[:-2])] if name == need[:-3] else [name]
        )
        for one in names or [name]:
            if verdicts.get(one) != "pass":
                raise NotRun(f"{one} did not pass")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
    """Turn an exception into a verdict."""
    report = yield
    if call.when == "teardown" or (call.when == "setup" and call.excinfo is None):
        return report
    error = call.excinfo.value if call.excinfo else None
    verdict, message = _verdict(error)
    message = message or item.stash.get(NOTE, "")
    item.config.stash[VERDICTS][item.name] = verdict
    documented = (getattr(item, "function", None) and item.function.__doc__) or ""  # type: ignore[attr-defined]
    rationale, _, hint = " ".join(documented.split()).partition("Hint:")
    question = getattr(item, "callspec", None) and item.callspec.params.get("question")  # type: ignore[attr-defined]
    result = {
        "check": item.name,
        "question": question.id if question else _mark(item)["question"],
        "verdict": verdict,
        "message": message,
        "rationale": rationale.strip(),
        "hint": hint.strip(),
        "in_doubt": isinstance(error, InDoubt),
        "not_here": isinstance(error, NotHere),
        "later": verdict in {"inconclusive", "not run"} and is_of_this_machine(error),
        "details": error.details[:DETAILS_MAX] if isinstance(error, Wrong) else [],
        "seconds": round(call.duration, 3),
    }
    _write(item.config, result)
    return report


def _write(config: pytest.Config, line: dict[str, Any]) -> None:
    if path := config.getoption("--results"):
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")


def _facts(work: Work) -> dict[str, Any]:
    """Return a folder's facts, which are kept besides its results."""
    texts: dict[str, str] = {}
    answers = {
        question.id: _answer(work, question)
        for question in work.lab.questions
        if question.id in work.answers.by_question
    }
    for name, answer in answers.items():
        written = work.lab.question(name).kind in {"prediction", "text"}
        if written and isinstance(answer, str) and len(answer) >= SAME_TEXT_MIN:
            same = re.sub(r"\W+", " ", answer).casefold().strip()
            texts[name] = hashlib.sha256(same.encode()).hexdigest()
    rallies = {name: rally.manifest.files[BALLS] for name, rally in work.own.items()}
    rallies |= dict(_match_rallies(work))
    rallies |= dict(_sweep_rallies(work))
    return {
        "lab": work.lab.slug,
        "student": work.answers.student,
        "number": work.answers.number,
        "email": work.answers.email,
        "members": [asdict(one) for one in work.answers.members],
        "seeds": {name: rally.manifest.protocol.seed for name, rally in work.handed_in.items()},
        "replayed": [
            name for name, rally in work.handed_in.items() if rally.manifest.bench == "replay"
        ],
        "minutes": work.answers.minutes,
        "rallies": rallies,
        "texts": texts,
        "files": dict(_files(work)),
        "answers": answers,
    }


def _answer(work: Work, question: Question) -> int | float | str:
    """Return an answer's value, so that those of two students can be compared."""
    answer = work.answers.by_question[question.id]
    try:
        match question.kind:
            case "number":
                value = number(work, question.id)
                return int(value) if value == int(value) else value
            case "choice":
                return (question.choices or {})[choice(work, question.id)]
    except (Wrong, Inconclusive):
        return answer  # as it is written: a check says why
    return answer


def _match_rallies(work: Work) -> Iterator[tuple[str, str]]:
    """Yield one SHA-256 of the balls of all rallies of a match, if the lab has one."""
    if work.lab.match is None:
        return
    try:
        match = open_match(work.folder / work.lab.match.name)
    except TennisError:
        return  # a check says so
    every = "".join(sorted(rally.manifest.files[BALLS] for rally in match.rallies()))
    yield work.lab.match.name, hashlib.sha256(every.encode()).hexdigest()


def _sweep_rallies(work: Work) -> Iterator[tuple[str, str]]:
    """Yield one SHA-256 of the balls of all rates of a sweep, if the lab has one."""
    if work.lab.sweep is None:
        return
    try:
        every = balls_of(open_sweep(work.folder / work.lab.sweep.name))
    except TennisError:
        return  # a check says so
    yield work.lab.sweep.name, hashlib.sha256(every.encode()).hexdigest()


def _files(work: Work) -> Iterator[tuple[str, str]]:
    """Yield the SHA-256 of each completed file, without comments and spaces."""
    for name in work.lab.files:
        path = work.folder / name
        if path.is_file() and not path.is_symlink() and path.stat().st_size <= SOURCE_MAX:
            code = _code(path.read_text(encoding="utf-8-sig", errors="replace"))
            if code != _code(starter_of(work.lab, name)):
                yield name, hashlib.sha256(code.encode()).hexdigest()


def _code(text: str) -> str:
    return " ".join(re.sub(r"/\*.*?\*/|//[^\n]*", "", text, flags=re.DOTALL).split())


def _verdict(error: BaseException | None) -> tuple[str, str]:
    match error:
        case None:
            return "pass", ""
        case Wrong():
            return "fail", str(error)
        case NotRun():
            return "not run", str(error)
        case Inconclusive():
            return "inconclusive", str(error)
        case _:  # the check, or what it asked, is at its end: nobody loses a point
            return "inconclusive", f"the check broke off: {type(error).__name__}: {error}"[:500]
