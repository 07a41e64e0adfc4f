# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""``labs/NN-slug/solution.toml``: what is right, and what a person looks for. Never for students.

A student's tree has no such file: there, what needs it is *not run*.
"""

from typing import Annotated, Self

from pydantic import Field, RootModel, ValidationError, model_validator

from tennis.course.labs import Lab, LabError, Prose, StrictPart, first_error, read_toml

SOLUTION = "solution.toml"
CHECKS = "checks.py"  # of a lab, beside it


class Criterion(StrictPart):
    """What a person looks for in a text, and what it is worth."""

    points: Annotated[int, Field(gt=0, le=100)]
    text: Prose


class Answer(StrictPart):
    """What is right for a question: a number or a choice, or a rubric; and why."""

    answer: float | int | str | None = None
    tolerance_percent: Annotated[float, Field(ge=0, le=1000)] = 0.0
    rubric: Annotated[list[Criterion], Field(max_length=20, default_factory=list)]
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
        """Return the answer to a question; None where the checks compute it from the rallies."""
        return self.root.get(question)


def load_solution(lab: Lab) -> Solution | None:
    """Read a lab's solution; None where there is none. Raises LabError for one that is wrong."""
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
