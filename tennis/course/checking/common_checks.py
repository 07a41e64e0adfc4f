"""The checks of every lab: is all there, are the rallies those that were asked for, and honest?"""

import re

from tennis.bench.kernels import own_module
from tennis.course.checking.evidence import as_asked, compare, doubtful_rallies, there
from tennis.course.checking.plays import ON_BOARD, Plays
from tennis.course.checks import (
    Ambiguous,
    Inconclusive,
    Note,
    NotRun,
    Wrong,
    check,
    choice,
    expect,
    near,
    number,
    number_in,
)
from tennis.course.lab_files import Solution
from tennis.course.labs import LabRally, Question
from tennis.course.notebook.notebook_box import run_notebook
from tennis.course.predictions import standing
from tennis.course.work import NOTEBOOK, Work, starter_of
from tennis.kit.errors import BenchError
from tennis.kit.units import format_count

WORDS_MIN = 5  # different ones, of a reason or a text
# signs of Chinese and Japanese are words of their own: there are no spaces between them
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W\u3040-\u30ff\u3400-\u9fff]+")


@check()
def check_answered(work: Work, question: Question, *, blind: bool, note: Note) -> None:
    """Every question has an answer: a missing one costs its points.

    Hint: write it into answers.toml, between the quotes. If the question is not there, `tennis lab
    start` makes another folder, with today's questions.
    """
    if question.file is not None:
        _completed(work, question.file)
        return
    older = (
        f"answers.toml has no {question.id}: it is older than the question, or a line was removed"
    )
    expect(question.id in work.answers.questions, older)
    expect(question.id in work.answers.by_question, "there is no answer yet")
    try:
        note(_understood(work, question))
    except Ambiguous as error:
        if blind:
            raise
        raise Inconclusive(str(error)) from error


def _understood(work: Work, question: Question) -> str:
    """Return an answer as it was read. Raises Wrong if it cannot be, Inconclusive."""
    answer = work.answers.by_question[question.id]
    match question.kind:
        case "number":
            return f"{_written(number(work, question.id))} {question.unit}"
        case "choice":
            return f"{answer}: {(question.choices or {})[choice(work, question.id)]}"
        case "prediction":
            return _prediction(work, question)
        case _:
            return format_count(_words(str(answer), "say why, too"), "word")


def _prediction(work: Work, question: Question) -> str:
    guess = work.answers.predictions.get(question.id)
    name = question.id
    if guess is None:
        raise Wrong(f"it has two parts: write {name}.number and {name}.reason")
    expect(guess.number != "", f"{name}.number: there is no number yet")
    guessed = number_in(guess.number, question.unit or "")
    expect(guess.reason != "", f"{name}.reason: there is no reason yet")
    words = _words(guess.reason, f"{name}.reason says why")
    return f"{_written(guessed)} {question.unit}, and a reason of {format_count(words, 'word')}"


def _words(text: str, ask: str) -> int:
    """Return how many words a text has. Raises Wrong if too few of them differ."""
    words = _WORD.findall(text.casefold())
    different = len(set(words))
    said = (
        format_count(different, "word")
        if different == len(words)
        else (f"{len(words)} words, {different} of them different")
    )
    expect(different >= WORDS_MIN, f"{said}: {ask}")
    return len(words)


def _written(value: float) -> str:
    """Write a number without a separator of thousands, so that nobody takes it for another."""
    return f"{value:.0f}" if value == int(value) else f"{value:.12g}"


def _completed(work: Work, name: str) -> None:
    """Raise Wrong if a file is missing, or unchanged."""
    path = work.folder / name
    if path.is_symlink() or not path.is_file():
        raise Wrong(f"there is no {name}")
    if path.stat().st_size < own_module.SOURCE_MAX:
        same = path.read_text(encoding="utf-8-sig", errors="replace") == starter_of(work.lab, name)
        expect(not same, f"{name} is unchanged: fill its gaps")


@check(kinds=["prediction"], needs=["check_answered[*]"])
def check_sealed(work: Work, question: Question, note: Note) -> None:
    """A prediction is older than the lab's rallies: the first rally sealed it.

    Hint: your teacher sees both, and decides. A seal does not prove a lie, or honesty.
    """
    found = standing(work, question.id)
    if found.verdict == "nothing":
        raise NotRun(found.words)
    if found.verdict == "changed":
        raise Inconclusive(found.words)
    note(found.words)


@check(kinds=["number"], needs=["check_answered[*]"])
def check_number(work: Work, question: Question, solution: Solution | None) -> None:
    """The number is right, within what rounding may do to it.

    Hint: read the question's last sentence again: which number, in which unit?
    """
    right = solution.of(question.id) if solution else None
    if right is None:
        raise NotRun("your teacher knows the number")
    value = number(work, question.id)
    wanted = float(right.answer) if right.answer is not None else float("nan")
    expect(
        near(value, wanted, right.tolerance_percent),
        f"{value:,g} {question.unit} is not the number",
    )


@check(kinds=["choice"], needs=["check_answered[*]"])
def check_choice(work: Work, question: Question, solution: Solution | None) -> None:
    """The choice is right."""
    right = solution.of(question.id) if solution else None
    if right is None:
        raise NotRun("your teacher knows the choice")
    chosen = choice(work, question.id)
    expect(chosen == right.answer, f"{(question.choices or {})[chosen]!r} is not the one")


@check()
def check_name(work: Work) -> None:
    """Choices were numbered for the name in answers.toml.

    Hint: put the old name back; for another name start again with `tennis lab start`.
    """
    seed = work.answers.seed
    expect(seed == work.seed, f"its seed is {seed}; that of {work.answers.student} is {work.seed}")


@check()
def check_rally(work: Work, lab_rally: LabRally, *, boards: bool) -> None:
    """Each rally of the lab is there, complete, and played as asked, with your seed.

    Hint: README.md in your folder has the command. To play a rally again, remove its folder
    first.
    """
    there(work, lab_rally, boards=boards)


@check(rallies=True)
def check_needed(work: Work, question: Question, *, boards: bool, note: Note) -> None:
    """The rallies that the question is about are there: without them an answer is a guess.

    Hint: README.md in your folder has the commands.
    """
    if doubtful := doubtful_rallies(work, question, boards=boards):
        note(f"{', '.join(doubtful)} in doubt: the rally's check says why")


@check(recorded=False)
def check_honest(
    work: Work, lab_rally: LabRally, plays: Plays | None, *, boards: bool, note: Note
) -> None:
    """The lab's rally is played here, with your seed, and yours must be the same, ball by ball.

    Hint: play the rally yourself, with your own seed, and change nothing in its folder.
    """
    if plays is None:
        raise NotRun("your teacher plays it again")
    try:
        as_asked(work, lab_rally, boards=boards)
        rally = work.handed_in[lab_rally.name]
        # a rally that is too short has no points: comparing it with a whole one accuses its player
        expect(rally.balls >= lab_rally.balls, "it is too short")
    except (Wrong, Inconclusive) as error:
        raise NotRun(f"check_rally[{lab_rally.name}] did not pass") from error
    if rally.manifest.bench not in {"virtual", "replay"}:
        note(f"played on the bench {rally.manifest.bench}: {ON_BOARD}")
        return
    compare(work, rally, lab_rally, plays)
    note(f"all {format_count(rally.balls, 'ball')} are what they were here")


@check()
def check_notebook(work: Work, plays: Plays | None, note: Note) -> None:
    """The notebook runs from top to bottom, on your rallies, without a network.

    Hint: in JupyterLab, Kernel, Restart Kernel and Run All Cells.
    """
    if plays is None:
        raise NotRun("your teacher runs it")
    if not (work.folder / NOTEBOOK).is_file():
        if not work.lab.notebook.is_file():
            note("the lab has none")
            return
        raise Wrong(f"there is no {NOTEBOOK}")
    try:
        ran = run_notebook(work.folder)
    except BenchError as error:
        raise Inconclusive(str(error)) from error
    expect(not ran.error, ran.error)
