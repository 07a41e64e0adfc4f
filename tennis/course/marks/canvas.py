# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Points and feedback as Canvas imports them.

Sources, Canvas of 2025: ``lib/gradebook_importer.rb`` (a student is found by ID, else by SIS User
ID, else by SIS Login ID, else by name; an assignment by the number behind its title, else by its
title, else a person is asked), and ``generate_comments_from_files`` in
``app/models/abstract_assignment.rb``: a file that is uploaded again is found by the two numbers in
its name, and shown to the student under the name of the student's own file. That is a zip file, so
feedback is one, too.
"""

import re
from collections.abc import Sequence

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
from tennis.course.people import folded
from tennis.errors import UsageError
from tennis.rally.cells import words
from tennis.rally.text import plain

WITH_ID = re.compile(r"(?P<title>.*)\s\((?P<id>\d+)\)")  # an assignment's heading
COLUMNS = ("Student", "ID", "SIS User ID", "SIS Login ID", "Section")


def gradebook(
    lab: Lab, settled: Sequence[HandedIn], listed: ClassList | None, title: str
) -> ImportFile:
    """Return a table for Grades, Import. Raises NotMadeError where Canvas has other points."""
    if listed is not None:
        said = listed.possible.get(title, "")
        check_maximum(lab, said, "the assignment's points in Canvas")
    rows = [one for one in settled if one.student.canvas or one.student.number or one.student.login]
    possible = ["    Points Possible", "", "", "", "", f"{lab.points:g}"]
    return table([[*COLUMNS, title], possible, *map(_line, rows)], rows)


def _line(one: HandedIn) -> list[str]:
    student = one.student
    found_by = (student.canvas, student.number, student.login)
    return [words(student.name), *found_by, words(student.section), one.points]


def feedback(lab: Lab, handed: Sequence[HandedIn]) -> ImportFile:
    """Return an archive for "Upload Submissions": files that are called as they were downloaded."""
    entries, held = {}, set()
    for one in handed:
        came = one.identity.sent
        if came and came.platform == "canvas" and came.file.lower().endswith(".zip"):
            entries[came.whole] = zipped({page_name(lab): one.page.read_bytes()})
            held.add(one.key)
    return ImportFile(zipped(entries), frozenset(held))


def assignment(lab: Lab, listed: ClassList | None, name: str) -> str:
    """Return the heading of a lab's points: a title with its number, if that is known.

    Without ``name`` it is the only column of the list whose title holds the lab's. Raises
    UsageError for one that the list does not have, and where several would do.
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
    return several[0] if several else name or title_of(lab)
