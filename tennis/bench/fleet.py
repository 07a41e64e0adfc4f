# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""The benches of an Ansible inventory: where they are, what they are, who holds them.

The inventory is the one source of names and addresses; ``ansible-inventory`` reads it, in whatever
form it is. What a bench says of itself comes from ``tennis-bench`` on the target, which the base
role installed, and is treated as what a student's machine says: bounded and checked.
"""

import getpass
import json
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from tennis.bench.commands import run
from tennis.bench.targets.ssh import CONNECT_S, SshError, SshTarget, as_root, why
from tennis.checkout import ROOT
from tennis.errors import BenchError, TennisError, UsageError
from tennis.rally.text import plain

INVENTORY = ROOT / "ansible" / "inventory"
EXAMPLE = ROOT / "ansible" / "inventory.example"
PROGRAM = "/usr/local/sbin/tennis-bench"
ANSWER_S = 60
# the list of all benches must not wait for one that hangs; a small board under a load of real-time
# tasks takes its time, too
LOOK_CONNECT_S = 10
LOOK_S = 30
AT_ONCE = 64  # so many machines are asked at the same time
INVENTORY_S = 60
ANSWER_MAX = 1 << 16  # bytes
SKEW_MAX_S = 120
LEASE_S = (60, 14 * 86400)  # the shortest and the longest
HOLDER = r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}"
# what is taken from ansible_ssh_common_args and ansible_ssh_extra_args: -o NAME=VALUE
SSH_OPTION = re.compile(r"""-o\s*['"]?(\w+)[= ]([^\s'"]+)['"]?""")

# as udev names a serial port by its maker, product and serial number
PICO = re.compile(r"^usb-(?:MicroPython|Raspberry_Pi)_.*?_([0-9A-Fa-f]{8,32})-if00$", re.MULTILINE)


Time = Annotated[int, Field(ge=0, lt=1 << 40)]
Words = Annotated[str, Field(max_length=1000)]
Serial = Annotated[str, StringConstraints(pattern=r"^[0-9A-Fa-f]{8,32}$")]


class NotProvisionedError(BenchError):
    """There is no ``tennis-bench`` on a target: nobody holds it."""


class Lease(BaseModel):
    """Who holds a bench; times in seconds since 1970, by the target's clock."""

    model_config = ConfigDict(extra="ignore")

    holder: Annotated[str, StringConstraints(pattern=rf"^{HOLDER}$")]
    since: Time
    expires: Time


class Damaged(BaseModel):
    """A lease that cannot be read: nobody gets the bench."""

    damaged: Words


class Taken(Lease):
    """A lease, fresh; ``saved``: where on the target earlier data went."""

    saved: Words | None = None
    now: Time


class Status(BaseModel):
    """What ``tennis-bench status`` says; ``plays``: a rally is being played there."""

    model_config = ConfigDict(extra="ignore")

    release: Words
    now: Time
    lease: Lease | Damaged | None = None
    plays: bool = False
    picos: Annotated[list[Serial], Field(max_length=64)] = []
    last_rally: Time | None = None
    governor: Words | None = None
    model: Words | None = None


@dataclass(frozen=True)
class Bench:
    """A target of the inventory."""

    name: str
    variables: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @property
    def bench_host(self) -> str:
        """Return the inventory's name of the machine that the Pico is plugged into."""
        return self._plain("tennis_bench_host") or self.name

    def connect(self, *, connect_s: int = CONNECT_S) -> SshTarget:
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
        words = f"{self._plain('ansible_ssh_common_args')} {self._plain('ansible_ssh_extra_args')}"
        options += [f"{name}={value}" for name, value in SSH_OPTION.findall(words)]
        return SshTarget(self.name, options, connect_s=connect_s)

    def _plain(self, name: str) -> str:
        """Return a variable's value, empty where there is none; only Ansible knows the others."""
        value = self.variables.get(name)
        if isinstance(value, dict):
            raise UsageError(f"{self.name}: {name} is in a vault: give it in plain words")
        if isinstance(value, str) and "{{" in value:
            raise UsageError(
                f"{self.name}: {name} is a template ({plain(value, 60)}), which only Ansible can "
                "fill in: give it in plain words"
            )
        return "" if value is None else plain(str(value), 1000)


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


def the_inventory(path: Path | None = None) -> Path:
    """Return the place of the inventory: ``path``, else TENNIS_INVENTORY, else the default."""
    named = os.environ.get("TENNIS_INVENTORY")
    return path or (Path(named) if named else INVENTORY)


def read_inventory(path: Path | None = None) -> Fleet:
    """Read an inventory; see ``the_inventory`` for the default. Raises UsageError, BenchError."""
    place = the_inventory(path)
    if not place.exists():
        raise UsageError(f"there is no inventory {place}: copy {EXAMPLE} to it and change it")
    text = _list_inventory(place)
    try:
        said = json.loads(text)
        variables = said.get("_meta", {}).get("hostvars", {})
        hosts = {name: Bench(name, values) for name, values in variables.items()}
        names = _members(said, "targets", set())
    except (ValueError, AttributeError, TypeError, RecursionError) as error:
        raise BenchError(f"{place}: ansible-inventory gave no JSON ({error})") from error
    if not names:
        raise UsageError(f"{place} has no host in the group targets: see {EXAMPLE}")
    return Fleet(place, [hosts.get(name, Bench(name)) for name in names], hosts)


def _list_inventory(place: Path) -> str:
    """Return what ``ansible-inventory`` prints; its warnings are on another stream."""
    try:
        done = subprocess.run(
            [program("ansible-inventory"), "-i", place.resolve(), "--list"],
            cwd=ROOT / "ansible",
            # Ansible refuses the plain C locale
            env={**os.environ, "LC_ALL": "C.UTF-8", "ANSIBLE_NOCOLOR": "1"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=INVENTORY_S,
            check=False,
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


def _why_unread(said: str) -> str:
    """Say in one line what Ansible says in many: the first reason, and where it is."""
    if "vault" in said.lower():
        return "has a vault that cannot be opened: set ANSIBLE_VAULT_PASSWORD_FILE"
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    first = next((line for line in lines if "ERROR" in line or "plugin: " in line), "")
    words = re.sub(r"^\[?(ERROR|WARNING)[]!]*:? *|.*plugin: ", "", first) or "it is empty"
    origin = re.search(r"^Origin: (/\S+:\d+)", said, re.MULTILINE)
    return f"cannot be read: {plain(words, 300)}{f' ({plain(origin[1])})' if origin else ''}"


def connect(name: str, inventory: Path | None = None) -> SshTarget:
    """Return the way to a target: as the inventory names it, else as ``ssh`` knows it.

    An inventory that was named must have it; the default one need not even exist. USER@NAME is
    always one for ``ssh``.
    """
    if inventory is not None:
        return read_inventory(inventory).find(name).connect()
    if "@" not in name and (os.environ.get("TENNIS_INVENTORY") or INVENTORY.exists()):
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


def ask(
    target: SshTarget,
    words: Sequence[str],
    *,
    what: str,
    root: bool = True,
    timeout_s: float = ANSWER_S,
) -> Any:
    """Run ``tennis-bench`` on a target and return the JSON that it prints, None for nothing.

    Raises SshError where the target cannot be reached or hangs, NotProvisionedError where there is
    no such program, BenchError where it refuses.
    """
    line = as_root([PROGRAM, *words]) if root else shlex.join([PROGRAM, *words])
    done = target.attempt(line, what=what, timeout_s=timeout_s, limit=ANSWER_MAX)
    if done.code == 127 or re.search("tennis-bench: (command )?not found", done.errors):
        raise NotProvisionedError(
            f"{target.host} is not provisioned: run `tennis benches restore {target.host}`"
        )
    if done.code:
        said = [line for line in done.errors.splitlines() if line.startswith("tennis-bench: ")]
        reason = plain(said[-1].removeprefix("tennis-bench: "), 300) if said else why(done)
        raise BenchError(f"{target.host}: {reason}")
    try:
        return json.loads(done.output) if done.output.strip() else None
    except (ValueError, RecursionError):
        raise _nonsense(target.host) from None


def _nonsense(host: str) -> BenchError:
    return BenchError(f"{host} gave no sensible answer: run `tennis benches restore {host}`")


def ask_status(target: SshTarget, *, timeout_s: float = ANSWER_S) -> Status:
    """Ask a target what it is, and who holds it. Raises as ``ask`` does."""
    said = ask(target, ["status"], what="asking for its state", root=False, timeout_s=timeout_s)
    try:
        return Status.model_validate(said)
    except ValidationError:
        raise _nonsense(target.host) from None


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
    """Look at benches, all at the same time; nothing that one of them does stops the others.

    It takes no longer than the slowest of them, ``LOOK_S`` at most (for some dozens of benches).
    """
    chosen = fleet.targets if benches is None else benches
    with ThreadPoolExecutor(AT_ONCE) as pool:
        seen = [(bench, pool.submit(_look_at, bench)) for bench in chosen]
        # ten benches may have their Picos at one machine: it is asked once
        hosts: dict[str, Future[list[str]]] = {}
        for bench in chosen:
            name = _pico_host(bench)
            if name not in {None, bench.name, *hosts}:
                hosts[str(name)] = pool.submit(_picos_of, fleet, str(name))
        return [_look(bench, *first.result(), hosts) for bench, first in seen]


def _pico_host(bench: Bench) -> str | None:
    try:
        return bench.bench_host
    except UsageError:
        return None


def _look_at(bench: Bench) -> tuple[Status | None, str | None, bool]:
    """Return what a bench says, or why it says nothing, and whether it could be reached."""
    try:
        with bench.connect(connect_s=LOOK_CONNECT_S) as target:
            return ask_status(target, timeout_s=LOOK_S), None, True
    except SshError as error:
        return None, str(error), False
    except TennisError as error:
        return None, str(error), not isinstance(error, UsageError)


def _look(
    bench: Bench,
    status: Status | None,
    trouble: str | None,
    reachable: bool,
    hosts: Mapping[str, "Future[list[str]]"],
) -> Look:
    picos, pico_trouble = (list(status.picos) if status else []), None
    try:
        if bench.bench_host != bench.name:
            picos = []
            picos = hosts[bench.bench_host].result()
    except TennisError as error:
        pico_trouble = str(error)
    return Look(bench, status, trouble, reachable, picos, pico_trouble)


def _picos_of(fleet: Fleet, name: str) -> list[str]:
    """Return the serial numbers of the Picos at a machine that need not be a target."""
    host = fleet.hosts.get(name)
    if host is None:
        raise UsageError(f"{name} is not in the inventory")
    line = "ls /dev/serial/by-id 2>/dev/null; true"
    if host.variables.get("ansible_connection") == "local":
        said = run(["sh", "-c", line], what="looking for Picos")
    else:
        with host.connect(connect_s=LOOK_CONNECT_S) as target:
            said = target.attempt(
                line, what="looking for Picos", timeout_s=LOOK_S, limit=ANSWER_MAX
            ).output
    return PICO.findall(said)[:64]


# --- leases ---


def holder_of(asked: str | None = None) -> str:
    """Return in whose name benches are asked for: ``asked``, else TENNIS_HOLDER, else USER@MACHINE.

    Raises UsageError.
    """
    named = os.environ.get("TENNIS_HOLDER") or None if asked is None else asked
    if named is not None:
        _check_holder(named)
        return named
    try:
        user = getpass.getuser()
    except (OSError, KeyError):  # nobody knows this user's number
        user = str(os.getuid())
    words = f"{user}@{socket.gethostname().split('.')[0]}"
    return re.sub(r"[^A-Za-z0-9._@-]", "-", words).lstrip("._@-")[:64] or "nobody"


def take(bench: Bench, holder: str, seconds: int) -> Taken:
    """Hold a bench, or hold it longer. Raises BenchError where somebody else holds it."""
    _check_holder(holder)
    with bench.connect() as target:
        said = ask(target, ["lease", holder, str(seconds)], what="asking for a lease")
    try:
        return Taken.model_validate(said)
    except ValidationError:
        raise _nonsense(bench.name) from None


def give_back(bench: Bench, holder: str) -> bool:
    """Give a bench back; its data are put aside. Tell whether it was held. Raises BenchError."""
    _check_holder(holder)
    with bench.connect() as target:
        held = ask_status(target).lease is not None
        ask(target, ["release", holder], what="giving it back")
    return held


def refuse_if_held(target: SshTarget, holder: str, *, playing: bool = True) -> Status | None:
    """Raise BenchError if somebody else holds this target; return what it says of itself.

    One without leases is free (None). ``playing``: whether it is all right that a rally is being
    played there.
    """
    _check_holder(holder)
    try:
        status = ask_status(target)
    except NotProvisionedError:
        return None
    if refusal := who_else(target.host, status, holder):
        raise BenchError(refusal)
    if status.plays and not playing:
        raise BenchError(f"a rally is being played on {target.host}: wait until it ends")
    return status


def who_else(host: str, status: Status, holder: str) -> str:
    """Say that somebody else holds a bench, and what to do; empty where nobody does."""
    lease = status.lease
    if isinstance(lease, Damaged):
        return f"{host}: {plain(lease.damaged, 300)}"
    if lease is None or lease.holder == holder or lease.expires <= status.now:
        return ""
    return (
        f"{host} is held by {lease.holder} for {-(-(lease.expires - status.now) // 60)} min more, "
        f"and you are {holder}: take another bench, or ask them to give it back "
        f"(--as {lease.holder}, if that is you)"
    )


def skew_of(now: int) -> str:
    """Say how a target's clock (seconds since 1970) is wrong; empty where it is right."""
    ahead_s = now - int(time.time())
    if abs(ahead_s) <= SKEW_MAX_S:
        return ""
    side = "ahead of" if ahead_s > 0 else "behind"
    days, minutes = abs(ahead_s) // 86400, abs(ahead_s) // 60
    words = f"{days} days" if days > 1 else f"{minutes} min"
    return f"its clock is {words} {side} this machine's: set one of them right"


def _check_holder(holder: str) -> None:
    if not re.fullmatch(HOLDER, holder):
        raise UsageError(f"{holder!a} is no name: letters, digits, dots and dashes, 64 at most")
