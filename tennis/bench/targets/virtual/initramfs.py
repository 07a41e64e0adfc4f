# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""The virtual target's root file system: a few Debian programs, the modules, one init script."""

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path

from tennis.bench.cache import once
from tennis.bench.targets.virtual.debian import Suite
from tennis.checkout import cache_folder
from tennis.errors import BenchError, UsageError

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
    image = os.memfd_create("initramfs")
    with tempfile.TemporaryDirectory(prefix="tennis-initramfs-") as temporary:
        root = Path(temporary)
        shutil.copytree(_userland() / "root", root, dirs_exist_ok=True)
        for folder in ("proc", "sys", "dev", "tmp"):
            (root / folder).mkdir()
        for name, content in files.items():
            path = root / name.lstrip("/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.read_bytes() if isinstance(content, Path) else content)
        names = []
        for path in sorted([root, *root.rglob("*")]):
            path.chmod(0o755)
            os.utime(path, (0, 0))
            names.append(str(path.relative_to(root)))
        command = ["cpio", "--quiet", "-o", "-H", "newc", "-R", "0:0", "--reproducible"]
        try:
            subprocess.run(
                command,
                cwd=root,
                input="\n".join(names).encode() + b"\n",
                stdout=image,
                stderr=subprocess.PIPE,
                check=True,
            )
        except (OSError, subprocess.CalledProcessError) as error:
            os.close(image)
            said = getattr(error, "stderr", None) or str(error).encode()
            raise BenchError(f"packing the initramfs failed: {said.decode().strip()}") from error
    return image
