"""MicroPython for the Raspberry Pi Pico, built once from Debian's source packages.

The emulated Pico runs it. The configuration is the board's own, without what takes mbedTLS or
micropython-lib: Debian's source package does not carry them, and the Brickwall needs neither.
"""

import re
import shutil
from pathlib import Path

from tennis.bench.cache import digest, once
from tennis.bench.commands import run
from tennis.bench.debian import Suite, host_architecture
from tennis.kit.checkout import cache_folder
from tennis.kit.errors import BenchError
from tennis.kit.log import listening, log
from tennis.kit.share import processors

SUITE = "trixie"
BOARD = "RPI_PICO"
PREFIX = "arm-none-eabi-"
# The version of the steps below; a new number builds the firmware again.
RECIPE = "2"

# file -> (what, in place of what)
CHANGES = {
    "ports/rp2/CMakeLists.txt": [
        (r"^set\(MICROPY_SSL_MBEDTLS ON\)", "set(MICROPY_SSL_MBEDTLS OFF)"),
        (r"^target_link_libraries\(\$\{MICROPY_TARGET\} micropy_lib_mbedtls\)\n", ""),
        (r"^ *mbedtls/mbedtls_port\.c\n", ""),
    ],
    "ports/rp2/mpconfigport.h": [
        (r"^(#define MICROPY_SSL_MBEDTLS) .*", r"\1 (0)"),
        (r"^(#define MICROPY_PY_HASHLIB_SHA1) .*", r"\1 (0)"),
        (r"^(#define MICROPY_PY_CRYPTOLIB) .*", r"\1 (0)"),
    ],
    # the names of a pin are a set there: a table in flash came out in one of two orders
    "tools/boardgen.py": [(r" in pin\._board_pin_names:", " in sorted(pin._board_pin_names):")],
}
MANIFEST = 'freeze("$(PORT_DIR)/modules")\ninclude("$(MPY_DIR)/extmod/asyncio")\n'


def firmware() -> Path:
    """Return MicroPython's image for the Pico's flash (firmware.bin); build it the first time.

    Raises BenchError with what to do if it cannot be built.
    """

    def build(folder: Path) -> None:
        work = folder / "work"
        work.mkdir()
        log.info("MicroPython for the emulated Pico: downloading the sources (10 MB)")
        suite = Suite(SUITE, host_architecture())
        suite.update(sources=True)
        source = suite.source("micropython", work)
        packages = [suite.package(name) for name in ("pico-sdk-source", "tinyusb-source")]
        suite.unpack(packages, work / "packages")
        log.info("MicroPython for the emulated Pico: building (one or two minutes)")
        _compile(source, work / "packages" / "usr" / "src", work / "build")
        shutil.move(work / "build" / "firmware.bin", folder / "firmware.bin")
        shutil.rmtree(work)

    return once("instruments", _name(), build) / "firmware.bin"


def _name() -> str:
    return f"micropython-{digest(RECIPE, BOARD, _compiler_version())}"


def _compiler_version() -> str:
    """Return the first line of the Pico's compiler's ``--version``."""
    return run([f"{PREFIX}gcc", "--version"], what="the Pico's compiler").splitlines()[0]


def _compile(source: Path, packages: Path, build: Path) -> None:
    for name in ("pico-sdk", "tinyusb"):
        shutil.rmtree(source / "lib" / name, ignore_errors=True)
        shutil.move(packages / name, source / "lib" / name)
    (source / "lib" / "micropython-lib").mkdir(exist_ok=True)
    (source / "lib" / "micropython-lib" / "README.md").touch()  # the build looks for it
    (source / "ports" / "rp2" / "boards" / "manifest.py").write_text(MANIFEST)
    for name, changes in CHANGES.items():
        _change(source / name, changes)
    # no part of MicroPython is C++; without this one file its library, 313 MB, is not needed
    sdk = source / "lib" / "pico-sdk" / "src" / "rp2_common"
    (sdk / "pico_cxx_options" / "new_delete.cpp").write_text("")
    nothing = build / "nothing"
    nothing.mkdir(parents=True)
    for library in ("libstdc++", "libstdc++_nano", "libsupc++", "libsupc++_nano"):
        run([f"{PREFIX}ar", "rc", nothing / f"{library}.a"], what="an empty library")
    jobs = f"-j{processors()}"
    run(["make", jobs, "-C", source / "mpy-cross"], what="building MicroPython's compiler")
    run(
        [
            # no path of the build gets into the firmware
            "env",
            f"CFLAGS=-ffile-prefix-map={source}=micropython",
            "cmake",
            *("-S", source / "ports" / "rp2", "-B", build),
            f"-DMICROPY_BOARD={BOARD}",
            f"-DMICROPY_MPYCROSS={source / 'mpy-cross' / 'build' / 'mpy-cross'}",
            f"-DCMAKE_EXE_LINKER_FLAGS=-L{nothing}",
            "-DPICO_NO_PICOTOOL=1",
        ],
        what="configuring MicroPython",
    )
    # the same sources give the same bytes on any day
    run(["env", "SOURCE_DATE_EPOCH=0", "make", jobs, "-C", build], what="building MicroPython")


def _change(path: Path, changes: list[tuple[str, str]]) -> None:
    text = path.read_text()
    for pattern, replacement in changes:
        text, count = re.subn(pattern, replacement, text, flags=re.MULTILINE)
        if not count:
            raise BenchError(f"MicroPython's {path.name} has changed: no {pattern} in it")
    path.write_text(text)


if __name__ == "__main__":
    if not (cache_folder() / "instruments" / _name()).is_dir():
        with listening(print):
            firmware()
