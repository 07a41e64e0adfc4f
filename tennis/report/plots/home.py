"""The folder of matplotlib's font cache, which must be set before it is imported."""

import atexit
import os
import shutil
import tempfile

from tennis.kit.checkout import cache_folder


def give_home() -> None:
    """Give matplotlib a folder that it can write, unless the user named one.

    It would otherwise complain at length if the home folder cannot be written.
    """
    if os.environ.get("MPLCONFIGDIR"):
        return
    try:
        folder = cache_folder() / "matplotlib"
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except (OSError, RuntimeError):  # RuntimeError: a user without a home
        temporary = tempfile.mkdtemp(prefix="tennis-plots-")
        atexit.register(shutil.rmtree, temporary, ignore_errors=True)
        os.environ["MPLCONFIGDIR"] = temporary
    else:
        os.environ["MPLCONFIGDIR"] = str(folder)
