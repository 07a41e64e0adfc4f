# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""The programs that tennis starts, and who installs them: scripts/programs.txt."""

import os
import shutil
from dataclasses import dataclass
from functools import cache

from tennis.checkout import ROOT

TABLE = ROOT / "scripts/programs.txt"
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
            option = "" if program.stage in {"base", "system"} else f" --{program.stage}"
            return f"it is in Debian's package {program.package}: run scripts/setup.sh{option}"
    return "install it"
