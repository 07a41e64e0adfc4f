# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""What notebooks need: the rallies that they are about."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tennis.course.labs import Lab, LabError, write
from tennis.errors import TennisError
from tennis.rally import Rally, open_rally

VARIABLE = "TENNIS_RALLY"
BALLS = 500  # of a rally that the notebook plays itself


def rallies(lab: Lab) -> list[Rally]:
    """Open the rallies of a lab: one for each of its kernels under each of its loads.

    They are the folders in the environment variable TENNIS_RALLY, with ``:`` between them. Where it
    is not set, short ones are played on the virtual bench and thrown away when Python ends.

    Raises TennisError where one of them is missing, or cannot be played.
    """
    wanted = [(kernel, load) for kernel in names(lab, "kernels") for load in names(lab, "loads")]
    given = [Path(name) for name in os.environ.get(VARIABLE, "").split(os.pathsep) if name]
    if not given:
        return [_play(lab, kernel, load) for kernel, load in wanted]
    rallies = {}
    for folder in given:
        rally = open_rally(folder)
        rallies[rally.manifest.target.kernel, rally.manifest.load.name] = rally
    missing = [" / ".join(what) for what in wanted if what not in rallies]
    if missing:
        raise LabError(
            f"{VARIABLE} names no rally of {write(missing)}: play it, and add its folder"
        )
    return [rallies[what] for what in wanted]


def names(lab: Lab, parameter: str) -> list[str]:
    """Return the words of a list parameter."""
    value = lab.value(f"parameters.{parameter}")
    return [str(item) for item in value] if isinstance(value, list) else [str(value)]


_folders: list[tempfile.TemporaryDirectory[str]] = []  # each lives until Python ends


def _play(lab: Lab, kernel: str, load: str) -> Rally:
    folder = tempfile.TemporaryDirectory(prefix="tennis-")
    _folders.append(folder)
    out = Path(folder.name) / f"{kernel}-{load}"
    options = {
        "--kernel": kernel,
        "--load": load,
        "--bottom-half": lab.value("parameters.bottom_half"),
        "--priorities": lab.value("parameters.priorities"),
        "--seed": lab.value("parameters.seed"),
        "--balls": BALLS,
        "--out": out,
    }
    command = [sys.executable, "-c", "from tennis.cli import main; main()", "rally"]
    command += [str(word) for option in options.items() for word in option]
    # a notebook's Python asks programs for colours, as if somebody could see them
    plain = {name: value for name, value in os.environ.items() if "COLOR" not in name}
    done = subprocess.run(command, env=plain, capture_output=True, text=True, check=False)
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise TennisError(f"the rally {kernel} / {load} could not be played: {last}")
    return open_rally(out)
