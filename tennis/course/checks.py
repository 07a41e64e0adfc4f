# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""What authors of checks need: verdicts, and how to say what is wrong.

A check is a function ``check_...`` in ``labs/NN-slug/checks.py``, which pytest runs. Its docstring
says why it is asked; a paragraph that begins with ``Hint:`` helps a student who fails it::

    @check(question="bound", needs=["check_rally[rt-idle]"])
    def check_bound(work):
        \"\"\"Three in N: the rule that the handout derives.

        Hint: how many balls did you play?
        \"\"\"
        expect(number(work, "bound") > 0, "a bound of no balls at all")

Verdicts: it returns: pass. ``expect`` and ``Wrong``: fail. ``Inconclusive``, and whatever else is
raised: inconclusive, which costs nobody a point and is shown to whoever marks. ``NotRun``, or a
check that it needs did not pass: not run.
"""

from collections.abc import Callable, Sequence
from typing import TypeVar

import pytest

from tennis.course.work import Work

Function = TypeVar("Function", bound=Callable[..., object])


class Wrong(Exception):  # noqa: N818 (a verdict)
    """The hand-in is wrong here; the message is for its student, ``details`` to be looked at."""

    def __init__(self, message: str, details: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.details = list(details)


class Inconclusive(Exception):  # noqa: N818
    """It cannot be decided: the bench failed, there are too few balls, the check is at its end."""


class NotRun(Exception):  # noqa: N818
    """Nothing was asked: what the check needs is not here."""


def check(
    *, question: str | None = None, needs: Sequence[str] = (), kinds: Sequence[str] = ()
) -> Callable[[Function], Function]:
    """Say which question a check judges, and which checks must have passed before.

    A check with the argument ``question`` is asked for each question, or for those of some
    ``kinds`` whose answer is not computed; one with the argument ``asked`` for each rally of the
    lab. ``needs`` may then hold ``[*]``.
    """
    mark = pytest.mark.check(question=question, needs=tuple(needs), kinds=tuple(kinds))

    def marked(function: Function) -> Function:
        mark(function)
        return function

    return marked


def expect(condition: bool, message: str) -> None:
    """Raise Wrong where the condition does not hold."""
    if not condition:
        raise Wrong(message)


def given(work: Work, question: str) -> int | float | str:
    """Return an answer. Raises NotRun where there is none: that is judged by a check of its own."""
    if question not in work.answers.given:
        raise NotRun("there is no answer")
    return work.answers.given[question]


def number(work: Work, question: str) -> float:
    """Return an answer that must be a number. Raises Wrong, NotRun."""
    value = given(work, question)
    if isinstance(value, str):
        raise Wrong(f"{question}: a number without quotes, as in 1420 or 3_000_000")
    return float(value)


def near(value: float, right: float, tolerance_percent: float) -> bool:
    """Tell whether a value is within so many percent of the right one."""
    return abs(value - right) <= abs(right) * tolerance_percent / 100
