# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Debian's packages, looked up and fetched by several commands at once."""

import time
from concurrent.futures import ThreadPoolExecutor

from tennis.bench import debian


def test_commands_at_once_wait_for_each_other(tmp_path, monkeypatch):
    """The first commands on a fresh machine: apt gives up where another apt has its lists."""
    monkeypatch.setenv("TENNIS_CACHE", str(tmp_path))
    monkeypatch.setattr(debian, "mirror", lambda: "http://debian.example/debian")
    monkeypatch.setattr(debian, "KEYRING", tmp_path / "keyring")
    debian.KEYRING.touch()
    at_work: list[str] = []
    most = 0

    def run(_, what, cwd=None):
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
