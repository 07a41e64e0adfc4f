"""The bench's bytes: reference rallies must give the digests that the edition had before.

A commit that changes any byte of a rally raises ``EDITION`` in ``tennis/kit/edition.py``, says in
``docs/versions.md`` what moved, and writes the digests again:

    TENNIS_REFERENCE=write .venv/bin/pytest -q tests/reference
"""

import json
import os
import shlex
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tennis.kit.edition import EDITION
from tennis.rally import open_folder
from tennis.rally.command import command_of
from tennis.rally.repeated import digest_of, from_debian, not_comparable
from tests.support.commands import planned
from tests.support.terminal import tennis

HERE = Path(__file__).parent
DIGESTS = HERE / "digests.json"
RALLIES = tomllib.loads((HERE / "rallies.toml").read_text())
WRITE = os.environ.get("TENNIS_REFERENCE") == "write"
RELEASES = {"mainline": "6.12.", "rt": "6.12.", "mainline-6.1": "6.1.", "rt-7": "7."}
# what a digest does not hold: who answered, with the kernel's own priorities and with others
TASKS = {
    "rt-forced-stress": {"irq/17-racquet": ("SCHED_FIFO", 99), "ksoftirqd/0": ("SCHED_FIFO", 99)},
    "rt-explicit": {"irq/17-racquet": ("SCHED_FIFO", 50), "ksoftirqd/0": ("SCHED_OTHER", 0)},
    "rt-network": {"irq/25-racquet": ("SCHED_FIFO", 50), "ksoftirqd/0": ("SCHED_OTHER", 0)},
}


def recorded() -> dict[str, Any]:
    """Return what is in the tree: the edition, and each rally's digests on versions of Debian's."""
    return dict(json.loads(DIGESTS.read_text())) if DIGESTS.exists() else {"edition": 0}


def test_the_digests_are_of_this_edition_and_of_every_reference_rally():
    known = recorded()
    assert known["edition"] == EDITION, "write the digests again: see the head of this file"
    assert set(known["rallies"]) == set(RALLIES)
    for name, entries in known["rallies"].items():
        for entry in entries:
            assert entry["command"] == RALLIES[name], f"{name} is another command now"


def write(name: str, digest: str, versions: dict[str, str]) -> None:
    """Put a digest into the tree; one that another edition had goes."""
    known = recorded()
    if known["edition"] != EDITION:
        known = {"edition": EDITION, "rallies": {}}
    entries = [e for e in known["rallies"].get(name, []) if e["command"] == RALLIES[name]]
    for entry in entries:
        if not not_comparable(entry["versions"], versions):
            assert entry["digest"] == digest, (
                f"{name} moved: raise EDITION in tennis/kit/edition.py"
            )
            return
    entries.append({"command": RALLIES[name], "digest": digest, "versions": from_debian(versions)})
    known["rallies"][name] = entries
    known["rallies"] = {one: known["rallies"][one] for one in RALLIES if one in known["rallies"]}
    DIGESTS.write_text(json.dumps(known, indent=1, ensure_ascii=False) + "\n")


@pytest.mark.virtual
@pytest.mark.parametrize("name", RALLIES)
def test_a_reference_rally_comes_out_again(name, tmp_path):
    out = tmp_path / name
    done = tennis(*shlex.split(RALLIES[name]), "--out", str(out))
    assert done.returncode == 0, done.stderr
    rally = open_folder(out)
    digest, versions = digest_of(rally), rally.manifest.tool.versions
    assert rally.manifest.tool.edition == EDITION
    assert not rally.manifest.suspect, rally.manifest.faults
    target = rally.manifest.target
    assert target.release.startswith(RELEASES.get(target.kernel, ""))
    tasks = {task.task: (task.policy, task.priority) for task in target.tasks}
    assert TASKS.get(name, {}).items() <= tasks.items()
    if rally.manifest.load.name == "stress":  # its tasks, from before the first ball to the end
        health = {figure.name: figure for figure in rally.manifest.load.health}
        assert (health["tasks"].start, health["tasks"].end) == (17, 17)
    # what its page says is the same play: the words may be others
    assert planned(command_of(rally.manifest)) == planned(f"tennis {RALLIES[name]}")
    if WRITE:
        write(name, digest, versions)
        return
    reasons = []
    for entry in recorded()["rallies"][name]:
        reason = not_comparable(entry["versions"], versions)
        if not reason:
            assert entry["digest"] == digest, (
                f"the bytes of {name} moved: raise EDITION in tennis/kit/edition.py, or find what "
                f"moved them (tennis {RALLIES[name]})"
            )
            return
        reasons.append(reason)
    pytest.skip(f"not comparable, a moved byte is not seen: {'; '.join(reasons)}")
