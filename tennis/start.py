# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""The start of the ``tennis`` command: it looks for a namesake before any import.

PyPI has another package that is imported as ``tennis``. pip overwrites files of the one that was
there, and does not say so.
"""

import sys
from pathlib import Path

NAMESAKE = "tennis"  # scores matches
KIT = Path(__file__).parent / "tree"  # of an installed package; a checkout has none


def main() -> None:
    """Run the command line, unless a namesake's files are among those of this package."""
    if KIT.is_dir() and _is_installed(NAMESAKE):
        sys.exit(
            "tennis: the package 'tennis', which scores matches, has files in the same folder. "
            "Run 'pip uninstall tennis', then 'pip install --force-reinstall tennis-rt'"
        )
    from tennis.cli import main as run  # noqa: PLC0415 (see above

    run()


def _is_installed(name: str) -> bool:
    from importlib.metadata import PackageNotFoundError, distribution  # noqa: PLC0415

    try:
        files = distribution(name).files or ()
    except PackageNotFoundError:
        return False
    return any(file.parts[:1] == (NAMESAKE,) for file in files)
