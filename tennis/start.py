"""The start of the ``tennis`` command: it looks for a namesake before any import.

PyPI has another package that is imported as ``tennis``. pip overwrites files of the one that was
there, and does not say so.
"""

import sys
from pathlib import Path

IMPORTER = "<frozen importlib._bootstrap_external>"
NAMESAKE = "tennis"  # scores matches
KIT = Path(__file__).parent / "tree"  # of an installed package; a checkout has none


def main() -> None:
    """Run the command line, unless a namesake's files are among those of this package."""
    if KIT.is_dir() and _is_installed(NAMESAKE):
        sys.exit(
            "tennis: the package 'tennis', which scores matches, has files in the same folder. "
            "Run 'pip uninstall tennis', then 'pip install --force-reinstall tennis-rt'"
        )
    try:
        from tennis.cli import main as run  # noqa: PLC0415 (see above)
    except Exception as error:
        if words := cut_off(error):
            sys.exit(f"tennis: {words}")
        raise
    except KeyboardInterrupt:
        sys.stderr.write("tennis: stopped\n")
        sys.exit(130)
    run()


def cut_off(error: BaseException) -> str:
    """Say what to do if a file that Python compiled has no end; empty: the error is another one.

    If a disk is full, Python 3.11 writes a part of it and takes that for whole (gh-126606).
    """
    last = error.__traceback__
    while last and last.tb_next:
        last = last.tb_next
    code = last and last.tb_frame.f_code.co_filename
    if not isinstance(error, (EOFError, ValueError)) or code != IMPORTER:
        return ""
    place = Path(__file__).parent
    return (
        "a file that Python compiled is cut off, as a full disk leaves it: run "
        f"`find {place} {sys.prefix} -name '*.pyc' -delete`, then this again"
    )


def _is_installed(name: str) -> bool:
    from importlib.metadata import PackageNotFoundError, distribution  # noqa: PLC0415

    try:
        files = distribution(name).files or ()
    except PackageNotFoundError:
        return False
    return any(file.parts[:1] == (NAMESAKE,) for file in files)
