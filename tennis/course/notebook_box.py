# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""A hand-in's notebook, executed in a box that reads Tennis' modules and the labs' questions."""

import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ValidationError

from tennis.bench import box
from tennis.checkout import ROOT
from tennis.course.labs import LABS
from tennis.course.work import NOTEBOOK
from tennis.rally.disk import open_regular
from tennis.rally.text import plain

LIMIT_S = 300.0
RESULT = "result.json"


class Told(BaseModel):
    """What the notebook's runner said."""

    cells: int
    cell: int | None = None
    error: str = ""


@dataclass(frozen=True)
class Ran:
    """How a notebook ended: ``error`` is empty where it ran through."""

    cells: int
    error: str


def run_notebook(folder: Path, *, limit_s: float = LIMIT_S) -> Ran:
    """Execute a hand-in's notebook. Raises BenchError where there can be no box."""
    command = [sys.executable, "-P", "-m", "tennis.course.notebook_runner"]
    with tempfile.TemporaryDirectory(prefix="tennis-notebook-") as scratch:
        Path(scratch).chmod(0o755)
        out = Path(scratch) / "out"
        out.mkdir()
        ended = box.run(
            [*command, NOTEBOOK, f"{box.OUT}/{RESULT}"],
            folder,
            out,
            _readable(),
            {
                "PATH": f"{Path(sys.prefix) / 'bin'}:/usr/bin:/bin",
                "OPENBLAS_NUM_THREADS": "1",
                "OMP_NUM_THREADS": "1",
                "MPLBACKEND": "agg",
                "PYTHONDONTWRITEBYTECODE": "1",
                "PYTHONPATH": str(ROOT),
            },
            limit_s,
        )
        told = _told(out / RESULT)
    if told is not None:
        where = f"cell {told.cell} of {told.cells}: " if told.cell is not None else ""
        return Ran(told.cells, plain(f"{where}{told.error}", 300) if told.error else "")
    if ended.too_long:
        return Ran(0, f"it did not end within {limit_s:g} s, or used too much of the processor")
    last = ended.words.strip().splitlines()[-1:] or [f"exit code {ended.code}"]
    return Ran(0, f"it could not be run: {plain(last[0], 200)}")


def _told(path: Path) -> Told | None:
    """Read what was written in the box: by the runner, or by anybody there."""
    try:
        with open_regular(path) as file:
            return Told.model_validate_json(file.read(box.SAID_MAX))
    except (OSError, ValidationError, ValueError):
        return None


def _readable() -> dict[Path, Path]:
    """Return what may be read besides the system, by its path there: nothing that knows answers."""
    venv = Path(sys.prefix)
    own = [ROOT / "tennis", ROOT / "kit-firmware" / "brickwall", LABS / "course.toml"]
    shared = {path: path for path in [*own, *sorted(LABS.glob("*/lab.toml"))]}
    # of a checkout whose environment is a link to another's: both names
    return {**shared, venv: venv.resolve(), venv.resolve(): venv.resolve()}
