# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""One zip file to hand in: answers, notebook, rallies.

Packing refuses what is not complete. Unpacking takes only files that a hand-in can have, by name,
and is bounded: the file comes from anybody.
"""

import re
import shutil
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator, Set
from dataclasses import dataclass, field
from pathlib import Path

from tennis.course.checking import Report, title
from tennis.course.labs import load_course
from tennis.course.notebook_box import run_notebook
from tennis.course.notebook_page import pdf
from tennis.course.work import ANSWERS, NOTEBOOK, NOTEBOOK_PDF, Work, WorkError
from tennis.errors import RallyError, UsageError
from tennis.match.folder import MATCH, open_match
from tennis.rally import Rally, open_rally
from tennis.rally.disk import write_whole, writing
from tennis.rally.folder import AFTER, BALLS, BEFORE, CAPTURE, CONSOLE, EVENTS, MANIFEST
from tennis.rally.text import plain
from tennis.sweep.folder import SWEEP, open_sweep
from tennis.units import format_count

ZIP_MAX = 128 << 20  # bytes of the zip file
FILE_MAX = 64 << 20  # of one file in it, unpacked
TOTAL_MAX = 256 << 20
FILES_MAX = 400
CHUNK = 1 << 20
OF_ALL = (
    "check_answered",
    "check_rally",
    "check_match",
    "check_sweep",
)  # without these nothing is handed in
NOTED_MAX = 10
OF_RALLY = {MANIFEST, BALLS, EVENTS, CONSOLE, CAPTURE, BEFORE, AFTER}
RALLY = re.compile(r"[a-z0-9][a-z0-9-]{0,59}")
# what zipfile raises for a file that is none, or that asks for a password or another compression
BROKEN = (
    *(zipfile.BadZipFile, zlib.error, struct.error, NotImplementedError, RuntimeError),
    *(EOFError, ValueError, OverflowError, LookupError),
)
TIME = (2026, 1, 1, 0, 0, 0)  # the same work gives the same file


class HandInError(WorkError):
    """A file that was handed in is none."""


def missing(work: Work, report: Report) -> list[str]:
    """Return what a hand-in lacks, in words; the checks were run without the solution."""
    found = [
        f"{title(result)}: {result.message}"
        for result in report.results
        if result.verdict == "fail" and result.check.startswith(OF_ALL)
    ]
    if not work.answers.minutes:
        found.append(f"{ANSWERS}: minutes: how many the lab took you")
    if not (work.folder / NOTEBOOK).is_file():
        found.append(f"{NOTEBOOK} is not there")
    return found


def print_notebook(work: Work) -> None:
    """Run the notebook, and keep it as PDF. Raises WorkError where it fails, BenchError."""
    ran = run_notebook(work.folder)
    if ran.error or ran.executed is None:
        raise WorkError(
            f"{NOTEBOOK}: {ran.error or 'it left nothing to be printed'}",
            next_step="mend it: in JupyterLab, Kernel, Restart Kernel and Run All Cells",
        )
    title = f"Lab {work.lab.number}, {work.lab.title}: {work.answers.student}"
    write_whole(work.folder / NOTEBOOK_PDF, pdf(ran.executed, title), force=True)


def pack(work: Work, out: Path) -> int:
    """Write the zip file; return its bytes. Raises UsageError where it exists."""
    files = list(_files(work))
    large = next((path for path, _ in files if path.stat().st_size > FILE_MAX), None)
    total = sum(path.stat().st_size for path, _ in files)
    if large or total > TOTAL_MAX:
        what = large or work.folder
        raise WorkError(
            f"{what} is larger than may be handed in", next_step="play as many balls as asked for"
        )
    part = out.with_name(out.name + ".part")
    with writing(part):
        try:
            with zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
                for path, name in files:
                    entry = zipfile.ZipInfo(name, TIME)
                    entry.compress_type = zipfile.ZIP_DEFLATED
                    entry.external_attr = (stat.S_IFREG | 0o644) << 16
                    archive.writestr(entry, path.read_bytes())
            try:
                out.hardlink_to(part)  # never over another
            except FileExistsError as error:
                raise UsageError(
                    f"{out} exists", next_step="remove it, or choose another name with --out"
                ) from error
        finally:
            part.unlink(missing_ok=True)
    return out.stat().st_size


def _files(work: Work) -> Iterator[tuple[Path, str]]:
    for name in sorted({ANSWERS, NOTEBOOK, NOTEBOOK_PDF, *work.lab.files}):
        if (path := work.folder / name).is_file():
            yield path, name
    yield from _match_files(work)
    yield from _sweep_files(work)
    for name, rally in sorted(work.rallies.items()):
        yield from _rally_files(rally, name)


def _rally_files(rally: Rally, name: str) -> Iterator[tuple[Path, str]]:
    for file in sorted({MANIFEST, *rally.manifest.files} & OF_RALLY):
        yield rally.path / file, f"{name}/{file}"


def _match_files(work: Work) -> Iterator[tuple[Path, str]]:
    """Yield what a match is made of; reports and what was explained can be made again."""
    if work.lab.match is None:
        return
    folder, name = work.folder / work.lab.match.name, work.lab.match.name
    try:
        match = open_match(folder)
    except RallyError:
        return  # the checks say so
    yield folder / MATCH, f"{name}/{MATCH}"
    for rally in match.rallies():
        yield from _rally_files(rally, f"{name}/{rally.path.name}")


def _sweep_files(work: Work) -> Iterator[tuple[Path, str]]:
    """Yield what a sweep is made of."""
    if work.lab.sweep is None:
        return
    folder, name = work.folder / work.lab.sweep.name, work.lab.sweep.name
    try:
        sweep = open_sweep(folder)
    except RallyError:
        return  # the checks say so
    yield folder / SWEEP, f"{name}/{SWEEP}"
    for rate_hz in sweep.rates:
        yield from _rally_files(open_rally(folder / f"{rate_hz}-hz"), f"{name}/{rate_hz}-hz")


def file_name(work: Work) -> str:
    """Return what the zip file is called: lab and student."""
    student = re.sub(r"[^A-Za-z0-9]+", "-", work.answers.student).strip("-").lower()
    return f"{work.lab.slug}-{student or 'student'}.zip"


@dataclass
class Unpacked:
    """What was taken from a zip file, and what was left in it."""

    folder: Path
    notes: list[str] = field(default_factory=list)


def unpack(path: Path, folder: Path) -> Unpacked:
    """Unpack a hand-in into a new folder. Raises HandInError for what is none.

    A name is never used as it is: only names that are known are written, so that no path leads
    elsewhere; what a file really holds is counted, not what it says.
    """
    name = plain(path.name, 80)
    if path.is_symlink() or not path.is_file() or path.stat().st_size > ZIP_MAX:
        raise HandInError(f"{name} is no file of at most {ZIP_MAX >> 20} MB")
    unpacked = Unpacked(folder)
    folder.mkdir(parents=True)
    own = {
        ANSWERS,
        NOTEBOOK,
        NOTEBOOK_PDF,
        *(name for lab in load_course()[1] for name in lab.files),
    }
    left = TOTAL_MAX
    taken: set[str] = set()
    try:
        with zipfile.ZipFile(path) as archive:
            entries = archive.infolist()
            if len(entries) > FILES_MAX:
                raise HandInError(f"{name} holds {len(entries)} files, {FILES_MAX} at most")
            for entry in entries:
                if entry.is_dir():
                    continue
                if entry.compress_type not in {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}:
                    raise HandInError(f"{name} is packed in a way that is not taken: use zip")
                if not _known(entry, own):
                    unpacked.notes.append(f"not taken: {plain(entry.filename, 80)}")
                    continue
                if entry.filename in taken:
                    raise HandInError(f"{name} holds {entry.filename} twice")
                taken.add(entry.filename)
                left -= _copy(archive, entry, folder / entry.filename, min(left, FILE_MAX))
    except BROKEN as error:
        raise HandInError(f"{name} is no whole zip file: {plain(str(error), 100)}") from error
    except OSError as error:
        raise HandInError(f"{name} cannot be unpacked: {plain(str(error), 100)}") from error
    more = len(unpacked.notes) - NOTED_MAX
    if more > 0:
        unpacked.notes[NOTED_MAX:] = [f"not taken: {format_count(more, 'more file')}"]
    return unpacked


def _known(entry: zipfile.ZipInfo, own: Set[str]) -> bool:
    mode = entry.external_attr >> 16
    if stat.S_IFMT(mode) not in {0, stat.S_IFREG}:
        return False
    *folders, file = entry.filename.split("/")
    if not all(RALLY.fullmatch(folder) for folder in folders):
        return False
    match len(folders):
        case 0:
            return file in own
        case 1:
            return file in OF_RALLY or file in {MATCH, SWEEP}
        case 2:  # a rally of a match or a sweep
            return file in OF_RALLY
        case _:
            return False


def _copy(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, to: Path, limit: int) -> int:
    """Unpack a file; return its bytes. Raises HandInError where they are more than ``limit``."""
    to.parent.mkdir(parents=True, exist_ok=True)
    size = 0
    with archive.open(entry) as source, to.open("xb") as target:
        while chunk := source.read(CHUNK):
            size += len(chunk)
            if size > limit:
                raise HandInError(f"{entry.filename} unpacks to more than {limit >> 20} MB")
            target.write(chunk)
    return size


def remove(folder: Path) -> None:
    """Remove what was unpacked."""
    shutil.rmtree(folder, ignore_errors=True)
