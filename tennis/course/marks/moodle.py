# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Points and feedback as Moodle imports them.

Sources, Moodle 5.1: ``grade/import/csv/classes/load_data.php`` (a person maps the columns; an
identifier that is empty ends the import, and before 4.x took the student of the line before),
``mod/assign/feedback/offline/importgradeslib.php`` and ``locallib.php`` (Identifier, Grade, Last
modified (grade); what was graded since is left alone; a comment is HTML, an empty one removes what
stands there), ``mod/assign/feedback/file/importziplib.php`` (folders
``Full name_ID_assignsubmission_file_``, found by ID).
"""

import html
import re
from collections.abc import Callable, Sequence

from tennis.course.labs import Lab
from tennis.course.marks.class_list import ClassList
from tennis.course.marks.gradebook_files import (
    HandedIn,
    ImportFile,
    check_maximum,
    page_name,
    table,
    title_of,
    zipped,
)
from tennis.rally.cells import NOTHING, begins_formula, words

# what a grading worksheet needs: a list that has these is one
WORKSHEET = ("Identifier", "Grade", "Last modified (grade)")
MAXIMUM, COMMENTS = "maximum grade", "Feedback comments"
NO_NAME = re.compile(r"[\x00-\x1f_&<>\"`|':\\/]")  # what a folder's name does not hold
WAYS: dict[str, Callable[[HandedIn], str]] = {
    "ID number": lambda one: one.student.number,
    "Email address": lambda one: one.student.email,
}


def gradebook(lab: Lab, settled: Sequence[HandedIn]) -> ImportFile:
    """Return a table for Grades, Import, CSV file.

    Students are found by one column, which each line has: the number if as many have one as have
    an e-mail address, else the address. The other column is there if nobody lacks it.
    """
    having = {way: [one for one in settled if of(one)] for way, of in WAYS.items()}
    first = max(having, key=lambda way: len(having[way]))
    rows = having[first]
    ways = [way for way, of in WAYS.items() if all(of(one) for one in rows)]
    lines = [
        [*(WAYS[way](one) for way in ways), words(one.student.name), one.points] for one in rows
    ]
    return table([[*ways, "Full name", title_of(lab)], *lines], rows)


def worksheet(lab: Lab, settled: Sequence[HandedIn], listed: ClassList | None) -> ImportFile:
    """Return an assignment's grading worksheet: the list as it came, with points and comments.

    It has the list's columns if that is a worksheet. Raises NotMadeError where the assignment's
    maximum is another one than the lab's.
    """
    rows = [one for one in settled if one.student.moodle]
    if listed is None or not {*WORKSHEET} <= {*listed.columns}:
        heading = ["Identifier", "Full name", "Grade", "Last modified (grade)"]
        lines = [
            [f"Participant {one.student.moodle}", words(one.student.name), one.points, NOTHING]
            for one in rows
        ]
        return table([heading, *lines], rows)
    maximum = next((name for name in listed.columns if name.casefold() == MAXIMUM), "")
    for one in rows:
        said = one.student.cells.get(maximum, "")
        check_maximum(lab, said, "the assignment's maximum grade in Moodle")
    return table([listed.columns, *(_line(listed.columns, one) for one in rows)], rows)


def _line(columns: Sequence[str], one: HandedIn) -> list[str]:
    ours = {"Grade": one.points}
    if one.marked.person.comment:
        ours[COMMENTS] = _comment(one.marked.person.comment)
    cells, as_it_is = one.student.cells, {*WORKSHEET, COMMENTS}
    return [
        ours.get(column)
        or (_as_it_came(cells[column]) if column in as_it_is else words(cells[column]))
        for column in columns
    ]


def _comment(text: str) -> str:
    """Return a comment as Moodle keeps it, which is HTML; it begins no formula."""
    return _as_it_came(html.escape(text, quote=False))


def _as_it_came(markup: str) -> str:
    """Return HTML that a browser shows as before, and that begins no formula."""
    return f"&#{ord(markup[0])};{markup[1:]}" if begins_formula(markup) else markup


def feedback(lab: Lab, handed: Sequence[HandedIn]) -> ImportFile:
    """Return an archive for "Upload multiple feedback files in a zip": a folder a student."""
    rows = [one for one in handed if one.student.moodle]
    entries = {}
    for one in rows:
        name = " ".join(NO_NAME.sub(" ", one.student.name).split()) or "Participant"
        folder = f"{name}_{one.student.moodle}_assignsubmission_file_"
        entries[f"{folder}/{page_name(lab)}"] = one.page.read_bytes()
    return ImportFile(zipped(entries), frozenset(one.key for one in rows))
