# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""A student's hand-in with all that is known: points, findings, and what was decided."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from tennis.course.hand_ins.attempts import attempts, unconfirmed
from tennis.course.hand_ins.graded import Graded
from tennis.course.hand_ins.integrity import (
    Decision,
    IntegrityFinding,
    decision,
    findings,
    of_member,
)
from tennis.course.labs import Lab
from tennis.course.marks.class_rules import ClassRules
from tennis.course.marks.mark_sheet import Person

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


@dataclass(frozen=True)
class Marked:
    """A student's hand-in with all points that are known.

    ``replaced``: earlier hand-ins of the same student.
    """

    graded: Graded
    person: Person
    replaced: Sequence[Graded] = ()
    findings: Sequence[IntegrityFinding] = ()
    decision: Decision = "give"
    # members of a group who did not confirm, and what was decided about each
    members: Mapping[str, Decision] = field(default_factory=dict)

    @property
    def unconfirmed(self) -> list[IntegrityFinding]:
        """Return what is to be decided about members: for each a decision of its own."""
        return [of_member(self.graded, name) for name in self.members]

    def status_of(self, member: str) -> Status:
        """Return what becomes of a hand-in for one who is named in it."""
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
        """Return what becomes of it: points stand only where it is marked, refused or none."""
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
        """Return the points that stand; None as long as somebody, or a machine, has to see to it.

        No zero stands here for what nobody has judged.
        """
        return self.so_far if self.status in {"marked", "none", "refused"} else None


def marked(
    graded: Sequence[Graded],
    people: Mapping[str, Person],
    lab: Lab,
    rules: ClassRules | None = None,
    decided: Mapping[tuple[str, str, str], Decision] | None = None,
) -> list[Marked]:
    """Put the checks' points and a person's together, what was found out, and what was decided."""
    rules, nobody = rules or ClassRules(), Person({}, "")
    of_file: dict[str, list[IntegrityFinding]] = defaultdict(list)
    for one in findings(graded, lab, set(rules.recorded)):
        of_file[one.file].append(one)
    rows = []
    told = {file: one.it_counts for file, one in people.items() if one.it_counts is not None}
    for attempt in attempts(graded, told):
        own = of_file[attempt.counts.file]
        rows.append(
            Marked(
                attempt.counts,
                people.get(attempt.counts.file, nobody),
                attempt.replaced,
                [*own, *(found for old in attempt.replaced for found in of_file[old.file])],
                decision(own, decided or {}),
                {
                    name: (decided or {}).get(of_member(attempt.counts, name).key, "")
                    for name in unconfirmed(attempt)
                },
            )
        )
    return rows
