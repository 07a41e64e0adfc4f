# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""The ``tennis`` command as a user types it, in a terminal that is wide enough."""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

TENNIS = str(Path(sys.executable).with_name("tennis"))


@dataclass(frozen=True)
class Done:
    """How a command ended, and what both of its streams said."""

    exit_code: int
    output: str


def run(*words: str | Path | float) -> Done:
    """Run ``tennis`` with these words."""
    done = subprocess.run(
        [TENNIS, *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        env={**os.environ, "COLUMNS": "200"},
    )
    return Done(done.returncode, done.stdout)
