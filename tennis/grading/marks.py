"""A class's marks: its rules, the sheet that a person fills in, and the outcome of each hand-in.

A person's words in the sheet are never lost. Rules are kept beside the marks: a run that does not
name them uses those of the last one that did.
"""

import json
import re
import textwrap
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, StringConstraints, ValidationError

from tennis.course.lab_files import load_solution
from tennis.course.labs import Lab
from tennis.grading.findings import (
    Decision,
    IntegrityFinding,
    called,
    decision,
    findings,
    of_member,
    owners,
    second_file,
    unconfirmed,
)
from tennis.grading.judged import Graded
from tennis.kit.errors import RallyError, UsageError
from tennis.rally import open_folder
from tennis.rally.disk import write_whole
from tennis.rally.edited import nearest, read_edited, write_readable
from tennis.rally.folder import BALLS, MANIFEST
from tennis.rally.text import plain, quoted

RULES = "rules.toml"
RECORDED = "recorded"  # in a lab's folder: rallies that it hands out
HEAD = "# How this class is marked. Options of `tennis grade` put other rules here.\n"
SHEET = "marks.toml"
NEVER = datetime.min.replace(tzinfo=UTC)
ANSWER_MAX = 4000  # characters of an answer in the sheet
ANSWER_COLUMNS = 96
COMMENT = "comment"
Status = Literal[
    "marked",
    "open",
    "first look",
    "unconfirmed",
    "no member",
    "withheld",
    "none",
    "later",
    "refused",
]


class ClassRules(BaseModel):
    """The rules for all hand-ins of a class."""

    model_config = ConfigDict(extra="forbid")

    recorded: list[Annotated[str, StringConstraints(pattern="^[0-9a-f]{64}$")]] = []
    boards: bool = False  # the class has boards, whose rallies nobody can play again

    @classmethod
    def read(cls, out: Path) -> Self:
        """Read the rules of the last time. Raises UsageError if somebody broke the file."""
        path = out / RULES
        content = read_edited(path)
        try:
            return cls.model_validate(content)
        except ValidationError as error:
            first = error.errors()[0]
            where = plain(".".join(str(step) for step in first["loc"]), 40)
            if first["type"] == "extra_forbidden":
                next_step = nearest(where, cls.model_fields)
                raise UsageError(f"{path}: {where} is unknown", next_step=next_step) from error
            raise UsageError(
                f"{path}: {where}: {plain(first['msg'], 100)}",
                next_step="correct that line, or remove the file and give the options again",
            ) from error

    def write(self, out: Path) -> None:
        """Keep the rules for the next time."""
        lines = [
            f"{name} = {json.dumps(value)}"
            for name, value in self.model_dump(mode="json", exclude_defaults=True).items()
        ]
        if lines or (out / RULES).exists():
            write_whole(out / RULES, (HEAD + "\n".join(lines) + "\n").encode(), force=True)


def handed_out(lab: Lab, folders: Sequence[Path]) -> list[str]:
    """Return the SHA-256 of the balls of the rallies that the course hands out, sorted.

    They are those in the lab's folder ``recorded`` and in ``folders``, one or two levels deep.
    Raises UsageError if a folder holds no rally.
    """
    found = set(_balls_below(lab.folder / RECORDED))
    for folder in folders:
        balls = set(_balls_below(folder))
        if not balls:
            raise UsageError(
                f"--recorded {quoted(folder)} holds no rally",
                next_step="name the folder of the rallies that you handed out",
            )
        found |= balls
    return sorted(found)


def _balls_below(folder: Path) -> Iterator[str]:
    for pattern in (MANIFEST, f"*/{MANIFEST}", f"*/*/{MANIFEST}"):
        for manifest in sorted(folder.glob(pattern)):
            try:
                yield open_folder(manifest.parent).manifest.files[BALLS]
            except RallyError as error:
                raise UsageError(f"--recorded: {error}", next_step="name sound rallies") from error


@dataclass(frozen=True)
class Person:
    """A person's marks: points of questions, and words for the student."""

    points: dict[str, float]
    comment: str


def read_sheet(out: Path, lab: Lab) -> dict[str, Person]:
    """Read the mark sheet, by file. Raises UsageError if somebody broke it: it is kept."""
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
            {name: _points(where, name, given[name], limits) for name in given.keys() - {COMMENT}},
            plain(str(entries.get(COMMENT, "")), 2000),
        )
    return people


def _points(where: str, name: str, value: object, limits: Mapping[str, int]) -> float:
    """Return whole or half points, as a number or in quotes. Raises UsageError."""
    text = str(value).strip().replace(",", ".").replace("½", ".5")
    if name not in limits:
        known = (*limits, COMMENT)
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


def write_sheet(out: Path, lab: Lab, graded: Sequence[Graded], people: dict[str, Person]) -> None:
    """Add new entries to the mark sheet; a person's words stay as they are.

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
    """Return a table of the sheet: below each answer to mark, room for its points."""
    assert one.report is not None  # noqa: S101
    text = f"\n[{json.dumps(one.file, ensure_ascii=False)}]  # {plain(one.student, 60)}\n"
    for mark in one.report.open:
        why = "" if mark.why == "a person reads it" else f"; {plain(mark.why, 100)}"
        text += _as_comment(mark.question, one.report.facts.answers.get(mark.question), one.key)
        text += f'{mark.question} = ""  # of {mark.of}{why}\n'
    return text + 'comment = ""\n'


def _as_comment(question: str, answer: float | str | None, key: str) -> str:
    """Return an answer as comments of TOML; a long one is cut, with the place of the rest."""
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
        "# texts.html has each text beside its rubric, and the code that it is about.",
    ]
    solution = load_solution(lab)
    for question in lab.questions:
        answer = solution.of(question.id) if solution else None
        lines += [
            f"# {question.id}, {criterion.points}: {' '.join(criterion.text.split())}"
            for criterion in (answer.rubric if answer else ())
        ]
    return "\n".join(lines) + "\n"


@dataclass(frozen=True)
class Marked:
    """A student's hand-in with all points that are known.

    ``others``: further files of the same student, which do not count; ``seconds``: the findings
    about these.
    """

    graded: Graded
    person: Person
    others: Sequence[Graded] = ()
    seconds: Sequence[IntegrityFinding] = ()
    findings: Sequence[IntegrityFinding] = ()
    decision: Decision = "give"
    # members of a group who did not confirm, and the decision about each
    members: Mapping[str, Decision] = field(default_factory=dict)

    @property
    def unconfirmed(self) -> list[IntegrityFinding]:
        """Return the findings about members: each needs a decision of its own."""
        return [of_member(self.graded, name) for name in self.members]

    def status_of(self, member: str) -> Status:
        """Return the status of a hand-in for one student whom it names."""
        decided = self.members.get(member, "give")
        if decided == "give" or self.graded.refused:
            return self.status
        return "no member" if decided == "none" else "unconfirmed"

    @property
    def by_question(self) -> dict[str, float | None]:
        """Return the points of each question; None: a person has still to read it."""
        marks = self.graded.report.marks if self.graded.report else []
        return {mark.question: self.person.points.get(mark.question, mark.points) for mark in marks}

    @property
    def open(self) -> list[str]:
        """Return the questions that still need a person."""
        return [question for question, points in self.by_question.items() if points is None]

    @property
    def status(self) -> Status:
        """Return its status: points count only if it is marked, refused or none."""
        if self.graded.refused:
            return "refused"
        if self.graded.report is not None and self.decision != "give":
            return "none" if self.decision == "none" else "withheld"
        by_hand = self.by_question.keys() <= self.person.points.keys()
        if self.graded.waits and not (self.by_question and by_hand):
            return "later"
        if self.open:
            return "open"
        return "first look" if self.graded.unplayed and not by_hand else "marked"

    @property
    def so_far(self) -> float:
        """Return the points that are known."""
        if self.decision == "none":
            return 0
        return sum(points or 0 for points in self.by_question.values())

    @property
    def points(self) -> float | None:
        """Return the final points, or None while a person or a machine still has to judge it.

        An unjudged part never counts as zero.
        """
        return self.so_far if self.status in {"marked", "none", "refused"} else None


def marked(
    graded: Sequence[Graded],
    people: Mapping[str, Person],
    lab: Lab,
    rules: ClassRules | None = None,
    decided: Mapping[tuple[str, str, str], Decision] | None = None,
) -> list[Marked]:
    """Combine the checks' points, a person's, the findings, and the decisions."""
    decided, nobody = decided or {}, Person({}, "")
    of_file: dict[str, list[IntegrityFinding]] = defaultdict(list)
    for finding in findings(graded, lab, set((rules or ClassRules()).recorded)):
        of_file[finding.file].append(finding)
    of_owner: dict[tuple[str, ...], list[Marked]] = defaultdict(list)
    owner, names = owners(graded), called(graded)
    for one in sorted(graded, key=lambda one: (one.handed_in or NEVER, one.file)):
        found = of_file[one.file]
        alone = Marked(
            one.model_copy(update={"student": names[one.file]}),
            people.get(one.file, nobody),
            findings=found,
            decision=decision(found, decided),
            members={n: decided.get(of_member(one, n).key, "") for n in unconfirmed([one], one)},
        )
        of_owner[owner[one.file]].append(alone)
    order = {one.file: number for number, one in enumerate(graded)}
    rows = [_with_others(files, decided) for files in of_owner.values()]
    return sorted(rows, key=lambda row: order[row.graded.file])


def _with_others(
    files: Sequence[Marked], decided: Mapping[tuple[str, str, str], Decision]
) -> Marked:
    """Return the file of a student that counts, with the others.

    It is the one that a person chose, else the one with the most points; the oldest of equal ones.
    Files that may not be the student's own come last.
    """

    def chosen(one: Marked) -> bool:
        return decided.get(second_file(one.graded, one.graded).key) == "give"

    def rank(one: Marked) -> tuple[bool, bool, bool, float]:
        whole = one.graded.report is not None or bool(one.graded.later)
        return chosen(one), whole, one.decision == "give", one.so_far

    counts = max(files, key=rank)
    others = [one for one in files if one is not counts]
    seconds = [
        second_file(one.graded, counts.graded)
        for one in others
        if one.graded.report and one.graded.sha256 != counts.graded.sha256 and not chosen(counts)
    ]
    came = [one.graded for one in files]
    return replace(
        counts,
        others=[one.graded for one in others],
        seconds=[one for one in seconds if not decided.get(one.key)],
        findings=[*counts.findings, *(found for one in others for found in one.findings)],
        members={name: counts.members[name] for name in unconfirmed(came, counts.graded)},
    )
