"""A made-up class whose hand-ins hold answers only, and a judge that runs no checks.

Each hand-in is really unpacked, and its answers are really read; only points are made up: all of
them, but for ``minutes``: a hand-in that took 7 minutes has a text to be read.
"""

import csv
import io
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from tennis.course import load_lab, people, work
from tennis.course.checking.running import Facts, Mark, Report
from tennis.grading import hand_in
from tennis.grading import judged as grading
from tennis.kit.errors import TennisError

LAB = load_lab("01-first-serve")
OPEN_MINUTES = 7


def hand_in_of(
    student: str,
    number: str = "",
    email: str = "",
    minutes: int = 60,
    members: Sequence[people.Member] = (),
) -> bytes:
    """Return the zip file of a student, or of a group."""
    lines = [f'lab = "{LAB.slug}"', f'student = "{student}"', f"minutes = {minutes}", "seed = 1"]
    lines += [f'number = "{number}"'] if number else []
    lines += [f'email = "{email}"'] if email else []
    each = [f'{{name = "{m.name}", number = "{m.number}", email = "{m.email}"}}' for m in members]
    lines += [f"members = [{', '.join(each)}]"] if members else []
    return packed({"answers.toml": "\n".join([*lines, "[answers]\n"]).encode()})


def packed(entries: Mapping[str, bytes]) -> bytes:
    """Return a zip file."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries.items():
            info = zipfile.ZipInfo("x", (2026, 11, 2, 18, 30, 0))
            info.filename = name  # as it is, backslashes too
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, content)
    return data.getvalue()


def unpacked(entries: Mapping[str, bytes], folder: Path) -> Path:
    """Write files into a folder."""
    for name, content in entries.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


def judge(path: Path, lab: object, *, plays: Path | None, boards: bool) -> grading.Judged:  # noqa: ARG001
    """Unpack a hand-in and read its answers; give all points."""
    with tempfile.TemporaryDirectory() as scratch:
        try:
            hand_in.unpack(path, Path(scratch) / "work")
            answers = work.read_answers(Path(scratch) / "work" / work.ANSWERS)
        except TennisError as error:
            return grading.Judged(str(error).replace(scratch, ""))
    marks = [
        Mark(question=one.id, points=one.points, of=one.points, why="") for one in LAB.questions
    ]
    if answers.minutes == OPEN_MINUTES:
        marks[0] = marks[0].model_copy(update={"points": None})
    facts = Facts(
        lab=LAB.slug,
        student=answers.student,
        number=answers.number,
        email=answers.email,
        members=[asdict(one) for one in answers.members],
        minutes=answers.minutes,
        rallies={},
        texts={},
        files={},
        answers={},
    )
    return grading.Judged(report=Report(facts=facts, results=[], marks=marks))


def rows_of(data: bytes) -> list[dict[str, str]]:
    """Return a table's lines by heading; it must have a byte order mark."""
    assert data.startswith(b"\xef\xbb\xbf")
    return list(csv.DictReader(io.StringIO(data.decode("utf-8-sig"), newline="")))
