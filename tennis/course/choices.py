"""Multiple choices: each student sees them in an order of their own, with numbers.

Choices are compared by their names in ``lab.toml``; a number has a meaning only with a seed.
"""

import hashlib

from tennis.course.labs import Question
from tennis.rally.text import plain


class ChoiceError(ValueError):
    """An answer names no choice; the message is for its author."""


def numbered(slug: str, question: Question, seed: int) -> dict[int, str]:
    """Return the names of a question's choices, by the numbers that a student sees, from 1.

    The order follows from the lab, the question and the student's seed: the same every time.
    """

    def order_key(name: str) -> bytes:
        return hashlib.sha256(f"tennis {slug} {question.id} {seed} {name}".encode()).digest()

    return dict(enumerate(sorted(question.choices or {}, key=order_key), 1))


def chosen(slug: str, question: Question, answer: object, seed: int) -> str:
    """Return the name of the choice that a student's number names. Raises ChoiceError."""
    known = numbered(slug, question, seed)
    written = str(answer).strip().rstrip(".)")
    if not (written.isdecimal() and written.isascii() and int(written[:3]) in known):
        numbers = ", ".join(map(str, known))
        raise ChoiceError(f"{plain(str(answer), 20)!a} is not one of the numbers {numbers}")
    return known[int(written)]
