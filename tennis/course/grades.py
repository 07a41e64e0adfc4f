# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""What grading leaves behind: a page a student, a page for whoever marks, a gradebook's table."""

import csv
import io
import re
import statistics
from collections.abc import Sequence, Set
from pathlib import Path
from typing import Any

from tennis import __version__
from tennis.course.alike import pairs
from tennis.course.checking import title
from tennis.course.grading import PDFS, Graded, Marked, common_wrong, equals
from tennis.course.labs import Lab
from tennis.course.solutions import load_solution
from tennis.pages.rally import template
from tennis.rally.disk import write_whole

FEEDBACK = "feedback"
CLASS = "class.html"
TABLE = "marks.csv"
ALIKE_SHOWN = 10  # pairs of a question
STYLES = {"pass": "confirmed", "fail": "contradicted", "inconclusive": "inconclusive"}
FORMULA = ("=", "+", "-", "@", "\t", "\r")  # what a spreadsheet would compute


def write(out: Path, lab: Lab, marked: Sequence[Marked]) -> None:
    """Write all pages and the table anew. Raises DiskFullError, RallyError."""
    (out / FEEDBACK).mkdir(exist_ok=True)
    for one in marked:
        page = template("feedback.html.j2").render(**_feedback(lab, one))
        write_whole(out / FEEDBACK / _page(one), page.encode(), force=True)
    page = template("class.html.j2").render(**_class(lab, marked, out))
    write_whole(out / CLASS, page.encode(), force=True)
    write_whole(out / TABLE, table(lab, marked).encode(), force=True)


def _page(one: Marked) -> str:
    return f"{one.graded.key}.html"


def _feedback(lab: Lab, one: Marked) -> dict[str, Any]:
    graded = one.graded
    report = graded.report
    return {
        "version": __version__,
        "title": f"Lab {lab.number}, {lab.title}",
        "student": graded.student,
        "file": graded.file,
        "late": graded.late,
        "refused": graded.refused,
        "notes": graded.notes,
        "comment": one.person.comment,
        "points": one.points,
        "of": lab.points,
        "open": len(one.open),
        "questions": _questions(lab, one),
        "checks": [
            {
                "title": title(result),
                "verdict": result.verdict,
                "style": STYLES.get(result.verdict, "not-addressed"),
                "message": result.message,
                "hint": result.hint,
                "details": result.details,
            }
            for result in (report.results if report else [])
        ],
    }


def _questions(lab: Lab, one: Marked) -> list[dict[str, Any]]:
    """Return each question with answer, points and why; the right answer where points are lost."""
    report = one.graded.report
    if report is None:
        return []
    solution = load_solution(lab)
    rows = []
    for mark in report.marks:
        question = lab.question(mark.question)
        points = one.by_question[mark.question]
        right = solution.of(question.id) if solution else None
        why = mark.why if mark.points is not None else ""
        if points is not None and points < mark.of and right is not None and right.why:
            why = f"{why}. {right.why}" if why else right.why
        rows.append(
            {
                "id": question.id,
                "text": re.sub(r"[`*]", "", lab.fill(question.text)),
                "answer": report.facts.answers.get(question.id),
                "points": points,
                "of": mark.of,
                "why": why,
            }
        )
    return rows


def _class(lab: Lab, marked: Sequence[Marked], out: Path) -> dict[str, Any]:
    graded = [one.graded for one in marked]
    pdfs = {path.stem for path in (out / PDFS).glob("*.pdf")}
    by_name = sorted(marked, key=lambda one: one.graded.student.casefold())
    minutes = [one.report.facts.minutes for one in graded if one.report]
    return {
        "version": __version__,
        "title": f"Lab {lab.number}, {lab.title}",
        "of": lab.points,
        "refused": sum(bool(one.refused) for one in graded),
        "open": sum(len(one.open) for one in marked),
        "suspicious": equals(graded),
        "benches": [
            f"{one.student}: {title(result)}: {result.message}"
            for one in graded
            for result in (one.report.results if one.report else [])
            if result.verdict == "inconclusive"
        ],
        "wrong": list(common_wrong(graded, lab)),
        "alike": _alike(lab, graded),
        "questions": [_distribution(lab, marked, question.id) for question in lab.questions],
        "rows": [_row(one, pdfs) for one in by_name],
        "minutes": lab.minutes,
        "median_minutes": round(statistics.median(minutes)) if minutes else None,
    }


def _alike(lab: Lab, graded: Sequence[Graded]) -> list[dict[str, Any]]:
    """Return the texts of each question that are nearly alike, side by side."""
    reports = {one.file: one.report for one in graded if one.report is not None}
    found = []
    for question in lab.questions:
        if question.kind not in {"prediction", "text"}:
            continue
        given = {file: report.facts.answers.get(question.id) for file, report in reports.items()}
        texts = {file: str(text) for file, text in given.items() if text is not None}
        every = [
            (pair, [reports[file].facts.student for file in pair.authors])
            for pair in pairs(texts, asked=lab.fill(question.text))
        ]
        of_two = [(pair, names) for pair, names in every if len(set(map(str.casefold, names))) > 1]
        shown = [
            {
                "percent": pair.percent,
                "texts": list(zip(names, pair.authors, pair.pieces, strict=True)),
            }
            for pair, names in of_two[:ALIKE_SHOWN]
        ]
        if shown:
            found.append(
                {"question": question.id, "pairs": shown, "more": len(of_two) - len(shown)}
            )
    return found


def _row(one: Marked, pdfs: Set[str]) -> dict[str, Any]:
    graded = one.graded
    remarks = [graded.refused] if graded.refused else []
    remarks += ["late"] if graded.late else []
    remarks += graded.notes
    return {
        "student": graded.student,
        "page": f"{FEEDBACK}/{_page(one)}",
        "pdf": f"{PDFS}/{graded.key}.pdf" if graded.key in pdfs else "",
        "points": one.points,
        "open": len(one.open),
        "minutes": graded.report.facts.minutes if graded.report else "",
        "remarks": "; ".join(remarks),
    }


def _distribution(lab: Lab, marked: Sequence[Marked], question: str) -> dict[str, Any]:
    of = lab.question(question).points
    points = [one.by_question[question] for one in marked if question in one.by_question]
    known = [value for value in points if value is not None]
    return {
        "id": question,
        "of": of,
        "all": sum(value == of for value in known),
        "some": sum(0 < value < of for value in known),
        "none": sum(value == 0 for value in known),
        "open": len(points) - len(known),
        "mean": f"{statistics.fmean(known):.1f}" if known else "",
    }


def table(lab: Lab, marked: Sequence[Marked]) -> str:
    """Return the table for a gradebook, as CSV; no cell is a formula."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    questions = [question.id for question in lab.questions]
    writer.writerow(["student", "file", "points", "of", "open", "late", "refused", *questions])
    for one in marked:
        graded = one.graded
        marks = (
            {mark.question: mark.points for mark in graded.report.marks} if graded.report else {}
        )
        each = [one.person.points.get(name, marks.get(name)) for name in questions]
        writer.writerow(
            [
                *map(_cell, (graded.student, graded.file)),
                *(one.points, lab.points, len(one.open), "late" if graded.late else ""),
                _cell(graded.refused),
                *("" if points is None else points for points in each),
            ]
        )
    return text.getvalue()


def _cell(words: str) -> str:
    return f"'{words}" if words.startswith(FORMULA) else words
