"""Read the tables of figures beside this file."""

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any

from tennis.kit.errors import UsageError

NAMES = ("arm-2016", "hardware", "knutsson-2008", "koeker")


@cache
def _text(name: str) -> str:
    return files("tennis.report.publications").joinpath(f"{name}.toml").read_text(encoding="utf-8")


def load(name: str) -> dict[str, Any]:
    """Return a publication's figures, as its table has them.

    Raises UsageError for a name that is not in ``NAMES``.
    """
    if name not in NAMES:
        raise UsageError(f"unknown publication {name!a}: one of {', '.join(NAMES)}")
    return tomllib.loads(_text(name))
