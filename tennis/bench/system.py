"""The kind of this Linux, which decides whether Tennis can play on it."""

import os
import platform
from pathlib import Path

from tennis.kit.checkout import cache_folder
from tennis.kit.errors import BenchError

WINDOWS_DISKS = Path("/mnt")  # C: is /mnt/c, by WSL's default


def must_be_able_to_play() -> None:
    """Raise BenchError if this system cannot play at all, whatever packages it installs."""
    try:
        libc = os.confstr("CS_GNU_LIBC_VERSION")
    except (OSError, ValueError):
        libc = None
    if not libc:
        raise BenchError(
            "the C library of this system is not glibc (Alpine has musl)",
            next_step="use the container (docs/install.md)",
        )
    if is_on_windows() and _drive(cache_folder()):
        raise BenchError(
            f"the cache folder {cache_folder()} is on Windows' disk, where neither locks nor links "
            "are Linux's",
            next_step="set TENNIS_CACHE to a folder in your home",
        )


def is_on_windows() -> bool:
    """Tell whether this Linux runs on Windows (WSL): its kernels are called so."""
    return "microsoft" in platform.release().lower()


def _drive(folder: Path) -> bool:
    absolute = folder.absolute()
    if WINDOWS_DISKS not in absolute.parents:
        return False
    return len(absolute.relative_to(WINDOWS_DISKS).parts[0]) == 1
