"""The benches of an Ansible inventory: their addresses and logins.

The inventory is the one source of names and addresses; ``ansible-inventory`` reads it in any of its
forms.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tennis.bench.patience import USUAL, Patience
from tennis.bench.targets.ssh import SshTarget
from tennis.kit import environment
from tennis.kit.checkout import ROOT
from tennis.kit.errors import BenchError, UsageError
from tennis.rally.text import plain

INVENTORY = ROOT / "ansible" / "inventory"
EXAMPLE = ROOT / "ansible" / "inventory.example"
INVENTORY_S = 60
# the options taken from ansible_ssh_common_args and ansible_ssh_extra_args: -o NAME=VALUE
SSH_OPTION = re.compile(r"""-o\s*['"]?(\w+)[= ]([^\s'"]+)['"]?""")


@dataclass(frozen=True)
class ListedBench:
    """A target of the inventory."""

    name: str
    variables: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @property
    def bench_host(self) -> str:
        """Return the inventory's name of the machine that the Pico is plugged into."""
        return self._plain("tennis_bench_host") or self.name

    def connect(self, patience: Patience = USUAL) -> SshTarget:
        """Return the way to log in, as the inventory names it. Raises UsageError."""
        options = []
        for name, option in (
            ("ansible_host", "HostName"),
            ("ansible_port", "Port"),
            ("ansible_user", "User"),
            ("ansible_ssh_private_key_file", "IdentityFile"),
        ):
            if value := self._plain(name):
                options.append(f"{option}={value}")
        arguments = (
            f"{self._plain('ansible_ssh_common_args')} {self._plain('ansible_ssh_extra_args')}"
        )
        options += [f"{name}={value}" for name, value in SSH_OPTION.findall(arguments)]
        return SshTarget(self.name, options, patience=patience)

    def _plain(self, name: str) -> str:
        """Return a variable's value or an empty text; UsageError if only Ansible can compute it."""
        value = self.variables.get(name)
        if isinstance(value, dict):
            raise UsageError(
                f"{self.name}: {name} is in a vault", next_step="give it in plain words"
            )
        if isinstance(value, str) and "{{" in value:
            raise UsageError(
                f"{self.name}: {name} is a template ({plain(value, 60)}), which only Ansible can "
                "fill in",
                next_step="give it in plain words",
            )
        return "" if value is None else plain(str(value), 1000)


@dataclass(frozen=True)
class Fleet:
    """An inventory: its targets, and every host's variables."""

    path: Path
    targets: list[ListedBench]
    hosts: Mapping[str, ListedBench]

    def find(self, name: str) -> ListedBench:
        """Return a target by name. Raises UsageError."""
        for bench in self.targets:
            if bench.name == name:
                return bench
        names = ", ".join(bench.name for bench in self.targets) or "none"
        raise UsageError(f"{self.path} has no target {name!a}: it has {names}")


def read_inventory(path: Path | None = None) -> Fleet:
    """Read an inventory: ``path``, else TENNIS_INVENTORY, else ansible/inventory.

    Raises UsageError, BenchError.
    """
    place = path or Path(os.environ.get("TENNIS_INVENTORY") or INVENTORY)
    if not place.exists():
        raise UsageError(
            f"there is no inventory {place}", next_step=f"copy {EXAMPLE} to it and change it"
        )
    text = _list_inventory(place)
    try:
        groups = json.loads(text)
        variables = groups.get("_meta", {}).get("hostvars", {})
        hosts = {name: ListedBench(name, values) for name, values in variables.items()}
        names = _members(groups, "targets", set())
    except (ValueError, AttributeError, TypeError, RecursionError) as error:
        raise BenchError(f"{place}: ansible-inventory gave no JSON ({error})") from error
    if not names:
        raise UsageError(f"{place} has no host in the group targets", next_step=f"see {EXAMPLE}")
    return Fleet(place, [hosts.get(name, ListedBench(name)) for name in names], hosts)


def _list_inventory(place: Path) -> str:
    """Return what ``ansible-inventory`` prints; its warnings are on another stream."""
    try:
        words = [program("ansible-inventory"), "-i", place.resolve(), "--list"]
        done = environment.completed(
            words, environment.for_ansible(), cwd=ROOT / "ansible", timeout=INVENTORY_S
        )
    except subprocess.TimeoutExpired:
        raise BenchError(
            f"{place}: ansible-inventory did not end within {INVENTORY_S} s: is it a program that "
            "asks a network? try `ansible-inventory --list`"
        ) from None
    unread = "Unable to parse" in done.stderr
    if done.returncode or unread:
        raise BenchError(f"{place} {_why_unread(done.stderr)}")
    return done.stdout


def _why_unread(complaint: str) -> str:
    """Return Ansible's first reason in one line, with its place."""
    if "vault" in complaint.lower():
        return "has a vault that cannot be opened: set ANSIBLE_VAULT_PASSWORD_FILE"
    lines = [line.strip() for line in complaint.splitlines() if line.strip()]
    first = next((line for line in lines if "ERROR" in line or "plugin: " in line), "")
    reason = re.sub(r"^\[?(ERROR|WARNING)[]!]*:? *|.*plugin: ", "", first) or "it is empty"
    origin = re.search(r"^Origin: (/\S+:\d+)", complaint, re.MULTILINE)
    return f"cannot be read: {plain(reason, 300)}{f' ({plain(origin[1])})' if origin else ''}"


def connect(name: str, *, patience: Patience = USUAL) -> SshTarget:
    """Return the way to a target: as the inventory names it, else as ``ssh`` knows it.

    USER@NAME is always one for ``ssh``.
    """
    if "@" not in name and (os.environ.get("TENNIS_INVENTORY") or INVENTORY.exists()):
        for bench in read_inventory().targets:
            if bench.name == name:
                return bench.connect(patience)
    return SshTarget(name, patience=patience)


def _members(groups: Mapping[str, Any], group: str, visited: set[str]) -> list[str]:
    """Return the hosts of a group and of the groups below it, each once."""
    if group in visited:
        return []
    visited.add(group)
    entry = groups.get(group, {})
    names = list(entry.get("hosts", []))
    for child in entry.get("children", []):
        names += _members(groups, child, visited)
    return list(dict.fromkeys(names))


def program(name: str) -> Path:
    """Return one of Ansible's programs: that of this Python's environment first."""
    beside = Path(sys.executable).with_name(name)
    path = str(beside) if beside.is_file() else shutil.which(name)
    if not path:
        raise BenchError(f"{name} is not installed", next_step="run 'scripts/setup.sh --provision'")
    return Path(path)
