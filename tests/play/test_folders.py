# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""File systems that lack something: what fails is named, and is not told as somebody's doing."""

import errno
import fcntl
import os
import re
from pathlib import Path

import pytest

from tennis.bench.registry import bench_for
from tennis.course import load_lab
from tennis.course import work as works
from tennis.course.checking.plays import Plays
from tennis.course.hand_ins import hand_in
from tennis.errors import BenchError, RallyError, UsageError
from tennis.play.doctor import folder as doctor
from tennis.play.doctor.folder import examine_folder
from tennis.play.lock import locked
from tennis.play.rally import Watch, play
from tests.support.hand_ins import make_work
from tests.support.plans import plan_of


def fails(number: int):
    def refuse(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number))

    return refuse


@pytest.fixture
def no_locks(monkeypatch):
    """As an NFS server without lockd answers, and many a shared folder."""
    monkeypatch.setattr(fcntl, "flock", fails(errno.ENOLCK))


@pytest.fixture
def no_links(monkeypatch):
    """As FAT answers, and many a shared folder."""
    monkeypatch.setattr(os, "link", fails(errno.EPERM))


WORDS = r"cannot be locked \(No locks available\): its file system has no locks: choose a folder"


@pytest.mark.usefixtures("no_locks")
def test_a_file_system_without_locks_is_no_other_process(tmp_path, monkeypatch):
    with pytest.raises(RallyError, match=WORDS), locked(tmp_path):
        pass
    plan = plan_of(kernel="rt", balls=200, seed=3)
    bench = bench_for(plan)
    monkeypatch.setattr(type(bench), "versions", lambda *_: {})
    with pytest.raises(RallyError, match=WORDS):
        play(bench, plan, tmp_path / "r", Watch())
    assert [path.name for path in tmp_path.iterdir()] == [".lock"]  # no r.part
    with pytest.raises(BenchError, match="its file system has no locks: choose an --out"):
        Plays(tmp_path / "played").rally(plan)


@pytest.mark.usefixtures("no_links")
def test_a_hand_in_needs_no_links(tmp_path):
    made = make_work(tmp_path / "w", load_lab("01-first-serve"), "zoe")
    out = tmp_path / "zoe.zip"
    hand_in.check_place(out)
    assert not out.exists()
    assert hand_in.pack(works.read(made), out) == out.stat().st_size > 1000
    before = out.read_bytes()
    with pytest.raises(UsageError, match="exists: remove it"):
        hand_in.pack(works.read(made), out)
    with pytest.raises(UsageError, match="exists: remove it"):
        hand_in.check_place(out)
    assert out.read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["w", "zoe.zip"]


def test_a_place_is_tried_before_the_notebook_runs(tmp_path):
    with pytest.raises(RallyError, match=r"cannot write .*No such file or directory"):
        hand_in.check_place(tmp_path / "none" / "zoe.zip")
    hand_in.check_place(tmp_path / "zoe.zip")
    assert not list(tmp_path.iterdir())


def found(folder: Path) -> list[tuple[str, str]]:
    return [(one.verdict, one.found) for one in examine_folder(folder)]


def test_the_doctor_looks_at_the_folder(tmp_path):
    assert found(tmp_path) == [("good", "locks, links, renames and sockets work")]
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("module", "name", "number", "words"),
    [
        (fcntl, "flock", errno.ENOLCK, "no locks: .*No locks available"),
        (os, "link", errno.EPERM, "no hard links: .*not permitted"),
        (os, "symlink", errno.EPERM, "no symbolic links .*not permitted"),
        (os, "replace", errno.EACCES, "not replaced by a rename: .*denied"),
        (doctor.socket.socket, "bind", errno.EOPNOTSUPP, "no sockets: .*not supported"),
        (doctor.tempfile, "mkdtemp", errno.EROFS, r"nothing can be written there \(Read-only"),
    ],
)
def test_the_doctor_names_what_a_folder_lacks(  # noqa: PLR0917
    tmp_path, monkeypatch, module, name, number, words
):
    if module is doctor.socket.socket:
        monkeypatch.setattr(doctor.socket, "socket", without_bind(number))
    else:
        monkeypatch.setattr(module, name, fails(number))
    (one,) = found(tmp_path)
    assert one[0] == "note"
    assert re.search(words, one[1]), one
    monkeypatch.undo()
    assert not list(tmp_path.iterdir())


def without_bind(number: int):
    class Socket(doctor.socket.socket):
        bind = fails(number)

    return Socket


def test_the_doctor_names_folders_that_hold_two_names_for_one(tmp_path, monkeypatch):
    exists = Path.exists
    monkeypatch.setattr(Path, "exists", lambda path: path.name == "CASE" or exists(path))
    assert found(tmp_path) == [("note", "names in capitals are the same files")]
    monkeypatch.setattr(Path, "exists", lambda path: path.name == "\u00e9" or exists(path))
    assert found(tmp_path) == [("note", "names in both forms of Unicode are the same files")]


def test_the_doctor_counts_the_files_that_may_be_made(tmp_path, monkeypatch):
    told = os.statvfs(tmp_path)
    few = os.statvfs_result([*tuple(told)[:5], 10, 3, 3, *tuple(told)[8:]])
    monkeypatch.setattr(os, "statvfs", lambda _: few)
    assert ("note", "3 files more may be made") in found(tmp_path)
