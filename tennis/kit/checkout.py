"""The folders of the kit's parts that are not Python: in a checkout, or in a wheel."""

import os
import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

# PyPI's "tennis" scores matches: decision 23
DISTRIBUTION = "tennis-rt"
# what to put on PYTHONPATH for this package
PACKAGES = Path(__file__).resolve().parents[2]
_INSTALLED = PACKAGES / "tennis" / "tree"  # of a wheel: pyproject.toml lists its files
IS_CHECKOUT = not _INSTALLED.is_dir()
ROOT = PACKAGES if IS_CHECKOUT else _INSTALLED
# the command that installs missing parts
SETUP = "make setup" if IS_CHECKOUT else "tennis setup"
PROJECT = ROOT / "pyproject.toml"


@cache
def _project() -> dict[str, Any]:
    """Return the package's own description: ``[project]`` of its ``pyproject.toml``."""
    with PROJECT.open("rb") as file:
        said: dict[str, Any] = tomllib.load(file)["project"]
    return said


def version() -> str:
    """Return the version of this checkout: with the commit between releases.

    0.3.0.dev0+1a2b3c4d is on the way to 0.3.0; uncommitted changes do not show. A copy without git
    has no commit.
    """
    said = str(_project()["version"])
    commit = _commit() if ".dev" in said else ""
    return f"{said}+{commit[:8]}" if commit else said


def _commit() -> str:
    """Return the commit that is checked out, in hexadecimal digits; empty: unknown."""
    git = ROOT / ".git"
    try:
        if git.is_file():  # a work tree of another checkout
            git = ROOT / git.read_text().removeprefix("gitdir:").strip()
        head = (git / "HEAD").read_text().strip()
        name = head.removeprefix("ref:").strip()
        shared = git / "commondir"
        home = git / shared.read_text().strip() if shared.is_file() else git
        for place in (git, home):
            if name != head and (place / name).is_file():
                head = (place / name).read_text().strip()
        if head.startswith("ref:"):
            packed = (home / "packed-refs").read_text().splitlines()
            head = next(line.split()[0] for line in packed if line.endswith(f" {name}"))
    except (OSError, UnicodeError, StopIteration, IndexError):
        return ""
    return head if re.fullmatch(r"[0-9a-f]{40,64}", head) else ""


def cache_folder() -> Path:
    """Return the folder for what can be fetched or built again; ``TENNIS_CACHE`` overrides it."""
    named = os.environ.get("TENNIS_CACHE")
    if named:
        return Path(named).expanduser()
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    # its specification has a relative one ignored
    return (base if base.is_absolute() else Path.home() / ".cache") / "tennis"
