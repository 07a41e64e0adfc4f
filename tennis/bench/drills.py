# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""A drill's code: a program or a kernel module, the kit's own and those of packages alike."""

import shutil
from pathlib import Path

from tennis.bench.cache import made_of
from tennis.rally import drills
from tennis.rally.manifest import Drill


def source_of(drill: Drill) -> Path:
    """Return the C file of a drill, in a folder with all that it includes and with its Kbuild.

    To a package's drill come the kit's headers, which it does not bring. Raises UsageError.
    """
    known = drills.find(drill.name)
    if known.folder == drills.FOLDER:
        return known.source
    brought = sorted(path for path in known.folder.glob("*.[ch]") if ".mod." not in path.name)
    files = {path.name: path for path in (*sorted(drills.FOLDER.glob("*.h")), *brought)}
    kbuild = f"obj-m := {drill.name}.o\n"

    def build(folder: Path) -> None:
        for path in files.values():
            shutil.copyfile(path, folder / path.name)
        (folder / "Kbuild").write_text(kbuild)

    parts = [part for name, path in files.items() for part in (name, path)]
    folder = made_of("drills", drill.name, [*parts, kbuild], build)
    return folder / known.source.name


def version_of(drill: Drill) -> dict[str, str]:
    """Return whose drill it is, if it is not the kit's. Raises UsageError."""
    return drills.find(drill.name).version
