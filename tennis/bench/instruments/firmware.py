"""The firmware to flash onto a Pico: this checkout's files, and the hash that identifies them."""

import hashlib
from functools import cache
from pathlib import Path

from tennis.kit.checkout import ROOT
from tennis.kit.errors import BenchError
from tennis.kit.wiring import wiring

FOLDERS = (ROOT / "kit-firmware" / "brickwall", ROOT / "kit-firmware" / "generator")
VERSION = "1"  # of the wire format's commands: what HELLO calls firmware
OLDEST_MICROPYTHON = (1, 25)
WIRING = "wiring.json"


@cache
def files() -> dict[str, bytes]:
    """Return all that is flashed: name -> content. Raises BenchError."""
    sources: list[Path] = [path for folder in FOLDERS for path in sorted(folder.glob("*.py"))]
    contents = {path.name: path.read_bytes() for path in sources}
    if len(contents) != len(sources):
        raise BenchError("two files of the firmware have one name: restore kit-firmware/")
    return {**dict(sorted(contents.items())), WIRING: wiring().firmware_json().encode()}


def sha256() -> str:
    """Return the hash of the firmware's Python files: name, NUL, content, in the names' order.

    The Pico computes the same over what it runs. The wiring is not a part of it.
    """
    hashed = hashlib.sha256()
    for name, content in sorted(files().items()):
        if name.endswith(".py"):
            hashed.update(name.encode() + b"\0" + content)
    return hashed.hexdigest()
