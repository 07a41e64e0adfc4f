"""The status of benches, from ``tennis-bench``, which the base role installs.

Its answers are bounded and checked: a student may control that machine.
"""

import json
import re
import shlex
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from tennis.bench.commands import run
from tennis.bench.fleet.inventory import Fleet, ListedBench
from tennis.bench.patience import USUAL, Patience
from tennis.bench.targets.ssh import CommandResult, SshError, SshTarget, as_root, why
from tennis.kit.errors import BenchError, TennisError, UsageError
from tennis.rally.text import plain

PROGRAM = "/usr/local/sbin/tennis-bench"
ANSWER_S = 60
# the list of all benches must not wait for one that hangs; a small board under a load of real-time
# tasks takes its time, too
AT_ONCE = 64  # machines that are asked at the same time
ANSWER_MAX = 1 << 16  # bytes
SKEW_MAX_S = 120
HOLDER = r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}"
# as udev names a serial port by its maker, product and serial number
PICO = re.compile(r"^usb-(?:MicroPython|Raspberry_Pi)_.*?_([0-9A-Fa-f]{8,32})-if00$", re.MULTILINE)


Time = Annotated[int, Field(ge=0, lt=1 << 40)]
Words = Annotated[str, Field(max_length=1000)]
Serial = Annotated[str, StringConstraints(pattern=r"^[0-9A-Fa-f]{8,32}$")]


class NotProvisionedError(BenchError):
    """There is no ``tennis-bench`` on a target: nobody holds it."""


class Lease(BaseModel):
    """The holder of a bench; times in seconds since 1970, by the target's clock."""

    model_config = ConfigDict(extra="ignore")

    holder: Annotated[str, StringConstraints(pattern=rf"^{HOLDER}$")]
    since: Time
    expires: Time


class Damaged(BaseModel):
    """A lease that cannot be read: nobody gets the bench."""

    damaged: Words


class LeaseAnswer(Lease):
    """A lease, fresh; ``saved``: the target's folder for earlier data."""

    saved: Words | None = None
    now: Time


class Status(BaseModel):
    """The answer of ``tennis-bench status``; ``plays``: a rally is being played there."""

    model_config = ConfigDict(extra="ignore")

    release: Words
    now: Time
    lease: Lease | Damaged | None = None
    plays: bool = False
    picos: Annotated[list[Serial], Field(max_length=64)] = []
    last_rally: Time | None = None
    governor: Words | None = None
    model: Words | None = None


def ask(
    target: SshTarget,
    request: Sequence[str],
    *,
    what: str,
    root: bool = True,
    timeout_s: float = ANSWER_S,
) -> Any:
    """Run ``tennis-bench`` on a target and return the JSON that it prints, or None.

    Raises SshError if the target cannot be reached or hangs, NotProvisionedError if the program is
    missing, BenchError if it refuses.
    """
    line = as_root([PROGRAM, *request]) if root else shlex.join([PROGRAM, *request])
    done = target.attempt(line, what=what, timeout_s=timeout_s, limit=ANSWER_MAX)
    output = output_of(done, target.host, "tennis-bench")
    try:
        return json.loads(output) if output.strip() else None
    except (ValueError, RecursionError):
        raise nonsense(target.host) from None


def output_of(done: CommandResult, host: str, program: str) -> str:
    """Return the output of a program that provisioning installed.

    Raises NotProvisionedError if a host lacks it, BenchError if it refuses.
    """
    if done.code == 127 or re.search(f"{program}: (command )?not found", done.errors):
        raise NotProvisionedError(
            f"{host} is not provisioned",
            next_step=f"run `tennis benches restore {host}` where the inventory has it "
            "(docs/provisioning.md)",
        )
    if done.code:
        begin = f"{program}: "
        complaints = [line for line in done.errors.splitlines() if line.startswith(begin)]
        reason = plain(complaints[-1].removeprefix(begin), 300) if complaints else why(done)
        raise BenchError(f"{host}: {reason}")
    return done.output


def nonsense(host: str) -> BenchError:
    """Return the error for an answer that cannot be read."""
    return BenchError(
        f"{host} gave no sensible answer", next_step=f"run `tennis benches restore {host}`"
    )


def ask_status(target: SshTarget, *, timeout_s: float = ANSWER_S) -> Status:
    """Ask a target what it is, and who holds it. Raises as ``ask`` does."""
    answer = ask(target, ["status"], what="asking for its state", root=False, timeout_s=timeout_s)
    try:
        return Status.model_validate(answer)
    except ValidationError:
        raise nonsense(target.host) from None


@dataclass(frozen=True)
class BenchState:
    """The observed state of a bench, or why it is unknown; and the places of its Pico."""

    bench: ListedBench
    status: Status | None
    trouble: str | None
    reachable: bool
    picos: list[str]
    pico_trouble: str | None


def poll(
    fleet: Fleet, benches: Sequence[ListedBench] | None = None, *, patience: Patience = USUAL
) -> list[BenchState]:
    """Ask benches, all at the same time; none can block the others.

    It takes no longer than the slowest of them, ``patience.look_s`` at most (for some dozens of
    benches).
    """
    chosen = fleet.targets if benches is None else benches
    with ThreadPoolExecutor(AT_ONCE) as pool:
        seen = [(bench, pool.submit(_status_of, bench, patience)) for bench in chosen]
        # ten benches may have their Picos at one machine: it is asked once
        hosts: dict[str, Future[list[str]]] = {}
        for bench in chosen:
            name = _pico_host(bench)
            if name not in {None, bench.name, *hosts}:
                hosts[str(name)] = pool.submit(_picos_of, fleet, str(name), patience)
        return [_bench_state(bench, *first.result(), hosts) for bench, first in seen]


def _pico_host(bench: ListedBench) -> str | None:
    try:
        return bench.bench_host
    except UsageError:
        return None


def _status_of(bench: ListedBench, patience: Patience) -> tuple[Status | None, str | None, bool]:
    """Return a bench's status, or why it has none, and whether it could be reached."""
    try:
        with bench.connect(patience) as target:
            return ask_status(target, timeout_s=patience.status_s), None, True
    except SshError as error:
        return None, str(error), False
    except TennisError as error:
        return None, str(error), not isinstance(error, UsageError)


def _bench_state(
    bench: ListedBench,
    status: Status | None,
    trouble: str | None,
    reachable: bool,
    hosts: Mapping[str, "Future[list[str]]"],
) -> BenchState:
    picos, pico_trouble = (list(status.picos) if status else []), None
    try:
        if bench.bench_host != bench.name:
            picos = []
            picos = hosts[bench.bench_host].result()
    except TennisError as error:
        pico_trouble = str(error)
    return BenchState(bench, status, trouble, reachable, picos, pico_trouble)


def _picos_of(fleet: Fleet, name: str, patience: Patience) -> list[str]:
    """Return the serial numbers of the Picos at a machine that need not be a target."""
    host = fleet.hosts.get(name)
    if host is None:
        raise UsageError(f"{name} is not in the inventory")
    line = "ls /dev/serial/by-id 2>/dev/null; true"
    if host.variables.get("ansible_connection") == "local":
        listing = run(["sh", "-c", line], what="looking for Picos")
    else:
        with host.connect(patience) as target:
            listing = target.attempt(
                line, what="looking for Picos", timeout_s=patience.status_s, limit=ANSWER_MAX
            ).output
    return PICO.findall(listing)[:64]


def skew_of(now: int) -> str:
    """Describe the error of a target's clock (seconds since 1970); empty if it is right."""
    ahead_s = now - int(time.time())
    if abs(ahead_s) <= SKEW_MAX_S:
        return ""
    side = "ahead of" if ahead_s > 0 else "behind"
    days, minutes = abs(ahead_s) // 86400, abs(ahead_s) // 60
    difference = f"{days} days" if days > 1 else f"{minutes} min"
    return f"its clock is {difference} {side} this machine's: set one of them right"
