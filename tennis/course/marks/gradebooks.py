# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""What platforms import, and who is left out: the folder ``gradebook`` of the marks.

A table holds who is known by an identifier of that platform, and whose points are settled: an empty
cell, or a part of the points, could overwrite what stands there. The others stand in
``students.csv``, with the reason. Points are never scaled: where the platform's maximum is another
one than the lab's, there is no table.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from tennis.course.labs import Lab
from tennis.course.marks import canvas, moodle
from tennis.course.marks.class_list import ClassList, Student
from tennis.course.marks.gradebook_files import HandedIn, ImportFile, NotMadeError
from tennis.rally.cells import csv_of, words
from tennis.rally.disk import write_whole, writing
from tennis.units import format_count

FOLDER = "gradebook"
STUDENTS = "students.csv"
HEADING = ("student", "number", "e-mail", "file", "points", "of", "in", "left out", "remark")


def write(
    out: Path, lab: Lab, handed: Sequence[HandedIn], listed: ClassList | None, assignment: str
) -> list[str]:
    """Write what can be imported, and ``students.csv``; return what is to be said of it.

    ``assignment``: its title in Canvas. A file of before that is not made any more is removed: it
    would bring old points back. Raises UsageError for an assignment that the list does not have,
    DiskFullError, RallyError.
    """
    makers = _makers(lab, handed, listed, canvas.assignment(lab, listed, assignment))
    made: dict[str, ImportFile] = {}
    said: list[str] = []
    for name, make in makers.items():
        try:
            made[name] = make()
        except NotMadeError as error:
            said.append(f"{FOLDER}/{name} was not made: {error}")
    made = {name: one for name, one in made.items() if one.held}
    of = format_count(len(handed), "hand-in")
    if len({one.file for one in handed}) < len(handed):
        of = format_count(len(handed), "student")
    said += [f"{FOLDER}/{name}: {len(made[name].held)} of {of}" for name in made]
    if "moodle-gradebook.csv" in made and listed is None:
        said.append("numbers and addresses are as students wrote them: --class-list checks them")
    if made or listed is not None:
        data = csv_of(_students(lab, handed, listed, made))
        made[STUDENTS] = ImportFile(data, frozenset())
        said.append(f"{FOLDER}/{STUDENTS} says who is left out, and why")
    _replace(out / FOLDER, [*makers, STUDENTS], made)
    return said


def _makers(
    lab: Lab, handed: Sequence[HandedIn], listed: ClassList | None, title: str
) -> dict[str, Callable[[], ImportFile]]:
    """Return what makes each file, by its name."""
    known = [one for one in handed if one.identity.student is not None and not one.identity.why]
    settled = [one for one in known if not one.unsettled]
    # a page that says why nothing could be marked helps its student; one that may change waits
    told = [one for one in known if one.status in {"marked", "none", "refused"}]
    return {
        "moodle-gradebook.csv": lambda: moodle.gradebook(lab, settled),
        "moodle-worksheet.csv": lambda: moodle.worksheet(lab, settled, listed),
        "moodle-feedback.zip": lambda: moodle.feedback(lab, told),
        "canvas-gradebook.csv": lambda: canvas.gradebook(lab, settled, listed, title),
        "canvas-feedback.zip": lambda: canvas.feedback(lab, told),
    }


def _replace(folder: Path, names: Sequence[str], made: Mapping[str, ImportFile]) -> None:
    with writing(folder):
        if made:
            folder.mkdir(exist_ok=True)
        for name in names:
            if name not in made:
                (folder / name).unlink(missing_ok=True)
    for name, one in made.items():
        write_whole(folder / name, one.data, force=True)


def _students(
    lab: Lab, handed: Sequence[HandedIn], listed: ClassList | None, made: Mapping[str, ImportFile]
) -> list[Sequence[str]]:
    """Return a line for each hand-in and member, and for each student of the list without one."""
    rows: list[Sequence[str]] = [HEADING]
    for one in handed:
        tables = [name for name, file in made.items() if one.key in file.held]
        why = "; ".join(filter(None, (one.identity.why, one.unsettled)))
        if not tables and not why:
            why = "no platform's identifier is known"
        points = ("" if one.unsettled else one.points, f"{lab.points:g}", " ".join(tables))
        about = (words(one.file), *points, words(why), words(one.identity.remark))
        rows.append([*_who(one.student), *about])
    seen = {id(one.identity.student) for one in handed}
    without = [one for one in listed.students if id(one) not in seen] if listed else []
    nothing = ("", "", "", "", "no hand-in is this student's", "")
    return [*rows, *([*_who(student), *nothing] for student in without)]


def _who(student: Student) -> tuple[str, str, str]:
    return words(student.name), student.number, student.email
