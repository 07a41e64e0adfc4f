"""One zip file to hand in: answers, notebook, rallies.

Packing refuses an incomplete lab. Unpacking takes only files that a hand-in can have, by name, and
is bounded: the file comes from anybody.
"""

import io
import os
import re
import shutil
import stat
import struct
import tempfile
import unicodedata
import zipfile
import zlib
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path

from tennis.course.checking.running import Report, is_of_this_machine, title
from tennis.course.labs import every_lab
from tennis.course.notebook.notebook_box import run_notebook
from tennis.course.notebook.notebook_page import pdf, too_long
from tennis.course.people import is_letter
from tennis.course.work import ANSWERS, NOTEBOOK, NOTEBOOK_PDF, SEALS, Work, WorkError, seed_of
from tennis.kit.errors import BenchError, RallyError
from tennis.kit.units import format_count
from tennis.match.folder import MATCH, open_match
from tennis.match.sweep.folder import SWEEP, open_sweep
from tennis.rally import Rally, open_rally
from tennis.rally.disk import refuse_existing, write_whole, writing
from tennis.rally.folder import (
    AFTER,
    BALLS,
    BEFORE,
    CAPTURE,
    CONSOLE,
    EVENTS,
    INSTANTS,
    MANIFEST,
    STAGES,
)
from tennis.rally.text import plain

ZIP_MAX = 128 << 20  # bytes of the zip file
FILE_MAX = 64 << 20  # of one file in it, unpacked
TOTAL_MAX = 256 << 20
FILES_MAX = 400
CHUNK = 1 << 20
OF_ALL = (
    "check_answered",
    "check_name",
    "check_rally",
    "check_match",
    "check_sweep",
)  # without these nothing is handed in
NOTED_MAX = 10
AROUND_MAX = 4  # folders around everything
STUDENT_BYTES = 120  # of a file's name; systems take 255, and some 143
SEED_DIGITS = 6
FOUND_MAX = 3  # files that a refusal names
UTF8_FLAG = 0x800
UNICODE_PATH = 0x7075  # Info-ZIP's field
# what systems and programs put there by themselves, in lower case
ADDED = {"__macosx", ".ds_store", "thumbs.db", "desktop.ini", ".ipynb_checkpoints", "__pycache__"}
ADDED |= {".appledouble", ".fseventsd", ".spotlight-v100", ".trashes", "$recycle.bin"}
ARCHIVES = {
    b"7z\xbc\xaf\x27\x1c": "a 7z file",
    b"Rar!\x1a\x07": "a RAR file",
    b"\x1f\x8b": "a gzip file",
    b"BZh": "a bzip2 file",
    b"\xfd7zXZ\0": "an xz file",
    b"\x28\xb5\x2f\xfd": "a Zstandard file",
}
TAR_AT = 257  # the place of a tar file's mark
# beside a rally: its manifest does not list them
RECORDED_LATER = {INSTANTS, STAGES}
OF_RALLY = {MANIFEST, BALLS, EVENTS, CONSOLE, CAPTURE, BEFORE, AFTER} | RECORDED_LATER
RALLY = re.compile(r"[a-z0-9][a-z0-9-]{0,59}")
# zipfile's errors for a malformed file, or one that needs a password or another compression
BROKEN = (
    *(zipfile.BadZipFile, zlib.error, struct.error, NotImplementedError, RuntimeError),
    *(EOFError, ValueError, OverflowError, LookupError),
)
TIME = (2026, 1, 1, 0, 0, 0)  # the same work gives the same file


class HandInError(WorkError):
    """A file that was handed in is no hand-in."""


def missing(work: Work, report: Report) -> list[str]:
    """Return the missing parts of a hand-in, in words; the checks were run without the solution."""
    found = [
        f"{result.question or title(result)}: {result.message}"
        for result in report.results
        if result.verdict == "fail" and result.check.startswith(OF_ALL)
    ]
    if not work.answers.minutes:
        found.append(f"{ANSWERS}: minutes: how many the lab took you")
    if work.lab.notebook.is_file() and not (work.folder / NOTEBOOK).is_file():
        found.append(f"{NOTEBOOK} is not there")
    return found


def print_notebook(work: Work) -> None:
    """Run the notebook, and keep it as PDF. Raises WorkError if it fails, BenchError."""
    ran = run_notebook(work.folder)
    if ran.error or ran.executed is None:
        raise WorkError(
            f"{NOTEBOOK}: {ran.error or 'it left nothing to be printed'}",
            next_step="correct it: in JupyterLab, Kernel, Restart Kernel and Run All Cells",
        )
    if long := too_long(ran.executed):
        raise WorkError(
            f"{NOTEBOOK}: {plain(long, 200)}",
            next_step="show less there: the first lines of it, say",
        )
    title = f"Lab {work.lab.number}, {work.lab.title}: {work.answers.student}"
    write_whole(work.folder / NOTEBOOK_PDF, pdf(ran.executed, title), force=True)


def pack(work: Work, out: Path, *, without: Container[str] = ()) -> int:
    """Write the zip file; return its bytes. Raises UsageError if it exists.

    ``without``: names of files that are left out.
    """
    files = [(path, name) for path, name in _files(work) if name not in without]
    large = next((path for path, _ in files if path.stat().st_size > FILE_MAX), None)
    total = sum(path.stat().st_size for path, _ in files)
    if large or total > TOTAL_MAX:
        what = large or work.folder
        raise WorkError(
            f"{what} is larger than may be handed in", next_step="play as many balls as asked for"
        )
    data = zipped({name: path.read_bytes() for path, name in files})
    write_whole(out, data)
    return len(data)


def zipped(entries: Mapping[str, bytes]) -> bytes:
    """Return a zip file; the same entries give the same one."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in sorted(entries.items()):
            info = zipfile.ZipInfo(name, TIME)
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = (stat.S_IFREG | 0o644) << 16
            archive.writestr(info, content)
    return data.getvalue()


def check_place(out: Path) -> None:
    """Check that a file can be made there, before a minute of work. Raises as ``pack``."""
    refuse_existing(out)
    probe = out.with_name(f".{out.name}.{os.getpid()}")
    with writing(out):
        probe.touch()
        probe.unlink()


def _files(work: Work) -> Iterator[tuple[Path, str]]:
    for name in sorted({ANSWERS, NOTEBOOK, NOTEBOOK_PDF, SEALS, *work.lab.files}):
        if (path := work.folder / name).is_file():
            yield path, name
    yield from _match_files(work)
    yield from _sweep_files(work)
    for name, rally in sorted(work.own.items()):
        yield from _rally_files(rally, name)


def _rally_files(rally: Rally, name: str) -> Iterator[tuple[Path, str]]:
    beside = {file for file in RECORDED_LATER if (rally.path / file).is_file()}
    for file in sorted({MANIFEST, *rally.manifest.files, *beside} & OF_RALLY):
        yield rally.path / file, f"{name}/{file}"


def _match_files(work: Work) -> Iterator[tuple[Path, str]]:
    """Yield the files of a match; reports and explanations can be made again."""
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
    """Return the zip file's name: lab and student, in the letters of any script.

    Two students have two names: the number is added if there is one, digits of the seed if the name
    lost something. Each system takes it: no reserved name, no sign but ``-`` and ``.``, short
    enough.
    """
    student = unicodedata.normalize(
        "NFC", unicodedata.normalize("NFC", work.answers.student).casefold()
    )
    number = "".join(c if c.isalnum() else "-" for c in work.answers.number.casefold())
    kept = "".join(c if is_letter(c) else "-" for c in student)
    words = "-".join(filter(None, kept.split("-")))
    short = words.encode()[: STUDENT_BYTES - len(number)].decode(errors="ignore").strip("-")
    if short.split("-") != student.split(" "):
        seed = seed_of(work.lab, work.answers.student, work.answers.number)
        short = "-".join(filter(None, (short, f"{seed:010}"[-SEED_DIGITS:])))
    return f"{'-'.join(filter(None, (work.lab.slug, short, number)))}.zip"


@dataclass
class _Unpacked:
    """The files taken from a zip file, and notes about the others."""

    folder: Path
    notes: list[str] = field(default_factory=list)


def unpack(path: Path, folder: Path) -> _Unpacked:
    """Unpack a hand-in into a new folder. Raises HandInError for a malformed one, BenchError.

    Folders around everything are taken off, and a zip file around the zip file. A name is never
    used as it is: only names that are known are written, so that no path leads elsewhere.
    """
    return _unpack(path, folder, plain(path.name, 80), inner=False)


def _unpack(path: Path, folder: Path, name: str, *, inner: bool) -> _Unpacked:
    if path.is_symlink() or not path.is_file() or path.stat().st_size > ZIP_MAX:
        raise HandInError(f"{name} is not a file of at most {ZIP_MAX >> 20} MB")
    _refuse_other_archives(path, name)
    unpacked = _Unpacked(folder)
    try:
        with zipfile.ZipFile(path) as archive:
            entries = _entries(archive, name)
            root = _root(entries, name)
            if root is None:
                return _unpack_inner(archive, entries, name, folder, inner=inner)
            folder.mkdir(parents=True)
            _take(archive, entries, root, name, unpacked)
    except BROKEN as error:
        raise HandInError(f"{name} is not a whole zip file: {plain(str(error), 100)}") from error
    except OSError as error:
        if is_of_this_machine(error):
            raise BenchError(
                f"{name} cannot be unpacked here: {plain(str(error), 100)}",
                next_step=f"free some room in {tempfile.gettempdir()}",
            ) from error
        raise HandInError(f"{name} cannot be unpacked: {plain(str(error), 100)}") from error
    more = len(unpacked.notes) - NOTED_MAX
    if more > 0:
        unpacked.notes[NOTED_MAX:] = [f"not taken: {format_count(more, 'more file')}"]
    return unpacked


def _refuse_other_archives(path: Path, name: str) -> None:
    """Raise HandInError for another kind of file, and name that kind."""
    with path.open("rb") as file:
        begin = file.read(TAR_AT + 5)
    kind = next((kind for mark, kind in ARCHIVES.items() if begin.startswith(mark)), "")
    if begin[TAR_AT:] == b"ustar":
        kind = "a tar file"
    if path.name.lower() == ANSWERS:
        kind = "one file of an unpacked hand-in"
    if kind:
        raise HandInError(f"{name} is {kind}", next_step="pack the student's whole folder as zip")


@dataclass(frozen=True)
class _Entry:
    """A file in a zip file: its folders and its name, decoded."""

    info: zipfile.ZipInfo
    folders: tuple[str, ...]
    file: str

    @property
    def label(self) -> str:
        return plain("/".join((*self.folders, self.file)), 80)


def _entries(archive: zipfile.ZipFile, name: str) -> list[_Entry]:
    """Return the files, without those that systems add by themselves. Raises HandInError."""
    found: list[_Entry] = []
    for info in archive.infolist():
        if info.is_dir() or info.filename.endswith("\\"):
            continue
        *folders, file = decoded_name(info).split("/")
        entry = _Entry(info, tuple(part for part in folders if part != "."), file)
        if any(added(part) for part in (*folders, file)):
            continue
        if len(found) == FILES_MAX:
            raise HandInError(f"{name} holds {len(archive.infolist())} files, {FILES_MAX} at most")
        found.append(entry)
    return found


def decoded_name(info: zipfile.ZipInfo) -> str:
    """Decode a name: Info-ZIP's field of it, UTF-8 without its flag, DOS' page 850; slashes."""
    name = info.filename
    if not info.flag_bits & UTF8_FLAG:
        octets = info.orig_filename.encode("cp437")
        try:
            name = _unicode_field(info.extra, zlib.crc32(octets)) or name.encode("cp437").decode()
        except UnicodeError:
            name = name.encode("cp437").decode("cp850")
    return unicodedata.normalize("NFC", name).replace("\\", "/")


def _unicode_field(extra: bytes, checksum: int) -> str:
    """Return the name in an entry's extra fields, if it stands for that of this checksum."""
    while len(extra) >= 4:
        kind, size = struct.unpack_from("<HH", extra)
        field, extra = extra[4 : 4 + size], extra[4 + size :]
        if kind == UNICODE_PATH and field[:5] == b"\1" + checksum.to_bytes(4, "little"):
            return field[5:].decode()
    return ""


def added(part: str) -> bool:
    """Tell whether a system put a file or a folder there by itself."""
    lower = part.lower()
    # Windows keeps a file's origin beside it; on other systems that is a file of its own
    return part.startswith("._") or lower in ADDED or lower.endswith("zone.identifier")


def _root(entries: Sequence[_Entry], name: str) -> tuple[str, ...] | None:
    """Return the folders around a hand-in's answers, or None if it has no answers."""
    places = {
        entry.folders
        for entry in entries
        if entry.file.lower() == ANSWERS
        and is_file(entry.info)
        and not {"", ".."} & set(entry.folders)
    }
    if not places:
        return None
    depth = min(map(len, places))
    highest = sorted(place for place in places if len(place) == depth)
    if len(highest) > 1:
        some = " and ".join(plain("/".join(place), 40) for place in highest[:2])
        raise HandInError(
            f"{name} holds {len(highest)} hand-ins, in the folders {some}",
            next_step="mark each of them by itself",
        )
    if depth > AROUND_MAX:
        raise HandInError(f"{name}: {ANSWERS} lies {depth} folders deep, {AROUND_MAX} at most")
    return highest[0]


def _unpack_inner(
    archive: zipfile.ZipFile, entries: Sequence[_Entry], name: str, folder: Path, *, inner: bool
) -> _Unpacked:
    """Unpack the only zip file in a zip file. Raises HandInError."""
    zips = [entry for entry in entries if entry.file.lower().endswith(".zip")]
    if not zips:
        ask = "ask for the file that `tennis lab submit` makes"
        # answers (1).toml, answers.toml.txt
        near = get_close_matches(ANSWERS, [entry.file for entry in entries], FOUND_MAX, 0.5)
        others = [entry.label for entry in entries if not near or entry.file in near]
        some = ", ".join(others[:FOUND_MAX]) or "nothing"
        more = f" and {len(others) - FOUND_MAX} more" if len(others) > FOUND_MAX else ""
        raise HandInError(f"there is no {ANSWERS} in {name}: it holds {some}{more}", next_step=ask)
    if len(zips) > 1:
        raise HandInError(
            f"{name} holds {len(zips)} zip files",
            next_step="if it is the whole class's, give it to `tennis grade` itself",
        )
    if inner:
        raise HandInError(f"{name} is a zip file in a zip file in a zip file")
    _check_packing(zips[0].info, name)
    with tempfile.TemporaryDirectory(prefix="tennis-zip-") as scratch:
        place = Path(scratch) / "inner.zip"
        _copy(archive, zips[0].info, place, ZIP_MAX)
        unpacked = _unpack(place, folder, f"{name}: {zips[0].label}", inner=True)
    others = [f"not taken: {entry.label}" for entry in entries if entry is not zips[0]]
    unpacked.notes[:0] = others[:NOTED_MAX]
    return unpacked


def _take(
    archive: zipfile.ZipFile,
    entries: Sequence[_Entry],
    root: tuple[str, ...],
    name: str,
    unpacked: _Unpacked,
) -> None:
    """Write the known files below ``root``. Raises HandInError."""
    own = {
        ANSWERS,
        NOTEBOOK,
        NOTEBOOK_PDF,
        SEALS,
        *(name for lab in every_lab() for name in lab.files),
    }
    own_names = {name.lower(): name for name in own}
    left = TOTAL_MAX
    taken: set[str] = set()
    for entry in entries:
        _check_packing(entry.info, name)
        below = entry.folders[: len(root)] == root
        to = _destination(entry, entry.folders[len(root) :], own_names) if below else None
        if to is None:
            unpacked.notes.append(f"not taken: {entry.label}")
            continue
        if to in taken:
            raise HandInError(f"{name} holds {to} twice")
        taken.add(to)
        left -= entry.info.file_size
        if left < 0:
            raise HandInError(f"{name} unpacks to more than {TOTAL_MAX >> 20} MB")
        _copy(archive, entry.info, unpacked.folder / to, FILE_MAX)


def _check_packing(info: zipfile.ZipInfo, name: str) -> None:
    if info.compress_type not in {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}:
        raise HandInError(f"{name} is packed in a way that is not taken", next_step="use zip")


def is_file(info: zipfile.ZipInfo) -> bool:
    """Tell whether it is a file: no link, no device."""
    return stat.S_IFMT(info.external_attr >> 16) in {0, stat.S_IFREG}


def _destination(entry: _Entry, folders: Sequence[str], own: Mapping[str, str]) -> str | None:
    """Return a file's destination, in lower case unless it is a lab's own; None: left out."""
    if not is_file(entry.info):
        return None
    file = entry.file.lower()
    folders = [folder.lower() for folder in folders]
    if not all(RALLY.fullmatch(folder) for folder in folders):
        return None
    match len(folders):
        case 0:
            return own.get(file)
        case 1:
            known = file in OF_RALLY or file in {MATCH, SWEEP}
        case 2:  # a rally of a match or a sweep
            known = file in OF_RALLY
        case _:
            known = False
    return "/".join((*folders, file)) if known else None


def _copy(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, to: Path, limit: int) -> None:
    """Unpack a file. Raises HandInError if it has more than ``limit`` bytes.

    zipfile yields no more bytes than the entry says that it has.
    """
    if entry.file_size > limit:
        raise HandInError(f"{plain(entry.filename, 80)} unpacks to more than {limit >> 20} MB")
    to.parent.mkdir(parents=True, exist_ok=True)
    with archive.open(entry) as source, to.open("xb") as target:
        shutil.copyfileobj(source, target, CHUNK)
