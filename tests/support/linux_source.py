# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Debian's source of Linux, and a configuration that builds in minutes."""

from pathlib import Path

from tennis.bench.cache import digest, once
from tennis.bench.debian import Suite
from tennis.checkout import ROOT

SMALL = ROOT / "tests/support/guest/small.config"
PACKAGE = "linux-source-6.12"


def linux_source() -> Path:
    """Return the archive with the source; downloaded once for each version (150 MB)."""
    suite = Suite("trixie", "arm64")
    suite.update()
    package = suite.package(PACKAGE)

    def build(folder: Path) -> None:
        suite.unpack([package], folder / "package")
        (archive,) = folder.rglob("linux-source-*.tar.xz")
        archive.rename(folder / archive.name)

    folder = once("linux-sources", digest(package.name, package.version), build)
    (archive,) = folder.glob("linux-source-*.tar.xz")
    return archive
