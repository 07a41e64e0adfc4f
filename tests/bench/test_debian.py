"""Debian's packages, looked up and fetched by several commands at once."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tennis.bench import debian
from tennis.kit.errors import BenchError
from tests.support.processes import stand_in

pytestmark = pytest.mark.slow


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
