"""Debian's packages for a user's own program on arm64: those to build it with, or to run it.

They come with their dependencies, from the suite of the virtual target's own programs. They are
only unpacked: none of their scripts is run. The target keeps its own C library.
"""

import json
import tomllib
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

from tennis.bench.cache import digest, once
from tennis.bench.debian import Suite
from tennis.kit.checkout import ROOT
from tennis.kit.errors import UsageError
from tennis.kit.log import log

PROGRAMS = ROOT / "target" / "virtual" / "programs.toml"  # what the virtual target has
RECIPE = 1  # another number fetches everything again
# what each target has, and what only installs
THERE = frozenset({"libc6", "dpkg", "tar"})
BYTES_MAX = 200 << 20  # unpacked: the target's root is in its memory
RECORD = "packages.json"


def suite() -> str:
    """Return the suite of Debian that the virtual target's programs are of."""
    return str(tomllib.loads(PROGRAMS.read_text())["suite"])


def _folder(names: Iterable[str]) -> Path:
    wanted = sorted(set(names))
    name = suite()

    def build(folder: Path) -> None:
        log.info(f"packages of a program ({', '.join(wanted)}): looking in Debian's {name}")
        suite = Suite(name, "arm64")
        suite.update()
        packages = [one for one in suite.with_all_they_need(wanted) if one.name not in THERE]
        root = folder / "root"
        suite.unpack(packages, root)
        size = sum(path.lstat().st_size for path in root.rglob("*"))
        if size > BYTES_MAX:
            raise UsageError(
                f"{', '.join(wanted)}: {size >> 20} MB with all that they need, and a target's "
                f"memory takes {BYTES_MAX >> 20} MB",
                next_step="name smaller packages, as python3-minimal in place of python3",
            )
        (folder / RECORD).write_text(json.dumps([asdict(one) for one in packages], indent=2))

    return once("program-packages", f"{name}-{digest(str(RECIPE), *wanted)}", build)


def root_of(names: Iterable[str]) -> Path | None:
    """Return the folder in which packages are unpacked, fetched once; None: no packages.

    Raises BenchError as ``versions``.
    """
    return _folder(names) / "root" if names else None


def versions(names: Iterable[str]) -> dict[str, str]:
    """Return package -> version of a program's packages on the target; fetched once.

    Raises BenchError if the suite has no such package.
    """
    if not names:
        return {}
    return {
        one["name"]: one["version"] for one in json.loads((_folder(names) / RECORD).read_text())
    }
