# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""What notebooks need: the rallies that they are about."""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from tennis.checkout import ROOT
from tennis.course.labs import Lab, LabError, LabRally, write
from tennis.errors import TennisError
from tennis.match.folder import MatchFolder, open_match
from tennis.rally import Rally, open_rally

VARIABLE = "TENNIS_RALLY"
BALLS = 500  # of a rally that the notebook plays itself


def rallies(lab: Lab) -> list[Rally]:
    """Open the rallies of a lab, in the lab's order.

    They are the folders in the environment variable TENNIS_RALLY, with ``:`` between them; where it
    is not set, those beside the notebook. Where there are none, short ones are played on the
    virtual bench and thrown away when Python ends; those with a Racquet of one's own only where
    its file is.

    Raises TennisError where one of them is missing, or cannot be played.
    """
    given = [Path(name) for name in os.environ.get(VARIABLE, "").split(os.pathsep) if name]
    found = given or [Path(asked.name) for asked in lab.rallies if Path(asked.name).exists()]
    if not found:
        seed = int(str(lab.value("parameters.seed")))
        # a Racquet of one's own lies in one's own folder only
        possible = [
            one for one in lab.rallies if one.racquet is None or Path(one.racquet).is_file()
        ]
        return [_play(asked, seed) for asked in possible]
    opened = [open_rally(folder) for folder in found]
    names = {rally.path.resolve().name: rally for rally in opened}
    settings = {_settings(rally): rally for rally in opened}
    chosen, missing = [], []
    for asked in lab.rallies:
        rally = names.get(asked.name) or settings.get((asked.kernel, asked.load))
        chosen += [rally] if rally else []
        missing += [] if rally else [asked.name]
    if missing:
        where = VARIABLE if given else "the folder of the notebook"
        raise LabError(f"{where} has no rally {write(missing)}: play it, and name it so")
    return chosen


def match(lab: Lab) -> MatchFolder:
    """Open the match of a lab: the folder in TENNIS_RALLY, or the one beside the notebook.

    Where there is none, one boot of each cell with few balls is played, and thrown away when
    Python ends: it decides nothing. Raises TennisError.
    """
    if lab.match is None:
        raise LabError(f"lab {lab.slug} has no match")
    given = os.environ.get(VARIABLE, "")
    if given or Path(lab.match.name).exists():
        return open_match(Path(given or lab.match.name))
    folder = tempfile.TemporaryDirectory(prefix="tennis-")
    _folders.append(folder)
    plan, out = Path(folder.name) / "plan.toml", Path(folder.name) / lab.match.name
    text = (ROOT / lab.match.plan).read_text(encoding="utf-8")
    for name, value in (("balls", BALLS), ("repetitions", 1)):
        text = re.sub(rf"(?m)^{name} = \d[\d_]*", f"{name} = {value}", text)
    plan.write_text(text, encoding="utf-8")
    _tennis("match", str(plan), "--quiet", "--out", str(out), what="a short match")
    return open_match(out)


def _settings(rally: Rally) -> tuple[str, str]:
    """Return what tells most rallies apart, whatever their folders are called."""
    return rally.manifest.target.kernel, rally.manifest.load.name


_folders: list[tempfile.TemporaryDirectory[str]] = []  # each lives until Python ends


def _play(asked: LabRally, seed: int) -> Rally:
    folder = tempfile.TemporaryDirectory(prefix="tennis-")
    _folders.append(folder)
    out = Path(folder.name) / asked.name
    short = asked.model_copy(update={"balls": min(asked.balls, BALLS)})
    words = ["rally", "--quiet", *short.options(seed), "--out", str(out)]
    _tennis(*words, what=f"the rally {asked.name}")
    return open_rally(out)


def _tennis(*words: str, what: str) -> None:
    command = [sys.executable, "-c", "from tennis.cli import main; main()", *words]
    # a notebook's Python asks programs for colours, as if somebody could see them
    plain = {name: value for name, value in os.environ.items() if "COLOR" not in name}
    done = subprocess.run(command, env=plain, capture_output=True, text=True, check=False)
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise TennisError(f"{what} could not be played: {last}")
