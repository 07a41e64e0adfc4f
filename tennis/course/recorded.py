# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""A lab's recorded rallies, which nobody can play here: the same ones for everybody.

They lie in ``labs/NN-slug/recorded/NAME``, and ``lab.toml`` names the seal of each, which covers
the hash of every file. A student's folder holds none of them, and no hand-in does.
"""

from pathlib import Path
from typing import Literal

from tennis.course.labs import Lab, LabError, LabRally
from tennis.errors import RallyError
from tennis.rally import Rally, open_rally
from tennis.stats import summarize

FOLDER = "recorded"
Kind = Literal["interrupt", "scheduling"]


def place(lab: Lab, name: str) -> Path:
    """Return the folder of a recorded rally."""
    return lab.folder / FOLDER / name


def open_recorded(lab: Lab, lab_rally: LabRally) -> Rally:
    """Open a recorded rally. Raises LabError if it is not the one that ``lab.toml`` names."""
    path = place(lab, lab_rally.name)
    anew = "ask your teacher for the labs' folder, and replace yours"
    try:
        rally = open_rally(path)
    except RallyError as error:
        raise LabError(f"lab {lab.slug}: {error}", next_step=anew) from error
    if rally.manifest.seal != lab_rally.recorded:
        raise LabError(f"{path} is another rally than {lab.slug}/lab.toml names", next_step=anew)
    return rally


def figures_us(lab: Lab, name: str, kind: Kind) -> list[float]:
    """Return median, 99 % and maximum of a recorded rally; microseconds. Raises LabError."""
    asked = next((one for one in lab.rallies if one.name == name and one.recorded), None)
    if asked is None or kind not in {"interrupt", "scheduling"}:
        known = ", ".join(one.name for one in lab.rallies if one.recorded) or "none"
        raise LabError(
            f"lab {lab.slug} has no recorded.{name}.{kind}: write recorded.NAME.interrupt or "
            f"recorded.NAME.scheduling, with one of {known}"
        )
    summary = summarize(open_recorded(lab, asked))
    latency = summary.interrupt_ns if kind == "interrupt" else summary.scheduling_ns
    return [latency.ns(figure) / 1000 for figure in ("median", "p99", "max")]
