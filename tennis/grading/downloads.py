"""The hand-ins of a class: in a folder, in folders of it, or in a downloaded archive.

An archive is unpacked into a folder for as long as it is needed. It was packed by a platform, and
perhaps by a system afterwards, but the names and files in it are students': only hand-ins are
taken, below names that lead nowhere else, within limits.

The names in platforms' downloads, and the identifiers of students:

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

import contextlib
import hashlib
import os
import re
import tempfile
import unicodedata
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path, PurePath
from typing import Literal

from tennis.course.people import folded, is_letter
from tennis.course.work import ANSWERS
from tennis.grading import hand_in
from tennis.kit.errors import UsageError
from tennis.kit.log import log
from tennis.kit.units import format_count
from tennis.rally.disk import writing
from tennis.rally.text import plain

ENDINGS = (".zip", ".7z", ".rar", ".tar", ".gz", ".tgz", ".bz2", ".xz", ".zst")
ARCHIVE_MAX = 8 << 30  # bytes of a class's archive
ENTRIES_MAX = 20_000  # in it
TOTAL_MAX = 16 << 30  # bytes of the files taken from it
HAND_INS_MAX = 5_000
DEPTH_MAX = 6  # folders in folders
NAME_BYTES = 200  # of a folder's or a file's name; systems take 255
MOODLE = re.compile(
    r"(?P<name>[^_]*)_(?P<id>\d{1,18})_assign(?:submission|feedback)_[a-z]+(?:_(?P<file>.*))?"
)
CANVAS = re.compile(
    r"(?P<name>.*?)(?:_LATE)?_(?P<id>\d{1,18})_\d{1,18}_(?P<file>.+)", re.IGNORECASE
)
CANVAS_ANONYMOUS = re.compile(
    r"(?:LATE_)?anon_(?:LATE_)?[A-Za-z0-9]{3,10}_\d{1,18}_(?P<file>.+)", re.IGNORECASE
)


@contextlib.contextmanager
def opened(submissions: Path) -> Iterator[Path]:
    """Yield the folder of the hand-ins: the named one, or an archive's contents.

    Raises UsageError for anything else.
    """
    if submissions.is_dir():
        yield submissions
        return
    if not submissions.is_file():
        raise UsageError(
            f"{submissions} is neither a folder nor a file",
            next_step="name the folder with the zip files, or the archive that you downloaded",
        )
    with tempfile.TemporaryDirectory(prefix="tennis-class-") as scratch:
        folder = Path(scratch)
        _unpack(submissions, folder)
        yield folder


def files(submissions: Path) -> list[Path]:
    """Return the hand-ins of a folder and its folders; some are of kinds that are refused later.

    A learning platform makes a folder for each student, a system another one around all of them.
    Raises UsageError if there are none.
    """
    found = _inside(submissions, 0)
    if not found:
        raise UsageError(
            f"{submissions} holds no zip files, nor do the folders in it",
            next_step="name the folder that holds them, or one folder for each student",
        )
    if len(found) > HAND_INS_MAX:
        raise UsageError(
            f"{submissions} holds {format_count(len(found), 'hand-in')}, {HAND_INS_MAX:,} at most",
            next_step="mark them in parts",
        )
    return found


def label(path: Path, root: Path | None = None) -> str:
    """Return a file's label in sheets and pages: its name, if people can read that.

    A name has one label in both of its Unicode forms, so that it stays the same on every system; if
    files of both forms are there, each has its own. A label is always in the first form: sheets are
    read in that.
    """
    name = str(path.relative_to(root)) if root is not None else path.name
    once = unicodedata.normalize("NFC", name)
    both = once != name and (root or path.parent).joinpath(once).exists()
    if once.isprintable() and not both:
        return once
    return f"{plain(once, 80)} {hashlib.sha256(os.fsencode(name)).hexdigest()[:8]}"


def _inside(folder: Path, depth: int) -> list[Path]:
    """Return the hand-ins in a folder, or those of its folders if it has none of its own.

    At the top there may be both.
    """
    there = sorted(path for path in folder.iterdir() if not _is_of_a_system(path))
    found = _hand_ins(there)
    if depth:
        # an unpacked folder is refused, not forgotten
        answers = [path for path in there if path.name.lower() == ANSWERS]
        found = found or [path for path in answers if _is_plain(path)][:1]
    if depth and (found or depth == DEPTH_MAX):
        return found
    without: list[Path] = []
    for path in there:
        if path.is_dir() and not path.is_symlink():
            more = _inside(path, depth + 1)
            found += more
            without += [] if more else [path]
    for path in without if found or not depth else ():
        log.info(f"left out: {label(path)}, a folder without a zip file")
    return sorted(found)


def _is_of_a_system(path: Path) -> bool:
    return path.name.startswith((".", "__")) or hand_in.added(path.name)


def _hand_ins(paths: Sequence[Path]) -> list[Path]:
    """Return the archives among some files; also of other kinds than zip, which are refused."""
    named = [
        path
        for path in paths
        if path.name.lower().endswith(ENDINGS) and (path.is_symlink() or not path.is_dir())
    ]
    for path in named:
        if not _is_plain(path):
            log.info(f"left out: {label(path)}, which is not a plain file")
    return [path for path in named if _is_plain(path)]


def _is_plain(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()


def _unpack(path: Path, folder: Path) -> None:
    """Take the hand-ins out of a class's archive. Raises UsageError for a malformed one."""
    name = plain(path.name, 80)
    again = "unpack it yourself, and name the folder"
    if path.stat().st_size > ARCHIVE_MAX:
        raise UsageError(f"{name} is larger than {ARCHIVE_MAX >> 30} GB", next_step=again)
    try:
        with zipfile.ZipFile(path) as archive:
            infos = archive.infolist()
            if len(infos) > ENTRIES_MAX:
                raise UsageError(
                    f"{name} holds {len(infos):,} files, {ENTRIES_MAX:,} at most", next_step=again
                )
            if any(info.filename.lower() == ANSWERS for info in infos):
                raise UsageError(
                    f"{name} is one hand-in", next_step="put it into a folder, and name that"
                )
            with writing(folder, "or set TMPDIR to a folder on another disk, then try again"):
                _take(archive, infos, folder, name)
    except hand_in.BROKEN as error:
        raise UsageError(
            f"{name} is not a whole zip file: {plain(str(error), 100)}",
            next_step="download it again",
        ) from error


def _take(
    archive: zipfile.ZipFile, infos: Sequence[zipfile.ZipInfo], folder: Path, name: str
) -> None:
    """Write each hand-in of an archive below ``folder``."""
    left = TOTAL_MAX
    for info in infos:
        place = _place(info)
        if place is None:
            continue
        if why := _trouble(info, place):
            log.info(f"left out: {plain('/'.join(place), 80)}, {why}")
            continue
        *folders, file = (_short(part) for part in place)
        to = folder.joinpath(*folders, file)
        to.parent.mkdir(parents=True, exist_ok=True)  # even if no file in it is taken
        if not (file.lower().endswith(ENDINGS) or file.lower() == ANSWERS):
            continue
        if to.exists():
            log.info(f"left out: {plain('/'.join(place), 80)}, a second file of that name")
            continue
        left -= min(info.file_size, hand_in.ZIP_MAX + 1)
        if left < 0:
            raise UsageError(
                f"{name} unpacks to more than {TOTAL_MAX >> 30} GB",
                next_step="unpack it yourself, and name the folder",
            )
        _copy(archive, info, to)


def _place(info: zipfile.ZipInfo) -> tuple[str, ...] | None:
    """Return folders and file of an entry, decoded; None: a system put it there."""
    if info.is_dir() or info.filename.endswith("\\"):
        return None
    parts = tuple(part for part in hand_in.decoded_name(info).split("/") if part != ".")
    return None if not parts or any(hand_in.added(part) for part in parts) else parts


def _trouble(info: zipfile.ZipInfo, place: Sequence[str]) -> str:
    """Return why an entry of an archive is not taken; nothing if it is."""
    if len(place) > DEPTH_MAX:
        return f"which lies more than {DEPTH_MAX - 1} folders deep"
    if {"", ".."} & set(place) or "\0" in "".join(place):
        return "whose name leads elsewhere"
    if not hand_in.is_file(info):
        return "which is not a plain file"
    known = info.compress_type in {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}
    return "" if known and not info.flag_bits & 1 else "which is packed in another way than zip's"


def _short(part: str) -> str:
    """Return a name that a system takes: a long one keeps its end, and stays unique."""
    octets = part.encode(errors="surrogatepass")
    if len(octets) <= NAME_BYTES and part.isprintable():
        return part
    digest = hashlib.sha256(octets).hexdigest()[:8]
    begin = plain(part, NAME_BYTES).encode()[: NAME_BYTES - 40].decode(errors="ignore")
    return f"{begin} {digest}{Path(plain(part[-16:], 16)).suffix}"


def _copy(archive: zipfile.ZipFile, info: zipfile.ZipInfo, to: Path) -> None:
    """Write a file with its time.

    One that is larger than a hand-in may be is cut: it is refused when it is marked, as it would be
    in a folder. So is one that is damaged, and the others are taken.
    """
    with (
        to.open("xb") as target,
        contextlib.suppress(*hand_in.BROKEN),
        archive.open(info) as source,
    ):
        for _ in range(0, min(info.file_size, hand_in.ZIP_MAX + 1), hand_in.CHUNK):
            target.write(source.read(hand_in.CHUNK))
    with contextlib.suppress(ValueError, OverflowError):  # no date
        at = datetime(*info.date_time).timestamp()
        os.utime(to, (at, at))


@dataclass(frozen=True)
class Sent:
    """The information in a platform's name of a hand-in.

    ``name`` is the student's, or the group's, as the platform writes it there; ``id`` what it finds
    the student by, empty with anonymous marking; ``file`` the hand-in's own name, ``whole`` the
    name that the platform gave to it.
    """

    platform: Literal["moodle", "canvas"]
    name: str
    id: str
    file: str
    whole: str


def sent(label: str) -> Sent | None:
    """Parse the name of a hand-in, with its folders; None: no platform gave it.

    The outermost folder counts: deeper names may be a student's own words.
    """
    parts = PurePath(label).parts
    for part in parts:
        if found := MOODLE.fullmatch(part):
            return Sent("moodle", found["name"], found["id"], found["file"] or parts[-1], part)
    whole = parts[-1] if parts else ""
    if found := CANVAS_ANONYMOUS.fullmatch(whole):
        return Sent("canvas", "", "", found["file"], whole)
    if found := CANVAS.fullmatch(whole):
        return Sent("canvas", found["name"], found["id"], found["file"], whole)
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
