"""Files of a lab beside ``lab.toml``: its solution, its recorded rallies, its sources.

``solution.toml`` has the right answers, and criteria for texts. A student's tree has no such file:
there, checks that need it are *not run*.

``recorded/NAME`` are rallies that nobody can play here, the same for everybody. ``lab.toml`` names
the seal of each, which covers the hash of every file. A student's folder holds none of them, and no
hand-in does.

A source that students complete holds the gaps and their solution. Students do not see the text
between ``/* [solution] */`` and ``/* [/solution] */``, the solution lacks the text between ``/*
[mistake] */`` and ``/* [/mistake] */``, and ``[gap]`` becomes ``GAP``, which editors find. A file
without these marks is as students get it.
"""

import re
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, RootModel, ValidationError, model_validator

from tennis.course.labs import Lab, LabError, LabRally, Prose, StrictPart, first_error, read_toml
from tennis.kit.errors import RallyError
from tennis.rally import Rally, open_rally
from tennis.rally.program import KITS
from tennis.rally.statistics import summarize

SOLUTION = "solution.toml"
CHECKS = "checks.py"  # of a lab, beside it


class _Criterion(StrictPart):
    """A criterion for a text, and its points."""

    points: Annotated[int, Field(gt=0, le=100)]
    text: Prose


class Answer(StrictPart):
    """The right answer to a question: a number or a choice, or a rubric; and why."""

    answer: float | int | str | None = None
    tolerance_percent: Annotated[float, Field(ge=0, le=1000)] = 0.0
    rubric: Annotated[list[_Criterion], Field(max_length=20, default_factory=list)]
    sample: Prose | None = None  # a good answer; a student's page shows it once theirs was read
    why: Prose | None = None

    @model_validator(mode="after")
    def _one_or_the_other(self) -> Self:
        if (self.answer is None) == (not self.rubric):
            raise ValueError("an answer has a value or a rubric")
        return self


class Solution(RootModel[dict[str, Answer]]):
    """A lab's answers by question."""

    def of(self, question: str) -> Answer | None:
        """Return the answer to a question; None if the checks compute it from the rallies."""
        return self.root.get(question)


def load_solution(lab: Lab) -> Solution | None:
    """Read a lab's solution; None if it is missing. Raises LabError for a wrong one."""
    path = lab.folder / SOLUTION
    if not path.is_file():
        return None
    try:
        solution = Solution.model_validate(read_toml(path))
    except ValidationError as error:
        raise LabError(f"{path}: {first_error(error)}") from error
    known = {question.id: question for question in lab.questions}
    for name, answer in solution.root.items():
        if name not in known:
            raise LabError(f"{path}: {name}: the lab has no such question")
        choices = known[name].choices
        if choices is not None and answer.answer not in choices:
            listed = ", ".join(choices)
            raise LabError(f"{path}: {name}: the choices are called {listed}")
        points = sum(criterion.points for criterion in answer.rubric)
        if known[name].computed:
            raise LabError(f"{path}: {name}: it is computed from the rallies, by {CHECKS}")
        if answer.rubric and points != known[name].points:
            raise LabError(
                f"{path}: {name}: the rubric has {points} points, the question {known[name].points}"
            )
    lacking = [q.id for q in lab.questions if q.kind in {"number", "choice"} and not q.computed]
    lacking = [
        name
        for name in lacking
        if (known_answer := solution.of(name)) is None or known_answer.answer is None
    ]
    if lacking:
        raise LabError(f"{path}: {lacking[0]}: there is no answer")
    return solution


def _between(mark: str) -> re.Pattern[str]:
    begin, end = (rf"^[ \t]*/\* \[{slash}{mark}\] \*/\n" for slash in ("", "/"))
    return re.compile(f"{begin}(?P<text>.*?){end}", re.MULTILINE | re.DOTALL)


_SOLUTION, _MISTAKE = _between("solution"), _between("mistake")
_MARK = re.compile(r"\[(?:/?solution|/?mistake|gap)\]")


def source_of(lab: Lab, name: str) -> Path:
    """Return the path of one of a lab's files: in the lab's folder, or among the kit's programs."""
    own, kits = lab.folder / name, KITS / name
    return kits if kits.is_file() and not own.is_file() else own


def starter(text: str) -> str:
    """Return a file as students get it. Raises ValueError if the marks do not pair."""
    return _without_marks(_MISTAKE.sub(_kept, _SOLUTION.sub("", text)))


def solved(text: str) -> str:
    """Return a file as it is with the solution. Raises ValueError if the marks do not pair."""
    return _without_marks(_SOLUTION.sub(_kept, _MISTAKE.sub("", text)))


def _kept(match: re.Match[str]) -> str:
    return match["text"]


def _without_marks(text: str) -> str:
    text = text.replace("[gap]", "GAP")
    if left := _MARK.search(text):
        raise ValueError(f"{left[0]} stands alone")
    return text


RECORDED = "recorded"
Kind = Literal["interrupt", "scheduling"]


def place(lab: Lab, name: str) -> Path:
    """Return the folder of a recorded rally."""
    return lab.folder / RECORDED / name


def open_recorded(lab: Lab, lab_rally: LabRally) -> Rally:
    """Open a recorded rally. Raises LabError if it is not the one that ``lab.toml`` names."""
    path = place(lab, lab_rally.name)
    anew = "ask your teacher for the labs' folder, and replace yours"
    try:
        rally = open_rally(path)
    except RallyError as error:
        raise LabError(f"lab {lab.slug}: {error}", next_step=anew) from error
    if rally.manifest.seal != lab_rally.recorded:
        raise LabError(f"{path} is another rally than {lab.slug}/lab.toml names", next_step=anew)
    return rally


def figures_us(lab: Lab, name: str, kind: Kind) -> list[float]:
    """Return median, 99 % and maximum of a recorded rally; microseconds. Raises LabError."""
    asked = next((one for one in lab.rallies if one.name == name and one.recorded), None)
    if asked is None or kind not in {"interrupt", "scheduling"}:
        known = ", ".join(one.name for one in lab.rallies if one.recorded) or "none"
        raise LabError(
            f"lab {lab.slug} has no recorded.{name}.{kind}: write recorded.NAME.interrupt or "
            f"recorded.NAME.scheduling, with one of {known}"
        )
    summary = summarize(open_recorded(lab, asked))
    latency = summary.interrupt_ns if kind == "interrupt" else summary.scheduling_ns
    return [latency.ns(figure) / 1000 for figure in ("median", "p99", "max")]
