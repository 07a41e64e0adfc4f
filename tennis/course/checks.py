"""Tools for authors of checks: verdicts, and ways to report errors.

A check is a function ``check_...`` in ``labs/NN-slug/checks.py``, which pytest runs. Its docstring
says why it is asked; a paragraph that begins with ``Hint:`` helps a student who fails it::

    @check(question="bound")
    def check_bound(work):
        \"\"\"Three in N: the rule that the handout derives.

        Hint: how many balls did you play?
        \"\"\"
        expect(number(work, "bound") > 0, "a bound of no balls at all")

Verdicts: it returns: pass. ``expect`` and ``Wrong``: fail. ``Inconclusive``, and any other
exception: inconclusive, which costs nobody a point and is shown to the marker. ``NotRun``, or a
check that it needs did not pass: not run. ``InDoubt`` is a fail that says that the work may be
somebody else's. A check that failed because of the machine (``BenchError``, a full disk) is
repeated the next time.
"""

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from math import isfinite
from typing import Literal, TypeVar

import numpy as np
import pytest

from tennis.course.choices import ChoiceError, chosen
from tennis.course.work import Work
from tennis.course.written_numbers import AmbiguousNumberError, NumberError, read_number
from tennis.rally import Rally
from tennis.rally.statistics import summarize
from tennis.rally.statistics.balls import latencies_ns
from tennis.rally.statistics.intervals import quantile_rank

Note = Callable[[str], None]  # a fixture: words beside the verdict of a check that passes
Function = TypeVar("Function", bound=Callable[..., object])


class Wrong(Exception):  # noqa: N818 (a verdict)
    """The hand-in is wrong here; the message is for its student, ``details`` to be looked at."""

    def __init__(self, message: str, details: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.details = list(details)


class Ambiguous(Wrong):
    """A number may be two: a student is asked which, and a marker decides."""


class InDoubt(Wrong):
    """It may not be this student's own work: points are withheld until a person has decided."""


class Inconclusive(Exception):  # noqa: N818
    """It cannot be decided: the bench failed, there are too few balls, the check is at its end."""


class NotRun(Exception):  # noqa: N818
    """Nothing was asked: what the check needs is not here."""


class NotHere(NotRun):
    """A check needs something that is not on this machine; later the same command runs it."""


def check(
    *,
    question: str | None = None,
    needs: Sequence[str] | None = None,
    kinds: Sequence[str] = (),
    recorded: bool = True,
    rallies: bool = False,
) -> Callable[[Function], Function]:
    """Say which question a check judges, and which checks must have passed before.

    If nothing else is said: the question is answered, and the rallies that it is about are there.

    A check with the argument ``question`` is asked for each question, or for those of some
    ``kinds`` whose answer is not computed, or for those that need ``rallies``; one with the
    argument ``lab_rally`` for each rally of the lab, of recorded ones only if ``recorded``.
    ``needs`` may then hold ``[*]``.
    """
    mark = pytest.mark.check(
        question=question,
        needs=None if needs is None else tuple(needs),
        kinds=tuple(kinds),
        recorded=recorded,
        rallies=rallies,
    )

    def marked(function: Function) -> Function:
        mark(function)
        return function

    return marked


def expect(condition: bool, message: str) -> None:
    """Raise Wrong if the condition does not hold."""
    if not condition:
        raise Wrong(message)


def _answer_to(work: Work, question: str) -> int | float | str:
    """Return an answer. Raises NotRun if it is missing: another check judges that."""
    if question not in work.answers.by_question:
        raise NotRun("there is no answer")
    return work.answers.by_question[question]


def number(work: Work, question: str) -> float:
    """Return an answer that must be a number, in the question's unit. Raises Wrong, NotRun."""
    asked = work.lab.question(question)
    return number_in(_answer_to(work, question), asked.unit or "", whole=asked.whole)


def number_in(written: float | str, unit: str, *, whole: bool = False) -> float:
    """Return a number as somebody wrote it, in ``unit``. Raises Wrong, Ambiguous."""
    if not isinstance(written, str):
        expect(not whole or written == int(written), f"{written:g} is not a whole number of {unit}")
        return float(written)
    try:
        return read_number(written, unit, whole=whole)
    except AmbiguousNumberError as error:
        raise Ambiguous(str(error)) from error
    except NumberError as error:
        raise Wrong(str(error)) from error


def choice(work: Work, question: str) -> str:
    """Return the name of the choice that an answer selects by its number.

    Raises Wrong, NotRun, and Inconclusive if the numbers are of another seed.
    """
    answer, asked = _answer_to(work, question), work.lab.question(question)
    seed = work.answers.seed
    if seed != work.seed:
        raise Inconclusive(f"the numbers of its choices are of another name: {seed}")
    try:
        return chosen(work.lab.slug, asked, answer, seed)
    except ChoiceError as error:
        raise Wrong(str(error)) from error


def figure_ns(rally: Rally, latency: Literal["interrupt", "scheduling"], name: str) -> float:
    """Return a figure of a rally by its name in ``Latency``; ns.

    Raises Inconclusive if it is not known, as that ball was missed.
    """
    summary = summarize(rally)
    figures = summary.interrupt_ns if latency == "interrupt" else summary.scheduling_ns
    value = figures.ns(name)
    if not isfinite(value):
        raise Inconclusive(
            f"{rally.path.name}: {figures.missed} of {rally.balls} balls were missed, and this "
            "figure is among them"
        )
    return value


def figures_ns(
    work: Work, question: str, latency: Literal["interrupt", "scheduling"], name: str
) -> list[float]:
    """Return that figure of each rally that a question is about. Raises Inconclusive."""
    rallies = work.lab.question(question).rallies
    return [figure_ns(work.rallies[rally], latency, name) for rally in rallies]


def level_ns(rallies: Iterable[Rally], one_in: int) -> float:
    """Return the interrupt latency that 1 ball in ``one_in`` of some rallies exceeds; ns.

    Raises Inconclusive if fewer than ten balls are beyond it, or if it is among missed balls.
    """
    latencies = np.concatenate([latencies_ns(rally, "interrupt") for rally in rallies])
    if latencies.size < 10 * one_in:
        raise Inconclusive(
            f"{latencies.size} balls: a level of 1 in {one_in:,} takes {10 * one_in:,}"
        )
    rank = quantile_rank(latencies.size, 1 - Fraction(1, one_in))
    level = float(np.sort(latencies)[rank - 1])
    if not isfinite(level):
        raise Inconclusive(f"more than 1 in {one_in:,} balls were missed: the level is not known")
    return level


def near(value: float, right: float, tolerance_percent: float) -> bool:
    """Tell whether a value is within ``tolerance_percent`` of the right one."""
    return abs(value - right) <= abs(right) * tolerance_percent / 100


def agrees(
    work: Work,
    question: str,
    right: float,
    percent: float,
    otherwise: str = "your rallies say otherwise",
) -> None:
    """Raise Wrong unless an answer is within ``percent`` of what was computed; NotRun."""
    value, unit = number(work, question), work.lab.question(question).unit
    expect(near(value, right, percent), f"{value:g} {unit}: {otherwise}")
