"""A kernel that finds what a module does wrong: lockdep, KASAN, sleep in an interrupt.

Debian has none for arm64. So it is built here, once, from Debian's source and
``target/kernels/debug.config``. Nothing is ever measured on it.
"""

import json
from pathlib import Path

from tennis.bench.cache import digest, kept, once
from tennis.bench.debian import Suite
from tennis.bench.kernels import catalogue, modules, packages
from tennis.bench.kernels.kernel import Kernel
from tennis.kit.checkout import ROOT, cache_folder
from tennis.kit.errors import BenchError
from tennis.kit.log import log

CONFIG = ROOT / "target" / "kernels" / "debug.config"
SUITE, PACKAGE = "trixie", "linux-source-6.12"
NAME = "debug"
NEEDED_MB = 4000  # the source takes 1.6 GB, the build 0.5 GB


def _linux_source() -> Path:
    """Return the archive with Debian's source; downloaded once for each version (150 MB)."""
    suite = Suite(SUITE, "arm64")
    suite.update()
    package = suite.package(PACKAGE)

    def build(folder: Path) -> None:
        log.info(f"fetching {PACKAGE} {package.version}, {package.size / 1e6:.0f} MB")
        suite.unpack([package], folder / "package")
        (archive,) = folder.rglob("linux-source-*.tar.xz")
        archive.rename(folder / archive.name)

    folder = once("linux-sources", digest(package.name, package.version), build)
    (archive,) = folder.glob("linux-source-*.tar.xz")
    return archive


def is_built() -> bool:
    """Tell whether it is in the cache."""
    return (cache_folder() / "debug-kernels" / _key() / "kernel.json").is_file()


def build(*, again: bool = False) -> Kernel:
    """Build it in ten minutes or so, or take it from the cache; ``again``: from the newest source.

    Raises BenchError if a program, room or Debian's source is missing.
    """
    packages.check_tools()

    def fill(folder: Path) -> None:
        if catalogue.free_space_mb() < NEEDED_MB:
            raise BenchError(
                f"{cache_folder()} has {catalogue.free_space_mb()} MB free, the debug kernel "
                f"needs {NEEDED_MB} MB while it is built",
                next_step="free some, or set TENNIS_CACHE",
            )
        archive = _linux_source()
        source = packages.tarball_source(archive)
        tree = folder / "build"
        tree.mkdir()
        packages.make(source, tree, "allnoconfig", what="an empty configuration")
        with (tree / ".config").open("a") as config:
            config.write(f'\n{CONFIG.read_text()}\nCONFIG_LOCALVERSION="-tennis-{NAME}"\n')
        packages.make(source, tree, "olddefconfig", what="settling the configuration")
        packages.check_taken(tree, CONFIG)
        log.info(f"building {archive.stem} for debugging (about ten minutes)")
        packages.make(source, tree, "Image", "modules", what="building the debug kernel")
        packages.clean(tree)
        record = {
            "release": (tree / "include/config/kernel.release").read_text().strip(),
            "origin": archive.name,
        }
        (folder / "kernel.json").write_text(json.dumps(record, indent=2))

    once("debug-kernels", _key(), fill, again=again)
    return find()


def find() -> Kernel:
    """Return it. Raises BenchError if it was not built."""
    what, fetch = "the kernel for debugging is", "tennis kernels fetch debug"
    folder = kept("debug-kernels", _key(), what, fetch)
    record = json.loads((folder / "kernel.json").read_text())
    tree = folder / "build"
    image = tree / "arch/arm64/boot/Image"
    return Kernel(NAME, record["release"], record["origin"], image, tree, tree / ".config")


def _key() -> str:
    return digest(CONFIG, modules.compiler_version())
