# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""The benches of an Ansible inventory: where they are, what they are, who holds them.

The inventory is the one source of names and addresses; ``ansible-inventory`` reads it, in whatever
form it is. What a bench says of itself comes from ``tennis-bench`` on the target, which the base
role installed, and is treated as what a student's machine says: bounded and checked.
"""

import getpass
import json
import re
import shutil
import socket
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from tennis.bench.commands import run
from tennis.bench.targets.ssh import RemoteError, SshError, SshTarget
from tennis.checkout import ROOT
from tennis.errors import BenchError, TennisError, UsageError
from tennis.rally.text import plain

INVENTORY = ROOT / "ansible" / "inventory"
EXAMPLE = ROOT / "ansible" / "inventory.example"
PROGRAM = "/usr/local/sbin/tennis-bench"
ANSWER_S = 60
AT_ONCE = 16  # so many benches are asked at the same time
# what is taken from ansible_ssh_common_args and ansible_ssh_extra_args: -o NAME=VALUE
SSH_OPTION = re.compile(r"""-o\s*['"]?(\w+)[= ]([^\s'"]+)['"]?""")

# as udev names a serial port by its maker, product and serial number
PICO = re.compile(r"^usb-(?:MicroPython|Raspberry_Pi)_.*?_([0-9A-Fa-f]{8,32})-if00$", re.MULTILINE)


class Lease(BaseModel):
    """Who holds a bench; times in seconds since 1970, by the target's clock."""

    model_config = ConfigDict(extra="ignore")

    holder: str
    since: int
    expires: int


class Status(BaseModel):
    """What ``tennis-bench status`` says."""

    model_config = ConfigDict(extra="ignore")

    release: str
    now: int
    lease: Lease | dict[str, str] | None = None
    picos: list[str] = []
    last_rally: int | None = None
    governor: str | None = None
    model: str | None = None


@dataclass(frozen=True)
class Bench:
    """A target of the inventory."""

    name: str
    variables: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @property
    def bench_host(self) -> str:
        """Return the inventory's name of the machine that the Pico is plugged into."""
        return str(self.variables.get("tennis_bench_host") or self.name)

    def connect(self) -> SshTarget:
        """Return the way to log in, as the inventory names it."""
        said = self.variables
        options = []
        for name, option in (
            ("ansible_host", "HostName"),
            ("ansible_port", "Port"),
            ("ansible_user", "User"),
            ("ansible_ssh_private_key_file", "IdentityFile"),
        ):
            if said.get(name):
                options.append(f"{option}={said[name]}")
        words = (
            f"{said.get('ansible_ssh_common_args', '')} {said.get('ansible_ssh_extra_args', '')}"
        )
        options += [f"{name}={value}" for name, value in SSH_OPTION.findall(words)]
        return SshTarget(self.name, options)


@dataclass(frozen=True)
class Fleet:
    """An inventory: its targets, and every host's variables."""

    path: Path
    targets: list[Bench]
    hosts: Mapping[str, Bench]

    def find(self, name: str) -> Bench:
        """Return a target by name. Raises UsageError."""
        for bench in self.targets:
            if bench.name == name:
                return bench
        names = ", ".join(bench.name for bench in self.targets) or "none"
        raise UsageError(f"{self.path} has no target {name!a}: it has {names}")


def read_inventory(path: Path | None = None) -> Fleet:
    """Read an inventory; the default is ``ansible/inventory``. Raises UsageError, BenchError."""
    place = path or INVENTORY
    if not place.exists():
        raise UsageError(f"there is no inventory {place}: copy {EXAMPLE} to it and change it")
    text = run(
        # Ansible refuses the plain C locale
        ["env", "LC_ALL=C.UTF-8", program("ansible-inventory"), "-i", place.resolve(), "--list"],
        what=f"reading {place}",
        cwd=ROOT / "ansible",
    )
    try:
        said = json.loads(text[text.index("{") :])
        variables = said.get("_meta", {}).get("hostvars", {})
        hosts = {name: Bench(name, values) for name, values in variables.items()}
        names = _members(said, "targets", set())
    except (ValueError, AttributeError, TypeError) as error:
        raise BenchError(f"{place}: ansible-inventory gave no JSON ({error})") from error
    if not names:
        raise UsageError(f"{place} has no host in the group targets: see {EXAMPLE}")
    return Fleet(place, [hosts.get(name, Bench(name)) for name in names], hosts)


def connect(name: str, inventory: Path | None = None) -> SshTarget:
    """Return the way to a target: as the inventory names it, else as ``ssh`` knows it.

    An inventory that was named must have it; the default one need not even exist.
    """
    if inventory is not None:
        return read_inventory(inventory).find(name).connect()
    if INVENTORY.exists():
        for bench in read_inventory().targets:
            if bench.name == name:
                return bench.connect()
    return SshTarget(name)


def _members(said: Mapping[str, Any], group: str, seen: set[str]) -> list[str]:
    """Return the hosts of a group and of the groups below it, each once."""
    if group in seen:
        return []
    seen.add(group)
    entry = said.get(group, {})
    names = list(entry.get("hosts", []))
    for child in entry.get("children", []):
        names += _members(said, child, seen)
    return list(dict.fromkeys(names))


def program(name: str) -> Path:
    """Return one of Ansible's programs: that of this Python's environment first."""
    beside = Path(sys.executable).with_name(name)
    found = str(beside) if beside.is_file() else shutil.which(name)
    if not found:
        raise BenchError(f"{name} is not installed: run 'scripts/setup.sh --provision'")
    return Path(found)


# --- what a bench says ---


def ask(target: SshTarget, words: Sequence[str], *, what: str, root: bool = True) -> Any:
    """Run ``tennis-bench`` on a target and return the JSON that it prints, None for nothing.

    Raises SshError where the target cannot be reached, BenchError where it refuses.
    """
    line = " ".join([PROGRAM, *words])
    done = target.attempt(line, what=what, root=root, timeout_s=ANSWER_S)
    if done.code == 127 or "command not found" in done.errors or "No such file" in done.errors:
        raise BenchError(
            f"{target.host} is not provisioned: run `tennis benches restore {target.host}`"
        )
    if done.code:
        said = done.errors.strip().splitlines()
        why = plain(said[-1].removeprefix("tennis-bench: "), 300) if said else "it did not say why"
        raise BenchError(f"{target.host}: {why}")
    try:
        return json.loads(done.output) if done.output.strip() else None
    except ValueError:
        raise BenchError(
            f"{target.host} gave no sensible answer: run `tennis benches restore {target.host}`"
        ) from None


def status_of(bench: Bench) -> Status:
    """Ask a bench what it is. Raises TennisError."""
    with bench.connect() as target:
        said = ask(target, ["status"], what="asking for its state", root=False)
    try:
        return Status.model_validate(said)
    except ValidationError as error:
        raise BenchError(
            f"{bench.name} gave no sensible answer: run `tennis benches restore {bench.name}`"
        ) from error


@dataclass(frozen=True)
class Look:
    """What was seen of a bench, or why nothing was; and where its Pico should be."""

    bench: Bench
    status: Status | None
    trouble: str | None
    reachable: bool
    picos: list[str]
    pico_trouble: str | None


def look(fleet: Fleet, benches: Sequence[Bench] | None = None) -> list[Look]:
    """Look at benches, many at the same time; nothing that one of them does stops the others."""
    chosen = fleet.targets if benches is None else benches
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(lambda bench: _look_at(fleet, bench), chosen))


def _look_at(fleet: Fleet, bench: Bench) -> Look:
    status, trouble, reachable = None, None, True
    try:
        status = status_of(bench)
    except SshError as error:
        trouble, reachable = str(error), False
    except TennisError as error:
        trouble = str(error)
    picos, pico_trouble = (status.picos if status else []), None
    if bench.bench_host != bench.name:
        picos = []
        try:
            host = fleet.hosts.get(bench.bench_host)
            if host is None:
                raise UsageError(f"{bench.bench_host} is not in the inventory")
            picos = _picos_of(host)
        except TennisError as error:
            pico_trouble = str(error)
    return Look(bench, status, trouble, reachable, picos, pico_trouble)


def _picos_of(host: Bench) -> list[str]:
    """Return the serial numbers of the Picos at a machine that need not be a target."""
    line = "ls /dev/serial/by-id 2>/dev/null; true"
    if host.variables.get("ansible_connection") == "local":
        said = run(["sh", "-c", line], what="looking for Picos")
    else:
        with host.connect() as target:
            said = target.run(line, what="looking for Picos")
    return PICO.findall(said)


# --- leases ---


def holder_here() -> str:
    """Return the name in which this person asks for benches: USER@MACHINE."""
    name = re.sub(r"[^A-Za-z0-9._-]", "-", f"{getpass.getuser()}")
    machine = re.sub(r"[^A-Za-z0-9._-]", "-", socket.gethostname().split(".")[0])
    return f"{name}@{machine}"[:64]


def take(bench: Bench, holder: str, seconds: int) -> tuple[Lease, str | None]:
    """Hold a bench, or hold it longer; return the lease and where earlier data were put.

    Raises BenchError where somebody else holds it.
    """
    _check_holder(holder)
    with bench.connect() as target:
        said = ask(target, ["lease", holder, str(seconds)], what="asking for a lease")
    return Lease.model_validate(said), said.get("saved")


def give_back(bench: Bench, holder: str) -> None:
    """Give a bench back; its data are put aside. Raises BenchError."""
    _check_holder(holder)
    with bench.connect() as target:
        ask(target, ["release", holder], what="giving it back")


def refuse_if_held(target: SshTarget, holder: str) -> None:
    """Raise BenchError if somebody else holds this target; one without leases is free."""
    try:
        said = ask(target, ["status"], what="asking who holds it", root=False)
    except (RemoteError, SshError):
        raise
    except BenchError:
        return
    lease = Status.model_validate(said).lease
    if isinstance(lease, dict):
        raise BenchError(
            f"{target.host}: {plain(lease.get('damaged', 'its lease is damaged'), 300)}"
        )
    if lease and lease.holder != holder and lease.expires > int(said["now"]):
        left_s = lease.expires - int(said["now"])
        raise BenchError(
            f"{target.host} is held by {plain(lease.holder, 64)} for {-(-left_s // 60)} min more: "
            "take another bench, or ask them to give it back"
        )


def _check_holder(holder: str) -> None:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}", holder):
        raise UsageError(f"{holder!a} is no name: letters, digits, dots and dashes, 64 at most")
