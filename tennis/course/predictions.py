"""Seals of predictions: copies from the beginning of the lab's first rally are kept.

What this proves: an honest folder shows whether its prediction is older than its rallies. It is no
proof against a liar, who can edit the file, delete it, or play under another name first. So an
unknown history is never a reproach: a prediction counts as changed only if a seal shows it.
"""

import contextlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from tennis.course.labs import Lab, Question
from tennis.course.work import (
    ANSWERS,
    SEALS,
    TEXT_MAX,
    Answers,
    Prediction,
    Work,
    find_lab,
    read_answers,
)
from tennis.course.written_numbers import NumberError, read_number
from tennis.kit.errors import RallyError, TennisError, UsageError
from tennis.rally import open_folder
from tennis.rally.disk import open_below, writing
from tennis.rally.folder import MANIFEST
from tennis.rally.text import plain

FILE_MAX = 1 << 18  # bytes
SHOWN_MAX = 200  # characters of a text in a message

Name = Annotated[str, StringConstraints(max_length=60)]
Text = Annotated[str, StringConstraints(max_length=TEXT_MAX)]


class _Seal(BaseModel):
    """A prediction at the beginning of a rally; an empty one was not made yet."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    question: Name
    number: Text
    reason: Text
    at: datetime
    begun: Name = ""  # the rally; "": of earlier versions, when somebody only looked
    played: Annotated[list[Name], Field(max_length=100)] = []  # that were there already

    @property
    def prediction(self) -> Prediction:
        """Return the prediction."""
        return Prediction(self.number, self.reason)


@dataclass(frozen=True)
class _Standing:
    """The history of a prediction."""

    verdict: Literal["unchanged", "changed", "nothing"]
    words: str


@contextlib.contextmanager
def sealing(out: Path, tell: Callable[[str], None]) -> Iterator[None]:
    """Seal the predictions of the lab in whose folder ``out`` is about to be played.

    They are read now, and kept once there is a visible result: a rally that failed to start seals
    nothing. ``tell`` gets a line if a seal cannot be written. Raises UsageError before the first
    ball if a prediction that this rally would seal is empty, or cannot be read.
    """
    folder = out.parent
    every: list[tuple[Question, _Seal]] = []
    sealed = {seal.question for seal in _read_seals(folder) if seal.begun}
    try:
        answers = read_answers(folder / ANSWERS)
        lab = find_lab(answers.lab)
        seals = _now(out, answers, lab)
        every = [(question, seal) for question, seal in seals if question.id not in sealed]
    except TennisError as error:
        if not sealed:
            words = f"your prediction cannot be read, and the first rally seals it: {error}"
            raise UsageError(words, next_step=error.next_step) from error
    for question, seal in every:
        _refuse_unreadable(folder / ANSWERS, seal, question.unit or "")
    try:
        yield
    finally:
        if every and _is_played(out):
            try:
                _keep(folder, [seal for _, seal in every])
                tell("your prediction is sealed: do not change it any more")
            except TennisError as error:
                tell(f"your prediction is not sealed: {plain(str(error), 200)}")


def standing(work: Work, question: str) -> _Standing:
    """Return the history of a prediction that was handed in."""
    unit = work.lab.question(question).unit or ""
    prediction = work.answers.predictions.get(question, Prediction("", ""))
    seals = [seal for seal in _read_seals(work.folder) if seal.question == question]
    first = next((seal for seal in seals if seal.begun), None)
    if first is None:
        return _Standing("nothing", "no rally sealed it: nobody knows when it was made")
    if first.played:
        before = f"{plain(first.played[0], 40)} was there before anything was sealed"
        return _Standing("nothing", f"{before}: nobody knows when it was made")
    begun = f"{plain(first.begun, 40)} was begun, {first.at.astimezone():%Y-%m-%d %H:%M}"
    if _same(first, prediction, unit):
        return _Standing("unchanged", f"as it was when {begun}")
    if not first.number and not first.reason:
        return _Standing("changed", f"it was still empty when {begun}")
    then = plain(f"{first.number}, {first.reason}", SHOWN_MAX)
    return _Standing("changed", f"it was another one when {begun}: {then!r}")


def _read_seals(folder: Path) -> list[_Seal]:
    """Return the seals of a folder, in their order; malformed lines are left out."""
    try:
        with open_below(folder, SEALS) as file:
            data = file.read(FILE_MAX)
    except OSError:
        return []
    found = []
    for line in data.splitlines():
        with contextlib.suppress(ValidationError, ValueError, RecursionError):
            found.append(_Seal.model_validate_json(line))
    return found


def _now(out: Path, answers: Answers, lab: Lab) -> Iterator[tuple[Question, _Seal]]:
    """Yield what the rally ``out`` seals: nothing if it is not the lab's."""
    if out.name not in _names(lab):
        return
    there = [name for name in _names(lab) if (out.parent / name).exists()]
    played = [one for one in there if one != out.name or _is_played(out)]
    yield from _seals(lab, answers.predictions, out.name, played)


def _seals(
    lab: Lab, predictions: dict[str, Prediction], begun: str, played: list[str]
) -> Iterator[tuple[Question, _Seal]]:
    at = datetime.now(UTC).replace(microsecond=0)
    for question in lab.questions:
        if question.kind == "prediction":
            guess = predictions.get(question.id, Prediction("", ""))
            yield (
                question,
                _Seal(
                    question=question.id,
                    number=str(guess.number),
                    reason=guess.reason,
                    at=at,
                    begun=begun,
                    played=played,
                ),
            )


def _refuse_unreadable(answers: Path, seal: _Seal, unit: str) -> None:
    """Raise UsageError if a prediction is not whole, or its number cannot be read."""
    again = "save the file, and give the same command again"
    lacking = [name for name in ("number", "reason") if not getattr(seal, name).strip()]
    if lacking:
        raise UsageError(
            f"{answers} has no whole prediction yet, and this rally would seal it: "
            f"{' and '.join(f'{seal.question}.{name}' for name in lacking)} "
            f"{'is' if len(lacking) == 1 else 'are'} empty",
            next_step=f"write a number in {unit} and a reason, {again}",
        )
    try:
        read_number(seal.number, unit)
    except NumberError as error:
        raise UsageError(
            f"{answers}: {seal.question}.number: {error}",
            next_step=f"write what you predict as a number in {unit}, {again}",
        ) from error


def _names(lab: Lab) -> list[str]:
    """Return the names of all plays in a lab's folder."""
    others = [one.name for one in (lab.sweep, lab.match) if one is not None]
    return [*(rally.name for rally in lab.rallies), *others]


def _is_played(out: Path) -> bool:
    """Tell whether there is a result to be seen: a whole rally, or any of a sweep or a match."""
    if (out / MANIFEST).is_file():
        with contextlib.suppress(RallyError):
            return open_folder(out).manifest.ended == "complete"
        return False
    return out.is_dir() and any(out.glob(f"*/{MANIFEST}"))


def _keep(folder: Path, seals: list[_Seal]) -> None:
    path = folder / SEALS
    lines = "".join(seal.model_dump_json() + "\n" for seal in seals)
    with writing(path):
        if path.is_symlink():
            path.unlink()  # through no link
        with path.open("a", encoding="utf-8") as file:
            file.write(lines)


def _same(seal: _Seal, prediction: Prediction, unit: str) -> bool:
    """Tell whether a prediction is the sealed one: the same number, in the same words."""

    def words(text: str) -> list[str]:
        return re.findall(r"\w+", text.casefold())

    def number(text: str) -> float | str:
        try:
            return read_number(text, unit)
        except NumberError:
            return " ".join(text.split())

    same = number(seal.number) == number(str(prediction.number))
    return same and words(seal.reason) == words(prediction.reason)
