"""The work of a user's own program besides answering, seen from outside while balls come.

The target's root looks about every tenth of a second of virtual time. It tells the console, which
is not the program's to write, how many pings the kernel counted before and after, how long the
program's file is, what one record of it holds (drawn for each hand-in), and which threads there
are: how often the ordinary ones slept, and for how long they ran. Nothing that the program says
counts.
"""

import hashlib
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass

_RECORDS = "/run/program/records"
RECORD = 4096  # bytes of a ball
_LOOK_US = 50_000
_LOOKS_MIN = 5
_SHARES = 40  # drawn, in thousandths: each look reads the record at the next one of those there
_TICK_US = 10_000  # of the kernel's count of a thread's time
BEHIND = 250  # balls that may wait to be written: the thread that writes is an ordinary one
_SLEEPS_PER_S, _RUN_SHARE = 40, 0.01  # of the other thread, a tenth of what the lab's program does
_LOOK = re.compile(
    r"^tennis: look (?P<at_s>\d+\.\d+) (?P<before>\d+) (?P<bytes>\d+) (?P<after>\d+) "
    r"(?P<threads>\d+) (?P<ticks>\d+) (?P<sleeps>\d+) (?P<record>-?\d+) (?P<md5>[0-9a-f]*)\r?$",
    re.MULTILINE,
)
_SCRIPT = """pings() { # that the kernel counted on the program's line
  sed -n '/pl061/{/racquet-ready/d; s/^ *[0-9]*: *\\([0-9]*\\) .*/\\1/p}' /proc/interrupts |
    sort -n | tail -n 1
}
while :; do for share in $shares; do
  usleep $every
  before=$(pings) bytes=0 threads=0 ticks=0 sleeps=0
  [ "$(stat -c %F $file 2> /dev/null)" = "regular file" ] && bytes=$(stat -c %s $file)
  after=$(pings)
  at=$((bytes / size * share / 1000 - 1))
  [ $at -ge 0 ] || at=0
  md5=
  [ "$bytes" -gt 0 ] && md5=$(dd if=$file bs=$size skip=$at count=1 2> /dev/null | md5sum)
  for task in /proc/$(cat /run/program.pid)/task/*; do
    line=$(sed 's/.*) //' "$task/stat" 2> /dev/null) || continue
    set -- $line # behind the name: utime (12), stime (13), policy (39)
    threads=$((threads + 1))
    [ "${39}" = 0 ] || continue
    ticks=$((ticks + ${12} + ${13}))
    sleeps=$((sleeps + $(sed -n 's/^voluntary_ctxt_switches:[^0-9]*//p' "$task/status")))
  done
  now=$(cut -d ' ' -f 1 /proc/uptime)
  echo "tennis: look $now ${before:-0} $bytes ${after:-0} $threads $ticks $sleeps $at ${md5%% *}"
done; done
"""


@dataclass(frozen=True)
class _Look:
    """The state at one moment, ``at_s`` after the boot; counts are since the program began."""

    md5: str  # of one record; empty: there was none
    at_s: float
    before: int  # pings
    bytes: int
    after: int  # pings, once the file was looked at
    threads: int
    ticks: int  # that ordinary threads ran, of _TICK_US
    sleeps: int  # how often they gave up the processor
    record: int  # that was read


def script(drawn: int) -> bytes:
    """Return the script that root runs during the rally; ``drawn``: which records it reads."""
    draw = random.Random(drawn)  # noqa: S311 (to be repeated)
    shares = " ".join(str(draw.randint(1, 1000)) for _ in range(_SHARES))
    head = f"#!/bin/sh\nshares='{shares}' every={_LOOK_US} file={_RECORDS} size={RECORD}\n"
    return f"{head}{_SCRIPT}".encode()


def looks_in(console: str) -> list[_Look]:
    """Return the looks on the target's console."""
    return [
        _Look(match["md5"], float(match["at_s"]), *map(int, match.groups()[1:-1]))
        for match in _LOOK.finditer(console)
    ]


def complaint(looks: Sequence[_Look], balls: int) -> str:
    """Name the missing part of a program's work; empty: none.

    ``balls``: the number served.
    """
    last = looks[-1].after if looks else 0
    if len(looks) < _LOOKS_MIN or last < balls / 2:
        return f"its work could be looked at {len(looks)} times, the last time after {last:,} pings"
    return next(filter(None, map(_wrong_at, looks)), "") or _other_thread(looks[0], looks[-1])


def _wrong_at(look: _Look) -> str:
    records = look.bytes // RECORD
    pings = f"after {look.before:,} pings"
    if look.before - records > BEHIND:
        return f"{pings} there are {records:,} records in {_RECORDS}"
    if records > look.after + 1:
        return f"{pings} there are {records:,} records in {_RECORDS}: more than balls"
    right = hashlib.md5(bytes([look.record % 256]) * RECORD, usedforsecurity=False)
    if records and look.md5 != right.hexdigest():
        return f"{pings} the record {look.record:,} in {_RECORDS} is not that of the ball"
    if look.before and look.threads < 2:  # it may start the other one once it has its lines
        return f"{pings} it has one thread: the other one is wanted, too"
    return ""


def _other_thread(first: _Look, last: _Look) -> str:
    """Say if no ordinary thread works with the count, 500 times a second for 0.2 ms."""
    took_s = last.at_s - first.at_s
    sleeps = (last.sleeps - first.sleeps) / took_s
    ran = (last.ticks - first.ticks) * _TICK_US / 1e6 / took_s
    if sleeps < _SLEEPS_PER_S or ran < _RUN_SHARE:
        return (
            f"its other thread, an ordinary one, slept {sleeps:.0f} times a second and ran "
            f"{100 * ran:.1f} % of the time: it does not work with the count"
        )
    return ""
