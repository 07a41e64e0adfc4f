"""Programs for the virtual target: kernel modules and static executables, built once and cached."""

import functools
import hashlib
import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from tennis.bench.cache import SUMS, made_of
from tennis.bench.commands import run, says_of_itself
from tennis.bench.kernels.kernel import Kernel
from tennis.kit import environment
from tennis.kit.checkout import cache_folder
from tennis.kit.errors import BenchError
from tennis.kit.share import processors
from tennis.rally.text import quoted

PREFIX = "aarch64-linux-gnu-"
BINUTILS = ("as", "ld")

# Debian built its kernels with a newer gcc than an older host has; these options of that build do
# not change a module's interface. BTF needs pahole and serves no purpose here.
OVERRIDES = ["CONFIG_CC_HAS_MIN_FUNCTION_ALIGNMENT=", "CONFIG_DEBUG_INFO_BTF_MODULES="]

# Before gcc 14 cold functions are not aligned, and what only a module's init calls is cold. Where
# ftrace keeps a pointer before each function, a kernel panics at insmod of such a module: it is
# built again, without room for ftrace. Other modules keep it, and with it their timing.
PATCHED = "__patchable_function_entries"
ALIGNED = 8  # bytes
UNTRACED = "CC_FLAGS_FTRACE="


def _misaligned(text: str) -> bool:
    """Tell from a module's ``objdump -h -r`` whether it could make a kernel panic.

    Cold functions may begin at an odd place of their section, or their section at one of the
    module's. (The first of ``.init.text`` begins a page.)
    """
    records = text.partition(f"[{PATCHED}]:")[2].partition("\n\n")[0]
    places = re.findall(r"R_AARCH64_ABS64\s+(\.[\w.]+)(?:\+0x([0-9a-f]+))?$", records, re.MULTILINE)
    if any(int(place or "0", 16) % ALIGNED for _, place in places):
        return True
    alignments = dict(re.findall(r"(?m)^ +\d+ (\.text\.unlikely) .* 2\*\*(\d+)\b", text))
    return any(1 << int(alignments.get(section, "3")) < ALIGNED for section, _ in places)


def compiler_version() -> str:
    """Return the first line of the cross compiler's ``--version``."""
    return says_of_itself(f"{PREFIX}gcc", what="the arm64 compiler").splitlines()[0]


def toolchain() -> list[str]:
    """Return the tools that make a module's bytes: compiler, assembler, linker, with versions.

    They come from packages of their own; a new linker places things elsewhere.
    """
    made_by = [says_of_itself(f"{PREFIX}{name}", what=f"arm64's {name}") for name in BINUTILS]
    return [compiler_version(), *(said.splitlines()[0] for said in made_by)]


def sources(source: Path) -> list[Path]:
    """Return all files of which a module is built; ``source`` is one of them."""
    files = sorted(source.parent.glob("*.[ch]"))
    return [source.with_name("Kbuild"), *(f for f in files if not f.name.endswith(".mod.c"))]


def check_headers_of(kernel: Kernel) -> None:
    """Compare a kernel of the cache with what was fetched, headers too. Raises BenchError."""
    for place in kernel.build.parents:
        if (place / SUMS).is_file() and place.is_relative_to(cache_folder()):
            _check_headers(place)


@functools.cache
def _check_headers(folder: Path) -> None:
    """Compare all 20,000 files of a folder of the cache, once in a process. Raises BenchError."""
    listed = os.fsdecode((folder / SUMS).read_bytes()).splitlines()
    files = {line[66:]: line[:64] for line in listed if not line.startswith("#")}
    there = {
        os.path.relpath(os.path.join(at, name), folder)  # noqa: PTH118 (20,000 of them)
        for at, _, names in os.walk(folder)
        for name in names
        if not os.path.islink(os.path.join(at, name))  # noqa: PTH114, PTH118
    }
    try:
        same = there - {SUMS} == files.keys() and all(
            hashlib.sha256((folder / name).read_bytes()).hexdigest() == sum_
            for name, sum_ in files.items()
        )
    except OSError:
        same = False
    if not same:
        raise BenchError(
            f"{folder} is not what was fetched there",
            next_step=f"run 'rm -r {quoted(folder)}', and fetch it again",
        )


def kernel_module(source: Path, kernel: Kernel) -> Path:
    """Build ``source`` (NAME.c, one of those in its Kbuild) for a kernel; return NAME.ko, stripped.

    The Kbuild decides which others are built with it, from files of the same folder.
    """
    needed = sources(source)

    def build(folder: Path) -> None:
        check_headers_of(kernel)
        work = folder / "work"
        work.mkdir()
        for file in needed:
            shutil.copy(file, work)
        make: list[str | Path] = [
            *("make", "-C", kernel.build, f"M={work}", "ARCH=arm64"),
            *(f"CROSS_COMPILE={PREFIX}", f"CC={PREFIX}gcc", f"-j{processors()}"),
            *OVERRIDES,
        ]
        what = f"building {source.name} for Linux {kernel.release}"
        module = work / f"{source.stem}.ko"
        run([*make, "modules"], what=what)
        if _misaligned(run([f"{PREFIX}objdump", "-h", "-r", module], what="reading the module")):
            run([*make, UNTRACED, "clean"], what=what)
            run([*make, UNTRACED, "modules"], what=what)
        # paths of the build in the module would change its bytes
        run(
            [f"{PREFIX}strip", "-g", "-R", ".note.gnu.build-id", "-R", ".comment", module],
            what=f"stripping {module.name}",
        )
        shutil.move(module, folder / module.name)
        shutil.rmtree(work)

    parts = [kernel.fingerprint, *toolchain(), *OVERRIDES, UNTRACED, environment.BUILT_IN]
    return made_of("modules", source.stem, [*needed, *parts], build) / f"{source.stem}.ko"


def program(source: Path, libraries: Sequence[str] = ()) -> Path:
    """Build a static arm64 executable from one C file; return its path.

    It may include the headers in its own folder, and in the one above.
    """
    headers = sorted((*source.parent.glob("*.h"), *source.parent.parent.glob("*.h")))
    flags = ["-O2", "-Wall", "-Wextra", "-Werror", "-static", "-s"]
    linked = [f"-l{name}" for name in libraries]

    def build(folder: Path) -> None:
        # from its own folder, so that no path of the build gets into the program
        run(
            [f"{PREFIX}gcc", *flags, "-o", folder / source.stem, source.name, *linked],
            what=f"building {source.name}",
            cwd=source.parent,
        )

    parts: list[str | Path] = [source, *headers, *toolchain(), *flags, *linked]
    parts.append(environment.BUILT_IN)
    return made_of("programs", source.stem, parts, build) / source.stem
