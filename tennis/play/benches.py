"""The list of benches, and the return of a bench to its known state."""

import re
import subprocess
import time
from datetime import UTC, datetime

from pydantic import BaseModel

from tennis.bench.fleet import leases, state
from tennis.bench.fleet.inventory import program, read_inventory
from tennis.bench.instruments import verifications
from tennis.kit import environment
from tennis.kit.checkout import ROOT
from tennis.kit.errors import BenchError, TennisError, UsageError
from tennis.kit.log import log
from tennis.rally.text import plain

UNITS_S = {"m": 60, "h": 3600, "d": 86400}
RESTORE_S = 4 * 3600  # a bench, its kernels copied over a slow network
TIMED_OUT = 124  # timeout(1)
OLD_VERIFICATION_DAYS = 30
NONE = "-"


class _BenchRow(BaseModel):
    """A bench of the list, in words; ``trouble`` is empty if nothing is wrong."""

    bench: str
    reachable: bool
    kernel: str = NONE
    pico: str = NONE
    verified: str = NONE
    last_rally: str = NONE
    held_by: str = NONE
    trouble: str = ""


def rows() -> list[_BenchRow]:
    """Look at all benches of the inventory."""
    return [_row_of(seen) for seen in state.poll(read_inventory())]


def _row_of(bench_state: state.BenchState) -> _BenchRow:
    """Return a bench's row of the table."""
    row = _BenchRow(bench=bench_state.bench.name, reachable=bench_state.reachable)
    # the first column says which bench
    troubles = [bench_state.trouble.removeprefix(f"{row.bench}: ")] if bench_state.trouble else []
    status = bench_state.status
    if status is not None:
        row.kernel = status.release
        if status.last_rally:
            row.last_rally = f"{_age(status.now - status.last_rally)} ago"
        if isinstance(status.lease, state.Damaged):
            troubles.append(status.lease.damaged)
        elif status.lease:
            left_s = status.lease.expires - status.now
            remaining = f"{_age(left_s)} more" if left_s > 0 else "expired"
            row.held_by = f"{status.lease.holder} ({remaining})"
        if status.plays:
            row.held_by = "plays" if row.held_by == NONE else f"{row.held_by}, plays"
        if skew := state.skew_of(status.now):
            troubles.append(skew)
        if status.governor not in {None, "performance"}:
            troubles.append(
                f"its governor is {status.governor}: `tennis benches restore {row.bench}`"
            )
    if bench_state.pico_trouble:
        where = bench_state.bench.bench_host
        pico_trouble = bench_state.pico_trouble.removeprefix(f"{where}: ")
        if pico_trouble not in troubles:  # one network that is down is reported once
            troubles.append(f"its Pico, at {where}, cannot be looked for: {pico_trouble}")
    elif len(bench_state.picos) == 1:
        row.pico = bench_state.picos[0]
        row.verified, trouble = _verified(bench_state.picos[0])
        troubles += [trouble] if trouble else []
    elif bench_state.picos:
        row.pico = f"{len(bench_state.picos)} of them"
        troubles.append(f"{len(bench_state.picos)} Picos: name one with --port when you play")
    elif bench_state.reachable and status is not None:
        troubles.append(
            f"no Pico at {bench_state.bench.bench_host}: plug one in, with a cable for data"
        )
    row.trouble = "; ".join(troubles)
    return row


def _verified(serial: str) -> tuple[str, str | None]:
    """Return the age of this machine's verification record, and its trouble."""
    try:
        record = verifications.read(serial)
    except TennisError as error:
        return NONE, str(error)
    if record is None:
        return "none here", None
    try:
        made = datetime.fromisoformat(str(record.date)).astimezone(UTC)
    except ValueError:
        return "unknown", None
    days = (datetime.now(UTC) - made).days
    old = f"its verification record is {days} days old: tennis brickwall verify"
    return _age(days * 86400) if days else "today", old if days > OLD_VERIFICATION_DAYS else None


def _age(seconds: int) -> str:
    """Return a time in the largest unit of which there are two."""
    for unit, size in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds // size} {unit}"
    return f"{max(seconds, 0)} s"


def seconds(text: str) -> int:
    """Return the seconds that a lease takes: 90m, 2h, 1d. Raises UsageError."""
    match = re.fullmatch(r"([0-9]{1,9})([mhd])", text)
    if not match:
        raise UsageError(f"--for {plain(text, 40)!a} is not a time: 90m, 2h or 1d look like one")
    duration_s = int(match[1]) * UNITS_S[match[2]]
    shortest_s, longest_s = leases.LEASE_S
    if not shortest_s <= duration_s <= longest_s:
        raise UsageError(f"--for {text}: a lease takes a minute to {longest_s // 86400} days")
    return duration_s


def until(lease: state.LeaseAnswer) -> str:
    """Return when a fresh lease ends, by the clock of this machine and as people here write it."""
    end = time.localtime(time.time() + lease.expires - lease.now)
    return time.strftime("%A %Y-%m-%d %H:%M", end)


def restore(name: str, holder: str, *, check: bool) -> int:
    """Provision one bench; return how many things that changed, or with ``check`` would have.

    Its data are put aside first. Raises BenchError if somebody else holds the bench, or a task
    failed.
    """
    known = read_inventory()
    bench = known.find(name)
    with bench.connect() as target:
        provisioned = leases.refuse_if_held(target, holder, playing=False) is not None
        if provisioned and not check:  # a bare Pi has no data of ours
            saved = state.ask(target, ["save"], what="saving its data")
            place = saved.get("saved") if isinstance(saved, dict) else None
            if place:
                log.info(f"{name}: what was there is in {plain(str(place), 200)} on it")
    hosts = name
    if bench.bench_host in known.hosts:
        hosts = ",".join(dict.fromkeys([name, bench.bench_host]))
    command = [
        *("timeout", "--foreground", str(RESTORE_S)),
        *(str(program("ansible-playbook")), "-i", str(known.path.resolve())),
        *("site.yml", "--diff", "--limit", hosts, *(["--check"] if check else [])),
    ]
    changed, failed = 0, False
    process = subprocess.Popen(
        command,
        cwd=ROOT / "ansible",
        env=environment.for_ansible(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    assert process.stdout is not None  # noqa: S101
    with process.stdout as lines:
        for line in lines:
            if line.strip() and not re.match(r"(ok|skipping|included): ", line):
                log.info(_printable(line.rstrip()))
            match = re.search(
                r"^\S+ +: ok=\d+ +changed=(\d+) +unreachable=(\d+) +failed=(\d+)", line
            )
            if match:
                changed += int(match[1])
                failed = failed or match[2] != "0" or match[3] != "0"
    code = process.wait()
    if code == TIMED_OUT:
        raise BenchError(
            f"{name}: provisioning did not end within {RESTORE_S // 3600} h",
            next_step="log in and see what it waits for; it can be run again as it is",
        )
    if code or failed:
        raise BenchError(
            f"{name}: provisioning stopped, the lines above say why; it can be run again as it is"
        )
    return changed


def _printable(line: str) -> str:
    """Return a line of Ansible's, which quotes files of the target, without escape codes."""
    return "".join(c if c.isprintable() else " " for c in line.expandtabs()[:2000])
