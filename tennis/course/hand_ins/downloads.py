# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""The hand-ins of a class: in a folder, in folders of it, or in the archive that was downloaded.

An archive is unpacked into a folder for as long as it is needed. It was packed by a platform, and
perhaps by a system afterwards, but the names and files in it are students': only hand-ins are
taken, below names that lead nowhere else, within limits.
"""

import contextlib
import hashlib
import os
import tempfile
import unicodedata
import zipfile
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path

from tennis.course.hand_ins import hand_in
from tennis.errors import UsageError
from tennis.listener import say
from tennis.rally.disk import writing
from tennis.rally.text import plain
from tennis.units import format_count

ENDINGS = (".zip", ".7z", ".rar", ".tar", ".gz", ".tgz", ".bz2", ".xz", ".zst")
ARCHIVE_MAX = 8 << 30  # bytes of a class's archive
ENTRIES_MAX = 20_000  # in it
TOTAL_MAX = 16 << 30  # bytes of what is taken from it
HAND_INS_MAX = 5_000
DEPTH_MAX = 6  # folders in folders
NAME_BYTES = 200  # of a folder's or a file's name; systems take 255


@contextlib.contextmanager
def opened(submissions: Path) -> Iterator[Path]:
    """Yield the folder of the hand-ins: the one that was named, or what an archive holds.

    Raises UsageError for what is neither.
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
    """Return the hand-ins of a folder, and of the folders in it; some are of a kind to be refused.

    A learning platform makes a folder for each student, a system another one around all of them.
    Raises UsageError where there are none.
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
    """Return what a file is called in sheets and pages: its name, if people can read that.

    A name has one label in both of its Unicode forms, so that it stays the same on every system;
    where files of both forms are there, each has its own. A label is always in the first form:
    sheets are read in that.
    """
    name = str(path.relative_to(root)) if root is not None else path.name
    once = unicodedata.normalize("NFC", name)
    both = once != name and (root or path.parent).joinpath(once).exists()
    if once.isprintable() and not both:
        return once
    return f"{plain(once, 80)} {hashlib.sha256(os.fsencode(name)).hexdigest()[:8]}"


def _inside(folder: Path, depth: int) -> list[Path]:
    """Return the hand-ins in a folder; where it has none of its own, those of its folders.

    At the top there may be both.
    """
    there = sorted(path for path in folder.iterdir() if not _is_of_a_system(path))
    found = _hand_ins(there)
    if depth:
        # a folder that lies there unpacked is refused, not forgotten
        answers = [path for path in there if path.name.lower() in hand_in.ANSWERS_NAMES]
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
        say(f"left out: {label(path)}, a folder without a zip file")
    return sorted(found)


def _is_of_a_system(path: Path) -> bool:
    return path.name.startswith((".", "__")) or hand_in.added(path.name)


def _hand_ins(paths: Sequence[Path]) -> list[Path]:
    """Return the archives among some files; of other kinds than zip, too: these are refused."""
    named = [
        path
        for path in paths
        if path.name.lower().endswith(ENDINGS) and (path.is_symlink() or not path.is_dir())
    ]
    for path in named:
        if not _is_plain(path):
            say(f"left out: {label(path)}, which is not a plain file")
    return [path for path in named if _is_plain(path)]


def _is_plain(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()


# --- a class's archive ---


def _unpack(path: Path, folder: Path) -> None:
    """Take the hand-ins out of a class's archive. Raises UsageError for what is none."""
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
            if any(info.filename.lower() in hand_in.ANSWERS_NAMES for info in infos):
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
            say(f"left out: {plain('/'.join(place), 80)}, {why}")
            continue
        *folders, file = (_short(part) for part in place)
        to = folder.joinpath(*folders, file)
        to.parent.mkdir(parents=True, exist_ok=True)  # also where nothing of it is taken
        if not (file.lower().endswith(ENDINGS) or file.lower() in hand_in.ANSWERS_NAMES):
            continue
        if to.exists():
            say(f"left out: {plain('/'.join(place), 80)}, a second file of that name")
            continue
        left -= _copy(archive, info, to, min(left, hand_in.ZIP_MAX + 1))
        if left <= 0:
            raise UsageError(
                f"{name} unpacks to more than {TOTAL_MAX >> 30} GB",
                next_step="unpack it yourself, and name the folder",
            )


def _place(info: zipfile.ZipInfo) -> tuple[str, ...] | None:
    """Return folders and file of an entry, as they were meant; None: a system put it there."""
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
    """Return a name that a system takes: what is too long keeps its end, and stays its own."""
    octets = part.encode(errors="surrogatepass")
    if len(octets) <= NAME_BYTES and part.isprintable():
        return part
    digest = hashlib.sha256(octets).hexdigest()[:8]
    begin = plain(part, NAME_BYTES).encode()[: NAME_BYTES - 40].decode(errors="ignore")
    return f"{begin} {digest}{Path(plain(part[-16:], 16)).suffix}"


def _copy(archive: zipfile.ZipFile, info: zipfile.ZipInfo, to: Path, limit: int) -> int:
    """Write a file with its time; return its bytes.

    No more than ``limit`` are written: one that is larger than a hand-in may be is refused when it
    is marked, as it would be in a folder. So is one that is damaged, and the others are taken.
    """
    size = 0
    with (
        to.open("xb") as target,
        contextlib.suppress(*hand_in.BROKEN),
        archive.open(info) as source,
    ):
        while size < limit and (chunk := source.read(min(hand_in.CHUNK, limit - size))):
            target.write(chunk)
            size += len(chunk)
    with contextlib.suppress(ValueError, OverflowError):  # a date that is none
        at = datetime(*info.date_time).timestamp()
        os.utime(to, (at, at))
    return size
