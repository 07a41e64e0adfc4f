"""An emulated Pico with the real firmware in its flash (kit-firmware/emulator)."""

import json
import os
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

from tennis.bench.cache import digest, once
from tennis.bench.commands import run
from tennis.bench.instruments import firmware, micropython, verifications
from tennis.bench.instruments.lockstep import LockstepLink
from tennis.kit import environment
from tennis.kit.checkout import ROOT
from tennis.kit.errors import BenchError
from tennis.rally.manifest import Instrument

FOLDER = ROOT / "kit-firmware" / "emulator"
PACKAGE = FOLDER / "node_modules" / "rp2040js"
OLDEST_NODE = 18
CLOCK_HZ = 125_000_000
SERIAL = "e66154454e4e4953"  # of an emulated board; the last bytes spell TENNIS

# The place of files on a Pico with MicroPython's rp2 port
# (ports/rp2/boards/RPI_PICO/mpconfigboard.h, rp2_flash.c, modules/_boot.py), in bytes.
FLASH_SIZE = 2 << 20
FILES_SIZE = 1408 << 10
BLOCK_SIZE = 4096
PROGRAM_SIZE = 256


def check() -> str:
    """Return the versions of Node.js and of the emulator's library.

    Raises BenchError with what to do if one is missing.
    """
    text = run(["node", "--version"], what="Node.js, which runs the emulated Pico").strip()
    major = re.match(r"v(\d+)\.", text)
    if not major or int(major.group(1)) < OLDEST_NODE:
        raise BenchError(f"Node.js is {text}", next_step=f"install version {OLDEST_NODE} or newer")
    wanted = json.loads((FOLDER / "package.json").read_text())["dependencies"]["rp2040js"]
    try:
        version = json.loads((PACKAGE / "package.json").read_text())["version"]
    except (OSError, ValueError, KeyError):
        version = "missing"
    if version != wanted:
        raise BenchError(
            f"the emulated Pico's library rp2040js {wanted} is {version}",
            next_step="run 'scripts/setup.sh --pico'",
        )
    return f"Node.js {text.removeprefix('v')}, rp2040js {version}"


def versions() -> dict[str, str]:
    """Return the versions on which what the emulated Pico does depends."""
    check()
    return {
        "firmware_sha256": firmware.sha256(),
        "micropython_sha256": digest(micropython.firmware()),
        "emulator_sha256": digest(*_sources()),
        "rp2040js": json.loads((PACKAGE / "package.json").read_text())["version"],
    }


def _sources() -> list[Path]:
    return sorted(path for path in FOLDER.glob("*.mjs") if not path.name.endswith(".test.mjs"))


def _flash_image() -> Path:
    """Return the whole flash of a Pico with MicroPython and this checkout's firmware."""
    interpreter = micropython.firmware()
    files = firmware.files()
    parts = [part for name, content in sorted(files.items()) for part in (name, content)]

    def build(folder: Path) -> None:
        from littlefs import LittleFS  # noqa: PLC0415 (optional: only this needs it)

        disk = LittleFS(
            block_size=BLOCK_SIZE,
            block_count=FILES_SIZE // BLOCK_SIZE,
            prog_size=PROGRAM_SIZE,
            disk_version=0x00020000,
        )
        for name, content in files.items():
            with disk.open(name, "wb") as file:
                file.write(content)
        start = interpreter.read_bytes()
        if len(start) > FLASH_SIZE - FILES_SIZE:
            raise BenchError("MicroPython does not fit into the Pico's flash")
        image = start.ljust(FLASH_SIZE - FILES_SIZE, b"\xff") + bytes(disk.context.buffer)
        (folder / "flash.bin").write_bytes(image)

    name = f"flash-{digest(interpreter, *parts)}"
    return once("instruments", name, build) / "flash.bin"


def describe(firmware_sha256: str) -> Instrument:
    """Return the entry in the manifest of an emulated Pico with this firmware."""
    return Instrument(
        kind="brickwall",
        serial=SERIAL,
        firmware=firmware.VERSION,
        firmware_sha256=firmware_sha256,
        tick_hz=CLOCK_HZ,
        calibration=verifications.read(SERIAL),
    )


def start(
    arguments: Sequence[str] = (), *, linked: tuple[int, int] | None = None, log: Path | None = None
) -> LockstepLink:
    """Start an emulated Pico; it runs only while its link is read.

    ``arguments`` go to the emulator (its README says which). ``linked``: file descriptors from and
    to QEMU. ``log``: the file for the emulator's standard error.
    """
    check()
    flash = _flash_image()
    from_host, to_pico = os.pipe()
    from_pico, to_host = os.pipe()
    descriptors = [from_host, to_host, *(linked or ())]
    command = ["node", str(FOLDER / "main.mjs"), "--flash", str(flash), "--unique-id", SERIAL]
    command += arguments
    if linked:
        command += ["--link", ",".join(map(str, linked))]
    command += ["lockstep", f"{from_host},{to_host}"]
    log_file = log.open("wb") if log else None
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log_file or subprocess.DEVNULL,
            stderr=log_file or subprocess.DEVNULL,
            pass_fds=descriptors,
            env=environment.for_programs(),
            start_new_session=True,  # Ctrl-C is for the host
        )
    finally:
        os.close(from_host)
        os.close(to_host)
        if log_file:
            log_file.close()

    def end() -> None:
        try:
            process.wait(timeout=2)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    return LockstepLink(to_pico, from_pico, CLOCK_HZ, ended=end)
