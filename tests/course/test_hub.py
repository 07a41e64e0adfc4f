"""A room's server as docs/rooms.md sets it up: a real hub, an ordinary account, from login to mark.

The hub, its proxy, PAM and the account are real, in a mount namespace: /etc/passwd of the machine
stays as it is.
"""

import asyncio
import csv
import json
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import jupyterhub  # noqa: F401 (left out without it)
import pytest
import requests
from click.testing import CliRunner
from tornado.httpclient import HTTPRequest
from tornado.websocket import websocket_connect

from tennis.bench import programs
from tennis.cli import cli
from tennis.kit.checkout import ROOT
from tests.support.processes import run_to_end

CONFIG = ROOT / "scripts" / "jupyterhub_config.py"
STUDENT, OTHER, PASSWORD = "student-01", "student-02", "pw-01"
IDS = {STUDENT: 47_001, OTHER: 47_002}
# crypt(PASSWORD) of libc, by SHA-512
SHADOW = (
    "$6$abcdefgh$OdmeFmlx.Zt6S81fPJPtP86dN2UDM9aa3apnQF/4L16F59fzhKshFMAfWKWqFMBdHNKzbNvH"
    ".MKaNA1pOHknL0"
)
LIMIT_S = 240  # of a busy machine, for one step

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root starts servers of other accounts"),
]


@dataclass
class Hub:
    """A hub that runs, and the homes of its accounts."""

    address: str
    homes: Path
    log: Path

    def login(self, password: str = PASSWORD) -> tuple[requests.Session, requests.Response]:
        """Log in as the student; return the session, and the page that comes then."""
        session = requests.Session()
        session.get(f"{self.address}/hub/login", timeout=LIMIT_S)
        form = {"username": STUDENT, "password": password, "_xsrf": session.cookies["_xsrf"]}
        return session, session.post(f"{self.address}/hub/login", form, timeout=LIMIT_S)


def wait_for(what: Callable[[], object], log: Path) -> None:
    end = time.monotonic() + LIMIT_S
    while not what():
        assert time.monotonic() < end, log.read_text()[-3000:]
        time.sleep(0.2)


def answers(address: str) -> bool:
    try:
        return requests.get(f"{address}/hub/health", timeout=5).ok
    except requests.ConnectionError:
        return False


@pytest.fixture(scope="module")
def hub() -> Iterator[Hub]:
    """Start the hub with the tree's own file; only its ports are others."""
    proxy = "configurable-http-proxy"
    assert programs.find(proxy), f"No such file or directory: '{proxy}'"
    place = Path(tempfile.mkdtemp(prefix="tennis-hub-"))
    place.chmod(0o755)
    lines = {"passwd": "", "group": "", "shadow": ""}
    for name, number in IDS.items():
        home = place / "home" / name
        shutil.copytree("/etc/skel", home)
        home.chmod(0o755)  # as useradd -m leaves it
        os.chown(home, number, number)
        lines["passwd"] += f"{name}:x:{number}:{number}::{home}:/bin/bash\n"
        lines["group"] += f"{name}:x:{number}:\n"
        lines["shadow"] += f"{name}:{SHADOW}:19000:0:99999:7:::\n"
    mounts = ""
    for name, line in lines.items():
        (place / name).write_text(Path("/etc", name).read_text() + line)
        (place / name).chmod(0o640 if name == "shadow" else 0o644)
        mounts += f"mount --bind {place / name} /etc/{name} && "
    state = place / "hub"
    state.mkdir(mode=0o700)
    with socket.socket() as one, socket.socket() as two, socket.socket() as three:
        for each in (one, two, three):
            each.bind(("127.0.0.1", 0))
        port, inner, api = (each.getsockname()[1] for each in (one, two, three))
    address, log = f"http://127.0.0.1:{port}", place / "log"
    ports = f"--JupyterHub.bind_url={address} --JupyterHub.hub_port={inner} "
    ports += f"--ConfigurableHTTPProxy.api_url=http://127.0.0.1:{api}"
    command = f"{mounts} exec {sys.executable} -m jupyterhub -f {CONFIG} {ports}"
    with log.open("w") as said:
        running = subprocess.Popen(
            ["unshare", "--mount", "sh", "-c", command],
            cwd=state, stdout=said, stderr=said, env={**os.environ, "PYTHONPATH": ""},
            start_new_session=True,
        )  # fmt: skip
    try:
        wait_for(lambda: running.poll() is not None or answers(address), log)
        assert running.poll() is None, log.read_text()[-3000:]
        yield Hub(address, place / "home", log)
    finally:
        # servers outlive the hub, as the file says: each is its account's
        for number in IDS.values():
            end_all_of(number)
        os.killpg(running.pid, signal.SIGTERM)
        running.wait(60)
        shutil.rmtree(place)


def end_all_of(number: int) -> None:
    """End the processes of an account that this test made up."""
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if path.stat().st_uid == number:
                os.kill(int(path.name), signal.SIGKILL)
        except (FileNotFoundError, ProcessLookupError):
            continue


def test_a_wrong_password_opens_nothing(hub):
    _, page = hub.login("pw-02")
    assert page.status_code == 403
    assert "Invalid username or password" in page.text


def test_an_ordinary_account_from_login_to_mark(hub, tmp_path):
    session, _ = hub.login()
    server, home = f"{hub.address}/user/{STUDENT}", hub.homes / STUDENT
    session.get(f"{hub.address}/hub/spawn", timeout=LIMIT_S)
    wait_for(lambda: session.get(f"{server}/lab", timeout=LIMIT_S).url.startswith(server), hub.log)
    assert stat.S_IMODE(home.stat().st_mode) == 0o700
    # the notebooks' settings are there before anybody opened one
    settings = f"{server}/lab/api/settings/@jupyterlab/docmanager-extension:plugin"
    assert "Jupytext Notebook" in session.get(settings, timeout=LIMIT_S).text
    token = {"X-XSRFToken": session.cookies.get("_xsrf", path=f"/user/{STUDENT}/")}
    made = session.post(f"{server}/api/terminals", headers=token, timeout=LIMIT_S)
    assert made.ok, made.text
    terminal = f"{server}/terminals/websocket/{made.json()['name']}".replace("http", "ws", 1)

    def typed(line: str) -> str:
        """Type a line into JupyterLab's terminal; return what it printed."""
        asyncio.run(
            type_in(terminal, session, f"({line}) >out 2>&1; echo $? >code.new; mv code.new code\r")
        )
        wait_for((home / "code").exists, hub.log)
        code, said = (home / "code").read_text().strip(), (home / "out").read_text()
        (home / "code").unlink()
        assert code == "0", said
        return said

    typed("id -un; command -v tennis; tennis lab start 01 --as student-01")
    said = (home / "out").read_text()
    assert said.startswith(f"{STUDENT}\n{Path(sys.executable).with_name('tennis')}\n"), said
    lab = f"{server}/api/contents/lab-01/answers.toml"
    text = session.get(lab, timeout=LIMIT_S).json()["content"]
    text = text.replace("minutes = 0", "minutes = 75").replace('edges = ""', "edges = 7740")
    body = {"type": "file", "format": "text", "content": text}
    saved = session.put(lab, data=json.dumps(body), headers=token, timeout=LIMIT_S)
    assert saved.ok, saved.text
    assert "1 of 5 answered" in typed("tennis lab check 01 || true")
    typed("tennis lab submit 01 --partial")
    (handed_in,) = home.glob("*.zip")
    # another account reads neither list nor file
    other = ["setpriv", f"--reuid={IDS[OTHER]}", f"--regid={IDS[OTHER]}", "--clear-groups"]
    for command in (["ls", home], ["cat", handed_in]):
        assert run_to_end([*other, *command]).returncode != 0
    (tmp_path / "in").mkdir()
    shutil.copy(handed_in, tmp_path / "in")
    words = ["grade", str(tmp_path / "in"), "--lab", "01", "--no-replay"]
    done = CliRunner().invoke(cli, words)
    assert done.exit_code == 0, done.output
    with (tmp_path / "in-marks/marks.csv").open(encoding="utf-8-sig") as file:
        (row,) = csv.DictReader(file)
    assert (row["student"], row["edges"], row["so_far"]) == (STUDENT, "2", "2")


async def type_in(address: str, session: requests.Session, text: str) -> None:
    """Send keys to a terminal of JupyterLab's."""
    cookies = "; ".join(f"{one.name}={one.value}" for one in session.cookies)
    request = HTTPRequest(address, headers={"Cookie": cookies})
    connection = await websocket_connect(request)
    while json.loads(await connection.read_message())[0] != "setup":
        pass
    await connection.write_message(json.dumps(["stdin", text]))
    await asyncio.sleep(1)
    connection.close()
