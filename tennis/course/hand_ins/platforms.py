# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""How learning platforms call what a teacher downloads, and what they find a student by.

Moodle ("Download all submissions"): a folder ``Full name_1234567_assignsubmission_file_`` for each
student, without the last ``_`` since 4.1, or one file with that prefix. An underscore of the name
is a space, and the number is the assignment's own for a participant, of a group the group's.
Source: Moodle 5.1, ``mod/assign/classes/downloader.php`` and ``feedback/file/importziplib.php``.

Canvas ("Download Submissions"): files ``lovelaceada_LATE_12345_67890_lab.zip``: the sortable name
in small letters and without signs, the user's number, the attachment's, the file's own name; with
anonymous marking ``anon_x7f3q_67890_lab.zip``. Source: Canvas of 2025,
``lib/content_zipper.rb`` and ``app/models/abstract_assignment.rb``
(``infer_comment_context_from_filename``).
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Literal

from tennis.course.people import folded, is_letter

MOODLE = re.compile(
    r"(?P<name>[^_]*)_(?P<id>\d{1,18})_assign(?:submission|feedback)_[a-z]+(?:_(?P<file>.*))?"
)
CANVAS = re.compile(
    r"(?P<name>.*?)(?P<late>_LATE)?_(?P<id>\d{1,18})_\d{1,18}_(?P<file>.+)", re.IGNORECASE
)
CANVAS_ANONYMOUS = re.compile(
    r"(?:LATE_)?anon_(?:LATE_)?[A-Za-z0-9]{3,10}_\d{1,18}_(?P<file>.+)", re.IGNORECASE
)


@dataclass(frozen=True)
class Sent:
    """What a platform's name of a hand-in says.

    ``name`` is the student's, or the group's, as the platform writes it there; ``id`` what it finds
    the student by, empty with anonymous marking; ``file`` the hand-in's own name, ``whole`` the
    name that the platform gave to it.
    """

    platform: Literal["moodle", "canvas"]
    name: str
    id: str
    file: str
    whole: str
    late: bool = False


def sent(label: str) -> Sent | None:
    """Return what the name of a hand-in says, folders included; None: no platform gave it.

    The outermost folder counts: what lies deeper may be a student's own words.
    """
    parts = PurePath(label).parts
    for part in parts:
        if found := MOODLE.fullmatch(part):
            return Sent("moodle", found["name"], found["id"], found["file"] or parts[-1], part)
    whole = parts[-1] if parts else ""
    if found := CANVAS_ANONYMOUS.fullmatch(whole):
        return Sent("canvas", "", "", found["file"], whole)
    if found := CANVAS.fullmatch(whole):
        late = found["late"] is not None
        return Sent("canvas", found["name"], found["id"], found["file"], whole, late)
    return None


def same_name(one: str, other: str) -> bool:
    """Tell whether two writings of a name can be one: the same letters, in any order of its parts.

    Platforms leave out signs and spaces, and put the family name first. Umlauts stay apart from
    vowels, and two Unicode forms are one.
    """
    return _letters(one) == _letters(other)


def _letters(name: str) -> list[str]:
    return sorted(c for c in folded(name) if is_letter(c))


def senders(file: str) -> Sequence[str]:
    """Return from whom a file came: as its platform says, or the folders that it is in."""
    platform = sent(file)
    return [platform.name] if platform and platform.id else PurePath(file).parent.parts
