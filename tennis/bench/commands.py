# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Run another program, and say clearly when it failed."""

import os
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

from tennis.bench import programs
from tennis.errors import BenchError


def run(
    command: Sequence[str | Path],
    *,
    what: str,
    cwd: Path | None = None,
) -> str:
    """Run a command and return its output; ``what`` names it in the error.

    Raises BenchError with the last lines of its output if it fails or does not exist.
    """
    arguments = [str(word) for word in command]
    try:
        done = subprocess.run(
            arguments,
            cwd=cwd,
            env={**os.environ, "LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            check=False,
        )
    except FileNotFoundError:
        how = programs.how_to_get(arguments[0])
        raise BenchError(f"{what}: {arguments[0]} is not installed; {how}") from None
    if done.returncode:
        lines = [line.strip() for line in done.stdout.splitlines() if line.strip()]
        errors = [
            line for line in lines if re.search(r"\berror\b|\bError: |^E: ", line)
        ]  # make's come later
        tail = " | ".join(errors[:3] or lines[-3:])
        raise BenchError(f"{what} failed ({arguments[0]} gave {done.returncode}): {tail}")
    return done.stdout
