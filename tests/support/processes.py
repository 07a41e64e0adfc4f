"""Programs that a test starts and waits for, and scripts in the place of others."""

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def run_to_end(
    command: Sequence[str | Path], *, check: bool = False, **how: Any
) -> subprocess.CompletedProcess[str]:
    """Run a program and keep what it says, as text; ``check``: it must succeed."""
    return subprocess.run(command, capture_output=True, text=True, check=check, **how)


def stand_in(program: Path, lines: str) -> Path:
    """Write a shell script where a program is looked for."""
    program.parent.mkdir(parents=True, exist_ok=True)
    program.write_text(f"#!/bin/sh\n{lines}\n")
    program.chmod(0o755)
    return program
