"""One server for a class: JupyterHub, with an account of the machine for each student.

As root, in a folder that only root can read (the hub keeps its database and a secret there):

    /opt/tennis/.venv/bin/jupyterhub -f /opt/tennis/scripts/jupyterhub_config.py

docs/rooms.md leads there. Options of `jupyterhub` have precedence over what is written here.
"""

import json
import os
import pwd
import sys
from pathlib import Path

from tennis.course.notebook.jupyter import SETTINGS

c = get_config()  # noqa: F821 (JupyterHub brings it)
here = Path(sys.prefix)

# Who may log in: every account of this machine, with its password. For a class among other
# accounts: c.PAMAuthenticator.allowed_groups = {"students"} in place of allow_all.
c.JupyterHub.authenticator_class = "pam"
c.Authenticator.allow_all = True
c.PAMAuthenticator.open_sessions = False  # a server needs no session of the machine's

# Passwords cross the network: let a web server with a certificate stand before this address, or
# give the hub a certificate (c.JupyterHub.ssl_key, ssl_cert) and another address.
c.JupyterHub.bind_url = "http://127.0.0.1:8000"

# Debian's package of the proxy is read by a Node.js from elsewhere, too.
os.environ.setdefault("NODE_PATH", "/usr/share/nodejs")

# Each server runs as the student's own account. With ten at once, starts took 25 to 34 s: the usual
# 30 s are too few.
c.JupyterHub.spawner_class = "localprocess"
c.Spawner.cmd = [str(here / "bin" / "jupyterhub-singleuser")]
c.Spawner.start_timeout = 180
c.Spawner.http_timeout = 180
c.JupyterHub.cleanup_servers = False  # the rallies in them outlive a restart of the hub

# Notebooks are text, and open as notebooks; a student may change each of these settings.
settings = here / "share" / "tennis-jupyterlab"
overrides = settings / "labconfig" / "default_setting_overrides.json"
overrides.parent.mkdir(parents=True, exist_ok=True)
defaults = {":".join(name.rsplit("/", 1)): what for name, what in SETTINGS.items()}
overrides.write_text(json.dumps(defaults), encoding="utf-8")
for place in (settings, overrides.parent, overrides):
    place.chmod(0o644 if place.is_file() else 0o755)
c.Spawner.environment = {
    "PATH": f"{here / 'bin'}:{os.environ['PATH']}",
    "JUPYTER_CONFIG_PATH": str(settings),
}
c.Spawner.args = [
    "--LabApp.news_url=",
    # a terminal has the PATH from above: a login shell sets another one
    "--ServerApp.terminado_settings=shell_command=['/bin/bash']",
]


def keep_private(spawner) -> None:  # type: ignore[no-untyped-def]
    """Close a student's home to the others: `useradd -m` leaves it open to all who can log in."""
    home = pwd.getpwnam(spawner.user.name).pw_dir
    place = os.open(home, os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        os.fchmod(place, 0o700)
    finally:
        os.close(place)


c.Spawner.pre_spawn_hook = keep_private
