"""A user's own program that answers: its files, and its identity.

That is a file (C, C++, or a static executable for arm64), or a folder with ``program.toml``. It is
known by its name and by the SHA-256 of all that was brought.
"""

import errno
import hashlib
import os
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints
from pydantic import ValidationError as Invalid
from pydantic_core import PydanticCustomError

from tennis.kit.checkout import ROOT
from tennis.kit.digests import sha256_of_folder
from tennis.kit.errors import UsageError
from tennis.rally.disk import open_below
from tennis.rally.edited import toml_of
from tennis.rally.text import plain

TOML = "program.toml"
BYTES_MAX = 32 << 20  # of all that is brought: the target's root is in its memory
FILES_MAX = 500
C, CPP = (".c",), (".cc", ".cpp", ".cxx")
SOURCES = (*C, *CPP)
ELF = b"\x7fELF"
KEYS = "docs/programs.md has all keys"
KITS = ROOT / "target" / "programs"  # whose headers every source may include

_INCLUDE = re.compile(rb'^[ \t]*#[ \t]*include[ \t]*"([^"\n]{1,200})"', re.MULTILINE)

Kind = Literal["C", "C++", "executable", "folder"]
# how a program hears of a ping and answers: by itself, or behind the Racquet's hard handler
Way = Literal["gpio", "racquet"]
GPIO: Way = "gpio"
RACQUET: Way = "racquet"


def _inside(place: str) -> str:
    path = PurePosixPath(place)
    if path.is_absolute() or ".." in path.parts or not path.parts:
        message = "is not a file of this folder"
        raise PydanticCustomError("place", "{words}", {"words": message})
    return str(path)


def _words(command: str) -> str:
    try:
        words = shlex.split(command)
    except ValueError:
        words = []
    if not words:
        message = "is no command"
        raise PydanticCustomError("command", "{words}", {"words": message})
    return command


Line = Annotated[str, StringConstraints(pattern=r"^[^\x00-\x1f\x7f]{0,2000}$")]
Place = Annotated[Line, AfterValidator(_inside)]
Package = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9.+-]{1,100}$")]
Library = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.+-]{0,60}$")]
Variable = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,100}$")]


class _Strict(BaseModel):
    """A part of ``program.toml``: unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class _Limits(_Strict):
    """The limits of a program, which runs as an ordinary user of the group that has the lines."""

    priority: Annotated[int, Field(ge=0, le=99)] = 99  # up to which it may go by itself
    locked_mb: Annotated[int, Field(ge=0, le=1024)] = 1024  # of memory
    processes: Annotated[int, Field(ge=1, le=4096)] = 256  # threads among them
    start_s: Annotated[int, Field(ge=1, le=60)] = 20  # until it has its lines; of virtual time


class _ProgramFile(_Strict):
    """All of ``program.toml``."""

    way: Way = GPIO  # by which it hears pings
    command: Annotated[Line, AfterValidator(_words)]  # started in the folder of its files
    files: Annotated[list[Place], Field(max_length=FILES_MAX)] = []
    sources: Annotated[list[Place], Field(max_length=FILES_MAX)] = []  # of one static executable
    packages: Annotated[list[Package], Field(max_length=64)] = []  # Debian's, for arm64
    # of Debian's, too: with their headers and static libraries its sources are compiled
    build_packages: Annotated[list[Package], Field(max_length=16)] = []
    libraries: Annotated[list[Library], Field(max_length=16)] = []  # of these: gpiod for -lgpiod
    environment: Annotated[dict[Variable, Line], Field(max_length=64)] = {}
    priority: Annotated[int, Field(ge=1, le=99)] | None = None  # SCHED_FIFO; None: ordinary
    limits: _Limits = _Limits()

    @property
    def words(self) -> list[str]:
        """Return the command's words."""
        return shlex.split(self.command)


@dataclass(frozen=True)
class Brought:
    """A user's program; ``files``: place in its folder -> content."""

    path: Path
    kind: Kind
    about: _ProgramFile
    files: Mapping[str, bytes]

    @property
    def name(self) -> str:
        """Return its name: that of its file, or its folder."""
        return plain(self.path.name, 60)

    @property
    def sha256(self) -> str:
        """Return the SHA-256 of a file, or of all that is brought: places and contents."""
        if self.kind != "folder" and len(self.files) == 1:
            return hashlib.sha256(next(iter(self.files.values()))).hexdigest()
        return sha256_of_folder(self.files)


def read(path: Path) -> Brought:
    """Return a user's program. Raises UsageError if it is no such file or folder."""
    path = Path(os.path.abspath(path))  # noqa: PTH100 (a link keeps its own name)
    if path.is_dir():
        return _of_folder(path)
    real = path.resolve()  # what the user names may be a link
    content = _content(real.parent, real.name, BYTES_MAX)
    if path.suffix in SOURCES:
        kind: Kind = "C" if path.suffix in C else "C++"
        about = _ProgramFile(command=f"./{shlex.quote(path.stem)}", sources=[path.name])
        return Brought(path, kind, about, _with_headers(path, content))
    if not content.startswith(ELF):
        raise UsageError(
            f"--program {path}: neither C nor C++ ({', '.join(SOURCES)}), nor an executable (ELF)",
            next_step=f"name one of these, or a folder with {TOML}",
        )
    _check_executable(path.name, content, static=True)
    about = _ProgramFile(command=f"./{shlex.quote(path.name)}", files=[path.name])
    return Brought(path, "executable", about, {path.name: content})


def _with_headers(path: Path, content: bytes) -> dict[str, bytes]:
    """Return a source with the headers that it includes, and these include.

    They are those of its own folder, or the kit's: so ``before.c`` of lab 13 is the same program
    in the kit and in a student's folder, which has a copy of ``lines.h``.
    """
    files = {path.name: content}
    wanted = [content]
    while wanted:
        for name in _INCLUDE.findall(wanted.pop()):
            place = name.decode(errors="replace")
            if place in files or PurePosixPath(place).name != place:
                continue
            folder = next((one for one in (path.parent, KITS) if (one / place).is_file()), None)
            if folder is None:
                continue  # the compiler reports missing files
            left = BYTES_MAX - sum(map(len, files.values()))
            files[place] = _content(folder, place, left)
            wanted.append(files[place])
    return files


def known_by(path: str | None) -> str | None:
    """Return the identity of a program, as a manifest has it; None: no program.

    A file that cannot be read is identified by its name alone: no rally was played with it.
    """
    if path is None:
        return None
    try:
        brought = read(Path(path))
    except UsageError:
        return f"{plain(Path(path).name, 60)}, not there"
    return identity(brought.name, brought.sha256)


def identity(name: str, sha256: str) -> str:
    """Return name and SHA-256, the first twelve digits of it, in words."""
    return f"{name}, SHA-256 {sha256[:12]}"


def _of_folder(folder: Path) -> Brought:
    toml = _content(folder, TOML, 1 << 18)
    try:
        about = _ProgramFile.model_validate(toml_of(toml))
    except Invalid as error:
        # a key that is misspelt is the reason why another one is missing
        first = min(error.errors(), key=lambda one: one["type"] != "extra_forbidden")
        where = plain(".".join(map(str, first["loc"])), 80)
        message = {
            "extra_forbidden": "there is no such key",
            "missing": "it is missing",
            "string_pattern_mismatch": "that is no name, or not one line",
        }.get(first["type"], first["msg"])
        raise UsageError(
            f"{folder / TOML}: {where}: {plain(message, 200)}", next_step=KEYS
        ) from None
    except ValueError as error:
        raise UsageError(f"{folder / TOML}: {plain(str(error), 200)}", next_step=KEYS) from None
    if wrong := next((s for s in about.sources if Path(s).suffix not in SOURCES), None):
        raise UsageError(
            f"{folder / TOML}: {plain(wrong, 80)} among its sources is neither C nor C++",
            next_step=f"use {', '.join(SOURCES)}",
        )
    files = {TOML: toml}
    left = BYTES_MAX - len(toml)
    for place in [*about.files, *about.sources]:
        files[place] = _content(folder, place, left)
        left -= len(files[place])
        if files[place].startswith(ELF):
            _check_executable(place, files[place], static=False)
    return Brought(folder, "folder", about, files)


def _content(folder: Path, place: str, left: int) -> bytes:
    """Return the contents of a plain file, ``left`` bytes at most. Raises UsageError."""
    path = folder / place
    try:
        with open_below(folder, place) as file:
            size = os.fstat(file.fileno()).st_size
            if size > left:
                raise UsageError(
                    f"--program: {path} has {size / 1e6:,.0f} MB, and a program with all "
                    f"of its files {BYTES_MAX >> 20} MB at most, in the target's memory",
                    next_step="bring what is needed, stripped",
                )
            return file.read(left)
    except OSError as error:
        a_link = error.errno == errno.EINVAL
        raise UsageError(
            f"--program: cannot read {path} ({error.strerror})",
            next_step="bring a copy of it" if a_link else f"name a file, or a folder with {TOML}",
        ) from error


# --- executables, as elf.h of the GNU C library has them ---

_MACHINES = {3: "x86", 40: "32-bit ARM", 62: "x86-64", 183: "arm64", 243: "RISC-V"}
_ARM64, _EXECUTABLE, _SHARED = 183, 2, 3
REBUILD = "build it with aarch64-linux-gnu-gcc -static, or bring its source"
_INTERPRETER = 3  # a program header: it is linked when it is started


def _check_executable(name: str, content: bytes, *, static: bool) -> None:
    """Raise UsageError for an ELF file that a target of arm64 cannot start.

    ``static``: nor one that wants libraries.
    """
    name = plain(name, 80)

    def number(place: int, size: int) -> int:
        return int.from_bytes(content[place : place + size], "little")

    if len(content) < 64:
        raise UsageError(
            f"--program: {name} is cut off: an executable (ELF) is longer", next_step=REBUILD
        )
    machine = number(18, 2)
    if content[4:6] != b"\x02\x01" or machine != _ARM64:
        other = _MACHINES.get(machine, f"machine {machine} of elf.h")
        raise UsageError(
            f"--program: {name} is for {other}, and the target is arm64", next_step=REBUILD
        )
    if number(16, 2) not in {_EXECUTABLE, _SHARED}:
        raise UsageError(
            f"--program: {name} is a part of a program (ELF), and nothing that starts",
            next_step=REBUILD,
        )
    table, size, count = number(32, 8), number(54, 2), number(56, 2)
    kinds = {number(table + i * size, 4) for i in range(count)}
    if static and _INTERPRETER in kinds:
        found = re.search(rb"lib[\w+.-]{1,60}\.so[.0-9]*", content)
        library = found[0].decode() if found else "its libraries"
        raise UsageError(
            f"--program: {name} wants {library}, which is not on the target",
            next_step=f"link it with -static, or bring a folder with {TOML} that names packages",
        )
