"""The programs that tennis starts, and who installs them: scripts/programs.txt."""

import os
import platform
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from tennis.kit import environment
from tennis.kit.checkout import IS_CHECKOUT, ROOT

TABLE = ROOT / "scripts/programs.txt"
# sbin is not on everybody's path
ADMINISTRATORS = ("/usr/local/sbin", "/usr/sbin", "/sbin")


@dataclass(frozen=True)
class _Program:
    """A line of the table."""

    name: str  # "-": the package holds none that is started by name
    package: str
    stage: str
    when: str


@cache
def programs() -> tuple[_Program, ...]:
    """Return the table."""
    lines = (line.split() for line in TABLE.read_text().splitlines())
    return tuple(_Program(*fields) for fields in lines if fields and not fields[0].startswith("#"))


def find(name: str) -> str | None:
    """Return a program's path, or None if it is not installed."""
    return shutil.which(name, path=os.pathsep.join([os.environ.get("PATH", ""), *ADMINISTRATORS]))


def how_to_get(name: str) -> str:
    """Return the command that installs a missing program."""
    for program in programs():
        if program.name == name:
            if not IS_CHECKOUT:
                return how_to_install([program.package])
            option = "" if program.stage in {"base", "system"} else f" --{program.stage}"
            return f"it is in Debian's package {program.package}: run scripts/setup.sh{option}"
    return "install it"


def missing_packages() -> list[str]:
    """Return Debian's packages of the stage base that this machine lacks, in the table's order."""
    machine = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), "")
    wanted = [
        row.package
        for row in programs()
        if row.stage == "base"
        and (row.when in {"always", machine} or (row.when == "absent" and not find(row.name)))
    ]
    return [package for package in dict.fromkeys(wanted) if not _is_installed(package)]


def _is_installed(package: str) -> bool:
    words = ["dpkg-query", "-W", "-f", "${db:Status-Status} ", package]
    done = environment.completed(words, environment.for_programs())
    return " installed " in f" {done.stdout}"


def how_to_install(packages: Sequence[str]) -> str:
    """Return the command that installs Debian's packages here."""
    root = "" if os.geteuid() == 0 else "sudo "
    return f"run '{root}apt-get install --no-install-recommends {' '.join(packages)}'"
