"""A Sphinx extension: an exam from ``questions.toml``.

- ``{exam-table}`` lists the questions: lab, kind, marks.
- ``{exam-paper} ID...`` writes questions as candidates see them (without an argument: all).
- ``{exam-answers} ID...`` writes each with its answer, how to mark it, and the pages that say so.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from docutils import nodes
from pydantic import Field, ValidationError
from sphinx.application import Sphinx

from tennis.course.authoring.sphinx import GeneratedDirective
from tennis.course.labs import (
    Identifier,
    LabError,
    OneLine,
    Prose,
    StrictPart,
    first_error,
    read_toml,
)

QUESTIONS = Path(__file__).parent / "questions.toml"
KINDS = {
    "plot": "read a picture or a table",
    "compute": "compute",
    "claim": "judge a claim",
    "measurement": "find what is wrong with a measurement",
}


class Marking(StrictPart):
    """What some of the marks of a question are given for."""

    marks: Annotated[int, Field(gt=0, le=20)]
    text: OneLine


class ExamQuestion(StrictPart):
    """A question of the exam, with its answer."""

    id: Identifier
    lab: Annotated[int, Field(ge=1, le=99)]
    kind: Literal["plot", "compute", "claim", "measurement"]
    text: Prose
    picture: OneLine | None = None  # from the tree's root
    result: list[int | float] = Field(default=[])  # of what is to be computed
    answer: Prose
    marking: Annotated[list[Marking], Field(min_length=1)]
    sources: Annotated[list[OneLine], Field(min_length=1)]  # path, or path#heading
    figures: list[OneLine] = Field(default=[])  # as they stand in the sources

    @property
    def marks(self) -> int:
        """Return the marks of the whole question."""
        return sum(part.marks for part in self.marking)


class Exam(StrictPart):
    """All questions of the set."""

    questions: Annotated[list[ExamQuestion], Field(min_length=1)]


def load_exam(path: Path = QUESTIONS) -> list[ExamQuestion]:
    """Return the questions in their order. Raises LabError where the file is not usable."""
    try:
        return Exam.model_validate(read_toml(path)).questions
    except ValidationError as error:
        message = f"{path}: {first_error(error)}"
        raise LabError(message, next_step="mend that question") from error


def table(questions: list[ExamQuestion]) -> str:
    """Return a Markdown table of the questions."""
    rows = ["| question | id | lab | kind | marks |", "|--:|---|--:|---|--:|"]
    for number, one in enumerate(questions, 1):
        rows.append(f"| {number} | `{one.id}` | {one.lab} | {KINDS[one.kind]} | {one.marks} |")
    rows.append(f"| | | | **all** | **{sum(one.marks for one in questions)}** |")
    return "\n".join(rows)


def paper(questions: list[ExamQuestion]) -> str:
    """Return, in Markdown, what candidates see."""
    return "\n\n".join(_asked(number, one) for number, one in enumerate(questions, 1))


def answers(questions: list[ExamQuestion]) -> str:
    """Return, in Markdown, questions, answers, marks and sources."""
    parts = []
    for number, one in enumerate(questions, 1):
        parts += [_asked(number, one), f"*Answer.* {one.answer}"]
        parts.append("\n".join(f"- **{part.marks}**: {part.text}" for part in one.marking))
        parts.append("*Source:* " + ", ".join(f"`{source}`" for source in one.sources))
    return "\n\n".join(parts)


def _asked(number: int, one: ExamQuestion) -> str:
    marks = "1 mark" if one.marks == 1 else f"{one.marks} marks"
    text = f"**Question {number}** ({marks})\n\n{one.text}"
    return f"{text}\n\n![picture of question {number}](../{one.picture})" if one.picture else text


class ExamText(GeneratedDirective):
    """A directive that writes questions."""

    optional_arguments = 100
    makers: ClassVar[dict[str, Callable[[list[ExamQuestion]], str]]] = {
        "exam-table": table,
        "exam-paper": paper,
        "exam-answers": answers,
    }

    def run(self) -> list[nodes.Node]:
        """Return the nodes, or the error."""
        self.env.note_dependency(str(QUESTIONS))
        try:
            every = load_exam()
        except LabError as error:
            return [self.state.document.reporter.error(str(error), line=self.lineno)]
        known = {one.id: one for one in every}
        unknown = [name for name in self.arguments if name not in known]
        if unknown:
            message = f"the exam has no question {unknown[0]!r}; it has {', '.join(known)}"
            return [self.state.document.reporter.error(message, line=self.lineno)]
        chosen = [known[name] for name in self.arguments] or every
        return self.parse_text_to_nodes(self.makers[self.name](chosen))


def setup(app: Sphinx) -> dict[str, Any]:
    """Add the directives to Sphinx."""
    for name in ExamText.makers:
        app.add_directive(name, ExamText)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
