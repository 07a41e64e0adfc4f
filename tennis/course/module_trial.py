# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""A Racquet of somebody's own, tried on the virtual bench: it answers, goes, and comes back.

It runs as a part of the target's kernel, and may do anything there: hang it, crash it, or forge
what the target's console says. What is counted here is counted outside, by the instrument; the
console is only quoted.
"""

import contextlib
import re
import socket
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tennis.bench.kernels import own_module
from tennis.bench.kernels.catalogue import Kernel
from tennis.bench.kernels.own_module import OwnModule
from tennis.bench.targets.console import LIMIT_BYTES
from tennis.bench.virtual.bench import VirtualBench
from tennis.bench.virtual.machine import Extras
from tennis.play.planning import plan_of
from tennis.play.progress import Progress
from tennis.play.rally import Watch, play
from tennis.rally.folder import CONSOLE
from tennis.rally.text import plain

RELOADS = 20
RATE_HZ = 500.0  # an open loop: pings come also while nobody is there to answer
ANSWERS_MIN = 100  # before the first reload
SILENCE = 400  # pings without an answer, 0.8 s: no reload takes that long
BALLS = 20_000  # more than are ever served: the target ends the trial
LIMIT_S = 300.0  # of this machine's time
LOOKS, LOOK_S = 5, 0.2
QUOTED = 60  # lines of the console
MODULE = "racquet"
LOADED = f"] {MODULE}: loading out-of-tree module"
# what the kernel says of somebody who broke its rules
COMPLAINT = re.compile(
    r"\[ *\d+\.\d+\] (?P<text>(?:BUG: |WARNING: |INFO: (?!lockdep is turned off)|\[ BUG: |ODEBUG: |"
    r"Unable to handle kernel |Internal error: |Kernel panic|list_(?:add|del) corruption|"
    r"refcount_t: |irq \d+: nobody cared|.*scheduling while atomic|.*Unbalanced enable|"
    r"Trying to (?:vfree|free)).*)"
)
# a place in the module: of the program counter itself, or where a call returns to
PLACE = re.compile(rf"(?P<function>\w+)\+0x(?P<offset>[0-9a-f]+)/0x[0-9a-f]+ \[{MODULE}\]")
INSTRUCTION_BYTES = 4
PLACES_WITHIN = 80  # lines behind the complaint
TOLD = re.compile(r"tennis: trial (\w+) (.*)")

SCRIPT = f"""#!/bin/sh
# pings come in an open loop meanwhile
folder=/sys/bus/platform/drivers/{MODULE}/{MODULE}
i=0
while [ $i -lt 1000 ]; do
  [ "$(cat $folder/replies)" -ge {ANSWERS_MIN} ] && break
  usleep 10000
  i=$((i + 1))
done
echo "tennis: trial counted $(cat $folder/pings) $(cat $folder/replies)"
i=0
while [ $i -lt {RELOADS} ]; do
  rmmod {MODULE} || {{ echo "tennis: trial refused rmmod"; break; }}
  insmod /tennis/{MODULE}.ko gpiochip=9030000.pl061 reply_line=1 ||
    {{ echo "tennis: trial refused insmod"; break; }}
  echo "tennis: trial at $(cat /sys/module/{MODULE}/sections/.text)"
  usleep 20000
  i=$((i + 1))
done
echo "tennis: trial reloads $i"
rmmod {MODULE} && echo "tennis: trial gone yes"
usleep 100000
grep -q " {MODULE}$" /proc/interrupts && echo "tennis: trial left an interrupt"
for status in /proc/[0-9]*/comm; do
  read -r name < "$status" 2>/dev/null && [ "$name" = {MODULE} ] &&
    echo "tennis: trial left a thread"
done
echo "tennis: trial over yes"
poweroff -f
"""


@dataclass
class Trial:
    """What came of a trial: ``complaint`` is what went wrong first, in words; empty: nothing."""

    answers: int  # whole ones, counted outside
    complaint: str = ""
    where: str = ""  # racquet.c:57
    console: list[str] = field(default_factory=list)  # the lines around it


def trial(source: Path, kernel: Kernel, bench_kernel: str) -> Trial:
    """Load a Racquet, let it answer, and reload it while pings come.

    ``bench_kernel``: how the bench finds ``kernel``. Raises BenchError where it is not built, or
    nothing can be tried here.
    """
    own = own_module.build(source, kernel)
    own_module.built(source, kernel)
    with tempfile.TemporaryDirectory(prefix="tennis-trial-") as scratch:
        looking = _Looking(Path(scratch) / "monitor")
        extras = Extras(
            files={"/tennis/after": SCRIPT.encode()},
            parameters="tennis.rest=no",
            monitor=looking.path,
        )
        bench = VirtualBench(extras)
        plan = plan_of(
            kernel=bench_kernel, racquet=source, loop="open", rate_hz=RATE_HZ, balls=BALLS
        )
        rally = play(bench, plan, Path(scratch) / "trial", Watch(looking.observe, looking.stop))
        lines = _lines(rally.path / CONSOLE)
        answered = rally.balls - rally.misses
        faults = [fault.message for fault in rally.manifest.faults if fault.code != "target_ended"]
    return judge(own, lines, answered, faults, looking)


def judge(  # noqa: PLR0911 (what went wrong first)
    own: OwnModule, lines: Sequence[str], answers: int, faults: Sequence[str], looking: "_Looking"
) -> Trial:
    """Say what went wrong first: the kernel's own complaint, a hang, or what the script met."""
    matches = filter(None, (TOLD.fullmatch(line.strip()) for line in lines))
    told = {match[1]: match[2] for match in matches}
    tail = list(lines[-QUOTED:])
    # before it was loaded, a complaint is the kernel's own
    loaded = next((n for n, line in enumerate(lines) if LOADED in line), len(lines))
    complaints = (n for n, line in enumerate(lines) if n > loaded and COMPLAINT.match(line))
    complained = next(complaints, None)
    if complained is not None:
        match = COMPLAINT.match(lines[complained])
        words = plain(match["text"] if match else "", 160)
        place = _place(own, lines[complained : complained + PLACES_WITHIN])
        quoted = lines[max(0, complained - 5) : complained + QUOTED]
        return Trial(answers, f"the kernel says: {words}", place, list(quoted))
    if looking.silent:
        place = _hangs_at(own, lines, looking)
        words = "the target hangs" if place else "does anything lower the line?"
        return Trial(answers, f"{answers} whole answers, then none: {words}", place, tail)
    if not any("tennis: fact ready" in line for line in lines):
        return Trial(answers, plain(next(iter(faults), "it was not loaded"), 200), "", tail)
    if answers < ANSWERS_MIN:
        return Trial(answers, f"{answers} whole answers to more than {ANSWERS_MIN} pings", "", tail)
    for what, words in (("refused", "{} was refused"), ("left", "it left {} behind")):
        if what in told:
            return Trial(answers, words.format(plain(told[what], 60)), "", tail)
    if told.get("reloads") != str(RELOADS) or told.get("over") != "yes":
        reloads = plain(told.get("reloads", "0"), 10)
        return Trial(answers, f"the trial ended after {reloads} of {RELOADS} reloads", "", tail)
    return Trial(answers, "")


def _lines(path: Path) -> list[str]:
    with contextlib.suppress(OSError), path.open("rb") as file:
        return [
            plain(line, 400)
            for line in file.read(LIMIT_BYTES).decode(errors="replace").splitlines()
        ]
    return []


def _place(own: OwnModule, lines: Sequence[str]) -> str:
    """Return the first place in the module that a complaint names, with its line."""
    for line in lines:
        for match in PLACE.finditer(line):
            offset = int(match["offset"], 16)
            if "pc : " not in line:  # the instruction behind a call
                offset = max(0, offset - INSTRUCTION_BYTES)
            if place := own_module.line_of(own, match["function"], offset):
                return place
    return ""


def _hangs_at(own: OwnModule, lines: Sequence[str], looking: "_Looking") -> str:
    """Return the line of the module at which the processor was seen most often."""
    bases = [
        int(match[1], 16)
        for line in lines
        if (match := re.search(r"tennis: (?:fact at_racquet|trial at) 0x([0-9a-f]{1,16})", line))
    ]
    if not bases:
        return ""
    for addresses in (looking.at, looking.back_to):
        seen = [own_module.line_at(own, address - bases[-1]) for address in addresses]
        if found := Counter(place for place in seen if place):
            return found.most_common(1)[0][0]
    return ""


class _Looking:
    """Looks on: ends a trial that hangs, once it has seen where the processor is."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.silent = False
        self.at: list[int] = []  # where the processor was
        self.back_to: list[int] = []  # and where the function that it was in returns to
        self._began = time.monotonic()
        self._answers = self._balls = 0

    def observe(self, progress: Progress) -> None:
        """See whether answers still come."""
        answers = progress.balls - progress.misses
        if answers > self._answers:
            self._answers, self._balls = answers, progress.balls
        late = time.monotonic() - self._began > LIMIT_S
        if not self.silent and (late or progress.balls - self._balls > SILENCE):
            self.silent = True
            self._look()

    def stop(self) -> bool:
        """Say whether the trial is over."""
        return self.silent

    def _look(self) -> None:
        with (
            contextlib.suppress(OSError),
            socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as monitor,
        ):
            monitor.settimeout(10)
            monitor.connect(str(self.path))
            for _ in range(LOOKS):
                monitor.sendall(b"info registers\n")
                time.sleep(LOOK_S)
                said = monitor.recv(1 << 16).decode(errors="replace")
                for name, addresses in (("PC", self.at), ("X30", self.back_to)):
                    found = re.findall(rf"\b{name}=([0-9a-f]{{16}})", said)
                    addresses += [int(address, 16) for address in found]
