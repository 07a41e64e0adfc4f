"""JupyterLab on a student's folder: the notebook open, nothing fetched from elsewhere."""

import json
import os
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from tennis.course.work import NOTEBOOK, Work
from tennis.kit.checkout import cache_folder
from tennis.kit.errors import TennisError, UsageError
from tennis.rally.disk import write_whole, writing

SETTINGS = {
    # text notebooks open as notebooks: without it, as text
    "@jupyterlab/docmanager-extension/plugin": {
        "defaultViewers": {"markdown": "Jupytext Notebook", "myst": "Jupytext Notebook"}
    },
    # nobody is asked for a kernel: there is one
    "@jupyterlab/notebook-extension/tracker": {"autoStartDefaultKernel": True},
    # no link leaves the machine, and nobody is asked whether one may
    "@jupyterlab/apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
}
HUB = "JUPYTERHUB_SERVICE_PREFIX"  # a variable of each server that a JupyterHub starts
NEVER = "jupyterlab.handlers.announcements.NeverCheckForUpdate"


def _listed(folder: Path) -> Path:
    """Return the path of a folder's notebook in a hub's JupyterLab: its files begin at the home."""
    notebook, home = folder.resolve() / NOTEBOOK, Path.home().resolve()
    return notebook.relative_to(home) if notebook.is_relative_to(home) else notebook


def command(work: Work, *, browser: bool) -> tuple[list[str], Mapping[str, str]]:
    """Return the command that serves JupyterLab on a folder, and its environment.

    Raises TennisError if JupyterLab is not installed, UsageError in one, DiskFullError.
    """
    if HUB in os.environ:  # of several users at once, each would look for the same free port
        raise UsageError(
            "this terminal is in a JupyterLab already, which a hub started",
            next_step=f"open {_listed(work.folder)} in its list of files",
        )
    if find_spec("jupyterlab") is None:
        raise TennisError("JupyterLab is not installed", next_step="scripts/setup.sh --lab")
    settings = cache_folder() / "jupyterlab"
    for name, content in SETTINGS.items():
        path = settings / f"{name}.jupyterlab-settings"
        with writing(path):
            path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, (json.dumps(content) + "\n").encode(), force=True)
    words = [
        *(sys.executable, "-m", "jupyterlab"),
        f"--ServerApp.root_dir={work.folder.resolve()}",
        f"--LabApp.default_url=/lab/tree/{NOTEBOOK}",
        "--LabApp.news_url=",
        f"--LabApp.check_for_updates_class={NEVER}",
        *([] if browser else ["--no-browser"]),
    ]
    # root has to say so; in a container everybody is root
    words += ["--allow-root"] if os.geteuid() == 0 else []
    environment = {**os.environ, "JUPYTERLAB_SETTINGS_DIR": str(settings)}
    return words, environment
