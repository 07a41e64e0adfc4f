# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Labs as their teacher wrote them: ``labs/course.toml`` and ``labs/NN-slug/lab.toml``.

Each number of a lab has one owner, its ``lab.toml``. Handouts, notebooks and checks ask here.
"""

import re
import tomllib
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    model_validator,
)

from tennis.checkout import ROOT
from tennis.errors import TennisError

LABS = ROOT / "labs"

Line = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=r"^[^\n]*$")]
Prose = Annotated[str, StringConstraints(min_length=1, max_length=4000, strip_whitespace=True)]
Identifier = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9-]*$", max_length=40)]
Slug = Annotated[str, StringConstraints(pattern=r"^[0-9]{2}-[a-z0-9-]+$", max_length=60)]
Value = int | float | str | list[int] | list[float] | list[str]

_PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")


class LabError(TennisError):
    """A lab's or the course's file cannot be used as it is."""


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Question(_Part):
    """A question of a lab; handout and notebook ask it in these words."""

    id: Identifier
    kind: Literal["prediction", "number", "text"]
    points: Annotated[int, Field(gt=0, le=100)]
    text: Prose
    unit: Line | None = None

    @model_validator(mode="after")
    def _unit_goes_with_a_number(self) -> Self:
        if (self.kind == "number") != (self.unit is not None):
            raise ValueError("a question has a unit if, and only if, its kind is number")
        return self


class Lab(_Part):
    """A lab: what students do, with which numbers, and what they are asked."""

    slug: Slug
    title: Line
    about: Line
    minutes: Annotated[int, Field(gt=0, le=600)]
    parameters: dict[Annotated[str, StringConstraints(pattern=r"^[a-z_]+$")], Value]
    questions: Annotated[list[Question], Field(min_length=1, max_length=50)]

    @model_validator(mode="after")
    def _questions_are_sound(self) -> Self:
        seen = set()
        for question in self.questions:
            if question.id in seen:
                raise ValueError(f"two questions have the id {question.id!r}")
            seen.add(question.id)
            self.fill(question.text)
        return self

    @property
    def number(self) -> int:
        """Return the lab's number, the digits that its slug begins with."""
        return int(self.slug[:2])

    @cached_property
    def points(self) -> int:
        """Return the points of all questions together."""
        return sum(question.points for question in self.questions)

    def question(self, question_id: str) -> Question:
        """Return a question by its id."""
        for question in self.questions:
            if question.id == question_id:
                return question
        known = ", ".join(question.id for question in self.questions)
        raise LabError(f"lab {self.slug} has no question {question_id!r}; it has {known}")

    def fill(self, text: str, *, prose: bool = True) -> str:
        """Put the lab's parameters where ``text`` names them in braces.

        In prose, 5,000 has a comma; in commands it has none.
        """

        def value(match: re.Match[str]) -> str:
            name = match[1]
            if name not in self.parameters:
                known = ", ".join(self.parameters) or "none"
                raise ValueError(f"{match[0]} names no parameter of the lab; there are {known}")
            return write(self.parameters[name], prose=prose)

        return _PLACEHOLDER.sub(value, text)

    def value(self, path: str) -> Value:
        """Return ``title``, ``minutes``, ``points``, ... or ``parameters.NAME``."""
        first, _, rest = path.partition(".")
        if first == "parameters" and rest in self.parameters:
            return self.parameters[rest]
        if not rest and first in {"title", "about", "minutes", "points", "number", "slug"}:
            value: Value = getattr(self, first)
            return value
        raise LabError(
            f"lab {self.slug} has no {path!r}; use title, about, minutes, points, number, slug or "
            f"parameters.NAME with one of {', '.join(self.parameters)}"
        )


class Course(_Part):
    """The course: its labs in their order."""

    title: Line
    about: Line
    labs: list[Slug]


def write(value: Value, *, prose: bool = True) -> str:
    """Write a value: lists with commas and, in prose, large numbers too."""
    if isinstance(value, list):
        return ", ".join(write(item, prose=prose) for item in value)
    return f"{value:,}" if prose and isinstance(value, int) else str(value)


def load_lab(slug: str, labs: Path = LABS) -> Lab:
    """Read the lab in the folder ``slug``.

    Raises LabError where it does not exist or is not what a lab must be.
    """
    path = labs / slug / "lab.toml"
    if not path.is_file():
        known = ", ".join(sorted(file.parent.name for file in labs.glob("*/lab.toml"))) or "none"
        raise LabError(f"there is no lab {slug!r} in {labs}; there are {known}")
    content = _read(path)
    if "slug" in content:
        raise LabError(f"{path}: slug: the folder's name is the slug; leave it out")
    try:
        return Lab.model_validate(content | {"slug": slug})
    except ValidationError as error:
        raise LabError(f"{path}: {_first(error)}") from error


def load_course(labs: Path = LABS) -> tuple[Course, list[Lab]]:
    """Read the course and all of its labs.

    Raises LabError where one of them is missing, or is there without being in the course.
    """
    path = labs / "course.toml"
    try:
        course = Course.model_validate(_read(path))
    except ValidationError as error:
        raise LabError(f"{path}: {_first(error)}") from error
    forgotten = {file.parent.name for file in labs.glob("*/lab.toml")} - set(course.labs)
    if forgotten:
        raise LabError(f"{path}: labs: {', '.join(sorted(forgotten))} is missing in the list")
    return course, [load_lab(slug, labs) for slug in course.labs]


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise LabError(f"{path} cannot be read: {error}") from error
    except tomllib.TOMLDecodeError as error:
        raise LabError(f"{path} is not TOML: {error}") from error


def _first(error: ValidationError) -> str:
    """Say the first thing that is wrong in one line: where, and what."""
    first = error.errors()[0]
    where = ""
    for step in first["loc"]:
        where += f"[{step}]" if isinstance(step, int) else f".{step}"
    message = first["msg"].removeprefix("Value error, ")
    return f"{where.lstrip('.') or 'the file'}: {message}"
