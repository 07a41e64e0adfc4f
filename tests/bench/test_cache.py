# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""What is kept under the digest of its sources was made of these."""

import os

import pytest

from tennis.bench import cache, commands
from tennis.errors import DiskFullError, TennisError
from tests.support.processes import stand_in


def test_sources_that_change_while_they_are_built_leave_nothing(tmp_path, monkeypatch):
    """An update of a checkout, under a command: the next one would take it for the old."""
    monkeypatch.setenv("TENNIS_CACHE", str(tmp_path / "cache"))
    source = tmp_path / "a.c"
    source.write_text("old")

    def build(folder):
        source.write_text("new")
        (folder / "a").write_text(source.read_text())

    with pytest.raises(TennisError, match="files that a is made of changed while it was built"):
        cache.made_of("programs", "a", [source, "gcc 12"], build)
    assert not list((tmp_path / "cache/programs").glob("a-*"))
    made = cache.made_of("programs", "a", [source, "gcc 12"], build)
    assert (made / "a").read_text() == "new"
    assert made.name == f"a-{cache.digest(source, 'gcc 12')}"


def test_a_program_that_became_another_one_is_asked_again(tmp_path, monkeypatch):
    """A match of hours, and an upgrade of the compiler meanwhile."""
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    for version in ("12.2", "13.1", "13.1"):
        stand_in(tmp_path / "new", f"echo {version}; echo >> {tmp_path}/asked")
        if not (tmp_path / "gcc").exists() or version not in (tmp_path / "gcc").read_text():
            (tmp_path / "new").rename(tmp_path / "gcc")
        assert commands.says_of_itself("gcc", what="the compiler") == f"{version}\n"
    assert (tmp_path / "asked").read_text().count("\n") == 2


def test_a_program_that_finds_a_full_disk_says_so(tmp_path, monkeypatch):
    """What apt-get and dpkg-deb say is the C library's sentence: here of a disk that is full."""
    monkeypatch.setenv("TENNIS_CACHE", str(tmp_path))
    with pytest.raises(DiskFullError, match=r"^unpacking tea: the disk is full: ") as raised:
        commands.run(["sh", "-c", "cat /proc/version >/dev/full"], what="unpacking tea")
    assert str(tmp_path) in str(raised.value.next_step)
