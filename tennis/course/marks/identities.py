# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Who handed in what: a hand-in and a student of the class's list are put together, or it is said.

What a platform called a file counts most, then number and e-mail as the student gave them, then a
name that only one has. A number of a platform is believed only if the name beside it is the
student's: in an assignment for groups it is the group's. Where two hand-ins are of one student, or
nobody can be named for sure, nobody is: points for the wrong person are worse than none.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from tennis.course.hand_ins.graded import Graded
from tennis.course.hand_ins.platforms import Sent, folded, same_name, sent
from tennis.course.marks.class_list import ClassList, Student
from tennis.rally.text import plain


@dataclass(frozen=True)
class Identity:
    """Whose hand-in it is, if there is no reason (``why``) that it counts for nobody.

    ``remark``: what to look at.
    """

    student: Student | None
    why: str = ""
    remark: str = ""
    sent: Sent | None = None


def identify(graded: Iterable[Graded], listed: ClassList | None) -> dict[str, Identity]:
    """Return whose each hand-in is, by its file; without a list, as hand-ins and platform say."""
    found = {one.file: _whose(one, sent(one.file), listed) for one in graded}
    for files in _of_one(found):
        names = ", ".join(plain(file, 60) for file in files)
        why = f"{len(files)} hand-ins of one student: {names}; leave one in the folder"
        for file in files:
            found[file] = replace(found[file], why=why)
    return found


def _whose(one: Graded, named: Sent | None, listed: ClassList | None) -> Identity:
    found = _from_list(one, named, listed.students) if listed else _as_said(one, named)
    late = "Canvas calls it late" if named and named.late else ""
    return replace(found, sent=named, remark="; ".join(filter(None, (found.remark, late))))


def _number_and_email(one: Graded) -> tuple[str, str]:
    """Return number and e-mail as the student gave them."""
    facts = one.report.facts if one.report else None
    return (facts.number, facts.email) if facts else ("", "")


def _as_said(one: Graded, named: Sent | None) -> Identity:
    number, email = _number_and_email(one)
    canvas = named.id if named and named.platform == "canvas" else ""
    return Identity(Student(one.student, number, email, canvas=canvas))


def _from_list(one: Graded, named: Sent | None, students: Sequence[Student]) -> Identity:
    number, email = _number_and_email(one)
    by_platform = _by_platform(named, students)
    if by_platform is not None and by_platform.student is None:
        return by_platform
    said = [
        student
        for student in students
        if (number and student.number == number)
        or (email and folded(student.email) == folded(email))
    ]
    if by_platform is not None and by_platform.student is not None:
        others = [student for student in said if student is not by_platform.student]
        claims = (
            f"the hand-in has the number or the e-mail of {_called(others[0])}" if others else ""
        )
        return replace(by_platform, remark=claims)
    if len(said) > 1:
        return Identity(None, f"its number is that of {_called(said[0])}, its e-mail is not")
    if said:
        other = "" if _words(said[0].name) == _words(one.student) else one.student
        return Identity(
            said[0], remark=f"the hand-in calls itself {plain(other, 60)}" if other else ""
        )
    return _by_name(named.name if named and named.name else one.student, number, students)


def _by_platform(named: Sent | None, students: Sequence[Student]) -> Identity | None:
    """Return whom a platform's number names; None: the list does not have it."""
    if named is None or not named.id:
        return None
    student = next((one for one in students if getattr(one, named.platform) == named.id), None)
    if student is None:
        return None
    # with blind marking the list has no names: "Participant 123"
    listed = student.name or student.cells.get("Identifier", "").rstrip("0123456789")
    if not same_name(named.name, listed):
        who = f"{named.platform} calls it {plain(named.name, 60)}"
        return Identity(None, f"{who}, and {named.id} is {plain(listed, 60)} in the list")
    return Identity(student)


def _by_name(name: str, number: str, students: Sequence[Student]) -> Identity:
    called = [
        student for student in students if student.name and _words(student.name) == _words(name)
    ]
    if len(called) > 1:
        return Identity(None, f"{len(called)} in the list are called {plain(name, 60)}")
    if not called:
        return Identity(None, f"nobody in the list is called {plain(name, 60)}")
    if number and called[0].number:
        return Identity(None, f"{_called(called[0])} has another number than {plain(number, 60)}")
    return Identity(called[0])


def _of_one(found: Mapping[str, Identity]) -> list[list[str]]:
    """Return the files of which several are of one student."""
    several: dict[tuple[str, str], list[str]] = defaultdict(list)
    for file, identity in found.items():
        for key in ("number", "email", "moodle", "canvas"):
            if identity.student is not None and (known := getattr(identity.student, key)):
                several[key, folded(known)].append(file)
        if (
            identity.student is not None and identity.student.cells
        ):  # of a list: a line is a student
            several["line", str(id(identity.student))].append(file)
    return [files for files in several.values() if len(files) > 1]


def _words(name: str) -> list[str]:
    """Return the words of a name, whatever comes first: ``Lovelace, Ada`` is ``Ada Lovelace``."""
    return sorted(folded(name).replace(",", " ").split())


def _called(student: Student) -> str:
    return plain(student.name, 60) or student.moodle
