"""Execute a notebook from top to bottom, and report how it ended; a program in the box.

A stranger's program runs beside this one, and can forge its report: it is shown, and never judged.
"""

import json
import sys
from pathlib import Path
from typing import Any

from tennis.rally.edited import text_of

CELL_S = 120
WORDS_MAX = 300
LINE_MAX = 60


def without_grammars() -> None:
    """Let jsonschema do without its grammars of addresses, which no notebook's schema has.

    It builds 38 of them when it is imported: a second of processor time.
    """
    sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]


def execute(notebook: Path, folder: Path) -> tuple[Any, str]:
    """Return the executed notebook, and the error with its cell; empty: none."""
    without_grammars()
    import jupytext  # type: ignore[import-untyped]  # noqa: PLC0415 (of the stage lab)
    from nbclient import NotebookClient  # noqa: PLC0415
    from nbclient.exceptions import CellControlSignal, CellExecutionError  # noqa: PLC0415

    content = jupytext.reads(text_of(notebook.read_bytes()), {"extension": notebook.suffix})
    begun: list[int] = []
    for number, cell in enumerate(content.cells):
        cell["id"] = f"cell-{number}"  # made up at random otherwise: the same work, the same bytes
    client = NotebookClient(
        content,
        timeout=CELL_S,
        kernel_name="python3",
        resources={"metadata": {"path": str(folder)}},
        extra_arguments=["--log-level=ERROR"],  # no word about who could listen on this machine
        on_cell_execute=lambda cell, cell_index: begun.append(cell_index),  # noqa: ARG005
    )
    error = ""
    try:
        client.execute()
    except CellExecutionError as failed:
        error = f"{failed.ename}: {failed.evalue}"
    except CellControlSignal as failed:
        error = type(failed).__name__
    except Exception as failed:  # the kernel died, the cell took too long
        error = f"{type(failed).__name__}: {failed}"
    if error:
        where = f"before the first of {len(content.cells)} cells"
        where = place(content.cells, begun[-1]) if begun else where
        error = f"{where}: {error}"[:WORDS_MAX]
    return content, error


def place(cells: list[Any], at: int) -> str:
    """Return which cell it is, as a person finds it: among all, and its first line."""
    lines = [line.strip() for line in cells[at]["source"].splitlines() if line.strip()]
    first = lines[0] if lines else ""
    shown = first if len(first) <= LINE_MAX else f"{first[: LINE_MAX - 1]}…"
    return f"cell {at + 1} of {len(cells)} ({shown})"


def main(notebook: Path, result: Path, executed: Path) -> None:
    """Execute; write an object with ``cells`` and ``error``, and the executed notebook."""
    content, error = execute(notebook, Path.cwd())
    result.write_text(json.dumps({"cells": len(content.cells), "error": error}), encoding="utf-8")
    executed.write_text(json.dumps(content), encoding="utf-8")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:4]))
