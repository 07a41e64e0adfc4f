"""A user's own program, made ready for an arm64 target: compiled, and the places of its files.

Its source may come from anybody, and is compiled in a box: what the compiler reads would otherwise
reach a message or the target. The place in the box is always the same, so that the same source
gives the same bytes. It is static: it depends on no file of the target.
"""

import json
import re
import struct
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from tennis.bench import box, programs
from tennis.bench.cache import digest, once
from tennis.bench.commands import run
from tennis.bench.debian import host_architecture
from tennis.bench.kernels import modules, own_module
from tennis.kit.digests import sha256_of_folder
from tennis.kit.errors import BenchError, NotBuiltError
from tennis.rally.program import TOML, Brought, C
from tennis.rally.text import plain

HOME = "/program"  # on the target
PACKAGES = Path("/packages")  # in the box: /usr of those that it is compiled with
LIMIT_S = 300.0
RECIPE = 1  # another number builds everything again
# frame pointers, as Debian has them on arm64: callers can be found from outside
FLAGS = ("-O2", "-static", "-fno-omit-frame-pointer", "-Wall", "-pthread", "-Wl,--build-id=none")
LIBRARIES = ("-lrt", "-lm")
COMPILERS = {True: f"{modules.PREFIX}gcc", False: f"{modules.PREFIX}g++"}  # of C only; of C++
# built if the user's source fails: shows whether the source or this machine is at fault
CONTROL = {"control.c": b"int main(void) { return 0; }\n"}
NO_HEADER = ".h: No such file or directory"
HEADER = f"a library's header is in a package: name it in a {TOML}, in build_packages"
TOO_LARGE = "File size limit exceeded"  # strsignal(3), in gcc's words
# what the linker says, whose last line says nothing
LINKER = re.compile(r"(?:undefined reference to .*|cannot find .*|multiple definition of .*)")


@dataclass(frozen=True)
class OwnProgram:
    """A program's files on the target; ``files``: place there -> content."""

    brought: Brought
    files: Mapping[str, bytes]

    @property
    def sha256(self) -> str:
        """Return the SHA-256 of all files there: places and contents."""
        return sha256_of_folder(self.files)


def built(brought: Brought, packages: Path | None = None) -> OwnProgram:
    """Return a program's files for the target.

    ``packages``: the folder of the unpacked packages that it is compiled with; None: it needs none.
    Raises NotBuiltError with the compiler's first words if its source cannot be compiled,
    BenchError if this machine could not do it.
    """
    about = brought.about
    files = {place: brought.files[place] for place in about.files if place != TOML}
    if about.sources:
        name = PurePosixPath(about.sources[0]).stem
        files[name] = _compiled(brought, packages)
    return OwnProgram(brought, {f"{HOME}/{place}": content for place, content in files.items()})


def _compiled(brought: Brought, packages: Path | None) -> bytes:
    sources = brought.about.sources
    compiler = COMPILERS[all(Path(one).suffix in C for one in sources)]
    if programs.find(compiler) is None:
        raise BenchError(
            f"{brought.path} needs {compiler}, which is missing",
            next_step=programs.how_to_install([_package(compiler)]),
        )
    version = run([compiler, "--version"], what="the arm64 compiler").splitlines()[0]
    libraries = [f"-l{name}" for name in brought.about.libraries]

    def fill(folder: Path) -> None:
        ended = _in_a_box(compiler, brought.files, [*sources, *libraries], packages)
        # another day it may be built, so nothing of it is kept
        if ended.limit and _in_a_box(COMPILERS[True], CONTROL, list(CONTROL)).code != 0:
            raise BenchError(
                f"{brought.path} could not be built here: {ended.limit}",
                next_step="try again when the machine has less to do",
            )
        if ended.code == 0 and "program" in ended.files:
            (folder / "program").write_bytes(ended.files["program"])
        said = _errors_of(ended) if not (folder / "program").exists() else []
        (folder / "said.json").write_text(json.dumps(said))

    names = [text for pair in sorted(brought.files.items()) for text in pair]
    recipe = [compiler, version, *FLAGS, *LIBRARIES, str(RECIPE), *sources]
    if packages:  # their folder's name tells which, and it never changes
        recipe += [*libraries, packages.parent.name]
    folder = once("own-programs", digest(*recipe, *names), fill)
    if not (folder / "program").is_file():
        said = json.loads((folder / "said.json").read_text())
        more = f" (and {len(said) - 1} more)" if len(said) > 1 else ""
        next_step = HEADER if said[0].endswith(NO_HEADER) else ""
        raise NotBuiltError(f"{brought.path} is not built: {said[0]}{more}", next_step=next_step)
    return (folder / "program").read_bytes()


def memory_of(executable: bytes) -> int:
    """Return the bytes of memory that a program's own segments take; 0: it is no 64-bit ELF."""
    if not executable.startswith(b"\x7fELF\x02\x01"):
        return 0
    try:
        (start,) = struct.unpack_from("<Q", executable, 32)
        size, count = struct.unpack_from("<HH", executable, 54)
        headers = [struct.unpack_from("<I36xQ", executable, start + n * size) for n in range(count)]
    except struct.error:  # damaged: the target says so
        return 0
    return sum(bytes_ for kind, bytes_ in headers if kind == 1)  # PT_LOAD: p_memsz


def _package(compiler: str) -> str:
    """Return Debian's package of a compiler, on this machine."""
    here = host_architecture()
    return next(
        row.package
        for row in programs.programs()
        if row.name == compiler and row.when in {"always", here}
    )


def _in_a_box(
    compiler: str, files: Mapping[str, bytes], sources: list[str], packages: Path | None = None
) -> box.Ended:
    with tempfile.TemporaryDirectory(prefix="tennis-program-") as scratch:
        for place, content in files.items():
            (Path(scratch) / place).parent.mkdir(parents=True, exist_ok=True)
            (Path(scratch) / place).write_bytes(content)
        line, readable = compiling(compiler, sources, packages)
        return box.run(line, Path(scratch), ["program"], readable, {}, LIMIT_S)


def compiling(
    compiler: str, sources: list[str], packages: Path | None
) -> tuple[list[str], dict[Path, Path]]:
    """Return the compiler's command, and what it may read in its box."""
    line = [compiler, *FLAGS, "-o", f"{box.OUT}/program"]
    readable = dict(own_module.SYSTEM)
    if packages:
        readable[PACKAGES] = packages / "usr"
        line += ["-isystem", f"{PACKAGES}/include", f"-L{PACKAGES}/lib/aarch64-linux-gnu"]
    return [*line, *sources, *LIBRARIES], readable


def _errors_of(ended: box.Ended) -> list[str]:
    """Return the errors of a source, the first one first; at least one."""
    if ended.limit:
        return [f"compiling it: {ended.limit}; a small program was built right afterwards"]
    found = []
    for line in ended.words.splitlines():
        if (match := own_module.MESSAGE.search(line)) and "error" in (match["what"] or "").lower():
            found.append(plain(f"{match['file']}:{match['line']}: {match['text']}", 200))
        elif match := LINKER.search(line):
            found.append(plain(match[0], 200))
    if TOO_LARGE in ended.words:
        return ["it makes a file that is too large: an array with values is a part of the program"]
    return list(dict.fromkeys(found))[:20] or [ended.why or "the compiler left no program"]
