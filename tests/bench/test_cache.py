"""What is kept under the digest of its sources was made of these."""

import os
import signal
import subprocess
import sys
import tempfile

import pytest

from tennis.bench import cache
from tennis.bench.kernels import modules
from tennis.bench.kernels.kernel import Kernel
from tennis.kit import scratch
from tennis.kit.errors import TennisError
from tests.support.processes import run_to_end
from tests.support.terminal import TENNIS


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


KILLED = """
import sys, time
from tennis.bench.cache import once
def build(folder):
    (folder / "large").write_bytes(bytes(1000))
    print("builds", flush=True)
    time.sleep(100)
once("kernels", "rt", build)
"""


def old(path):
    os.utime(path, (0, 0))


@pytest.mark.parametrize("name", ["another", "rt"])
def test_what_a_kill_left_goes_and_nothing_else(tmp_path, monkeypatch, name):
    """256 MB of a kernel stayed for good, also if it was fetched again within a minute."""
    monkeypatch.setenv("TENNIS_CACHE", str(tmp_path))
    home = tmp_path / "kernels"
    with subprocess.Popen([sys.executable, "-c", KILLED], stdout=subprocess.PIPE) as building:
        building.stdout.readline()
        (folder,) = home.glob(".rt.????????")
        old(folder)
        assert not list(scratch.left(home))  # its owner lives
        building.send_signal(signal.SIGKILL)
    assert list(scratch.left(home)) == [folder]
    assert "left behind" in run_to_end([TENNIS, "doctor"]).stdout
    if name == "rt":
        os.utime(folder)
    cache.once("kernels", name, lambda _: None)
    assert not folder.exists()


def test_a_commands_folder_goes_if_it_was_killed(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    left, mine = tmp_path / f"{scratch.PREFIX}abcdefgh", tmp_path / "tennis-lab"
    for folder in (left, mine):
        folder.mkdir()
        old(folder)
    with scratch.of_a_command():
        assert tempfile.mkdtemp().startswith(f"{tmp_path}/{scratch.PREFIX}")
        assert not left.exists()
    assert os.environ["TMPDIR"] == str(tmp_path)
    assert list(tmp_path.iterdir()) == [mine]


def test_what_has_no_sums_is_built_again(tmp_path, monkeypatch):
    """An older Tennis wrote none, and what somebody put there was believed."""
    monkeypatch.setenv("TENNIS_CACHE", str(tmp_path))
    old_folder = tmp_path / "programs/one"
    old_folder.mkdir(parents=True)
    (old_folder / "one").write_text("somebody's")
    cache.once("programs", "one", lambda folder: (folder / "one").write_text("built"))
    assert (old_folder / "one").read_text() == "built"
    (old_folder / cache.SUMS).unlink()
    with pytest.raises(TennisError, match="is not what was fetched there"):
        cache.kept("programs", "one", "it is", "tennis kernels fetch")


@pytest.mark.parametrize("how", ["changed", "added", "removed"])
def test_a_module_is_built_with_the_headers_that_were_fetched(tmp_path, monkeypatch, how):
    """Only what boots was compared, and a header goes into what boots."""
    monkeypatch.setenv("TENNIS_CACHE", str(tmp_path))

    def build(folder):
        (folder / "headers/usr/src").mkdir(parents=True)
        (folder / "headers/usr/src/a.h").write_text("#define A 1\n")
        (folder / "headers/link").symlink_to("usr")

    folder = cache.once("kernels", "rt-amd64", build)
    kernel = Kernel("rt", "6.12", "", folder / "image", folder / "headers/usr/src", folder / "c")
    modules.check_headers_of(kernel)
    modules._check_headers.cache_clear()
    header = folder / "headers/usr/src/a.h"
    if how == "removed":
        header.unlink()
    else:
        header.with_name("a.h" if how == "changed" else "b.h").write_text("#define A 2\n")
    with pytest.raises(TennisError, match="is not what was fetched there"):
        modules.check_headers_of(kernel)


INTERRUPTED = """
import os, signal
from tennis.bench.commands import run
os.register_at_fork(before=lambda: os.kill(os.getpid(), signal.SIGINT))
try:
    run(["nm", "--version"], what="it")
except KeyboardInterrupt:
    print("stopped")
"""


def test_ctrl_c_while_a_program_starts_is_heard():
    """Python dropped it in a hook of fork, with a traceback, and the rally went on."""
    done = run_to_end([sys.executable, "-c", INTERRUPTED])
    assert (done.stdout, done.stderr) == ("stopped\n", "")
