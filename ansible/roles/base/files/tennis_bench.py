#!/usr/bin/python3 -I
# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Who holds this bench, and what it is: asked over SSH by `tennis benches`.

  tennis-bench status                          everything, as JSON
  tennis-bench lease HOLDER SECONDS             hold the bench; the holder may hold it longer
  tennis-bench release HOLDER                  give it back
  tennis-bench save                            put the data aside, also from a holder; root's

A holder is a name, and the login that asked in that name: sudo says which (SUDO_USER). Another
login may not use the name, so a group's data are its own; logins that are shared are told apart by
name alone. With all of root's rights, use `save`, and remove the lease.

Programs that a sudo rule allows ask here first: what they do needs the bench (tennis-boot).

A lease is one file, /var/lib/tennis/lease.json, and changes hands under a lock. Locks lie in
/run/tennis, where only root can open a file: who cannot open one cannot lock it. A lease that has
expired costs its holder nothing at first: the bench stays as it is until somebody else asks for it,
and then the data are put aside, by a rename, before the new holder has it. No timer wakes up for
that: it would do so during somebody's rally. TENNIS_ROOT is put in front of every path, and
TENNIS_NOW is the time in seconds; both for the tests.
"""

import contextlib
import fcntl
import json
import os
import re
import stat
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(os.environ.get("TENNIS_ROOT", "/"))
HOME = ROOT / "var/lib/tennis"
LEASE = HOME / "lease.json"
DATA, SAVED = HOME / "data", HOME / "saved"  # one file system: a rename moves everything at once
SERIAL = ROOT / "dev/serial/by-id"
LOCKS = ROOT / "run/tennis"
LOCK, RALLY = LOCKS / "lease", LOCKS / "rally"  # a rally that is being played locks the second
FILE_LOCKS = ROOT / "proc/locks"
PICO = re.compile(r"usb-(MicroPython|Raspberry_Pi)_.*?_([0-9A-Fa-f]{8,32})-if00")
HOLDER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")
LOGIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._@-]{0,63}")
LONGEST_S = 14 * 24 * 3600
LEASE_SIZE_MAX = 4096
TIME_MAX = 1 << 40
LOOKED_AT_MAX = 20_000  # files among the data, when the last rally is looked for


class Refused(Exception):  # noqa: N818 (it is no error of the program)
    """What was asked for cannot be done; the message says what to do instead."""


def main(words):
    """Run one command of the command line."""
    match words:
        case ["status"]:
            print(json.dumps(status()))
        case ["lease", holder, seconds]:
            print(json.dumps(lease(holder, seconds)))
        case ["release", holder]:
            release(holder)
        case ["save"]:
            with locked():
                print(json.dumps({"saved": save((read_lease() or {}).get("holder", "nobody"))}))
        case _:
            raise Refused("use: tennis-bench status | lease HOLDER SECONDS | release HOLDER | save")


def now():
    """Return the time in whole seconds since 1970."""
    return int(os.environ.get("TENNIS_NOW") or time.time())


@contextlib.contextmanager
def locked():
    """Keep everybody else out."""
    HOME.mkdir(parents=True, exist_ok=True)
    LOCKS.mkdir(parents=True, exist_ok=True)
    LOCKS.chmod(0o711)  # `status` looks for a lock there, without rights
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    lock = os.open(LOCK, flags, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


@contextlib.contextmanager
def held_for(holder):
    """Keep the bench as it is while something is done to it that only its holder may do."""
    check_name(holder)
    with locked():
        refuse_others(read_lease(), holder)
        if plays():
            raise Refused("a rally is being played on it: wait until it ends")
        yield


def read_lease():
    """Return the lease, None where there is none; one that cannot be read counts as held."""
    damaged = Refused(f"{LEASE} is damaged: look at it, save what is in {DATA}, and remove it")
    try:
        if not stat.S_ISREG(LEASE.lstat().st_mode):  # a pipe would be waited for
            raise damaged
        with LEASE.open("rb") as file:
            held = json.loads(file.read(LEASE_SIZE_MAX))
        times = {name: int(held[name]) for name in ("since", "expires")}
        holder = held["holder"]
        if not HOLDER.fullmatch(holder) or not all(0 <= t < TIME_MAX for t in times.values()):
            raise damaged
        user = held.get("user")
        if user is not None and not (isinstance(user, str) and LOGIN.fullmatch(user)):
            raise damaged
        return {"holder": holder, "user": user, **times}
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        raise damaged from None


def check_name(holder):
    """Refuse what cannot be a holder's name."""
    if not HOLDER.fullmatch(holder):
        raise Refused(f"{holder!a} is not a name: letters, digits, dots and dashes, 64 at most")


def login():
    """Return the login that asks, or its number if its name is a strange one; None for root."""
    user = os.environ.get("SUDO_USER", "root")
    if user == "root":
        return None
    return user if LOGIN.fullmatch(user) else f"uid-{os.environ.get('SUDO_UID', 'unknown')[:20]}"


def is_of(held, holder):
    """Tell whether a lease is that of a holder, and of the login that asks.

    One without a login is root's (root took it, or an earlier version wrote it): whoever else knows
    the name could end it otherwise, and the name is no secret.
    """
    return held["holder"] == holder and held["user"] == login()


def whose(held):
    """Say who holds the bench."""
    known = held["user"] or login()  # root asks of what is root's: nothing to tell apart
    return f"{held['holder']} (login {held['user'] or 'root'})" if known else held["holder"]


def plays():
    """Tell whether a rally is being played here: whether its lock is held, which is not touched."""
    try:
        file = RALLY.stat()
    except FileNotFoundError:  # none since this target booted
        return False
    device = f"{os.major(file.st_dev):02x}:{os.minor(file.st_dev):02x}:{file.st_ino}"
    locks = [line.split() for line in FILE_LOCKS.read_text().splitlines()]
    return any("->" not in words and device in words for words in locks)


def refuse_others(held, holder):
    """Refuse who does not hold the bench while somebody does."""
    if held and not is_of(held, holder) and held["expires"] > now():
        left_min = -(-(held["expires"] - now()) // 60)
        raise Refused(
            f"held by {whose(held)} for {left_min} min more, and you are {holder}: take "
            f"another bench, or ask them to give it back{_if_that_is_you(held, holder)}"
        )


def lease(holder, seconds):
    """Hold the bench for a holder; return the lease and where the last holder's data went."""
    check_name(holder)
    if not re.fullmatch(r"[0-9]{1,7}", seconds) or not 60 <= int(seconds) <= LONGEST_S:
        raise Refused(f"{seconds!a} s: a lease takes a minute to {LONGEST_S // 86400} days")
    upgrading = subprocess.run(
        ["systemctl", "is-active", "--quiet", "apt-daily-upgrade.service"], check=False
    )
    if upgrading.returncode == 0:
        raise Refused("upgrades are being installed: try again in some minutes")
    with locked():
        held = read_lease()
        mine = bool(held) and is_of(held, holder)
        refuse_others(held, holder)
        if not mine and plays():
            last = f"of {whose(held)}, whose lease is over, " if held else ""
            raise Refused(f"a rally {last}is being played on it: wait until it ends")
        since = held["since"] if mine else now()
        fresh = {"holder": holder, "user": login(), "since": since, "expires": now() + int(seconds)}
        temporary = LEASE.with_name("lease.new")
        with temporary.open("w") as file:
            json.dump(fresh, file)
            file.flush()
            os.fsync(file.fileno())
        # behind what a full disk refuses, before the bench changes hands
        saved = None if mine else save(held["holder"] if held else "nobody")
        temporary.replace(LEASE)
        return {**fresh, "saved": saved, "now": now()}


def _if_that_is_you(held, holder):
    """Return a hint to whoever uses another name than last time."""
    other_name = held["holder"] != holder and held["user"] == login()
    return f" (set TENNIS_HOLDER={held['holder']}, if that is you)" if other_name else ""


def release(holder):
    """Give the bench back; the data are put aside."""
    with locked():
        held = read_lease()
        if held is None:
            return
        if not is_of(held, holder):
            raise Refused(f"held by {whose(held)}, not by {holder}{_if_that_is_you(held, holder)}")
        if plays():
            raise Refused("a rally is being played on it: end it first")
        save(holder)
        LEASE.unlink()


def save(holder):
    """Put the data aside; return the folder, None where there are none."""
    if not DATA.is_dir() or not any(DATA.iterdir()):
        return None
    SAVED.mkdir(exist_ok=True)
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(now()))
    for number in range(1000):
        place = SAVED / f"{holder}-{stamp}{f'-{number}' if number else ''}"
        if not place.exists():
            break
    mode, group = DATA.stat().st_mode, DATA.stat().st_gid
    DATA.rename(place)
    place.chmod(mode & 0o7755)  # nobody puts anything in later, or takes it out
    DATA.mkdir()
    os.chown(DATA, -1, group)
    DATA.chmod(mode & 0o7777)
    return str(place)


def status():
    """Return what this bench is."""
    try:
        held = read_lease()
    except Refused as refusal:
        held = {"damaged": str(refusal)}
    return {
        "release": os.uname().release,
        "machine": os.uname().machine,
        "now": now(),
        "lease": held,
        "plays": plays(),
        "picos": picos(),
        "last_rally": last_rally(),
        "governor": text(ROOT / "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        "model": text(ROOT / "proc/device-tree/model"),
    }


def picos():
    """Return the serial numbers of the Picos that are plugged in here."""
    with contextlib.suppress(OSError):
        found = [PICO.fullmatch(path.name) for path in sorted(SERIAL.iterdir())]
        return [match[2] for match in found if match]
    return []


def last_rally():
    """Return when the newest rally among the data was sealed, in seconds since 1970."""
    newest, looked_at, folders = None, 0, [DATA]
    while folders and looked_at < LOOKED_AT_MAX:
        folder = folders.pop()
        with contextlib.suppress(OSError), opened(folder) as place, os.scandir(place) as entries:
            for entry in entries:
                looked_at += 1
                if looked_at > LOOKED_AT_MAX:
                    break
                if entry.is_dir(follow_symlinks=False):
                    # a way may be longer than the system takes, and deeper than a program nests
                    folders.append(folder / entry.name)
                elif entry.name == "manifest.json":
                    sealed = int(entry.stat(follow_symlinks=False).st_mtime)
                    newest = max(newest or 0, min(sealed, now()))
    return newest


@contextlib.contextmanager
def opened(folder):
    """Open a folder among the data, of which none became a link since it was seen."""
    place = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        if Path(f"/proc/self/fd/{place}").readlink() != DATA.resolve() / folder.relative_to(DATA):
            raise FileNotFoundError(folder)
        yield place
    finally:
        os.close(place)


def text(path):
    """Return one line of a file, None where there is none."""
    try:
        return path.read_bytes()[:200].decode(errors="replace").strip("\0\n ") or None
    except OSError:
        return None


def program(words):
    """Run a command as a program does: what is refused is one line, and exit code 1."""
    try:
        main(words)
    except Refused as refusal:
        sys.exit(f"tennis-bench: {refusal}")
    except OSError as error:
        sys.exit(f"tennis-bench: {error.filename or HOME}: {error.strerror or 'failed'}")


if __name__ == "__main__":
    program(sys.argv[1:])
