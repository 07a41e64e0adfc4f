# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""The virtual target's root file system: a few Debian programs, the modules, one init script."""

import json
import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path

from tennis.bench.cache import once
from tennis.bench.targets.virtual.debian import Suite
from tennis.checkout import cache_folder
from tennis.errors import UsageError

SUITE = "trixie"
# package -> the files that the target needs of it
PROGRAMS = {
    "busybox-static": ["usr/bin/busybox"],
    "stress": ["usr/bin/stress"],
    "util-linux": ["usr/bin/chrt"],
    "libc6": [
        "usr/lib/aarch64-linux-gnu/ld-linux-aarch64.so.1",
        "usr/lib/aarch64-linux-gnu/libc.so.6",
        "usr/lib/aarch64-linux-gnu/libm.so.6",
    ],
}


def fetch(say: Callable[[str], None], *, again: bool = False) -> None:
    """Fetch the programs of the target; nothing happens if they are there."""

    def build(folder: Path) -> None:
        say(f"programs of the virtual target: looking in Debian's {SUITE}")
        suite = Suite(SUITE, "arm64")
        suite.update()
        packages = [suite.package(name) for name in PROGRAMS]
        suite.unpack(packages, folder / "packages", say)
        for files in PROGRAMS.values():
            for file in files:
                place = folder / "root" / ("lib" if "/lib/" in file else "bin") / Path(file).name
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(folder / "packages" / file, place)
        shutil.rmtree(folder / "packages")
        (folder / "packages.json").write_text(json.dumps([asdict(p) for p in packages], indent=2))

    once("userland", SUITE, build, again=again)


def _userland() -> Path:
    folder = cache_folder() / "userland" / SUITE
    if not folder.is_dir():
        raise UsageError(
            "the virtual target's programs are not here yet: run 'tennis kernels fetch'"
        )
    return folder


def versions() -> dict[str, str]:
    """Return package -> version of the target's programs."""
    packages = json.loads((_userland() / "packages.json").read_text())
    return {package["name"]: package["version"] for package in packages}


def pack(files: Mapping[str, bytes | Path]) -> int:
    """Pack the initramfs: the programs and ``files`` (path in the target -> content).

    Everything is executable. Same input, same bytes. Returns the descriptor of a file in memory, so
    that no disk fills and nothing is left behind; the caller closes it.
    """
    userland = _userland() / "root"
    content: dict[str, bytes | Path] = {
        str(path.relative_to(userland)): path for path in userland.rglob("*") if path.is_file()
    }
    content.update({name.lstrip("/"): data for name, data in files.items()})
    folders = {str(parent) for name in content for parent in Path(name).parents}
    image = os.memfd_create("initramfs")
    with os.fdopen(os.dup(image), "wb") as archive:
        names = sorted({*content, *folders, "proc", "sys", "dev", "tmp"} - {"."})
        for number, name in enumerate(names, 1):
            data = content.get(name)
            if data is None:
                archive.write(_entry(number, name, 0o40755))
            else:
                whole = data.read_bytes() if isinstance(data, Path) else data
                archive.write(_entry(number, name, 0o100755, whole))
        archive.write(_entry(0, "TRAILER!!!", 0))
    return image


def _entry(number: int, name: str, mode: int, data: bytes = b"") -> bytes:
    """Return an entry of a cpio archive in the "newc" form, which the kernel unpacks.

    Source: the kernel's Documentation/driver-api/early-userspace/buffer-format.rst. Owner and date
    are 0.
    """
    encoded = name.encode() + b"\0"
    fields = (number, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(encoded), 0)
    head = b"070701" + b"".join(b"%08X" % field for field in fields) + encoded
    return head + bytes(-len(head) % 4) + data + bytes(-len(data) % 4)
