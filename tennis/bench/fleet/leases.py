"""The leases of benches: who holds which."""

import getpass
import os
import re
import socket

from pydantic import ValidationError

from tennis.bench.fleet.inventory import ListedBench
from tennis.bench.fleet.state import (
    HOLDER,
    Damaged,
    Lease,
    LeaseAnswer,
    NotProvisionedError,
    Status,
    ask,
    ask_status,
    nonsense,
)
from tennis.bench.targets.ssh import SshTarget
from tennis.kit.errors import BenchError, UsageError
from tennis.kit.log import log
from tennis.rally.text import plain

LEASE_S = (60, 14 * 86400)  # the shortest and the longest


def holder_of() -> str:
    """Return in whose name benches are asked for: TENNIS_HOLDER, else USER@MACHINE.

    Raises UsageError.
    """
    if named := os.environ.get("TENNIS_HOLDER"):
        _check_holder(named)
        return named
    try:
        user = getpass.getuser()
    except (OSError, KeyError):  # nobody knows this user's number
        user = str(os.getuid())
    holder = f"{user}@{socket.gethostname().split('.')[0]}"
    return re.sub(r"[^A-Za-z0-9._@-]", "-", holder).lstrip("._@-")[:64] or "nobody"


def take(bench: ListedBench, holder: str, seconds: int) -> LeaseAnswer:
    """Hold a bench, or hold it longer. Raises BenchError if somebody else holds it."""
    _check_holder(holder)
    with bench.connect() as target:
        answer = ask(target, ["lease", holder, str(seconds)], what="asking for a lease")
    try:
        return LeaseAnswer.model_validate(answer)
    except ValidationError:
        raise nonsense(bench.name) from None


def give_back(bench: ListedBench, holder: str) -> bool:
    """Give a bench back; its data are put aside. Tell whether it was held. Raises BenchError."""
    _check_holder(holder)
    with bench.connect() as target:
        held = ask_status(target).lease is not None
        ask(target, ["release", holder], what="giving it back")
    return held


def refuse_if_held(target: SshTarget, holder: str, *, playing: bool = True) -> Status | None:
    """Raise BenchError if somebody else holds this target; return its status.

    One without leases is free (None). ``playing``: allow that a rally is being played there.
    """
    _check_holder(holder)
    try:
        status = ask_status(target)
    except NotProvisionedError:
        return None
    if refusal := who_else(target.host, status, holder):
        raise BenchError(refusal)
    if status.plays and not playing:
        raise BenchError(
            f"a rally is being played on {target.host}", next_step="wait until it ends"
        )
    return status


def say_if_it_ends(status: Status | None, host: str, holder: str, rally_s: float) -> None:
    """Warn if somebody else may take a bench as soon as a rally of ``rally_s`` is over."""
    if status is None or not isinstance(status.lease, Lease):
        return
    left_s = status.lease.expires - status.now
    if status.lease.holder == holder and left_s < rally_s:
        over = "is over" if left_s <= 0 else f"ends in {left_s // 60} min, before the rally"
        log.info(
            f"your lease of {host} {over}: the rally is safe, but then anybody may take the bench: "
            f"`TENNIS_HOLDER={holder} tennis benches lease {host}`"
        )


def who_else(host: str, status: Status, holder: str) -> str:
    """Return who else holds a bench, and what to do; empty: nobody does."""
    lease = status.lease
    if isinstance(lease, Damaged):
        return f"{host}: {plain(lease.damaged, 300)}"
    if lease is None or lease.holder == holder or lease.expires <= status.now:
        return ""
    return (
        f"{host} is held by {lease.holder} for {-(-(lease.expires - status.now) // 60)} min more, "
        f"and you are {holder}: take another bench, or ask them to give it back "
        f"(set TENNIS_HOLDER={lease.holder}, if that is you)"
    )


def _check_holder(holder: str) -> None:
    if not re.fullmatch(HOLDER, holder):
        raise UsageError(f"{holder!a} is not a name: letters, digits, dots and dashes, 64 at most")
