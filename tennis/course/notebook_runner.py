# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Run in the box: execute a notebook from top to bottom, and say where it ended.

What this says was written beside a stranger's program, which can write the same: it is shown, and
never judged.
"""

import json
import sys
from pathlib import Path

CELL_S = 120
WORDS_MAX = 300


def main(notebook: Path, result: Path) -> None:
    """Execute; write an object with ``cells`` and, where one failed, ``cell`` and ``error``."""
    import jupytext  # type: ignore[import-untyped]  # noqa: PLC0415 (only in the box)
    from nbclient import NotebookClient  # noqa: PLC0415
    from nbclient.exceptions import CellControlSignal, CellExecutionError  # noqa: PLC0415

    content = jupytext.read(notebook)
    client = NotebookClient(content, timeout=CELL_S, kernel_name="python3")
    told: dict[str, object] = {"cells": len(content.cells)}
    try:
        client.execute()
    except CellExecutionError as error:
        told["error"] = f"{error.ename}: {error.evalue}"[:WORDS_MAX]
    except CellControlSignal as error:
        told["error"] = type(error).__name__
    except Exception as error:  # the kernel died, the cell took too long
        told["error"] = f"{type(error).__name__}: {error}"[:WORDS_MAX]
    if "error" in told:
        done = sum(bool(cell.get("execution_count")) for cell in content.cells)
        told["cell"] = done
    result.write_text(json.dumps(told), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
