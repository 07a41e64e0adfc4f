# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""What every file for a platform's gradebook is made of: settled hand-ins, tables, archives."""

import io
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tennis.course.hand_ins.hand_in import TIME
from tennis.course.labs import Lab
from tennis.course.marks.class_list import Student
from tennis.course.marks.identities import Identity
from tennis.course.marks.marked import Marked, Status
from tennis.rally.cells import csv_of
from tennis.rally.text import plain


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
        """Return what the hand-in is called."""
        return self.marked.graded.file

    @property
    def student(self) -> Student:
        """Return whose it is; of an unknown student, the name."""
        called = self.identity.called or self.marked.graded.student
        return self.identity.student or Student(called)

    @property
    def points(self) -> str:
        """Return the points, as every language of a platform reads them; empty: none stand."""
        return "" if self.marked.points is None else f"{self.marked.points:g}"

    @property
    def status(self) -> Status:
        """Return what becomes of the hand-in for this student."""
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
class ImportFile:
    """A file to be imported, and the keys of the hand-ins that are in it."""

    data: bytes
    held: frozenset[tuple[str, str]]


class NotMadeError(Exception):
    """A file would say something wrong."""


def title_of(lab: Lab) -> str:
    """Return what a lab's points are called, where the teacher gave no other name."""
    return f"Lab {lab.number}, {lab.title}"


def page_name(lab: Lab) -> str:
    """Return what a student's feedback is called."""
    return f"{lab.slug}-feedback.html"


def table(rows: Sequence[Sequence[str]], held: Sequence[HandedIn]) -> ImportFile:
    """Return a table of some hand-ins."""
    return ImportFile(csv_of(rows), frozenset(one.key for one in held))


def zipped(entries: Mapping[str, bytes]) -> bytes:
    """Return an archive; the same entries give the same one."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in sorted(entries.items()):
            info = zipfile.ZipInfo(name, TIME)
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = 0o100644 << 16
            archive.writestr(info, content)
    return data.getvalue()


def check_maximum(lab: Lab, maximum: str, what: str) -> None:
    """Raise NotMadeError where a platform has another maximum: points would be another share."""
    try:
        same = not maximum.strip() or float(maximum.replace(",", ".")) == lab.points
    except ValueError:
        same = False
    if not same:
        raise NotMadeError(
            f"{what} is {plain(maximum, 20)}, and the lab has {lab.points:g} points; "
            f"set it to {lab.points:g} there, and export the list again"
        )
