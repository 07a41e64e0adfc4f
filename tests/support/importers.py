"""Moodle's and Canvas's importers, as their source says that they read (5.1, and that of 2025).

They are no Moodle and no Canvas: each is the rule by which a line, or a file, finds its student.
"""

import csv
import io
import re
import zipfile
from collections.abc import Mapping

BOM = "\ufeff"


def moodle_worksheet(
    data: bytes, participants: Mapping[int, str], maximum: float
) -> tuple[dict[str, float], dict[str, str]]:
    """Return points and comments by participant; what is out of range is left out in silence."""
    rows = list(csv.reader(io.StringIO(data.decode().removeprefix(BOM), newline="")))
    heading = [cell.strip() for cell in rows[0]]
    grade, identifier = heading.index("Grade"), heading.index("Identifier")
    assert "Last modified (grade)" in heading
    points, comments = {}, {}
    for row in rows[1:]:
        assert len(row) == len(heading)
        who = participants.get(int(row[identifier][len("Participant ") :]))
        if who is None:
            continue
        if row[grade] and 0 <= float(row[grade]) <= maximum:
            points[who] = float(row[grade])
        if "Feedback comments" in heading and (text := row[heading.index("Feedback comments")]):
            comments[who] = text
    return points, comments


def moodle_feedback(data: bytes, participants: Mapping[int, str]) -> dict[str, tuple[str, bytes]]:
    """Return each participant's file: its name and what is in it."""
    taken: dict[str, tuple[str, bytes]] = {}
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for name in archive.namelist():
            parts = name.split("/")
            while parts:
                info = parts.pop(0).split("_", 4)
                if len(info) < 4 or not info[1].isdigit() or int(info[1]) not in participants:
                    continue
                assert (info[2], info[3]) == ("assignsubmission", "file")
                file = "/".join([*(info[4:] or [""]), *parts]).lstrip("/")
                taken[participants[int(info[1])]] = (file, archive.read(name))
                break
    return taken


class Canvas:
    """A course of Canvas: users by number, by SIS User ID, by login and by name."""

    def __init__(
        self, by_id: Mapping[int, str], by_sis: Mapping[str, str], by_login: Mapping[str, str]
    ) -> None:
        self.by_id, self.by_sis, self.by_login = by_id, by_sis, by_login

    def gradebook(self, data: bytes) -> tuple[str, float, dict[str, float]]:
        """Return the assignment's heading, what can be won, and points by user."""
        text = data.decode()  # the mark stays in the first cell
        begin = text.splitlines()[:3]
        counts = {
            sign: {len(next(csv.reader([line], delimiter=sign))) for line in begin} for sign in ";,"
        }
        assert len(counts[","]) == 1
        assert counts[";"] == {1} or len(counts[";"]) > 1
        rows = list(csv.reader(io.StringIO(text, newline="")))
        heading = rows[0]
        assert "Student" in heading[0]
        assert "ID" in heading[1]
        assert re.search(r"SIS\s+User\s+ID", heading[2])
        assert re.search(r"SIS\s+Login\s+ID", heading[3])
        assert "Section" in heading[4]
        assert len(heading) == 6
        possible, points = None, {}
        for row in rows[1:]:
            if "Points Possible" in row[0]:
                possible = float(row[5])
                continue
            points[self._user(row)] = float(row[5])
        assert possible is not None
        return heading[5], possible, points

    def _user(self, row: list[str]) -> str:
        found = self.by_id.get(int(row[1])) if row[1] else None
        found = found or self.by_sis.get(row[2]) or self.by_login.get(row[3])
        assert found, f"Canvas would look for the name of {row}"
        return found


def canvas_feedback(data: bytes, attachments: Mapping[tuple[int, int], str]) -> dict[str, bytes]:
    """Return each user's file; ``attachments``: whose is a user's and an attachment's number."""
    taken: dict[str, bytes] = {}
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for name in archive.namelist():
            parts = [part for part in name.rsplit("/", 1)[-1].split("_") if part != "LATE"]
            user, attachment = (int(part) for part in parts if part.isdigit())
            taken[attachments[user, attachment]] = archive.read(name)
    return taken
