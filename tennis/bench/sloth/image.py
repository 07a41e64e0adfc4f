"""A SLOTH application for a Cortex-M of QEMU's, built once and cached.

A user's own is built in a box, like a user's module (kernels/own_module.py).
"""

import re
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tennis.bench import box
from tennis.bench.cache import digest, once
from tennis.bench.commands import run
from tennis.kit import environment
from tennis.kit.checkout import ROOT
from tennis.kit.errors import BenchError, NotBuiltError, UsageError
from tennis.rally.disk import read_source
from tennis.rally.text import plain

SLOTH = ROOT / "target" / "sloth"
COMPILER = "arm-none-eabi-gcc"
OWN = "racquet"  # the name of a user's application in the box
BOXED = Path("/sloth")  # the place of target/sloth in the box
LIMIT_S = 60.0
SIZE_MAX = 1 << 20  # bytes
COMPILER_ERROR = re.compile(r"(?:\S*/)?([\w-]+\.[chS]):(\d+):(?:\d+:)? (?:fatal )?error: (.*)")
FLAGS = (
    *(
        "-mfloat-abi=soft",
        "-mthumb",
        "-masm-syntax-unified",
        "-O2",
        "-std=gnu17",
        "-ffreestanding",
        "-nostdlib",
    ),
    *("-Wall", "-Wextra", "-Werror", "-fno-common", "-fno-toplevel-reorder"),
    "-Wno-type-limits",  # a configuration may have no alarm at all
    "-fno-ipa-icf",  # tasks that do the same must not jump from one to another
    "-Wl,--build-id=none",
)


@dataclass(frozen=True)
class Core:
    """A processor: how the compiler calls it, and how QEMU does."""

    gcc: str
    qemu: str


@dataclass(frozen=True)
class _BoardLayout:
    """A board: its header in target/sloth, and the addresses of code and memory."""

    header: str
    code: int
    code_size: int
    ram: int
    ram_size: int


CORES = {
    "m0": Core("cortex-m0plus", "cortex-m0"),
    "m3": Core("cortex-m3", "cortex-m3"),
    "m33": Core("cortex-m33+nodsp+nofp", "cortex-m33"),
}
LM3S6965 = _BoardLayout("board-lm3s6965.h", 0, 256 << 10, 0x2000_0000, 64 << 10)
# their programs are in RAM
RP2040 = _BoardLayout("board-rp2040.h", 0x2000_0000, 64 << 10, 0x2001_0000, 192 << 10)
RP2350 = _BoardLayout("board-rp2350.h", 0x2000_0000, 64 << 10, 0x2001_0000, 192 << 10)


def compiler_version() -> str:
    """Return the first line of the compiler's ``--version``. Raises BenchError."""
    return run([COMPILER, "--version"], what="the compiler for Cortex-M").splitlines()[0]


def image(
    application: Path,
    core: Core,
    board: _BoardLayout = LM3S6965,
    *,
    checked: bool = False,
    defines: Mapping[str, int] | None = None,
) -> Path:
    """Build an application, NAME.c with its configuration NAME.h beside it; return the ELF file.

    ``checked``: with OSEK's extended status. ``defines``: what the configuration may ask for.
    Raises BenchError with the compiler's first complaint: a configuration that cannot be is one.
    """
    kernel = [SLOTH / "sloth.c", *([SLOTH / "checks.c"] if checked else [])]
    words = _words(core, board, application.stem, checked=checked, defines=defines or {})
    sources = _sources()
    own = [application, application.with_suffix(".h")]
    key = digest(*sources, *own, compiler_version(), *words, environment.BUILT_IN)

    def build(folder: Path) -> None:
        command: list[str | Path] = [COMPILER, *words, f"-I{application.parent}", f"-I{SLOTH}"]
        command += ["-T", SLOTH / "link.ld", "-o", folder / "image.elf", *kernel, application]
        run(command, what=f"building {application.name}")

    return once("sloth", f"{application.stem}-{key}", build) / "image.elf"


def own_image(
    application: Path,
    core: Core,
    board: _BoardLayout = LM3S6965,
    *,
    defines: Mapping[str, int],
    checked: bool = False,
) -> Path:
    """Build a user's own application, FILE.c with FILE.h beside it; return the ELF file.

    ``checked``: with OSEK's extended status: services are functions then.
    The place in the box is always the same: the same source gives the same bytes. Raises UsageError
    if a file cannot be read, NotBuiltError with the compiler's first complaint, BenchError if
    this machine could not build it.
    """
    if application.suffix != ".c":
        raise UsageError(f"{application} is no C file", next_step="name FILE.c, with FILE.h beside")
    both = application.resolve(), application.with_suffix(".h")  # the named file may be a link
    texts = [read_source(path, SIZE_MAX) for path in both]
    words = _words(core, board, OWN, checked=checked, defines=defines)
    kernel = ["sloth.c", *(["checks.c"] if checked else [])]
    key = digest(*texts, *_sources(), compiler_version(), *words)

    def build(folder: Path) -> None:
        with tempfile.TemporaryDirectory(prefix="tennis-sloth-") as scratch:
            for suffix, text in zip((".c", ".h"), texts, strict=True):
                (Path(scratch) / f"{OWN}{suffix}").write_bytes(text)
            # the user's own first: a configuration of the kit's has the same name
            command = [COMPILER, *words, "-I.", f"-I{BOXED}", "-T", f"{BOXED}/link.ld"]
            command += ["-o", f"{box.OUT}/image.elf"]
            command += [*(f"{BOXED}/{one}" for one in kernel), f"{OWN}.c"]
            ended = box.run(command, Path(scratch), ["image.elf"], {BOXED: SLOTH}, {}, LIMIT_S)
        if ended.limit:
            raise BenchError(
                f"{application} could not be built here: {ended.limit}",
                next_step="try again when the machine has less to do",
            )
        image = ended.files.get("image.elf", b"")
        if ended.code or not image:
            said = (COMPILER_ERROR.search(line) for line in ended.words.splitlines())
            errors = [f"{match[1]}:{match[2]}: {match[3]}" for match in said if match]
            why = [*errors, ended.why or "the compiler left no image"][0]
            raise NotBuiltError(f"{application} is not built for SLOTH: {plain(why, 200)}")
        (folder / "image.elf").write_bytes(image)

    return once("sloth", f"own-{key}", build) / "image.elf"


def _sources() -> list[Path]:
    return [*sorted(SLOTH.glob("*.[ch]")), SLOTH / "link.ld"]


def _words(
    core: Core, board: _BoardLayout, name: str, *, checked: bool, defines: Mapping[str, int]
) -> list[str]:
    """Return the compiler's options; ``name`` is that of the application."""
    return [
        f"-mcpu={core.gcc}",
        *FLAGS,
        f'-DBOARD="{board.header}"',
        f"-DCONFIG=<{name}.h>",  # not with quotes: those find files beside sloth.h
        *(["-DSLOTH_CHECKED"] if checked else []),
        *(f"-D{name}={value}" for name, value in sorted(defines.items())),
        f"-Wl,--defsym=CODE={board.code:#x},--defsym=CODE_SIZE={board.code_size:#x}",
        f"-Wl,--defsym=RAM={board.ram:#x},--defsym=RAM_SIZE={board.ram_size:#x}",
    ]
