"""Inventories, and what the list of benches makes of what benches say."""

import json
import shlex
import shutil

import pytest
from click.testing import CliRunner

from tennis.bench.fleet import inventory
from tennis.cli import cli
from tennis.kit.checkout import ROOT
from tennis.kit.errors import UsageError
from tests.support.processes import run_to_end
from tests.support.terminal import tennis

EXAMPLE = ROOT / "ansible/inventory.example"


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
