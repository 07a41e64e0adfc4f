"""A hand-in's notebook, executed in a box that reads Tennis' modules and the labs' questions."""

import importlib.util
import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from tennis.bench import box
from tennis.course.lab_files import RECORDED
from tennis.course.labs import LAB, LABS, in_other_processes, labs_of_packages
from tennis.course.notebook.notebook_runner import without_grammars
from tennis.course.work import NOTEBOOK
from tennis.kit.checkout import PACKAGES, PROJECT, ROOT
from tennis.kit.errors import BenchError
from tennis.rally import memory
from tennis.rally.text import plain

LIMIT_S = 300.0
NEEDED = ("jupytext", "nbclient", "ipykernel")  # in the box
RESULT, EXECUTED = "result.json", "executed.ipynb"


class _RunnerResult(BaseModel):
    """The output of the notebook's runner."""

    cells: int
    error: str = ""


@dataclass(frozen=True)
class Ran:
    """The end of a notebook: ``error`` is empty if it ran through."""

    cells: int
    error: str
    executed: Any = None  # the notebook with its outputs, if it ran to its end


def run_notebook(folder: Path, *, limit_s: float = LIMIT_S) -> Ran:
    """Execute a hand-in's notebook. Raises BenchError if there can be no box, or no Jupyter."""
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        raise BenchError(
            f"notebooks need {missing[0]}, which is not installed",
            next_step="scripts/setup.sh --lab",
        )
    command = [sys.executable, "-P", "-m", "tennis.course.notebook.notebook_runner"]
    with tempfile.TemporaryDirectory(prefix="tennis-labs-") as scratch:
        ended = box.run(
            [*command, NOTEBOOK, f"{box.OUT}/{RESULT}", f"{box.OUT}/{EXECUTED}"],
            folder,
            [RESULT, EXECUTED],
            {**_readable(), **_of_packages(Path(scratch))},
            {
                "PATH": f"{Path(sys.prefix) / 'bin'}:/usr/bin:/bin",
                "OPENBLAS_NUM_THREADS": "1",
                "OMP_NUM_THREADS": "1",
                "MPLBACKEND": "module://matplotlib_inline.backend_inline",
                "PYTHONDONTWRITEBYTECODE": "1",
                "PYTHONPATH": str(PACKAGES),
                **in_other_processes(),
            },
            limit_s,
        )
    if ended.limit:
        return Ran(0, ended.limit)
    told = _runner_result(ended.files.get(RESULT, b""))
    if told is None:
        return Ran(0, f"it could not be run: {ended.why or 'it left no result'}")
    executed = None if told.error else _read_executed(ended.files.get(EXECUTED, b""))
    return Ran(told.cells, plain(told.error, 300), executed)


def _runner_result(content: bytes) -> _RunnerResult | None:
    """Read the result from the box, which any program in the box may have written."""
    try:
        return _RunnerResult.model_validate_json(content[: box.WORDS_MAX])
    except (ValidationError, ValueError):
        return None


def _read_executed(content: bytes) -> Any:
    """Read the executed notebook; None if none is readable."""
    without_grammars()
    import nbformat  # noqa: PLC0415 (of the stage lab)

    try:
        return nbformat.reads(content.decode(), as_version=4)  # type: ignore[no-untyped-call]
    except (ValueError, RecursionError, AttributeError, KeyError, TypeError):
        return None
    except nbformat.ValidationError:
        return None


def _readable() -> dict[Path, Path]:
    """Return what may be read besides the system, by its path there: nothing that knows answers."""
    venv = Path(sys.prefix)
    own = [PACKAGES / "tennis", ROOT / "kit-firmware" / "brickwall", LABS / "course.toml"]
    own.append(memory.FOLDER)  # labs name profiles, whose digest is that of the file
    own.append(PROJECT)  # which version this is, and what benches and commands there are
    labs = [*LABS.glob(f"*/{LAB}"), *LABS.glob(f"*/{RECORDED}")]
    shared = {path: path for path in [*own, *sorted(labs)]}
    # the system's fonts, for pictures
    fonts = Path("/etc/fonts")
    shared |= {fonts: fonts} if fonts.is_dir() else {}
    # of a checkout whose environment is a link to another's: both names
    return {**shared, venv: venv.resolve(), venv.resolve(): venv.resolve()}


def _of_packages(scratch: Path) -> dict[Path, Path]:
    """Return the readable parts of packages' labs, in place of their folders.

    A package that pip installed is in a readable folder, with its solution.
    """
    venv, found = Path(sys.prefix), dict[Path, Path]()
    for number, (_, folder, _) in enumerate(labs_of_packages()):
        shown = scratch / str(number)
        shown.mkdir()
        shutil.copyfile(folder / LAB, shown / LAB)
        if (folder / RECORDED).is_dir():
            shutil.copytree(folder / RECORDED, shown / RECORDED, symlinks=True)
        real = folder.resolve()
        places = {folder, real}
        if real.is_relative_to(venv.resolve()):  # both names of the environment
            places.add(venv / real.relative_to(venv.resolve()))
        found |= dict.fromkeys(sorted(places), shown)
    return found
