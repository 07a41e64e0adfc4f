# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Where the parts of the kit are that are not Python: the checkout that this package runs from."""

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def cache_folder() -> Path:
    """Return the folder for what can be fetched or built again; ``TENNIS_CACHE`` overrides it."""
    named = os.environ.get("TENNIS_CACHE")
    if named:
        return Path(named)
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "tennis"
