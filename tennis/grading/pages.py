"""Output of grading: a page for each student, a page for markers, a table of points."""

import statistics
from collections import Counter
from collections.abc import Sequence, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tennis.course.checking.plays import ON_BOARD
from tennis.course.checking.running import ANSWERED, Result, title
from tennis.course.lab_files import Answer, load_solution
from tennis.course.labs import Lab
from tennis.course.people import folded
from tennis.grading import texts
from tennis.grading.findings import DECISIONS, equals
from tennis.grading.judged import PDFS, Graded, common_wrong
from tennis.grading.marks import Marked, Person, Status
from tennis.kit.edition import VERSION
from tennis.kit.units import format_count
from tennis.rally.cells import csv_of, words
from tennis.rally.disk import write_whole
from tennis.report.pages.templates import template

FEEDBACK = "feedback"
CLASS = "class.html"
TABLE = "marks.csv"
STYLES = {"pass": "confirmed", "fail": "contradicted", "inconclusive": "inconclusive"}
WORDS_OF = {
    "pass": "as it should be",
    "fail": "not so",
    "inconclusive": "undecided",
    "not run": "not looked at",
}
# the status of a hand-in, in words
STATUS = {
    "marked": "marked",
    "open": "a person has still to read",
    "first look": "a first look: nothing was played here",
    "unconfirmed": "unconfirmed",
    "no member": "no member, by decision",
    "withheld": "withheld",
    "none": "no points, by decision",
    "later": "later",
    "refused": "could not be marked",
}


def write(out: Path, lab: Lab, marked: Sequence[Marked]) -> None:
    """Write all pages and the table again. Raises DiskFullError, RallyError."""
    (out / FEEDBACK).mkdir(exist_ok=True)
    for one in marked:
        for other in one.others:
            beside = Marked(other, Person({}, ""))
            page = template("feedback.html.j2").render(**_feedback(lab, beside, one.graded.file))
            write_whole(out / FEEDBACK / _page(other), page.encode(), force=True)
        page = template("feedback.html.j2").render(**_feedback(lab, one))
        write_whole(out / FEEDBACK / _page(one.graded), page.encode(), force=True)
    page = template("class.html.j2").render(**_class(lab, marked, out))
    write_whole(out / CLASS, page.encode(), force=True)
    texts.write(out, lab, marked)
    write_whole(out / TABLE, csv_of(_table(lab, marked)), force=True)


def _page(one: Graded) -> str:
    return f"{one.key}.html"


def _number(points: float | None) -> str:
    """Write points as people do: 2, 1.5; empty if nobody knows them yet."""
    return "" if points is None else f"{points:g}"


def _feedback(lab: Lab, one: Marked, counts: str = "") -> dict[str, Any]:
    graded = one.graded
    return {
        "version": VERSION,
        "title": f"Lab {lab.number}, {lab.title}",
        "student": graded.student,
        "file": graded.file,
        "counts": counts,
        "status": one.status,
        "refused": graded.refused,
        "later": graded.later,
        "notes": graded.notes,
        "comment": one.person.comment,
        "points": _number(one.so_far),
        "of": lab.points,
        "open": len(one.open),
        "questions": _questions(lab, one),
        "checks": [
            {
                "title": title(result),
                "verdict": result.verdict,
                "style": STYLES.get(result.verdict, "not-addressed"),
                "looked": _looked_at(result),
                "message": result.message,
                "hint": result.hint,
                "details": result.details,
            }
            for result in graded.results
            if result.question is None
        ],
    }


def _looked_at(result: Result) -> str:
    """Return what a check looked at and why: its rule, which is no answer of a student."""
    return texts.MARKUP.sub("", result.rationale)


def _checked(results: Sequence[Result], why: str) -> list[dict[str, Any]]:
    """Return what looked at a question; the answer itself is above, and ``why`` beside it."""
    return [
        {
            "verdict": WORDS_OF[result.verdict],
            "style": STYLES.get(result.verdict, "not-addressed"),
            "looked": _looked_at(result),
            "message": "" if result.verdict == "pass" or result.message in why else result.message,
            "hint": result.hint if result.verdict == "fail" else "",
            "details": result.details,
        }
        for result in results
        if (result.check.partition("[")[0], result.verdict) != (ANSWERED, "pass")
    ]


def _questions(lab: Lab, one: Marked) -> list[dict[str, Any]]:
    """Return each question with answer, points and why; the right answer if points are lost."""
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
        answer = report.facts.answers.get(question.id)
        if question.kind == "choice" and isinstance(answer, str):  # the lab's words, not theirs
            answer = texts.MARKUP.sub("", answer)
        elif isinstance(answer, int | float):
            answer = f"{answer} {question.unit}"
        if points is not None and points < mark.of and right is not None and right.why:
            why = f"{why}. {right.why}" if why else right.why
        rows.append(
            {
                "id": question.id,
                "text": texts.MARKUP.sub("", lab.fill(question.text)),
                "answer": answer,
                "file": question.file if question.file in report.facts.files else None,
                "points": None if points is None else _number(points),
                "of": mark.of,
                "why": why,
                "checked": _checked([r for r in report.results if r.question == question.id], why),
                "by_person": question.kind == "text" and points is None,
                **_looked_for(right, read=points is not None),
            }
        )
    return rows


def _looked_for(right: Answer | None, *, read: bool) -> dict[str, Any]:
    """Return the criteria for a text, and a sample answer; empty before it was read."""
    known = right if read else None
    each = [(one.text, one.points) for one in (known.rubric if known else ())]
    rubric = [(" ".join(text.split()), format_count(points, "point")) for text, points in each]
    sample = known.sample if known else None
    return {"rubric": rubric, "sample": " ".join((sample or "").split())}


def _class(lab: Lab, marked: Sequence[Marked], out: Path) -> dict[str, Any]:
    graded = [one.graded for one in marked]
    every = [*graded, *(other for one in marked for other in one.others)]
    whole = [one.points for one in marked if one.status == "marked" and one.points is not None]
    pdfs = {path.stem for path in (out / PDFS).glob("*.pdf")}
    by_name = sorted(marked, key=lambda one: one.graded.student.casefold())
    names = Counter(one.student for one in graded)
    minutes = [one.report.facts.minutes for one in graded if one.report]
    return {
        "version": VERSION,
        "title": f"Lab {lab.number}, {lab.title}",
        "of": lab.points,
        "refused": sum(bool(one.refused) for one in graded),
        "open": sum(len(one.open) for one in marked),
        "handed_in": len(every),
        "found": [_record(one) for one in by_name if one.findings],
        "claimed": [
            {
                "member": name,
                "student": one.graded.student,
                "file": one.graded.file,
                "status": STATUS[one.status_of(name)],
            }
            for one in by_name
            for name in one.members
        ],
        "seconds": [
            f"{finding.student}: {finding.file}: {finding.found}"
            for one in by_name
            for finding in one.seconds
        ],
        "decisions": DECISIONS,
        "later": waiting(marked),
        "own": _all_played(graded),
        "boards": [
            f"{one.student}: {title(result)}: {result.message}"
            for one in graded
            for result in one.results
            if result.verdict == "pass" and ON_BOARD in result.message
        ],
        "not_replayed": sum(one.unplayed for one in graded),
        "not_here": _not_here(graded),
        "suspicious": equals(every),
        "textless": texts.code_without_text(lab, marked),
        "texts": texts.PAGE if any(one.kind == "text" for one in lab.questions) else "",
        "benches": [
            f"{one.student}: {title(result)}: {result.message}"
            for one in graded
            for result in one.results
            if result.verdict == "inconclusive" and not result.later
        ],
        "wrong": list(common_wrong(graded, lab)),
        "questions": [_distribution(lab, marked, question.id) for question in lab.questions],
        "rows": [_row(lab, one, pdfs, twin=names[one.graded.student] > 1) for one in by_name],
        "minutes": lab.minutes,
        "marked": len(whole),
        "mean": _number(round(statistics.fmean(whole), 2)) if whole else "",
        "median_minutes": round(statistics.median(minutes)) if minutes else None,
    }


def _record(one: Marked) -> dict[str, Any]:
    """Return the findings about a hand-in, and the decisions."""
    return {
        "student": one.graded.student,
        "file": one.graded.file,
        "page": f"{FEEDBACK}/{_page(one.graded)}",
        "found": [
            finding.words + ("" if finding.file == one.graded.file else f" (in {finding.file})")
            for finding in one.findings
        ],
        "decision": {"withheld": "withheld", "none": "no points"}.get(one.status, "points count"),
    }


def waiting(marked: Sequence[Marked]) -> list[tuple[str, str]]:
    """Return who waits for this machine: why, and whose hand-ins."""
    whose: dict[str, list[str]] = {}
    for one in marked:
        for why in one.graded.waits[:1]:
            whose.setdefault(why, []).append(f"{one.graded.student} ({one.graded.file})")
    return [(why, ", ".join(names)) for why, names in whose.items()]


def _all_played(graded: Sequence[Graded]) -> bool:
    """Tell whether every rally of every hand-in was played here, and was the same."""
    results = [result for one in graded if one.report for result in one.report.results]
    compared = [one for one in results if one.check.partition("[")[0].endswith("_honest")]
    played = [one for one in compared if one.verdict == "pass" and ON_BOARD not in one.message]
    return bool(compared) and len(played) == len(compared)


def _not_here(graded: Sequence[Graded]) -> list[str]:
    """Return what this machine lacks for some check, and how many hand-ins wait for it."""
    lacking = Counter(
        f"{title(result)}: {result.message}"
        for one in graded
        for result in one.results
        if result.not_here
    )
    return [f"{what} ({format_count(times, 'hand-in')})" for what, times in lacking.items()]


def _row(lab: Lab, one: Marked, pdfs: Set[str], *, twin: bool) -> dict[str, Any]:
    """Return a line of the table of students; ``twin``: another has the same name."""
    graded = one.graded
    remarks = [graded.file] if twin else []
    remarks += [graded.refused] if graded.refused else []
    remarks += [f"handed in, too: {other.file}" for other in one.others]
    remarks += graded.notes
    stands = one.points is not None or one.status == "first look"
    return {
        "student": graded.student,
        "page": f"{FEEDBACK}/{_page(graded)}",
        "pdf": f"{PDFS}/{graded.key}.pdf" if graded.key in pdfs else "",
        "points": f"{_number(one.so_far)} of {lab.points}"
        if stands or one.status == "open"
        else "",
        "status": "" if one.status in {"marked", "open"} else STATUS[one.status],
        "open": len(one.open),
        "minutes": graded.report.facts.minutes if graded.report else "",
        "remarks": "; ".join(remarks),
    }


def _distribution(lab: Lab, marked: Sequence[Marked], question: str) -> dict[str, Any]:
    of = lab.question(question).points
    # withheld points are nobody's yet
    counted = [one for one in marked if one.status in {"marked", "open", "first look", "later"}]
    points = [one.by_question[question] for one in counted if question in one.by_question]
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


def _of_member(head: Sequence[str], row: Sequence[object], status: Status) -> list[object]:
    """Return a group's line as it is for a member: who did not confirm has no points in it."""
    if status not in {"unconfirmed", "no member"}:
        return list(row)
    none = {"points": "", "so_far": "", "status": status}
    own = {**dict(zip(head[1:], row, strict=False)), **none}
    return [*own.values(), *row[len(own) : len(own) + 3], *("" for _ in row[len(own) + 3 :])]


@dataclass
class _Place:
    """A student of a hand-in, and further hand-ins that are this student's, too."""

    one: Marked
    name: str
    number: str
    is_member: bool
    others: list[str] = field(default_factory=list)

    def is_of(self, other: "_Place") -> bool:
        """Tell whether both are one student: a member may have handed in something alone, too."""
        numbers = {self.number, other.number} - {""}
        either = self.is_member or other.is_member
        return either and folded(self.name) == folded(other.name) and len(numbers) < 2

    @property
    def rank(self) -> tuple[bool, bool, float]:
        """Return which of a student's hand-ins counts: the highest one."""
        status = self.one.status_of(self.name)
        counts = status not in {"unconfirmed", "no member"}
        return counts, self.one.decision == "give", self.one.so_far


def _places(marked: Sequence[Marked]) -> list[_Place]:
    """Return each student once, in the order of the hand-ins."""
    every = []
    for one in marked:
        facts = one.graded.report.facts if one.graded.report else None
        # a file in another's name is its sender's
        own = facts if facts and facts.student == one.graded.student else None
        if own and own.members:
            every += [_Place(one, who.name, who.number, is_member=True) for who in own.members]
        else:
            number = own.number if own else ""
            every.append(_Place(one, one.graded.student, number, is_member=False))
    kept: list[_Place] = []
    for place in sorted(every, key=lambda place: place.rank, reverse=True):
        same = next((other for other in kept if place.is_of(other)), None)
        if same is None:
            kept.append(place)
        elif place.one is not same.one:
            same.others.append(place.one.graded.file)
    return [place for place in every if any(place is one for one in kept)]


def _table(lab: Lab, marked: Sequence[Marked]) -> list[list[object]]:
    """Return the table of all points: a line for each student."""
    questions = [question.id for question in lab.questions]
    head = ["student", "file", "points", "of", "so_far", "open", "status", "found"]
    rows: list[list[object]] = [[*head, "other files", "refused", *questions]]
    for place in _places(marked):
        one = place.one
        graded, known = one.graded, one.status not in {"withheld", "later"}
        each = [one.by_question.get(name) for name in questions]
        others = [other.file for other in one.others] + place.others
        row = [
            words(graded.file),
            *(_number(one.points), lab.points, _number(one.so_far) if known else ""),
            *(len(one.open), one.status),
            words("; ".join(finding.words for finding in one.findings)),
            words("; ".join(others)),
            words(graded.refused or "; ".join(graded.waits)),
            *(_number(points) if one.status != "withheld" else "" for points in each),
        ]
        status = one.status_of(place.name) if place.is_member else one.status
        rows.append([words(place.name), *_of_member(head, row, status)])
    return rows
