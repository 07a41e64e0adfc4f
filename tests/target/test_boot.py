"""``tennis-boot``, the program on a target that chooses its kernel: run here, below a folder.

The Raspberry Pi's firmware cannot run here: what is checked is what it would read. GRUB is checked
for real on the virtual Pi (tests/provisioning/test_virtual_pi.py).
"""

import fcntl
import json
import os
import re
import sys
import time
from pathlib import Path

import pytest

from tennis.kit.checkout import ROOT
from tests.support.made_up_pi import CONFIG, EVL, KEEPER, PROGRAM, RT, STOCK, Target
from tests.support.processes import run_to_end


@pytest.fixture
def pi(tmp_path):
    target = Target(tmp_path, STOCK)
    target.register()
    return target


def config_of(pi: Target) -> str:
    return (pi.firmware / "config.txt").read_text()


def test_a_kernel_that_came_up_becomes_the_default_and_goes_again(pi):
    pi.does("once", "rt")
    assert f"rt is {RT} and {STOCK} runs" in pi.refuses("keep", "rt")
    pi.running = RT
    pi.does("keep", "rt")
    assert f"os_prefix=tennis/{RT}/" in config_of(pi)
    assert not (pi.firmware / "tryboot.txt").exists()
    assert (pi.firmware / "config.txt.before-tennis").read_text() == CONFIG
    assert json.loads(pi.does("list"))["default"] == "rt"
    # another trial begins with the same config.txt and has one kernel only
    pi.does("once", "evl")
    trial = (pi.firmware / "tryboot.txt").read_text()
    assert trial.count("os_prefix=") == 1
    pi.does("keep", "mainline")
    assert config_of(pi).rstrip() == CONFIG.rstrip()
    pi.does("reboot")
    assert "tryboot" not in (pi.root / "reboots").read_text()


def test_each_byte_of_config_txt_stays_that_its_owner_wrote(pi):
    """A comment in Latin-1 ended tennis-boot; Windows' ends of lines hid its own block."""
    own, config = b"# Gr\xf6\xdfe\r\n# one\rline\r\narm_64bit=1\r\n", pi.firmware / "config.txt"
    saved = pi.firmware / "config.txt.before-tennis"
    saved.unlink()
    config.write_bytes(own)
    pi.does("once", "rt")
    pi.running = RT
    pi.does("keep", "rt")
    assert saved.read_bytes() == own
    assert config.read_bytes().startswith(own.rstrip() + b"\n# tennis: the kernel")
    config.write_bytes(config.read_bytes().replace(b"\r\n", b"\n").replace(b"\n", b"\r\n"))
    pi.does("keep", "mainline")
    assert config.read_bytes() == own


def test_a_full_boot_partition_keeps_what_was_there(pi):
    pi.does("once", "rt")
    before = (pi.firmware / "tryboot.txt").read_text()
    # sparse, and larger than any disk here
    with (pi.root / f"boot/vmlinuz-{EVL}").open("wb") as file:
        file.truncate(1 << 43)
    assert "MB free" in pi.refuses("once", "evl")
    assert (pi.firmware / "tryboot.txt").read_text() == before
    assert not (pi.firmware / "tennis" / EVL).exists()


def test_a_new_command_line_reaches_the_kernels_that_were_copied(pi):
    pi.does("once", "rt")
    copy = pi.firmware / "tennis" / RT / "cmdline.txt"
    (pi.firmware / "cmdline.txt").write_text("root=PARTUUID=1-2 isolcpus=managed_irq,domain,3\n")
    words = ["mainline", f"mainline=linux-image-{STOCK},stock", f"rt=linux-image-{RT}"]
    words.append(f"evl=linux-image-{EVL}")
    assert pi.does("register", "--check", *words) == "changed\n"
    assert "isolcpus" not in copy.read_text()
    assert pi.does("register", *words) == "changed\n"
    assert copy.read_text() == "root=PARTUUID=1-2 isolcpus=managed_irq,domain,3 panic=10\n"
    assert pi.does("register", "--check", *words) == "nothing to do\n"
    (pi.firmware / "cmdline.txt").write_text("root=PARTUUID=1-2\n")
    pi.does("once", "rt")
    assert copy.read_text() == "root=PARTUUID=1-2 panic=10\n"


def test_the_watchdog_starts_only_where_somebody_feeds_it(pi):
    pi.does("once", "rt")
    assert "kernel_watchdog_timeout" not in (pi.firmware / "tryboot.txt").read_text()
    settings = pi.root / "etc/systemd/system.conf.d/99-tennis.conf"
    settings.parent.mkdir(parents=True)
    settings.write_text("[Manager]\nRuntimeWatchdogSec=0\n")
    pi.does("once", "rt")
    assert "kernel_watchdog_timeout" not in (pi.firmware / "tryboot.txt").read_text()
    settings.write_text("[Manager]\nRuntimeWatchdogSec=1min\n")
    pi.does("once", "rt")
    assert "\nkernel_watchdog_timeout=60\n" in (pi.firmware / "tryboot.txt").read_text()
    # without this word the initramfs of Raspberry Pi OS stops it, and a kernel may hang for ever
    command_line = (pi.firmware / f"tennis/{RT}/cmdline.txt").read_text()
    assert command_line.endswith(" watchdog_disarm=0\n")
    assert "watchdog_disarm" not in (pi.firmware / "cmdline.txt").read_text()
    settings.unlink()
    pi.does("once", "rt")
    assert "watchdog_disarm" not in (pi.firmware / f"tennis/{RT}/cmdline.txt").read_text()


def hold(pi: Target, *, holder: str = "red", user: str = "anna", more_s: int = 600) -> None:
    place = pi.root / "var/lib/tennis"
    place.mkdir(parents=True, exist_ok=True)
    now = int(time.time())
    (place / "lease.json").write_text(
        json.dumps({"holder": holder, "user": user, "since": now - 60, "expires": now + more_s})
    )


CHOICES = [("once", "rt"), ("keep", "mainline"), ("reboot",)]


@pytest.mark.parametrize("words", CHOICES)
def test_a_bench_that_somebody_else_holds_keeps_its_kernel(pi, words):
    hold(pi)
    pi.login = "ben"
    assert "held by red (login anna) for 10 min more, and you are red" in pi.refuses(*words)
    # a login that is shared: by name
    pi.login, pi.holder = "anna", "green"
    said = pi.refuses(*words)
    assert "held by red (login anna) for 10 min more, and you are green: take another" in said
    assert config_of(pi) == CONFIG
    assert not (pi.firmware / "tryboot.txt").exists()
    assert not (pi.root / "reboots").exists()
    pi.holder = "red"
    pi.does(*words)


@pytest.mark.parametrize("words", CHOICES)
def test_no_kernel_is_chosen_during_a_rally(pi, words):
    """Not even by the holder, and not after the lease has run out."""
    (pi.root / "proc/locks").symlink_to("/proc/locks")
    rally = pi.root / "run/tennis/rally"
    rally.parent.mkdir(parents=True)
    for more_s in (600, -1):
        hold(pi, more_s=more_s)
        pi.login = "anna"
        with rally.open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            assert "a rally is being played on it" in pi.refuses(*words)
    assert not (pi.root / "reboots").exists()
    pi.does(*words)


def allowed() -> dict[str, list[list[str]]]:
    """Return what the sudo rules allow, with words for each command: program -> command lines."""
    rules = (ROOT / "ansible/roles/base/templates/sudoers.j2").read_text()
    found: dict[str, list[list[str]]] = {}
    for path, pattern in re.findall(r"(?m)^Cmnd_Alias \w+ = (\S+) \^(.*)\$$", rules):
        # a class of characters, repeated, is a word; what is left are words, | and ( )
        plain = re.sub(r"\[[^]]*\](\{[^}]*\})?(\[[^]]*\]\{[^}]*\})?", "X", pattern)
        found[Path(path).name] = [line.split() for line in choices(plain)]
    everything = set(re.findall(r"/\S*sbin/\S+|/\S*bin/\S+", rules))
    assert {Path(path).name for path in everything} == set(found)  # none was overlooked
    return found


def choices(pattern: str) -> list[str]:
    """Return all that a pattern of words, | and ( ) stands for."""
    inner = re.search(r"\(([^()]*)\)", pattern)
    if inner is None:
        return pattern.split("|")
    parts = inner[1].split("|")
    return [c for part in parts for c in choices(pattern.replace(inner[0], part, 1))]


HARMLESS = {"status", "list"}  # they only tell


def test_every_command_that_sudo_allows_asks_the_lease(pi):
    """Also one that is added some day: it changes nothing while somebody else holds the bench."""
    hold(pi)
    programs = {"tennis-bench": KEEPER, "tennis-boot": PROGRAM}
    seen = set()
    for program, lines in allowed().items():
        for command, *words in lines:
            seen.add(command)
            if command in HARMLESS:
                continue
            values = {"X": "blue"}
            if command in {"once", "keep"}:
                words[0] = "rt"
            if command == "lease":
                words[1] = "600"
            done = run_to_end(
                [sys.executable, programs[program], command, *(values.get(w, w) for w in words)],
                env={
                    **os.environ,
                    "TENNIS_ROOT": str(pi.root),
                    "PATH": f"{pi.tools}:{os.environ['PATH']}",
                    "SUDO_USER": "ben",
                },
            )
            assert done.returncode == 1, command
            assert "held by red (login anna)" in done.stderr, (command, done.stderr)
            assert len(done.stderr.splitlines()) == 1
    assert seen == {"status", "lease", "release", "list", "once", "keep", "reboot"}
    assert not (pi.root / "reboots").exists()
