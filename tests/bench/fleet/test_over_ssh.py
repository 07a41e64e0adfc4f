"""Benches of an inventory behind a real OpenSSH server, with the real keeper of leases.

``tennis-bench`` runs as it is, below a folder in place of its target's root. Where a bench answers
nonsense, a script stands in for it, which the names of the tests say.
"""

import contextlib
import fcntl
import functools
import getpass
import json
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tennis.bench.fleet import inventory, leases, state
from tennis.bench.physical import managed
from tennis.cli import cli
from tennis.kit.checkout import ROOT
from tennis.kit.errors import BenchError
from tennis.play.doctor.target import examine_target
from tests.support.plans import plan_of
from tests.support.processes import stand_in
from tests.support.sshd import Sshd

pytestmark = pytest.mark.slow

KEEPER = ROOT / "ansible/roles/base/files/tennis_bench.py"
PICO = "usb-MicroPython_Board_in_FS_mode_e6605838833f8a2b-if00"


class Room:
    """One machine that is two benches of an inventory, and what they say."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.root = folder / "root"
        self.home = self.root / "var/lib/tennis"
        (self.home / "data").mkdir(parents=True)
        (self.root / "dev/serial/by-id").mkdir(parents=True)
        (self.root / "dev/serial/by-id" / PICO).touch()
        (self.root / "proc").mkdir()
        (self.root / "proc/locks").symlink_to("/proc/locks")
        self.rally = self.root / "run/tennis/rally"
        self.rally.parent.mkdir(parents=True)
        self.program = folder / "tennis-bench"
        self.answer(f'exec {sys.executable} {KEEPER} "$@"')
        self.sshd = Sshd(folder, environment={"TENNIS_ROOT": self.root})
        user = f"ansible_user: {getpass.getuser()}"
        place = f"ansible_host: 127.0.0.1, ansible_port: {self.sshd.port}, {user}"
        options = f"-o UserKnownHostsFile={self.sshd.known_hosts} -o IdentitiesOnly=yes"
        self.inventory = folder / "inventory"
        self.inventory.mkdir()
        (self.inventory / "hosts.yml").write_text(
            f"targets:\n  hosts:\n    bench-1: {{{place}}}\n    bench-2: {{{place}}}\n"
            f"  vars:\n    ansible_ssh_private_key_file: {folder}/user\n"
            f"    ansible_ssh_common_args: {options}\n"
        )

    @functools.cached_property
    def bench(self) -> inventory.ListedBench:
        return inventory.read_inventory(self.inventory).find("bench-1")

    def answer(self, script: str) -> None:
        stand_in(self.program, script)

    def rows(self) -> dict[str, dict[str, object]]:
        said = json.loads(tennis("benches", "--json").stdout)
        return {row["bench"]: row for row in said}


def tennis(*words: str, holder: str = "blue") -> Result:
    return CliRunner().invoke(cli, list(words), env={"TENNIS_HOLDER": holder})


LISTED: dict[str, str] = {}  # what Ansible says of an inventory, by its text


def listed_once(room: Room, list_inventory: Callable[[Path], str], place: Path) -> str:
    """Return what Ansible says of a room's inventory, which takes it a second.

    It reads one of those that differ in the room's folder and port only.
    """
    if place != room.inventory:
        return list_inventory(place)
    port = f"ansible_port: {room.sshd.port},", "ansible_port: PORT,"
    told_port = f'"ansible_port": {room.sshd.port},', '"ansible_port": PORT,'
    folder = str(room.folder), "FOLDER"
    text = (place / "hosts.yml").read_text().replace(*folder).replace(*port)
    if text not in LISTED:
        LISTED[text] = list_inventory(place).replace(*folder).replace(*told_port)
    return LISTED[text].replace(*folder[::-1]).replace(*told_port[::-1])


@pytest.fixture
def room(tmp_path, monkeypatch):
    made = Room(tmp_path)
    # its sshd ends also where the rest fails
    with contextlib.closing(made.sshd):
        monkeypatch.setattr(state, "PROGRAM", str(made.program))
        listed = functools.partial(listed_once, made, inventory._list_inventory)
        monkeypatch.setattr(inventory, "_list_inventory", listed)
        monkeypatch.setenv("TENNIS_INVENTORY", str(made.inventory))
        monkeypatch.setenv("TENNIS_HOLDER", "blue")
        monkeypatch.setenv("TENNIS_DATA", str(tmp_path / "data"))
        yield made


def test_a_lease_from_beginning_to_end(room):
    done = tennis("benches", "lease", "bench-1", "--for", "90m", holder="red")
    assert done.exit_code == 0, done.output
    minutes = (
        int(json.loads((room.home / "lease.json").read_text())["expires"]) - time.time()
    ) / 60
    assert 85 < minutes <= 90
    assert done.stdout.startswith("bench-1: held by red until ")
    row = room.rows()["bench-1"]
    assert re.fullmatch(r"red \((90|8\d) min more\)", str(row["held_by"]))
    assert row["pico"] == "e6605838833f8a2b"

    (room.home / "data" / "balls").write_text("red's")
    refused = tennis("benches", "lease", "bench-1")
    assert "held by red for" in str(refused.exception)
    assert "held by red, not by blue" in str(tennis("benches", "release", "bench-1").exception)

    done = tennis("benches", "release", "bench-1", holder="red")
    assert done.stdout == "bench-1: free\n"
    (saved,) = (room.home / "saved").glob("red-*/balls")
    assert saved.read_text() == "red's"
    done = tennis("benches", "release", "bench-1")
    assert done.stdout == "bench-1: free already: nobody held it\n"


def test_a_bench_of_somebody_else_is_refused_by_every_command(room, tmp_path):
    leases.take(room.bench, "red", 3600)
    words = r"bench-1 is held by red for 60 min more, and you are blue"
    bench = managed.PiBench("bench-1", "socket://127.0.0.1:1")
    plan = plan_of(bench="pi", target="bench-1", port="socket://127.0.0.1:1")
    for refused in (bench.versions, bench.prepare):
        with pytest.raises(BenchError, match=words):
            refused(plan)
    rally = ["rally", "--bench", "pi", "--target", "bench-1", "--out", str(tmp_path / "r")]
    for command in (["benches", "boot", "bench-1", "rt"], ["benches", "restore", "bench-1"], rally):
        assert words in str(tennis(*command).exception)
    (lease,) = (f for f in examine_target("bench-1") if f.what == "lease")
    assert "held by red" in lease.found
    # red is let in
    done = tennis(*rally, "--port", "socket://127.0.0.1:1", holder="red")
    assert "held by" not in str(done.exception)


def test_nobody_gets_or_restarts_a_bench_on_which_a_rally_is_played(room):
    leases.take(room.bench, "red", 60)
    lease = room.home / "lease.json"
    lease.write_text(json.dumps({"holder": "red", "since": 0, "expires": 1}))
    with room.rally.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert room.rows()["bench-1"]["held_by"] == "red (expired), plays"
        done = tennis("benches", "lease", "bench-1")
        assert "a rally of red, whose lease is over, is being played on it" in str(done.exception)
        assert leases.take(room.bench, "red", 60).holder == "red"  # longer, in mid-rally
        for command in (["benches", "boot", "bench-1", "rt"], ["benches", "restore", "bench-1"]):
            done = tennis(*command, holder="red")
            assert "a rally is being played on bench-1: wait until it ends" in str(done.exception)
        done = tennis("benches", "release", "bench-1", holder="red")
        assert "a rally is being played" in str(done.exception)
        assert any(f.what == "rally" for f in examine_target("bench-1"))
        # a process that waits for the lock does not play
    assert room.rows()["bench-1"]["held_by"].startswith("red (")
    assert "plays" not in str(room.rows()["bench-1"]["held_by"])


@pytest.mark.parametrize(
    "answer",
    [
        "head -c 1000000 /dev/zero | tr '\\0' '['",  # nested without end
        'echo \'{"release":"x","now":5,"lease":{"holder":"a\\\\u001b[2J","since":1,"expires":9}}\'',
        'echo \'{"release":"x","now":5,"picos":["../../etc/passwd"]}\'',
        "printf '\\377\\376\\000'",
        "exit 255",
    ],
)
def test_nonsense_from_a_stand_in_is_refused_in_one_line(room, answer):
    """And a bench that talks nonsense is not taken for one that nobody holds."""
    room.answer(answer)
    with inventory.connect("bench-1") as target, pytest.raises(BenchError) as refused:
        leases.refuse_if_held(target, "blue")
    assert str(refused.value).isprintable()
    for command in (
        lambda: leases.take(room.bench, "blue", 60),
        lambda: leases.give_back(room.bench, "blue"),
    ):
        with pytest.raises(BenchError) as refused:
            command()
        assert str(refused.value).isprintable()
    (seen,) = state.poll(inventory.Fleet(room.inventory, [room.bench], {}))
    assert seen.status is None
    assert seen.trouble
