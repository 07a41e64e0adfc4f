# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Debian's packages, looked up and fetched by several commands at once."""

import http.server
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tennis.bench import cache, debian
from tennis.errors import BenchError, TennisError
from tennis.log import listening
from tests.support.processes import stand_in


@pytest.fixture(autouse=True)
def _machine(tmp_path, monkeypatch):
    """A machine with an empty cache, and a mirror that nobody reaches."""
    monkeypatch.setenv("TENNIS_CACHE", str(tmp_path))
    monkeypatch.setenv("TENNIS_MIRROR", "http://debian.example/debian")


@pytest.fixture
def programs(tmp_path, monkeypatch) -> Path:
    """A folder in front, whose programs stand in for apt's, and do nothing so far."""
    folder = tmp_path / "programs"
    for name in ("apt-get", "apt-cache", "dpkg-deb"):
        stand_in(folder / name, "exit 0")
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return folder


def test_commands_at_once_wait_for_each_other(tmp_path, programs):
    """The first commands on a fresh machine: apt gives up where another apt has its lists."""
    log = tmp_path / "log"
    for name, does in (
        ("apt-get", 'case "$*" in *" download "*) : > tea_1_arm64.deb;; esac'),
        ("apt-cache", r"printf 'Package: tea\nVersion: 1\nArchitecture: arm64\nSize: 1\n'"),
        ("dpkg-deb", ""),
    ):
        stand_in(programs / name, f"echo + >> {log}\nsleep 0.02\n{does}\necho - >> {log}")

    def fetch(number):
        suite = debian.Suite("trixie", "arm64")
        suite.update()
        teas = (suite.package(name) for name in ("tea", "tea"))
        suite.unpack(teas, tmp_path / "unpacked")
        return number

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(fetch, range(4))) == [0, 1, 2, 3]
    assert log.read_text() == "+\n-\n" * 4 * 5  # a list, two looks, a download, an unpacking
    assert list((tmp_path / "apt/trixie-arm64/downloads").iterdir()) == []


def test_a_system_without_apt_is_sent_to_the_container(monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(BenchError, match=r"no apt, .*: use the container \(docs/install.md\)"):
        debian.Suite("trixie", "arm64").update()


@pytest.mark.parametrize("sources", [False, True])
@pytest.mark.usefixtures("programs")
def test_only_who_needs_sources_fetches_their_list(sources):
    """It is as large as the list of packages."""
    suite = debian.Suite("trixie-backports", "arm64")
    suite.update(sources=sources)
    said = (suite.home / "sources.list").read_text()
    assert ("deb-src" in said) == sources
    assert said.count("trixie main\n") == said.count("trixie-backports main\n") == 1 + sources


OF_UBUNTU = "Ubuntu|Ubuntu|noble|http://archive.ubuntu.example/ubuntu"


@pytest.mark.parametrize(
    ("system", "named", "mirror"),
    [
        ("ubuntu", "", None),  # no mirror is anybody's default
        ("ubuntu", "http://mirror.example/debian", "http://mirror.example/debian"),
        ("debian", "", None),  # its own apt says where packages come from, or nobody does
        ("ubuntu", "http://mirror.example/debian ] x", None),
    ],
)
def test_ubuntu_gets_kernels_from_debian(monkeypatch, programs, system, named, mirror):
    stand_in(programs / "apt-get", f"echo '{OF_UBUNTU}'")
    monkeypatch.setattr(debian.platform, "freedesktop_os_release", lambda: {"ID": system})
    monkeypatch.setenv("TENNIS_MIRROR", named)
    if mirror is None:
        with pytest.raises(BenchError, match="mirror"):
            debian.mirror()
    else:
        assert debian.mirror() == mirror


def test_a_download_says_how_many_bytes_are_there(tmp_path, programs, monkeypatch):
    """apt writes beside, or into a folder for parts; the newest size counts."""
    monkeypatch.setattr(debian, "PROGRESS_S", 0.05)
    part = "partial/tea_1_arm64.deb"
    stand_in(
        programs / "apt-get",
        f"mkdir partial; truncate -s 30000000 {part}\nsleep 0.5\nmv {part} tea_1_arm64.deb",
    )
    suite, said = debian.Suite("trixie", "arm64"), []
    with listening(said.append):
        tea = debian.Package("tea", "1", "arm64", "", 96_000_000)
        suite.unpack([tea], tmp_path / "unpacked")
    assert said[0] == "  tea 1 (96.0 MB)"
    assert said[1:]
    assert said[-1] == "  tea: 30 of 96 MB"  # the first may be of a file that grows


def test_small_packages_are_fetched_in_one_go(tmp_path, programs):
    """Each start of apt reads lists of 50 MB: 31 programs of a target took it 62 times."""
    log = tmp_path / "log"
    makes = "for one; do case $one in ?=1) : > ${one%=1}_1_arm64.deb;; esac; done"
    stand_in(programs / "apt-get", f'echo "apt-get $*" >> {log}\n{makes}')
    fields = r"Package: {}\nVersion: 1\nArchitecture: arm64\nSize: {}\n\n"
    sizes = {"a": 9, "b": 8, "l": 93_000_000}
    shows = "".join(fields.format(*one) for one in sizes.items())
    stand_in(programs / "apt-cache", f"echo \"apt-cache $*\" >> {log}\nprintf '{shows}'")
    stand_in(programs / "dpkg-deb", f'echo "dpkg-deb $*" >> {log}')
    suite, said = debian.Suite("trixie", "arm64"), []
    with listening(said.append):
        suite.unpack(suite.packages(["b", "l", "a"]), tmp_path / "unpacked")
    begun = [line.split() for line in log.read_text().splitlines()]
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
        ("refuses", "Connection refused"),
        ("empty", "does not have a Release file"),
    ],
)
def test_which_server_fails_and_how(kind, said, monkeypatch):
    """Real apt-get, at a mirror that fails in one way."""
    with http.server.HTTPServer(("127.0.0.1", 0), NotFound) as empty:
        threading.Thread(target=empty.serve_forever, daemon=True).start()
        port = empty.server_port if kind == "empty" else 9
        monkeypatch.setenv("TENNIS_MIRROR", f"http://127.0.0.1:{port}/debian")
        with pytest.raises(BenchError) as raised:
            debian.Suite("trixie", "arm64").update()
        empty.shutdown()
    assert "fetching the list of packages of trixie failed" in str(raised.value)
    assert said in str(raised.value)
    assert raised.value.next_step == "check the network, the proxy and the mirror"


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
