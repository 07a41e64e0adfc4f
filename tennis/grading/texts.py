"""The texts that a person reads: each beside its rubric, and what was signed without reading.

``texts.html`` has every text of a class by question, those without an answer, too. Beside a text of
a lab with code lies the code that it is about.

A text editor or ``sed`` can give the same points to all texts of a question at once. That may be
right, so it is asked once, before anything is marked: ``signed.json`` keeps which points were there
the last time.
"""

import json
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tennis.course.lab_files import load_solution
from tennis.course.labs import Lab
from tennis.grading.marks import Marked, Person
from tennis.kit.edition import VERSION
from tennis.kit.units import format_count
from tennis.rally.disk import write_whole
from tennis.report.pages.templates import template

PAGE = "texts.html"
SIGNED = "signed.json"
MARKUP = re.compile(r"[`*]")
ALIKE_MIN = 3  # texts of one question


def signed_alike(out: Path, lab: Lab, people: Mapping[str, Person]) -> list[str]:
    """Return the questions of which all texts that are new in the sheet got the same points.

    In words, as a person is asked. A damaged ``signed.json`` counts as none.
    """
    try:
        known = json.loads((out / SIGNED).read_bytes())
    except (OSError, ValueError):
        known = {}
    before = known if isinstance(known, dict) else {}
    found = []
    for question in lab.questions:
        if question.kind != "text":
            continue
        new = [
            one.points[question.id]
            for file, one in people.items()
            if question.id in one.points
            and one.points[question.id] != before.get(f"{file}\n{question.id}")
        ]
        if len(new) >= ALIKE_MIN and len(set(new)) == 1:
            of = format_count(question.points, "point")
            found.append(f"{question.id}: {new[0]:g} of {of} for each of {len(new)} texts")
    return found


def keep_signed(out: Path, people: Mapping[str, Person]) -> None:
    """Keep which points a person gave: nobody is asked about them again."""
    signed = {
        f"{file}\n{question}": points
        for file, one in people.items()
        for question, points in one.points.items()
    }
    if signed or (out / SIGNED).exists():
        write_whole(out / SIGNED, (json.dumps(signed, indent=1) + "\n").encode(), force=True)


def code_without_text(lab: Lab, marked: Sequence[Marked]) -> list[str]:
    """Return who has all points of some code and wrote no text about it, in words."""
    texts = [question.id for question in lab.questions if question.kind == "text"]
    code = [question for question in lab.questions if question.kind == "file"]
    found = []
    for one in marked:
        report = one.graded.report
        empty = [name for name in texts if report and name not in report.facts.answers]
        points = one.by_question
        full = [f"{q.id} {q.points} of {q.points}" for q in code if points.get(q.id) == q.points]
        if empty and full:
            who = f"{one.graded.student} ({one.graded.file})"
            found.append(f"{who}: {', '.join(full)}; no answer to {', '.join(empty)}")
    return found


def write(out: Path, lab: Lab, marked: Sequence[Marked]) -> None:
    """Write the page of all texts. Raises DiskFullError, RallyError."""
    questions = [_question(lab, marked, one.id) for one in lab.questions if one.kind == "text"]
    page = template("texts.html.j2").render(
        version=VERSION, title=f"Lab {lab.number}, {lab.title}", questions=questions
    )
    write_whole(out / PAGE, page.encode(), force=True)


def _question(lab: Lab, marked: Sequence[Marked], name: str) -> dict[str, Any]:
    """Return a question, what a person looks for in its text, and each text."""
    solution = load_solution(lab)
    known = solution.of(name) if solution else None
    question = lab.question(name)
    rubric = [
        (MARKUP.sub("", " ".join(one.text.split())), format_count(one.points, "point"))
        for one in (known.rubric if known else ())
    ]
    texts: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for one in sorted(marked, key=lambda one: one.graded.student.casefold()):
        report = one.graded.report
        if report is None:
            continue
        points = one.by_question.get(name)
        (why,) = [mark.why for mark in report.marks if mark.question == name] or [""]
        texts["read" if name in one.person.points else "open"].append(
            {
                "student": one.graded.student,
                "file": one.graded.file,
                "page": f"feedback/{one.graded.key}.html",
                "answer": report.facts.answers.get(name),
                "points": "to be read" if points is None else f"{points:g} of {question.points}",
                "why": "" if points is None or name in one.person.points else why,
                "code": one.graded.code,
            }
        )
    return {
        "id": name,
        "text": MARKUP.sub("", lab.fill(question.text)),
        "points": question.points,
        "rubric": rubric,
        "sample": " ".join(((known.sample if known else None) or "").split()),
        "texts": texts["open"] + texts["read"],
    }
