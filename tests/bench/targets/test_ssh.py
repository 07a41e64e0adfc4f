"""Targets over SSH, against a real OpenSSH server on this machine."""

import os
import shutil
import socket
import subprocess
import threading
import time
from pathlib import Path

import pytest

from tennis.bench.patience import Patience
from tennis.bench.targets import snapshot
from tennis.bench.targets.ssh import SshError, SshTarget
from tests.support.processes import run_to_end
from tests.support.sshd import HOST, Sshd


@pytest.fixture(scope="module")
def sshd(tmp_path_factory):
    server = Sshd(tmp_path_factory.mktemp("sshd"))
    yield server
    server.close()


@pytest.fixture
def target(sshd, monkeypatch):
    monkeypatch.setenv("TENNIS_SSH_CONFIG", str(sshd.config))
    sshd.know()
    sshd.configure()
    with SshTarget(HOST) as found:
        yield found


def test_a_command_and_what_it_says(target):
    assert target.run('echo "it\'s $((40 + 2))"; cat', what="echo", stdin=b"in\n") == (
        "it's 42\nin\n"
    )
    assert target.run("id -u", what="id", root=True) == "0\n"
    done = target.attempt("echo out; echo err >&2; exit 7")
    assert (done.code, done.output, done.errors) == (7, "out\n", "err\n")


def test_a_command_that_does_not_end(target):
    began = time.monotonic()
    with pytest.raises(SshError, match="waiting did not end within 1 s"):
        target.run("sleep 60", what="waiting", timeout_s=1)
    assert time.monotonic() - began < 10


def test_commands_share_a_connection_which_is_given_up(target):
    target.run("true", what="true")
    assert target._folder
    (socket_path,) = target._folder.iterdir()
    assert socket_path.is_socket()
    folder = target._folder
    target.close()
    target.close()
    assert not folder.exists()
    assert target.run("echo again", what="echo") == "again\n"


def test_files_are_copied_with_their_modes(target, tmp_path):
    (tmp_path / "load").mkdir()
    (tmp_path / "load" / "start").write_bytes(b"#!/bin/sh\n")
    (tmp_path / "load" / "data").write_bytes(bytes(range(256)) * 100)
    (tmp_path / "load" / "start").chmod(0o755)
    there = tmp_path / "a folder's name"
    target.copy({"x/load": tmp_path / "load", "note": b"n"}, str(there))
    assert (there / "x" / "load" / "data").read_bytes() == bytes(range(256)) * 100
    assert os.access(there / "x" / "load" / "start", os.X_OK)
    assert (there / "note").read_bytes() == b"n"


def test_who_does_not_let_in_is_told_apart(target, sshd):
    def refused(words):
        with pytest.raises(SshError, match=words):
            target.run("true", what="true")

    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    sshd.configure(Port=port)
    refused("nobody answers on its SSH port")
    sshd.configure(HostName="nothing.invalid")
    refused("bench: no such host: check the name")
    sshd.configure(IdentityFile=sshd.folder / "host")
    refused("does not accept your key: give it with `ssh-copy-id bench`")
    sshd.configure()
    sshd.know("")
    refused("its host key is unknown here: run `ssh bench` once")
    sshd.know((sshd.folder / "user.pub").read_text())
    refused("its host key has changed")


def test_a_silent_host_is_unreachable(target, sshd):
    """Accepts, and says nothing: QEMU's user network while the guest boots."""
    target.patience = Patience(banner_s=0.2)
    with socket.create_server(("127.0.0.1", 0)) as server:
        sshd.configure(Port=server.getsockname()[1])
        with pytest.raises(SshError, match=r"unreachable: .* \(waited 2 s\)"):
            target.wait_until_up(2)


def test_waiting_until_it_is_up(target, sshd):
    before = target.boot_id()
    target.wait_until_up(5)
    target.close()
    sshd.stop()
    again = threading.Timer(1.5, sshd.start)
    again.start()
    began = time.monotonic()
    target.wait_until_up(30)
    assert time.monotonic() - began > 1
    again.join()
    with pytest.raises(SshError, match="it did not reboot"):
        target.wait_until_up(2, after_boot=before)
    target.wait_until_up(5, after_boot="another")


def test_a_session_that_is_cut(target, sshd):
    session = target.start("cat")
    session.stdin.write(b"x\n")
    session.stdin.flush()
    assert session.stdout.readline() == b"x\n"
    sshd.cut()
    _, errors = session.communicate(timeout=20)
    assert session.returncode == 255
    assert "connection was lost" in str(target.failure(errors.decode()))
    assert target.run("echo alive", what="echo") == "alive\n"


def test_the_snapshot_of_this_machine(target):
    facts = target.facts()
    assert facts.line("release") == os.uname().release
    assert facts.line("command_line") == " ".join(Path("/proc/cmdline").read_text().split())
    assert "CPU0" in facts.lines("interrupts")[0]
    # a shell reads byte by byte, and this file has one byte for who does
    runtime_us = Path("/proc/sys/kernel/sched_rt_runtime_us").read_text()
    assert facts.line("rt_runtime_us") == runtime_us.strip()
    assert not target.facts(config=False).config


@pytest.mark.parametrize("shell", [["dash"], ["busybox", "sh"], ["bash", "--posix"]])
def test_every_shell_gives_the_same_snapshot(shell):
    assert shutil.which(shell[0]), f"no {shell[0]}: run 'make setup'"
    done = run_to_end([*shell, snapshot.SCRIPT], check=True, timeout=60)
    assert not done.stderr
    found = snapshot.read(done.stdout)
    reference = snapshot.read(
        subprocess.run(["sh", snapshot.SCRIPT], capture_output=True, text=True, check=True).stdout
    )
    assert found.facts.keys() == reference.facts.keys()
    for fact in ("release", "version", "command_line", "cpus", "rt_runtime_us", "config_sha256"):
        assert found.lines(fact) == reference.lines(fact), fact


@pytest.mark.parametrize(
    ("facts", "flavour"),
    [
        ("= config\n CONFIG_EVL=y\n CONFIG_PREEMPT_RT=y\n", "evl"),
        ("= config\n CONFIG_XENOMAI=y\n", "cobalt"),
        ("= config\n CONFIG_PREEMPT_RT=y\n", "rt"),
        ("= config\n # CONFIG_PREEMPT_RT is not set\n CONFIG_SMP=y\n", "mainline"),
        ("= version\n #1 SMP PREEMPT_RT Debian\n", "rt"),
        ("= realtime\n 1\n", "rt"),
        ("= evl\n /dev/evl/control\n", "evl"),
        ("= cobalt\n 3.3.1\n", "cobalt"),
        ("= version\n #1 SMP PREEMPT\n", "mainline"),
    ],
)
def test_the_flavour(facts, flavour):
    assert snapshot.read(f"{facts}= end\n").flavour == flavour
