# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Codes by which a member of a group says: yes, I am one.

`tennis lab start` prints a code for each member. Who does not hand in the group's file hands in
this code, as a text. The code is no secret: whose folder it lies in is what the platform vouches
for. It says of which lab and of which group its sender is a member, so that a text of another lab
confirms nothing.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tennis.course.hand_ins.platforms import same_name, senders
from tennis.course.work import code_of
from tennis.rally.disk import open_regular

ENDINGS = (".txt", ".md", ".html", ".htm")  # Moodle writes an online text as HTML
TEXT_MAX = 1 << 16  # bytes
FILES_MAX = 20_000
DEPTH_MAX = 6
CODES_MAX = 100  # of a text
CODE = re.compile(r"(?<![A-Z0-9-])([A-Z2-7]{4}-[A-Z2-7]{4})(?![A-Z0-9-])", re.IGNORECASE)


@dataclass(frozen=True)
class Confirmation:
    """A code, and the file that it was handed in with, as it is called below the hand-ins."""

    file: str
    code: str


def codes_in(submissions: Path) -> list[Confirmation]:
    """Return all codes in the texts of a folder of hand-ins, and of the folders in it."""
    found: list[Confirmation] = []
    looked = 0
    folders = [(submissions, 0)]
    while folders and looked < FILES_MAX:
        folder, depth = folders.pop()
        for path in sorted(folder.iterdir()):
            looked += 1
            if path.is_symlink() or path.name.startswith((".", "__")):
                continue
            if path.is_dir():
                folders += [(path, depth + 1)] if depth < DEPTH_MAX else []
            elif path.name.lower().endswith(ENDINGS):
                label = str(path.relative_to(submissions))
                found += [Confirmation(label, code) for code in _codes(path)]
    return found


def _codes(path: Path) -> list[str]:
    try:
        with open_regular(path, links=False) as file:
            text = file.read(TEXT_MAX).decode(errors="replace")
    except OSError:
        return []
    return [code.upper() for code in CODE.findall(text)[:CODES_MAX]]


def confirms(codes: Sequence[Confirmation], lab: str, group: str, member: str) -> bool:
    """Tell whether a member's own code lies in a folder of this member's."""
    wanted = code_of(lab, group, member)
    return any(
        one.code == wanted and any(same_name(member, who) for who in senders(one.file))
        for one in codes
    )
