# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""The mark sheet: each answer that a person marks, and what they give; nothing in it is lost."""

import json
import re
import textwrap
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tennis.course.hand_ins.graded import Graded
from tennis.course.labs import Lab
from tennis.course.solutions import load_solution
from tennis.errors import UsageError
from tennis.rally.edited import nearest, read_edited, write_readable
from tennis.rally.text import plain

SHEET = "marks.toml"
ANSWER_MAX = 4000  # characters of an answer in the sheet
ANSWER_COLUMNS = 96
# lines of the sheet that are no question's points
OTHERS = {"comment", "it_counts"}


@dataclass(frozen=True)
class Person:
    """What a person gave: points of a question, and words for the student.

    ``it_counts``: whether this is the hand-in that counts.
    """

    points: dict[str, float]
    comment: str
    it_counts: bool | None = None


def read_sheet(out: Path, lab: Lab) -> dict[str, Person]:
    """Read the mark sheet, by file. Raises UsageError where somebody broke it: it is kept."""
    path = out / SHEET
    content = read_edited(path)
    limits = {question.id: question.points for question in lab.questions}
    people: dict[str, Person] = {}
    for file, entries in content.items():
        if not isinstance(entries, dict):
            raise UsageError(f"{path}: {plain(file, 60)} is not a table")
        where = f"{path}: {plain(file, 60)}"
        given = {name: value for name, value in entries.items() if value != ""}
        # what macOS wrote in its own form of Unicode is found as it is called now
        label = unicodedata.normalize("NFC", file)
        if label in people:
            raise UsageError(f"{where} is there twice", next_step="take one of them out")
        people[label] = Person(
            {name: _points(where, name, given[name], limits) for name in given.keys() - OTHERS},
            plain(str(entries.get("comment", "")), 2000),
            _it_counts(where, given.get("it_counts")),
        )
    return people


def _points(where: str, name: str, value: object, limits: Mapping[str, int]) -> float:
    """Return whole or half points, as a number or in quotes. Raises UsageError."""
    text = str(value).strip().replace(",", ".").replace("½", ".5")
    if name == "days_late":  # of earlier versions
        raise UsageError(f"{where}: there are no late rules now", next_step="remove that line")
    if name not in limits:
        known = (*limits, *sorted(OTHERS))
        raise UsageError(f"{where}: {plain(name, 40)}: no question", next_step=nearest(name, known))
    if isinstance(value, bool) or not re.fullmatch(r"\d*(\.[05]0*)?", text) or text in {"", "."}:
        raise UsageError(
            f"{where}: {name} = {plain(text, 30)}", next_step="write whole or half points: 1 or 1.5"
        )
    points = float(text)
    if points > limits[name]:
        raise UsageError(
            f"{where}: {name} = {points:g}", next_step=f"write 0 to {limits[name]} points"
        )
    return points


def _it_counts(where: str, value: object) -> bool | None:
    if value is not None and not isinstance(value, bool):
        raise UsageError(f"{where}: it_counts", next_step="write true or false, without quotes")
    return value


def write_sheet(out: Path, lab: Lab, graded: Sequence[Graded], people: dict[str, Person]) -> None:
    """Add what is new to the mark sheet; what a person wrote stays, word for word.

    ``graded``: those that count.
    """
    path = out / SHEET
    before = path.read_bytes() if path.is_file() else _sheet_head(lab).encode()
    new = [one for one in graded if one.report and one.file not in people]
    if not new and path.is_file():
        return
    text = "".join(_sheet_entry(one) for one in new)
    end = b"\r\n" if b"\r\n" in before else b"\n"  # as the editor of that person ends lines
    whole = before.rstrip(b"\r\n") + end + text.encode().replace(b"\n", end)
    write_readable(path, whole)


def _sheet_entry(one: Graded) -> str:
    """Return a table of the sheet: below each answer that is to be marked, room for its points."""
    assert one.report is not None  # noqa: S101
    text = f"\n[{json.dumps(one.file, ensure_ascii=False)}]  # {plain(one.student, 60)}\n"
    for mark in one.report.open:
        why = "" if mark.why == "a person reads it" else f"; {plain(mark.why, 100)}"
        text += _as_comment(mark.question, one.report.facts.answers.get(mark.question), one.key)
        text += f'{mark.question} = ""  # of {mark.of}{why}\n'
    return text + 'comment = ""\n'


def _as_comment(question: str, answer: float | str | None, key: str) -> str:
    """Return an answer as comments of TOML; of a long one its beginning, and where the rest is."""
    if answer is None:
        return ""
    whole = str(answer)
    text = f"# {question}, the answer:\n"
    for line in whole[:ANSWER_MAX].splitlines():
        for piece in textwrap.wrap(plain(line, ANSWER_MAX), ANSWER_COLUMNS) or [""]:
            text += f"#   {piece}".rstrip() + "\n"
    left = len(whole) - ANSWER_MAX
    return text + (f"#   ({left:,} characters more: feedback/{key}.html)\n" if left > 0 else "")


def _sheet_head(lab: Lab) -> str:
    lines = [
        f"# Lab {lab.number}, {lab.title}: points that a person gives. Put a number in place of",
        '# "", half points too (1.5), then run `tennis grade` again. A number for any question',
        "# counts, also where the checks had another. Nothing that you write here is overwritten.",
        "# Further lines that you may add to a hand-in:",
        "#   it_counts = true   of several hand-ins of one student, this one counts (false: not)",
    ]
    solution = load_solution(lab)
    for question in lab.questions:
        answer = solution.of(question.id) if solution else None
        lines += [
            f"# {question.id}, {criterion.points}: {' '.join(criterion.text.split())}"
            for criterion in (answer.rubric if answer else ())
        ]
    return "\n".join(lines) + "\n"
