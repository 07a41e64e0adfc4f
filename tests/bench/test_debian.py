# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Debian's packages, looked up and fetched by several commands at once."""

import http.server
import os
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from tennis.bench import cache, debian
from tennis.errors import BenchError, TennisError
from tennis.listener import listening
from tests.support.processes import run_to_end
from tests.support.terminal import TENNIS


@pytest.fixture(autouse=True)
def _machine(tmp_path, monkeypatch):
    """A machine with an empty cache, a mirror that nobody reaches, and Debian's keys."""
    monkeypatch.setenv("TENNIS_CACHE", str(tmp_path))
    monkeypatch.setenv("TENNIS_MIRROR", "http://debian.example/debian")
    monkeypatch.setattr(debian, "KEYRING", tmp_path / "keyring")
    debian.KEYRING.touch()


def test_commands_at_once_wait_for_each_other(tmp_path, monkeypatch):
    """The first commands on a fresh machine: apt gives up where another apt has its lists."""
    at_work: list[str] = []
    most = 0

    def run(_, what, cwd=None, **_limits):
        nonlocal most
        at_work.append(what)
        most = max(most, len(at_work))
        time.sleep(0.02)
        if cwd is not None:
            (cwd / "tea_1_arm64.deb").touch()
        at_work.remove(what)
        return "Package: tea\nVersion: 1\nArchitecture: arm64\nSize: 1\n"

    monkeypatch.setattr(debian, "run", run)

    def fetch(number):
        suite = debian.Suite("trixie", "arm64")
        suite.update()
        teas = (suite.package(name) for name in ("tea", "tea"))
        suite.unpack(teas, tmp_path / "unpacked")
        return number

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(fetch, range(4))) == [0, 1, 2, 3]
    assert most == 1
    assert list((tmp_path / "apt/trixie-arm64/downloads").iterdir()) == []


def test_without_a_network_that_is_said():
    """In a network namespace without an interface."""
    apart = ["unshare", "--net"] if os.geteuid() == 0 else ["unshare", "--map-root-user", "--net"]
    done = run_to_end([*apart, TENNIS, "kernels", "fetch", "mainline"])
    assert done.returncode == 1
    assert done.stderr == (
        "tennis: fetching the list of packages of trixie: there is no network on this machine: "
        "connect it, then run this again\n"
    )


@pytest.mark.parametrize("sources", [False, True])
def test_only_who_needs_sources_fetches_their_list(monkeypatch, sources):
    """It is as large as the list of packages."""
    monkeypatch.setattr(debian, "run", lambda *_, **__: "")
    suite = debian.Suite("trixie-backports", "arm64")
    suite.update(sources=sources)
    said = (suite.home / "sources.list").read_text()
    assert ("deb-src" in said) == sources
    assert said.count("trixie main\n") == said.count("trixie-backports main\n") == 1 + sources


OF_UBUNTU = "Ubuntu|Ubuntu|noble|http://archive.ubuntu.example/ubuntu\n"


@pytest.mark.parametrize(
    ("system", "named", "mirror"),
    [
        ("ubuntu", "", None),  # no mirror is anybody's default
        ("ubuntu", "http://mirror.example/debian", "http://mirror.example/debian"),
        ("debian", "", None),  # its own apt says where packages come from, or nobody does
        ("ubuntu", "http://mirror.example/debian ] x", None),
    ],
)
def test_ubuntu_gets_kernels_from_debian(monkeypatch, system, named, mirror):
    monkeypatch.setattr(debian, "run", lambda *_, **__: OF_UBUNTU)
    monkeypatch.setattr(debian.platform, "freedesktop_os_release", lambda: {"ID": system})
    monkeypatch.setenv("TENNIS_MIRROR", named)
    if mirror is None:
        with pytest.raises(BenchError, match="mirror"):
            debian.mirror()
    else:
        assert debian.mirror() == mirror


def test_a_download_says_how_many_bytes_are_there(monkeypatch):
    """apt writes beside, or into a folder for parts; the newest size counts."""
    monkeypatch.setattr(debian, "PROGRESS_S", 0.05)

    def run(_, cwd, **__):
        (cwd / "partial").mkdir()
        (cwd / "partial" / "tea_1_arm64.deb").write_bytes(bytes(30_000_000))
        time.sleep(0.5)
        (cwd / "partial" / "tea_1_arm64.deb").rename(cwd / "tea_1_arm64.deb")

    monkeypatch.setattr(debian, "run", run)
    suite, said = debian.Suite("trixie", "arm64"), []
    suite.home.mkdir(parents=True)
    with listening(said.append):
        suite._download(debian.Package("tea", "1", "arm64", "", 96_000_000))
    assert said
    assert said[-1] == "  tea: 30 of 96 MB"  # the first may be of a file that grows


def test_small_packages_are_fetched_in_one_go(tmp_path, monkeypatch):
    """Each start of apt reads lists of 50 MB: 31 programs of a target took it 62 times."""
    begun: list[list[str]] = []

    def run(command, cwd=None, **_):
        begun.append([str(word) for word in command])
        for name in "abl":
            if cwd is not None and any(word.startswith(f"{name}=") for word in begun[-1]):
                (cwd / f"{name}_1_arm64.deb").touch()
        fields = "Package: {}\nVersion: 1\nArchitecture: arm64\nSize: {}\n"
        sizes = {"a": 9, "b": 8, "l": 93_000_000}
        return "\n".join(fields.format(*one) for one in sizes.items())

    monkeypatch.setattr(debian, "run", run)
    suite, said = debian.Suite("trixie", "arm64"), []
    with listening(said.append):
        suite.unpack(suite.packages(["b", "l", "a"]), tmp_path / "unpacked")
    apt = [words for words in begun if words[0].startswith("apt")]
    assert [words[-1] for words in apt] == ["a", "a=1", "l=1"]
    assert apt[1][-2:] == ["b=1", "a=1"]
    unpacked = [words[2].rsplit("/")[-1] for words in begun if words[0] == "dpkg-deb"]
    assert unpacked == ["b_1_arm64.deb", "l_1_arm64.deb", "a_1_arm64.deb"]  # in their order
    assert said[0] == "  2 packages, 0.0 MB"
    with pytest.raises(BenchError, match="trixie has no package nobody for arm64"):
        suite.packages(["a", "nobody"])


class NotFound(http.server.BaseHTTPRequestHandler):
    """A mirror that has nothing."""

    def do_GET(self):
        self.send_error(404)

    def log_message(self, *_):
        """Say nothing."""


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("refuses", "127.0.0.1 refuses connections"),
        ("silent", "127.0.0.1 does not answer"),
        ("empty", "127.0.0.1 does not have what was asked for (404)"),
        ("unknown", "the name mirror.invalid cannot be resolved"),
    ],
)
def test_which_server_fails_and_how(kind, said, monkeypatch):
    """Real apt-get, at a mirror that fails in one way."""
    monkeypatch.setattr(debian, "SILENT_S", 1)
    with (
        http.server.HTTPServer(("127.0.0.1", 0), NotFound) as empty,
        socket.create_server(("127.0.0.1", 0)) as silent,
    ):
        threading.Thread(target=empty.serve_forever, daemon=True).start()
        ports = {"empty": empty.server_port, "silent": silent.getsockname()[1]}
        host = "mirror.invalid" if kind == "unknown" else "127.0.0.1"
        monkeypatch.setenv("TENNIS_MIRROR", f"http://{host}:{ports.get(kind, 9)}/debian")
        with pytest.raises(BenchError) as raised:
            debian.Suite("trixie", "arm64").update()
        empty.shutdown()
    assert f"fetching the list of packages of trixie: {said}" in str(raised.value)
    assert raised.value.next_step


def test_a_lock_that_another_process_holds(tmp_path, monkeypatch):
    monkeypatch.setattr(cache, "LOCK_S", 0.5)
    said = []
    with (
        listening(said.append),
        cache.locked(tmp_path / "lock", "kernels/rt"),
        pytest.raises(TennisError, match="another process has held"),
        cache.locked(tmp_path / "lock", "kernels/rt"),
    ):
        raise AssertionError
    assert said == ["waiting for another tennis, which makes or uses kernels/rt of the cache"]
    with cache.locked(tmp_path / "lock", "kernels/rt"):
        pass
