"""The list of a class: names, numbers, e-mail addresses, and what platforms find a student by.

It is a table of a teacher's own (columns name, number, e-mail, moodle, canvas, login, section), or
what a platform exports in English: Moodle's grading worksheet or its list of participants, Canvas's
gradebook. All of their columns are kept: a worksheet goes back as it came.

Sources: Moodle 5.1, ``mod/assign/feedback/offline`` (Identifier, Full name, ID number, Email
address, Grade, Maximum grade, Last modified (grade), Feedback comments); Canvas of 2025,
``lib/gradebook_exporter.rb`` (Student, ID, SIS User ID, SIS Login ID, Section, assignments as
``Title (ID)``, and a row of Points Possible).
"""

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tennis.course.people import folded
from tennis.kit.errors import UsageError
from tennis.rally.cells import begins_formula
from tennis.rally.disk import open_regular
from tennis.rally.edited import EditedError, text_of
from tennis.rally.text import plain

LIST_MAX = 8 << 20  # bytes
STUDENTS_MAX = 5_000
COLUMNS_MAX = 1_000
CELL_MAX = 200  # characters of a name or an identifier
# which column is what, by its heading in small letters
COLUMNS = {
    **dict.fromkeys(("name", "full name", "fullname", "student"), "name"),
    **dict.fromkeys(("first name", "firstname", "given name"), "first"),
    **dict.fromkeys(("last name", "lastname", "surname", "family name"), "last"),
    **dict.fromkeys(("number", "id number", "student number", "sis user id"), "number"),
    **dict.fromkeys(("e-mail", "email", "email address", "e-mail address", "mail"), "email"),
    **dict.fromkeys(("moodle", "identifier"), "moodle"),
    **dict.fromkeys(("canvas", "id"), "canvas"),
    **dict.fromkeys(("login", "username", "sis login id"), "login"),
    "section": "section",
}
IDENTIFIERS = ("number", "email", "moodle", "canvas", "login")
KNOWN = "name, number, e-mail, moodle, canvas, login, section"
# a number that a spreadsheet took for a large one: its last digits are gone
ROUNDED = re.compile(r"\d(?:[.,]\d+)?E\+\d+", re.IGNORECASE)
POINTS_POSSIBLE = "points possible"


@dataclass(frozen=True)
class Student:
    """A student, and what registers and platforms find the student by: empty if unknown.

    ``moodle`` is a participant's number in an assignment, ``canvas`` a user's; ``cells`` is the
    whole line of the list, by heading.
    """

    name: str
    number: str = ""
    email: str = ""
    moodle: str = ""
    canvas: str = ""
    login: str = ""
    section: str = ""
    cells: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ClassList:
    """The students of a class, in the list's order.

    ``possible``: the points that Canvas allows, by heading.
    """

    columns: Sequence[str]
    students: Sequence[Student]
    possible: Mapping[str, str]


def read(path: Path) -> ClassList:
    """Read the list of a class. Raises UsageError with the line and what to do."""
    shown = plain(str(path), 200)
    try:
        with open_regular(path) as file:
            data = file.read(LIST_MAX + 1)
        text = text_of(data)
    except OSError as error:
        why = error.strerror or str(error)
        raise UsageError(f"{shown} cannot be read ({why})", next_step="name a CSV file") from error
    except EditedError as error:
        raise UsageError(f"{shown} {error.message}", next_step=error.next_step) from error
    if len(data) > LIST_MAX:
        raise UsageError(
            f"{shown} is larger than {LIST_MAX >> 20} MB", next_step="name the list of one class"
        )
    return _parsed(text, shown)


def _parsed(text: str, label: str) -> ClassList:
    reader = csv.reader(io.StringIO(text), delimiter=_delimiter(text), strict=True)
    rows = _rows(reader, label)
    filled = (row for _, row in rows if any(map(str.strip, row)))  # Moodle passes empty lines by
    columns = [" ".join(heading.split()) for heading in next(filled, [])]
    by_kind = _columns_by_kind(columns, label)
    possible: dict[str, str] = {}
    found: dict[int, Student] = {}
    for line, row in rows:
        if not any(cell.strip() for cell in row):
            continue
        if len(row) != len(columns):
            raise UsageError(
                f"{label}, line {line}: {len(row)} cells, and {len(columns)} headings",
                next_step="put a cell with commas into quotation marks",
            )
        cells = dict(zip(columns, row, strict=True))
        if POINTS_POSSIBLE in row[0].casefold():
            possible = cells
        elif any(row[at].strip() for at in by_kind.values()):  # not Canvas's line of hidden grades
            found[line] = _student(
                cells, {key: row[at] for key, at in by_kind.items()}, label, line
            )
        if len(found) > STUDENTS_MAX:
            raise UsageError(
                f"{label} holds more than {STUDENTS_MAX:,} students", next_step="mark in parts"
            )
    _refuse_twins(found, label)
    return ClassList(columns, list(found.values()), possible)


def _rows(reader: Any, label: str) -> Iterator[tuple[int, list[str]]]:
    """Yield each row with the line in which it begins: a cell may have several. Raises UsageError.

    ``reader``: of csv.
    """
    line = 1
    try:
        for row in reader:
            yield line, row
            line = reader.line_num + 1
    except csv.Error as error:
        raise UsageError(
            f"{label} is not a table from its line {line} on: {plain(str(error), 100)}",
            next_step="close the quotation marks there, or save it again as CSV, UTF-8",
        ) from error


def _delimiter(text: str) -> str:
    """Return the delimiter of cells: the one that gives the most known headings."""
    begin = text.lstrip(",;\t \n").split("\n", 1)[0]
    known = {
        sign: sum(heading.strip(' "').casefold() in COLUMNS for heading in begin.split(sign))
        for sign in ",;\t"
    }
    return max(known, key=lambda sign: known[sign])


def _columns_by_kind(columns: Sequence[str], label: str) -> dict[str, int]:
    """Return the place of each kind of column. Raises UsageError."""
    named = [heading for heading in columns if heading]  # behind them a spreadsheet's own
    if len(columns) > COLUMNS_MAX or len({*named}) != len(named):
        raise UsageError(
            f"{label} has two columns of one heading, or more than {COLUMNS_MAX:,}",
            next_step="give each its own",
        )
    meant: dict[str, int] = {}
    for at, heading in enumerate(columns):
        kind = COLUMNS.get(heading.casefold())
        if kind in meant:
            both = f"{plain(columns[meant[kind]], 40)} and {plain(heading, 40)}"
            raise UsageError(f"{label}: {both} are the same", next_step="leave one of them out")
        if kind:
            meant[kind] = at
    headings = {heading.casefold() for heading in columns}
    if "id" in headings and "sis login id" not in headings:  # no export of Canvas's
        raise UsageError(
            f"{label}: ID may be a register's number, or a user's in Canvas",
            next_step="call that column number, or canvas",
        )
    if not {"name", "moodle"} & set(meant) and not {"first", "last"} <= set(meant):
        raise UsageError(
            f"{label} has no column of names",
            next_step=f"in its first line: {KNOWN}; or export it from Moodle or Canvas in English",
        )
    return meant


def _student(
    cells: Mapping[str, str], columns: Mapping[str, str], label: str, line: int
) -> Student:
    """Return the student of a line. Raises UsageError."""
    values = {key: value.strip() for key, value in columns.items()}
    name = values.get("name") or " ".join(filter(None, (values.get("first"), values.get("last"))))
    place = f"{label}, line {line}"
    for key in IDENTIFIERS:
        value = values.get(key, "")
        if len(value) > CELL_MAX or not value.isprintable() or begins_formula(value):
            raise UsageError(
                f"{place}: {key} {plain(value, 40)!a} cannot be found again",
                next_step="it may not begin with = + - or @",
            )
        if ROUNDED.fullmatch(value):
            raise UsageError(
                f"{place}: {key} {value}: a spreadsheet rounded it",
                next_step="format that column as text there, and fill it in again",
            )
    if values.get("canvas") and not values["canvas"].isdecimal():
        raise UsageError(
            f"{place}: canvas {plain(values['canvas'], 40)!a} is not a number of a user",
            next_step="use the column ID of Canvas's export",
        )
    participant = re.search(r"\d{1,18}$", values.get("moodle", ""))  # "Participant 123"
    values["moodle"] = participant[0] if participant else ""
    if not name and not values["moodle"]:
        raise UsageError(f"{place}: there is no name", next_step="fill it in")
    about = {key: values.get(key, "") for key in (*IDENTIFIERS, "section")}
    return Student(name=name[:CELL_MAX], cells=cells, **about)


def _refuse_twins(students: Mapping[int, Student], label: str) -> None:
    """Raise UsageError if two students have one identifier: either could get the points."""
    for key in IDENTIFIERS:
        lines: dict[str, int] = {}
        for line, student in students.items():
            identifier: str = getattr(student, key)
            first = lines.setdefault(folded(identifier), line)
            if identifier and first != line:
                raise UsageError(
                    f"{label}: lines {first} and {line} have one {key}, {plain(identifier, 60)}",
                    next_step="give each student an own one",
                )
