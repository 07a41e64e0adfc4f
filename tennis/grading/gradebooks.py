"""Tables that platforms import, and who is left out: the folder ``gradebook`` of the marks.

A table holds who is known by an identifier of that platform, and whose points are settled: an empty
cell, or a part of the points, could overwrite the points there. The others are in ``students.csv``,
with the reason. Points are never scaled: if the platform's maximum is not the lab's, there is no
table.

Sources, Moodle 5.1: ``mod/assign/feedback/offline/importgradeslib.php`` and ``locallib.php``
(Identifier, Grade, Last modified (grade); later grades are left alone; a comment is HTML, an empty
one removes the existing one), ``mod/assign/feedback/file/importziplib.php`` (folders ``Full
name_ID_assignsubmission_file_``, found by ID).

Sources, Canvas of 2025: ``lib/gradebook_importer.rb`` (a student is found by ID, else by SIS User
ID, else by SIS Login ID, else by name; an assignment by the number behind its title, else by its
title, else a person is asked), and ``generate_comments_from_files`` in
``app/models/abstract_assignment.rb``: a file that is uploaded again is found by the two numbers in
its name, and shown to the student under the name of the student's own file. That is a zip file, so
feedback is one, too.
"""

import html
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tennis.course.labs import Lab
from tennis.course.people import folded
from tennis.grading.class_list import ClassList, Student
from tennis.grading.hand_in import zipped
from tennis.grading.identities import Identity
from tennis.grading.marks import Marked, Status
from tennis.kit.errors import UsageError
from tennis.kit.units import format_count
from tennis.rally.cells import NOTHING, begins_formula, csv_of, words
from tennis.rally.disk import write_whole, writing
from tennis.rally.text import plain

FOLDER = "gradebook"
STUDENTS = "students.csv"
HEADING = ("student", "number", "e-mail", "file", "points", "of", "in", "left out", "remark")
# what Moodle's grading worksheet needs: a list that has these is one
WORKSHEET = ("Identifier", "Grade", "Last modified (grade)")
MAXIMUM, COMMENTS = "maximum grade", "Feedback comments"
NO_NAME = re.compile(r"[\x00-\x1f_&<>\"`|':\\/]")  # what a folder's name does not hold
# Canvas
WITH_ID = re.compile(r"(?P<title>.*)\s\((?P<id>\d+)\)")  # an assignment's heading
COLUMNS = ("Student", "ID", "SIS User ID", "SIS Login ID", "Section")


@dataclass(frozen=True)
class HandedIn:
    """A hand-in with its points, whose it is, and its feedback's page; a group's: one a member."""

    marked: Marked
    identity: Identity
    page: Path

    @property
    def key(self) -> tuple[str, str]:
        """Return what tells it from others: a group's file is that of several."""
        student = self.student
        return self.file, "\n".join((student.name, student.number, student.email, student.moodle))

    @property
    def file(self) -> str:
        """Return the hand-in's name."""
        return self.marked.graded.file

    @property
    def student(self) -> Student:
        """Return its student; for an unknown one, only the name."""
        called = self.identity.called or self.marked.graded.student
        return self.identity.student or Student(called)

    @property
    def points(self) -> str:
        """Return the points, as every language of a platform reads them; empty: not final."""
        return "" if self.marked.points is None else f"{self.marked.points:g}"

    @property
    def status(self) -> Status:
        """Return the hand-in's status for this student."""
        return self.marked.status_of(self.identity.called)

    @property
    def unsettled(self) -> str:
        """Return why the points are not final; nothing if they are."""
        return {
            "marked": "",
            "none": "",
            "open": f"to be read: {', '.join(self.marked.open)}",
            "first look": "its rallies were not played here (--no-replay)",
            "unconfirmed": "named by a group and not confirmed: decide in decisions.toml",
            "no member": "no member of that group, by decision",
            "withheld": "withheld until somebody decides",
            "later": "this machine could not check all of it",
            "refused": "it could not be marked",
        }[self.status]


@dataclass(frozen=True)
class _ImportFile:
    """A file to be imported, and the keys of the hand-ins that are in it."""

    data: bytes
    held: frozenset[tuple[str, str]]


class _NotMadeError(Exception):
    """A file would say something wrong."""


def write(
    out: Path, lab: Lab, handed: Sequence[HandedIn], listed: ClassList | None, assignment: str
) -> list[str]:
    """Write what can be imported, and ``students.csv``; return lines about it.

    ``assignment``: its title in Canvas. A file of an earlier run that is not made any more is
    removed: it would bring old points back. Raises UsageError for an assignment that the list does
    not have, DiskFullError, RallyError.
    """
    makers = _makers(lab, handed, listed, _canvas_assignment(lab, listed, assignment))
    made: dict[str, _ImportFile] = {}
    said: list[str] = []
    for name, make in makers.items():
        try:
            made[name] = make()
        except _NotMadeError as error:
            said.append(f"{FOLDER}/{name} was not made: {error}")
    made = {name: one for name, one in made.items() if one.held}
    of = format_count(len(handed), "hand-in")
    if len({one.file for one in handed}) < len(handed):
        of = format_count(len(handed), "student")
    said += [f"{FOLDER}/{name}: {len(made[name].held)} of {of}" for name in made]
    if made or listed is not None:
        data = csv_of(_students(lab, handed, listed, made))
        made[STUDENTS] = _ImportFile(data, frozenset())
        said.append(f"{FOLDER}/{STUDENTS} says who is left out, and why")
    _replace(out / FOLDER, [*makers, STUDENTS], made)
    return said


def _makers(
    lab: Lab, handed: Sequence[HandedIn], listed: ClassList | None, title: str
) -> dict[str, Callable[[], _ImportFile]]:
    """Return the function that makes each file, by its name."""
    known = [one for one in handed if one.identity.student is not None and not one.identity.why]
    settled = [one for one in known if not one.unsettled]
    # a page that says why nothing could be marked helps its student; one that may change waits
    told = [one for one in known if one.status in {"marked", "none", "refused"}]
    return {
        "moodle-worksheet.csv": lambda: _moodle_worksheet(lab, settled, listed),
        "moodle-feedback.zip": lambda: _moodle_feedback(lab, told),
        "canvas-gradebook.csv": lambda: _canvas_gradebook(lab, settled, listed, title),
        "canvas-feedback.zip": lambda: _canvas_feedback(lab, told),
    }


def _replace(folder: Path, names: Sequence[str], made: Mapping[str, _ImportFile]) -> None:
    with writing(folder):
        if made:
            folder.mkdir(exist_ok=True)
        for name in names:
            if name not in made:
                (folder / name).unlink(missing_ok=True)
    for name, one in made.items():
        write_whole(folder / name, one.data, force=True)


def _students(
    lab: Lab, handed: Sequence[HandedIn], listed: ClassList | None, made: Mapping[str, _ImportFile]
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


def _page_name(lab: Lab) -> str:
    """Return the name of a student's feedback."""
    return f"{lab.slug}-feedback.html"


def _table(rows: Sequence[Sequence[str]], held: Sequence[HandedIn]) -> _ImportFile:
    """Return a table of some hand-ins."""
    return _ImportFile(csv_of(rows), frozenset(one.key for one in held))


def _check_maximum(lab: Lab, maximum: str, what: str) -> None:
    """Raise NotMadeError if a platform has another maximum: points would be another share."""
    try:
        same = not maximum.strip() or float(maximum.replace(",", ".")) == lab.points
    except ValueError:
        same = False
    if not same:
        raise _NotMadeError(
            f"{what} is {plain(maximum, 20)}, and the lab has {lab.points:g} points; "
            f"set it to {lab.points:g} there, and export the list again"
        )


def _moodle_worksheet(
    lab: Lab, settled: Sequence[HandedIn], listed: ClassList | None
) -> _ImportFile:
    """Return an assignment's grading worksheet: the list as it came, with points and comments.

    It has the list's columns if that is a worksheet. Raises NotMadeError if the assignment's
    maximum is not the lab's.
    """
    rows = [one for one in settled if one.student.moodle]
    if listed is None or not {*WORKSHEET} <= {*listed.columns}:
        heading = ["Identifier", "Full name", "Grade", "Last modified (grade)"]
        lines = [
            [f"Participant {one.student.moodle}", words(one.student.name), one.points, NOTHING]
            for one in rows
        ]
        return _table([heading, *lines], rows)
    maximum = next((name for name in listed.columns if name.casefold() == MAXIMUM), "")
    for one in rows:
        said = one.student.cells.get(maximum, "")
        _check_maximum(lab, said, "the assignment's maximum grade in Moodle")
    return _table([listed.columns, *(_worksheet_line(listed.columns, one) for one in rows)], rows)


def _worksheet_line(columns: Sequence[str], one: HandedIn) -> list[str]:
    ours = {"Grade": one.points}
    if one.marked.person.comment:
        comment = html.escape(one.marked.person.comment, quote=False)
        ours[COMMENTS] = _as_it_came(comment)
    cells, as_it_is = one.student.cells, {*WORKSHEET, COMMENTS}
    return [
        ours.get(column)
        or (_as_it_came(cells[column]) if column in as_it_is else words(cells[column]))
        for column in columns
    ]


def _as_it_came(markup: str) -> str:
    """Return HTML that a browser shows as before, and that begins no formula."""
    return f"&#{ord(markup[0])};{markup[1:]}" if begins_formula(markup) else markup


def _moodle_feedback(lab: Lab, handed: Sequence[HandedIn]) -> _ImportFile:
    """Return an archive for "Upload multiple feedback files in a zip": a folder a student."""
    rows = [one for one in handed if one.student.moodle]
    entries = {}
    for one in rows:
        name = " ".join(NO_NAME.sub(" ", one.student.name).split()) or "Participant"
        folder = f"{name}_{one.student.moodle}_assignsubmission_file_"
        entries[f"{folder}/{_page_name(lab)}"] = one.page.read_bytes()
    return _ImportFile(zipped(entries), frozenset(one.key for one in rows))


def _canvas_gradebook(
    lab: Lab, settled: Sequence[HandedIn], listed: ClassList | None, title: str
) -> _ImportFile:
    """Return a table for Grades, Import. Raises NotMadeError if Canvas has other points."""
    if listed is not None:
        said = listed.possible.get(title, "")
        _check_maximum(lab, said, "the assignment's points in Canvas")
    rows = [one for one in settled if one.student.canvas or one.student.number or one.student.login]
    possible = ["    Points Possible", "", "", "", "", f"{lab.points:g}"]
    return _table([[*COLUMNS, title], possible, *map(_canvas_line, rows)], rows)


def _canvas_line(one: HandedIn) -> list[str]:
    student = one.student
    found_by = (student.canvas, student.number, student.login)
    return [words(student.name), *found_by, words(student.section), one.points]


def _canvas_feedback(lab: Lab, handed: Sequence[HandedIn]) -> _ImportFile:
    """Return an archive for "Upload Submissions": files that are called as they were downloaded."""
    entries, held = {}, set()
    for one in handed:
        came = one.identity.sent
        if came and came.platform == "canvas" and came.file.lower().endswith(".zip"):
            entries[came.whole] = zipped({_page_name(lab): one.page.read_bytes()})
            held.add(one.key)
    return _ImportFile(zipped(entries), frozenset(held))


def _canvas_assignment(lab: Lab, listed: ClassList | None, name: str) -> str:
    """Return the heading of a lab's points: a title with its number, if that is known.

    Without ``name`` it is the only column of the list whose title holds the lab's. Raises
    UsageError for one that the list does not have, and if several would do.
    """
    columns = listed.columns if listed else ()
    known = {column: found["title"] for column in columns if (found := WITH_ID.fullmatch(column))}
    if name:
        several = [column for column, title in known.items() if name in {column, title}]
        if known and not several:
            some = ", ".join(plain(title, 60) for title in [*known.values()][:5])
            raise UsageError(
                f"--assignment {plain(name, 60)} is not one of the list's", next_step=f"use {some}"
            )
    else:
        named = folded(lab.title)
        several = [column for column, title in known.items() if named in folded(title)]
    if len(several) > 1:
        raise UsageError(
            f"{len(several)} assignments of the list may be lab {lab.number}",
            next_step=f"say --assignment {plain(several[0], 60)!r}, or another one",
        )
    return several[0] if several else name or f"Lab {lab.number}, {lab.title}"
