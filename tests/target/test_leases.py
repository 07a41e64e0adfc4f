"""``tennis-bench``, the program on a target that keeps leases and data: run below a folder."""

import fcntl
import json
import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tennis.kit.checkout import ROOT
from tests.support.processes import run_to_end, stand_in

PROGRAM = ROOT / "ansible/roles/base/files/tennis_bench.py"


class Target:
    """A folder that the program takes for the root of its target."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.home = root / "var/lib/tennis"
        self.data = self.home / "data"
        self.data.mkdir(parents=True)
        self.now = 1_800_000_000
        self.login = ""  # who asks through sudo

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        # systemctl is asked whether upgrades run: here it says no
        tools = self.root / "bin"
        if not tools.exists():
            stand_in(tools / "systemctl", "exit 3")
        return run_to_end(
            [sys.executable, PROGRAM, *words],
            env={
                **os.environ,
                "TENNIS_ROOT": str(self.root),
                "TENNIS_NOW": str(self.now),
                "PATH": f"{tools}:{os.environ['PATH']}",
                "SUDO_USER": self.login or "root",
            },
        )

    def says(self, *words: str) -> dict:
        done = self.run(*words)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def refuses(self, *words: str) -> str:
        done = self.run(*words)
        assert done.returncode == 1
        assert len(done.stderr.strip().splitlines()) == 1, done.stderr
        return done.stderr


@pytest.fixture
def target(tmp_path):
    return Target(tmp_path)


def test_two_groups_never_hold_one_bench(target):
    assert target.says("lease", "red", "3600")["holder"] == "red"
    assert "held by red for 60 min more, and you are blue: take another" in target.refuses(
        "lease", "blue", "3600"
    )
    target.now += 3599
    assert "held by red" in target.refuses("lease", "blue", "3600")
    assert target.says("status")["lease"]["holder"] == "red"


def test_of_twenty_who_ask_at_the_same_time_one_gets_it(target):
    names = [f"group-{number}" for number in range(20)]
    target.run("status")
    with ThreadPoolExecutor(20) as pool:
        done = list(pool.map(lambda name: target.run("lease", name, "600"), names))
    got = [name for name, result in zip(names, done, strict=True) if result.returncode == 0]
    assert len(got) == 1
    assert target.says("status")["lease"]["holder"] == got[0]


def test_the_holder_may_hold_it_longer(target):
    first = target.says("lease", "red", "600")
    target.now += 500
    again = target.says("lease", "red", "600")
    assert again["since"] == first["since"]
    assert again["expires"] == first["expires"] + 500


def test_an_expired_lease_saves_the_data_before_the_bench_changes_hands(target):
    target.says("lease", "red", "600")
    rally = target.data / "first"
    rally.mkdir()
    (rally / "balls.parquet").write_bytes(b"balls")
    target.now += 601
    # nothing happens to it while nobody else asks
    assert target.says("status")["lease"]["holder"] == "red"
    assert (rally / "balls.parquet").exists()
    fresh = target.says("lease", "blue", "600")
    saved = Path(fresh["saved"])
    assert saved.parent == target.home / "saved"
    assert saved.name.startswith("red-")
    assert (saved / "first" / "balls.parquet").read_bytes() == b"balls"
    assert list(target.data.iterdir()) == []


def test_what_is_being_written_while_data_are_saved_is_not_lost(target):
    target.says("lease", "red", "600")
    with (target.data / "rally.part").open("w") as file:
        file.write("before ")
        file.flush()
        saved = Path(target.says("save")["saved"])
        file.write("after")
    assert (saved / "rally.part").read_text() == "before after"


def test_only_the_holder_gives_it_back(target):
    target.says("lease", "red", "600")
    assert "held by red, not by blue" in target.refuses("release", "blue")
    assert target.run("release", "red").returncode == 0
    assert target.says("status")["lease"] is None
    assert target.run("release", "red").returncode == 0  # again: nothing to do


def test_a_name_belongs_to_the_login_that_used_it(target):
    target.login = "anna"
    assert target.says("lease", "red", "3600")["user"] == "anna"
    target.data.joinpath("mine").touch()
    target.login = "ben"
    said = target.refuses("lease", "red", "3600")
    assert "held by red (login anna) for 60 min more" in said
    assert "TENNIS_HOLDER" not in said
    assert "held by red (login anna), not by red" in target.refuses("release", "red")
    assert target.data.joinpath("mine").exists()
    target.login = "anna"
    # the same login with another name: another group that shares it
    assert "(set TENNIS_HOLDER=red, if that is you)" in target.refuses("lease", "green", "3600")
    target.now += 60
    assert target.says("lease", "red", "3600")["saved"] is None
    assert target.run("release", "red").returncode == 0
    assert not target.data.joinpath("mine").exists()


@pytest.fixture
def open_target():
    """A target whose folders everybody may enter, as on a real one."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Target(Path(folder))


STRANGER = ["setpriv", "--reuid", "4321", "--regid", "4321", "--clear-groups"]
TAKE = """
import fcntl, os, sys, time
os.chdir("/")
for path in sys.argv[1:]:
    for flags in (os.O_RDONLY, os.O_WRONLY, os.O_RDWR):
        try:
            fcntl.flock(os.open(path, flags), fcntl.LOCK_SH)
            print("took", path, flush=True)
        except PermissionError:
            print("may not", flush=True)
time.sleep(60)
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another login")
def test_no_login_takes_a_lock_and_the_holder_gives_the_bench_back(open_target):
    """Who may open a file may lock it, also for reading only: a release would wait, or refuse."""
    target = open_target
    (target.root / "proc").mkdir()
    (target.root / "proc/locks").symlink_to("/proc/locks")
    target.login = "anna"
    target.says("lease", "red", "3600")
    locks = target.root / "run/tennis"
    assert (locks / "lease").is_file()
    # a rally that was played, as target/agent leaves its lock: test_managed.py looks at that
    (locks / "rally").touch(0o600)
    words = [*STRANGER, "/usr/bin/python3", "-c", TAKE]
    taking = subprocess.Popen(
        [*words, locks / "lease", locks / "rally"], stdout=subprocess.PIPE, text=True
    )
    try:
        said = [taking.stdout.readline() for _ in range(6)]
        assert said == ["may not\n"] * 6
        done = subprocess.run(
            [*STRANGER, "mkdir", locks / "more"], capture_output=True, check=False
        )
        assert done.returncode != 0
        assert target.says("status")["plays"] is False
        assert target.run("release", "red").returncode == 0
        assert target.says("status")["lease"] is None
    finally:
        taking.kill()
        taking.wait()
        taking.stdout.close()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another login")
def test_status_without_rights_sees_a_rally(open_target):
    """`tennis benches` asks without root: a lock that it could not see would be a free bench."""
    target = open_target
    (target.root / "proc").mkdir()
    (target.root / "proc/locks").symlink_to("/proc/locks")
    target.run("release", "red")
    rally = target.root / "run/tennis/rally"
    program = target.root / "tennis-bench"
    shutil.copy(PROGRAM, program)
    rally.touch(0o600)
    with rally.open("r+b") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = run_to_end(
            [*STRANGER, "/usr/bin/python3", program, "status"],
            env={"TENNIS_ROOT": str(target.root)},
            cwd="/",
            check=True,
        )
    assert json.loads(done.stdout)["plays"] is True
