# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Programs that a test starts and waits for."""

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def run_to_end(
    command: Sequence[str | Path], *, check: bool = False, **how: Any
) -> subprocess.CompletedProcess[str]:
    """Run a program and keep what it says, as text; ``check``: it must succeed."""
    return subprocess.run(command, capture_output=True, text=True, check=check, **how)
