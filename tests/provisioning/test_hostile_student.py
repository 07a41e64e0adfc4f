"""What a student without sudo tries against a bench: provisioning, its programs, the rally's side.

Ansible, useradd, sshd and `tennis-bench` are real, in a mount namespace (hostile_desk.py). What
sudo allows, the whole system in QEMU shows: test_virtual_pi.py.
"""

import json
import os
import re
import sys
from typing import Any

import pytest
import yaml

from tennis.kit.checkout import ROOT
from tests.support.processes import run_to_end

DESK = ROOT / "tests/support/hostile_desk.py"
ROLES = ROOT / "ansible/roles"

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can provision"),
    pytest.mark.xdist_group("hostile"),
]


@pytest.fixture(scope="module")
def desk(tmp_path_factory) -> dict[str, Any]:
    """What the attempts came to: all of them in one place, which is provisioned twice."""
    folder = tmp_path_factory.mktemp("desk")
    done = run_to_end(
        [
            *("unshare", "--mount", "--pid", "--fork", "--kill-child", "--propagation", "private"),
            *(sys.executable, DESK, folder, ROOT),
        ],
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout.splitlines()[-1]))


def test_no_link_in_a_home_moves_what_is_roots(desk):
    """``~/.ssh`` leads to /etc, ``authorized_keys`` to /etc/passwd: no run follows them."""
    assert desk["safe"]
    assert not desk["in passwd"]


def test_a_second_run_takes_away_one_key_and_changes_nothing_else(desk):
    """That of the student who is no longer named; a pipe in a home holds nothing up."""
    assert re.search(r"changed=1 .*failed=0", desk["changed by the next run"])


def test_what_is_roots_cannot_be_written(desk):
    for attempt in (
        "writes a key of root's folder",
        "puts a key into root's folder",
        "puts a link in the data's place",
        "writes the lease",
        "makes the locks' folder first",
    ):
        assert desk[attempt] != 0, attempt


def test_the_keys_that_the_teacher_named_let_in_and_no_others(desk):
    assert desk["own keys"] == [True, True]
    assert desk["a friend's key in the own home"] is False
    # neither by the key of before, nor by one in a home that is still there
    assert desk["somebody who is no longer named"] == [False, False]
    assert desk["root by a student's key"] is False


def test_nobody_touches_another_logins_data_or_lease(desk):
    """Also if that login lets its group write: the group is its own, and not the class."""
    assert {"rally", "late"} <= set(desk["removes another one's data"])
    assert desk["writes in another one's folder"] == ["manifest.json"]
    assert "(login tennis-anna)" in desk["another login in the same name"]["wrong"]


def test_a_device_cannot_name_a_port_into_another_folder():
    """A serial number with slashes would: ``$attr`` keeps them."""
    rules = (ROLES / "bench_host/files/70-tennis.rules").read_text(encoding="utf-8")
    links = re.findall(r'SYMLINK\+="([^"]*)"', rules)
    assert links == ["tennis/brickwall-$env{ID_SERIAL_SHORT}"]


def test_folders_beyond_count_and_depth_do_not_blind_the_status(desk):
    """3,000 folders in each other, 21,000 files, a pipe and a date of 2200 as manifests."""
    assert desk["status of the deep"]["code"] == 0, desk["status of the deep"]
    said = json.loads(desk["status"]["said"])
    assert said["last_rally"] <= said["now"]
    assert desk["status_s"] < 20


def test_links_among_the_data_go_nowhere_when_they_are_saved(desk):
    assert desk["lease"]["code"] == desk["release"]["code"] == 0
    assert "saved" in desk["lease"]["said"]
    assert desk["safe at the end"]


def test_what_was_saved_is_as_it_was(desk):
    assert "mine" not in desk["changes what was saved"]
    assert {"rally", "late", "etc"} <= set(desk["changes what was saved"])
    assert int(desk["saved"], 8) & 0o022 == 0


# also on the machine that provisions, which may be the server on which students work

OTHERS = re.compile(r"(^|[\s\"'=])(/home/|/tmp/|/var/tmp/|/dev/shm/|~[a-z{/])")


def tasks():
    for path in sorted(ROLES.glob("*/tasks/*.yml")):
        for task in yaml.safe_load(path.read_text(encoding="utf-8")):
            if task.get("become") is not False and "ansible.builtin.assert" not in task:
                yield path.parts[-3], task


def test_no_task_of_root_names_a_place_that_others_write():
    found = [
        (role, task["name"])
        for role, task in tasks()
        if OTHERS.search(yaml.safe_dump(task, width=1 << 20))
    ]
    assert found == []


def test_what_root_unpacks_is_packed_where_nobody_else_writes():
    """In /tmp, a student who makes the file first could change it before it is copied."""
    shared = re.compile(r"/(?:var/)?tmp\b|/dev/shm|TMPDIR")
    for path in sorted(ROLES.glob("*/*/*.yml")):
        for line in path.read_text(encoding="utf-8").splitlines():
            assert not shared.search(line.partition("# ")[0]), (path, line)


def test_a_module_is_built_before_the_one_that_works_goes():
    names = [task["name"] for role, task in tasks() if role == "racquet"]
    build, remove, install = (
        next(n for n, name in enumerate(names) if name.startswith(words))
        for words in ("Build it for", "Remove what", "Install it for")
    )
    assert build < remove < install
