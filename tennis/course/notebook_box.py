# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""A hand-in's notebook, executed in a box that reads Tennis' modules and the labs' questions."""

import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from tennis.bench import box
from tennis.checkout import ROOT
from tennis.course.labs import LABS
from tennis.course.work import NOTEBOOK
from tennis.rally.disk import open_regular
from tennis.rally.text import plain

LIMIT_S = 300.0
RESULT, EXECUTED = "result.json", "executed.ipynb"


class Told(BaseModel):
    """What the notebook's runner said."""

    cells: int
    error: str = ""


@dataclass(frozen=True)
class Ran:
    """How a notebook ended: ``error`` is empty where it ran through."""

    cells: int
    error: str
    executed: Any = None  # the notebook with its outputs, where it ran through


def run_notebook(folder: Path, *, limit_s: float = LIMIT_S) -> Ran:
    """Execute a hand-in's notebook. Raises BenchError where there can be no box."""
    command = [sys.executable, "-P", "-m", "tennis.course.notebook_runner"]
    with tempfile.TemporaryDirectory(prefix="tennis-notebook-") as scratch:
        Path(scratch).chmod(0o755)
        out = Path(scratch) / "out"
        out.mkdir()
        ended = box.run(
            [*command, NOTEBOOK, f"{box.OUT}/{RESULT}", f"{box.OUT}/{EXECUTED}"],
            folder,
            out,
            _readable(),
            {
                "PATH": f"{Path(sys.prefix) / 'bin'}:/usr/bin:/bin",
                "OPENBLAS_NUM_THREADS": "1",
                "OMP_NUM_THREADS": "1",
                "MPLBACKEND": "module://matplotlib_inline.backend_inline",
                "PYTHONDONTWRITEBYTECODE": "1",
                "PYTHONPATH": str(ROOT),
            },
            limit_s,
        )
        told = _told(out / RESULT)
        executed = _executed(out / EXECUTED) if told is not None and not told.error else None
    if told is not None:
        return Ran(told.cells, plain(told.error, 300), executed)
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


def _executed(path: Path) -> Any:
    """Read the executed notebook; None where there is none that can be read."""
    import nbformat  # noqa: PLC0415 (of the stage lab)

    try:
        with open_regular(path) as file:
            text = file.read(box.FILE_BYTES).decode()
            return nbformat.reads(text, as_version=4)  # type: ignore[no-untyped-call]
    except (OSError, ValueError, RecursionError):
        return None


def _readable() -> dict[Path, Path]:
    """Return what may be read besides the system, by its path there: nothing that knows answers."""
    venv = Path(sys.prefix)
    own = [ROOT / "tennis", ROOT / "kit-firmware" / "brickwall", LABS / "course.toml"]
    shared = {path: path for path in [*own, *sorted(LABS.glob("*/lab.toml"))]}
    # where the system's fonts are, for pictures
    fonts = Path("/etc/fonts")
    shared |= {fonts: fonts} if fonts.is_dir() else {}
    # of a checkout whose environment is a link to another's: both names
    return {**shared, venv: venv.resolve(), venv.resolve(): venv.resolve()}
