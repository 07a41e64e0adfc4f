# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""The programs that tennis starts, and who installs them: scripts/programs.txt.

What a package of Debian's is called elsewhere: scripts/packages-elsewhere.txt.
"""

import os
import platform
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from tennis import environment
from tennis.checkout import IS_CHECKOUT, ROOT

TABLE = ROOT / "scripts/programs.txt"
ELSEWHERE = ROOT / "scripts/packages-elsewhere.txt"
# sbin is not on everybody's path
ADMINISTRATORS = ("/usr/local/sbin", "/usr/sbin", "/sbin")


@dataclass(frozen=True)
class Program:
    """A line of the table."""

    name: str  # "-": the package holds none that is started by name
    package: str
    stage: str
    when: str


@cache
def programs() -> tuple[Program, ...]:
    """Return the table."""
    lines = (line.split() for line in TABLE.read_text().splitlines())
    return tuple(Program(*fields) for fields in lines if fields and not fields[0].startswith("#"))


def find(name: str) -> str | None:
    """Return where a program is; None where it is not installed."""
    return shutil.which(name, path=os.pathsep.join([os.environ.get("PATH", ""), *ADMINISTRATORS]))


def how_to_get(name: str) -> str:
    """Say how a missing program is installed."""
    for program in programs():
        if program.name == name:
            if not IS_CHECKOUT:
                return how_to_install([program.package])
            option = "" if program.stage in {"base", "system"} else f" --{program.stage}"
            return f"it is in Debian's package {program.package}: run scripts/setup.sh{option}"
    return "install it"


def missing_packages() -> list[str]:
    """Return Debian's packages of the stage base that this machine lacks, in the table's order.

    dpkg tells which are installed. Without dpkg the programs are looked for, and the compilers are
    asked for their C libraries; what only Debian needs is not missed.
    """
    machine = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), "")
    wanted = [
        row
        for row in programs()
        if row.stage == "base"
        and (row.when in {"always", machine} or (row.when == "absent" and not find(row.name)))
    ]
    if shutil.which("dpkg-query"):
        return list(dict.fromkeys(r.package for r in wanted if not _is_installed(r.package)))
    lacking = {row.package for row in wanted if row.name != "-" and not find(row.name)}
    lacking |= {
        row.package
        for row in wanted
        if row.package in LIBRARIES and not _has_library(*LIBRARIES[row.package])
    }
    packages = [row.package for row in wanted] + [SIGNATURES]  # Debian's apt looks who signed
    lacking |= set() if find(SIGNATURES) else {SIGNATURES}
    return [package for package in dict.fromkeys(packages) if package in lacking]


# a package without a program that is started by name: the compiler that knows its file, the file
LIBRARIES = {
    "libc6-dev": ("gcc", "libc.so"),
    "libc6-dev-arm64-cross": ("aarch64-linux-gnu-gcc", "libc.a"),
}
SIGNATURES = "gpgv"


def _has_library(compiler: str, file: str) -> bool:
    if not find(compiler):
        return False
    words = [compiler, f"-print-file-name={file}"]
    done = environment.completed(words, environment.for_programs())
    return os.sep in done.stdout  # it repeats the name of what it does not have


def _is_installed(package: str) -> bool:
    words = ["dpkg-query", "-W", "-f", "${db:Status-Status} ", package]
    done = environment.completed(words, environment.for_programs())
    return " installed " in f" {done.stdout}"


@cache
def _elsewhere() -> dict[str, dict[str, str]]:
    """Return package manager -> Debian's package -> its name there; "-": there is none."""
    lines = (line.split() for line in ELSEWHERE.read_text().splitlines())
    head, *rows = (fields for fields in lines if fields and not fields[0].startswith("#"))
    return {
        manager: {row[0]: row[column] for row in rows}
        for column, manager in enumerate(head)
        if column
    }


# package manager -> what it installs packages with
MANAGERS = {
    "apt-get": "apt-get install --no-install-recommends",
    "dnf": "dnf install",
    "pacman": "pacman -S --needed",
}


def how_to_install(packages: Sequence[str]) -> str:
    """Say how Debian's packages are installed here: the command, where we know the manager."""
    root = "" if os.geteuid() == 0 else "sudo "
    manager = next((name for name in MANAGERS if find(name)), None)
    if manager is None:
        return f"install what Debian calls {' '.join(packages)}"
    names = _elsewhere().get(manager, {})
    here = list(dict.fromkeys(names.get(package, package) for package in packages))
    return f"run '{root}{MANAGERS[manager]} {' '.join(name for name in here if name != '-')}'"


def not_to_be_had(packages: Sequence[str]) -> list[str]:
    """Return those of Debian's packages that this system's package manager does not have."""
    manager = next((name for name in MANAGERS if find(name)), "")
    names = _elsewhere().get(manager, {})
    return [package for package in packages if names.get(package) == "-"]
