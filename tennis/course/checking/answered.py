# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""What a student is told about each question: whether it is answered, and whether it is right.

These are two things. A student's own run knows no solution: an answer that stands there may be
wrong, and nobody says so here.
"""

from collections.abc import Sequence
from typing import Literal

from pydantic import BaseModel

from tennis.course.checking.running import UNSEALED, Report, Result
from tennis.course.labs import Lab, Question

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
    """Return what is known of each question, in the lab's order."""
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
    """Return what the checks that judge an answer said. Those of a file are all about one."""
    failed = next((one for one in results if one.verdict == "fail"), None)
    if failed is not None:
        return "no", failed.message
    waiting = next((one for one in results if one.not_here), None)
    if waiting is not None:  # what has passed so far is not all that is asked
        return "waits", waiting.message
    undecided = next((one for one in results if one.verdict != "pass"), None)
    if undecided is not None:
        return "not judged here", undecided.message
    if question.kind == "text" or not results:
        return "not judged here", "a person reads it"
    return "yes", ""


def not_run(report: Report) -> list[Result]:
    """Return the checks that were not run here, but for those of single questions."""
    return [one for one in report.results if one.verdict == "not run" and one.question is None]
