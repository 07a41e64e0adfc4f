"""Assign hand-ins to students of the class's list, or say why not.

The platform's name of a file counts most, then the student's own number and e-mail, then a unique
name. A platform's number counts only if the name beside it is the student's: in an assignment for
groups it is the group's. If nobody can be named for sure, nobody is: points for the wrong person
are worse than none.

A group's hand-in is that of each member whom it names. The platform's name of the file counts for
the member of that name alone.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tennis.course.people import folded
from tennis.grading.class_list import ClassList, Student
from tennis.grading.downloads import Sent, same_name, sent
from tennis.grading.findings import SECOND
from tennis.grading.judged import Graded
from tennis.grading.marks import Marked
from tennis.rally.text import plain


@dataclass(frozen=True)
class Identity:
    """The student of a hand-in, or the reason (``why``) that it counts for nobody.

    ``remark``: what to look at. ``called``: the member of a group whose hand-in it would be.
    """

    student: Student | None
    why: str = ""
    remark: str = ""
    sent: Sent | None = None
    called: str = ""


def identify(marked: Sequence[Marked], listed: ClassList | None) -> dict[str, list[Identity]]:
    """Return the identities of each hand-in, by its file: a group has one for each member.

    Without a list they are those of hand-ins and platform. If a student has several files, the one
    that a platform has from the student counts, else the one with the most points: the others name
    nobody. A group's file does not replace a member's own files if the member did not confirm it.
    """
    rows = {one.graded.file: one for one in marked}
    found = {file: _of_file(one.graded, listed) for file, one in rows.items()}
    sure = {
        file: [
            Identity(None) if rows[file].members.get(one.called, "give") != "give" else one
            for one in every
        ]
        for file, every in found.items()
    }

    def rank(place: tuple[str, int]) -> tuple[bool, bool, float]:
        file, at = place
        one = rows[file]
        return found[file][at].sent is not None, one.decision == "give", one.so_far

    for several in _of_one(sure):
        counts, _ = max(several, key=rank)
        twins = len({file for file, _ in several}) == 1
        for file, at in several:
            why = f"{SECOND}: {plain(counts, 60)} counts"
            if twins:
                why = f"{len(several)} members of {plain(file, 60)} are one student of the list"
            if twins or file != counts:
                found[file][at] = replace(found[file][at], why=why)
    return found


def _of_file(one: Graded, listed: ClassList | None) -> list[Identity]:
    """Return whose a hand-in is. A group's came from one of its members, or from somebody else."""
    sender = sent(one.file)
    facts = one.report.facts if one.report else None
    if facts is None or not facts.members:
        said = Student(one.student)
        # of a file in the name of somebody else, its number and e-mail are not the sender's
        if facts is not None and (sender or facts.student == one.student):
            said = Student(facts.student, facts.number, facts.email)
        return [_whose(said, sender, listed)]
    members = [Student(one.name, one.number, one.email) for one in facts.members]
    own = [sender if sender and same_name(sender.name, one.name) else None for one in members]
    whole = [
        replace(_whose(one, its, listed), called=one.name)
        for one, its in zip(members, own, strict=True)
    ]
    if sender and sender.name and not any(own):
        from_whom = f"{sender.platform} has it from {plain(sender.name, 60)}, who is no member"
        by_platform = _by_platform(sender, listed.students) if listed else None
        if by_platform and by_platform.student:  # a student of the list, and no group's name
            return [Identity(None, from_whom, called=one.name) for one in members]
        whole = [
            replace(one, remark="; ".join(filter(None, (one.remark, from_whom)))) for one in whole
        ]
    return whole


def _whose(student: Student, sender: Sent | None, listed: ClassList | None) -> Identity:
    """Identify a hand-in by its own words (``student``), and a platform's (``sender``)."""
    found = _from_list(student, sender, listed.students) if listed else _self_named(student, sender)
    return replace(found, sent=sender)


def _self_named(student: Student, sender: Sent | None) -> Identity:
    canvas = sender.id if sender and sender.platform == "canvas" else ""
    return Identity(replace(student, canvas=canvas))


def _from_list(one: Student, sender: Sent | None, students: Sequence[Student]) -> Identity:
    number, email = one.number, one.email
    by_platform = _by_platform(sender, students)
    if by_platform is not None and by_platform.student is None:
        return by_platform
    owners = [
        student
        for student in students
        if (number and student.number == number)
        or (email and folded(student.email) == folded(email))
    ]
    if by_platform is not None and by_platform.student is not None:
        return replace(by_platform, remark=_claims(one, by_platform.student, owners, students))
    if len(owners) > 1:
        return Identity(None, f"its number is that of {_called(owners[0])}, its e-mail is not")
    if owners:
        other = "" if _words(owners[0].name) == _words(one.name) else one.name
        return Identity(
            owners[0], remark=f"the hand-in calls itself {plain(other, 60)}" if other else ""
        )
    return _by_name(sender.name if sender and sender.name else one.name, number, students)


def _claims(
    one: Student, whose: Student, owners: Sequence[Student], students: Sequence[Student]
) -> str:
    """Name the student of the list whom the hand-in names, if not the platform's."""
    if others := [student for student in owners if student is not whose]:
        return f"the hand-in has the number or the e-mail of {_called(others[0])}"
    called = [
        student for student in students if student.name and _words(student.name) == _words(one.name)
    ]
    if called and whose not in called:
        return f"the hand-in calls itself {_called(called[0])}"
    return ""


def _by_platform(sender: Sent | None, students: Sequence[Student]) -> Identity | None:
    """Return whom a platform's number names; None: the list does not have it."""
    if sender is None or not sender.id:
        return None
    student = next((one for one in students if getattr(one, sender.platform) == sender.id), None)
    if student is None:
        return None
    # with blind marking the list has no names: "Participant 123"
    listed = student.name or student.cells.get("Identifier", "").rstrip("0123456789")
    if not same_name(sender.name, listed):
        who = f"{sender.platform} calls it {plain(sender.name, 60)}"
        return Identity(None, f"{who}, and {sender.id} is {plain(listed, 60)} in the list")
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


def _of_one(identities: Mapping[str, Sequence[Identity]]) -> list[list[tuple[str, int]]]:
    """Return of which hand-ins several are of one student: file, and which of its members."""
    several: dict[tuple[str, str], list[tuple[str, int]]] = defaultdict(list)
    for file, at, student in _identified(identities):
        for key in ("number", "email", "moodle", "canvas"):
            if known := getattr(student, key):
                several[key, folded(known)].append((file, at))
        if student.cells:  # of a list: a line is a student
            several["line", str(id(student))].append((file, at))
    return [places for places in several.values() if len(places) > 1]


def _identified(found: Mapping[str, Sequence[Identity]]) -> Iterator[tuple[str, int, Student]]:
    for file, identities in found.items():
        for at, identity in enumerate(identities):
            if identity.student is not None:
                yield file, at, identity.student


def _words(name: str) -> list[str]:
    """Return the words of a name, in any order: ``Lovelace, Ada`` is ``Ada Lovelace``."""
    return sorted(folded(name).replace(",", " ").split())


def _called(student: Student) -> str:
    return plain(student.name, 60) or student.moodle
