# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Inventories, and what the list of benches makes of what benches say."""

import json
import shlex
import shutil
import time
from datetime import UTC, datetime, timedelta

import pytest
from click.testing import CliRunner

from tennis.bench.fleet import inventory, state
from tennis.bench.instruments import verifications
from tennis.checkout import ROOT
from tennis.cli import cli
from tennis.errors import UsageError
from tennis.play import benches
from tennis.rally.manifest import VerificationRecord
from tests.support.processes import run_to_end
from tests.support.terminal import tennis

EXAMPLE = ROOT / "ansible/inventory.example"
NOW = 1_800_000_000


def status(**said):
    return state.Status.model_validate({"release": "6.12.1-rt", "now": NOW, **said})


@pytest.mark.parametrize(
    ("ahead_s", "words"),
    [(60, ""), (-60, ""), (330, "5 min ahead of"), (-10 * 86400 - 60, "10 days behind")],
)
def test_a_clock_that_is_wrong(ahead_s, words):
    said = state.skew_of(int(time.time()) + ahead_s)
    assert bool(said) == bool(words)
    assert words in said


def row(status=None, *, picos=("E6",), reachable=True, trouble=None, pico_trouble=None):
    bench = inventory.ListedBench("bench-1", {})
    seen = state.BenchState(bench, status, trouble, reachable, list(picos), pico_trouble)
    return benches.row_of(seen)


def test_the_example_is_an_inventory():
    known = inventory.read_inventory(EXAMPLE)
    assert [bench.name for bench in known.targets] == ["bench-1", "bench-2", "bench-3"]
    assert known.find("bench-1").bench_host == "desk-1"
    assert known.find("bench-3").bench_host == "bench-3"
    assert known.hosts["desk-1"].variables["ansible_host"] == "192.0.2.20"
    with pytest.raises(UsageError, match="no target 'bench-9': it has bench-1, bench-2, bench-3"):
        known.find("bench-9")
    words, here = ["benches", "lease", "bench-9"], {"TENNIS_INVENTORY": str(EXAMPLE)}
    done = CliRunner().invoke(cli, words, env=here)
    assert isinstance(done.exception, UsageError)


def test_the_example_is_taken_by_the_playbooks():
    done = run_to_end(
        [inventory.program("ansible-playbook"), "-i", EXAMPLE, "--syntax-check", "site.yml"],
        cwd=ROOT / "ansible",
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_what_the_inventory_says_of_a_host_reaches_ssh():
    bench = inventory.ListedBench(
        "bench-1",
        {
            "ansible_host": "192.0.2.11",
            "ansible_port": 2222,
            "ansible_user": "pi",
            "ansible_ssh_common_args": "-o ProxyJump=gate -o 'UserKnownHostsFile=/x y' -F config",
        },
    )
    with bench.connect() as target:
        words = shlex.split(target.scp_script("/x"))
    assert {"HostName=192.0.2.11", "Port=2222", "User=pi", "ProxyJump=gate"} <= set(words)


def test_an_inventory_without_targets_is_refused(tmp_path):
    place = tmp_path / "hosts.yml"
    for text in ("targets: {}\n", "nobody: {hosts: {a: }}\n"):
        place.write_text(text)
        with pytest.raises(UsageError, match="no host in the group targets"):
            inventory.read_inventory(place)
    with pytest.raises(UsageError, match=r"copy .*inventory.example to it"):
        inventory.read_inventory(tmp_path / "none")


def test_a_bench_that_does_not_answer_stops_nobody(tmp_path, monkeypatch):
    (tmp_path / "hosts.yml").write_text(
        "targets:\n  hosts:\n"
        "    silent: {ansible_host: 127.0.0.1, ansible_port: 1}\n"
        "    strange: {ansible_host: 127.0.0.1, ansible_port: 1, tennis_bench_host: nowhere}\n"
    )
    monkeypatch.setenv("TENNIS_INVENTORY", str(tmp_path))
    done = tennis("benches", "--json")
    assert done.returncode == 1
    rows = {said["bench"]: said for said in json.loads(done.stdout)}
    assert not rows["silent"]["reachable"]
    assert "nobody answers on its SSH port" in rows["silent"]["trouble"]
    assert "nowhere is not in the inventory" in rows["strange"]["trouble"]


def test_a_sound_bench_has_no_trouble(monkeypatch, tmp_path):
    monkeypatch.setenv("TENNIS_DATA", str(tmp_path))
    now = int(time.time())
    said = row(status(governor="performance", now=now, last_rally=now - 7300))
    assert said.trouble == ""
    assert (said.kernel, said.last_rally, said.pico) == ("6.12.1-rt", "2 h ago", "E6")
    assert said.verified == "none here"


def test_what_a_row_says_of_picos_the_holder_and_the_governor():
    assert "no Pico at bench-1" in row(status(), picos=()).trouble
    assert "2 Picos: name one with --port" in row(status(), picos=("E6", "E7")).trouble
    lease = {"holder": "red", "since": NOW - 60, "expires": NOW + 7200}
    assert row(status(lease=lease)).held_by == "red (2 h more)"
    assert row(status(lease={**lease, "expires": NOW})).held_by == "red (expired)"
    assert "is damaged" in row(status(lease={"damaged": "lease.json is damaged"})).trouble
    assert "its governor is ondemand" in row(status(governor="ondemand")).trouble


@pytest.mark.parametrize(("days", "words", "old"), [(0, "today", False), (31, "31 d", True)])
def test_the_age_of_the_verified(monkeypatch, tmp_path, days, words, old):
    monkeypatch.setenv("TENNIS_DATA", str(tmp_path))
    verifications.write(
        VerificationRecord(
            serial="E6",
            firmware_sha256="0" * 64,
            tick_hz=125_000_000,
            date=(datetime.now(UTC) - timedelta(days=days, hours=1)).isoformat(),
            verdict="pass",
            reason="-",
            balls=1,
            largest_error_ticks=0,
            kind="physical",
            source="jumpers",
        )
    )
    said = row(status())
    assert said.verified == words
    assert ("days old" in said.trouble) == old


def test_times_of_leases():
    assert [benches.seconds(text) for text in ("90m", "2h", "14d")] == [5400, 7200, 1_209_600]
    for text in ("", "2", "h", "2 h", "-2h", "2w", "1e3m"):
        with pytest.raises(UsageError, match="is not a time"):
            benches.seconds(text)


def test_targets_programs_are_plain_python_of_debian_12():
    """They run on the target as they are: nothing but its own Python 3.11, no packages."""
    names = (
        "base/files/tennis_bench.py",
        "base/files/tennis-firmware",
        "kernel/files/tennis_boot.py",
    )
    for name in names:
        text = (ROOT / "ansible/roles" / name).read_text()
        compile(text, name, "exec")
        assert text.startswith("#!/usr/bin/python3 -I\n")  # nothing of the caller's
    assert shutil.which("python3")
