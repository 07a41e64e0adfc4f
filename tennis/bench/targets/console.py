"""The virtual target's console: facts, tasks, errors, the kernel's own complaints."""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tennis.rally.manifest import Fault, Health, Witness

LINE = re.compile(r"(?:\[ *(?P<s>\d+)\.(?P<us>\d{6})\]\s*)?(?P<text>.*)")
PANIC = re.compile(r"Kernel panic - not syncing.*|Internal error: .*|Unable to handle kernel .*")
WARNING = re.compile(
    r"WARNING: .*|BUG: .*|.*sched: RT throttling activated.*|.*rcu.*(?:stall|starved).*"
    r"|.*possible circular locking.*|.*possible recursive locking.*|.*Out of memory: .*"
    r"|irq \d+: nobody cared.*|sh: write error: No space left on device"
)
# a console that a broken kernel fills without end is read so far
LIMIT_BYTES = 1 << 24
EVENTS_MAX = 1000
# QEMU's lines in a sound rally: that it was asked to end; that a guest's network is its own
EXPECTED = (
    *("terminating on", "is not connected to host network"),
    *("nic stellaris_enet.0 has no peer", "Timer with period zero"),  # of SLOTH's board, at reset
)
FAULTS_MAX = 100
TASKS_MAX = 100
CEILINGS_MAX = 64
PROCESSORS_MAX = 256
HEALTH_MAX = 64
OVER = "over_s"  # this fact shows that the guest knows of the rally's end
# facts of a check of the load that went well: before the first ball, and behind the last
HEALTH_BEFORE, HEALTH_AFTER = "health_s", "healthy"
WITNESS_ENDS = "tennis: witness ends"
HEALTH = re.compile(r"([\w-]{1,64}) (-?\d{1,12}(?:\.\d{1,6})?) (\S{1,64})")


@dataclass
class ConsoleReport:
    """The contents of a console."""

    facts: dict[str, str] = field(default_factory=dict)
    tasks: list[tuple[str, str, int]] = field(default_factory=list)
    ceilings: list[tuple[str, int]] = field(default_factory=list)  # of SLOTH's resources
    health: dict[str, Health] = field(default_factory=dict)
    pings: dict[int, int] = field(default_factory=dict)  # processor -> those that it took
    faults: list[Fault] = field(default_factory=list)
    events: list[dict[str, Any]] = field(default_factory=list)
    witness_ended: bool = False  # all that it saw is there

    def unchecked(self, witness: Witness) -> str:
        """Name the checks after the last ball that are missing; empty: none."""
        missing = []
        if HEALTH_BEFORE in self.facts and HEALTH_AFTER not in self.facts:
            missing.append("the load's health")
        if witness != "none" and not self.witness_ended:
            missing.append(f"what {witness} saw")
        return " and ".join(missing)


class Console:
    """The console's file; QEMU writes it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def add_emulator_output(self, text: str) -> None:
        """Append QEMU's own messages to the target's."""
        lines = [
            line
            for line in text.splitlines()
            if line.strip() and not any(expected in line for expected in EXPECTED)
        ]
        if lines:
            with self.path.open("a") as console:
                console.writelines(f"qemu: {line}\n" for line in lines)

    @property
    def has_begun(self) -> bool:
        """Tell whether the user's program was started."""
        return "program_began_s" in self.report().facts

    def report(self) -> ConsoleReport:
        """Read the console."""
        report = ConsoleReport()
        try:
            with self.path.open("rb") as file:
                text = file.read(LIMIT_BYTES).decode(errors="replace")
        except OSError:
            return report
        for raw in text.splitlines():
            _read_line(raw.strip("\r"), report)
        return report


def _read_line(raw: str, report: ConsoleReport) -> None:
    match = LINE.fullmatch(raw)
    if not match:
        return
    text = match["text"][:4000]
    own = text.removeprefix("tennis: ")
    if own != text:
        kind, _, rest = own.partition(" ")
        name, _, value = rest.partition(" ")
        if kind == "fact":
            _read_fact(name, value, report)
        elif kind == "error" and len(report.faults) < FAULTS_MAX:
            report.faults.append(Fault(code=name, message=value or name))
        elif (
            kind == "task"
            and len(report.tasks) < TASKS_MAX
            and (task := re.fullmatch(r"(\S+) (\w+) (\d+)", rest))
        ):
            report.tasks.append((task[1], task[2], int(task[3])))
        elif (
            kind == "ceiling"
            and len(report.ceilings) < CEILINGS_MAX
            and (resource := re.fullmatch(r"(\S+) (\d{1,2})", rest))
        ):
            report.ceilings.append((resource[1], int(resource[2])))
        elif kind == "pings" and (came := re.fullmatch(r"(\d{1,3}) (\d{1,12})", rest)):
            _add_pings(int(came[1]), int(came[2]), report)
        elif kind == "health":
            _read_health(rest, report)
        report.witness_ended |= text == WITNESS_ENDS
    elif text.startswith("qemu: ") and len(report.events) < EVENTS_MAX:
        report.events.append({"what": "emulator", "text": text.removeprefix("qemu: ")})
    elif PANIC.match(text) and len(report.faults) < FAULTS_MAX:
        report.faults.append(Fault(code="guest_panic", message=text))
    elif WARNING.match(text) and len(report.events) < EVENTS_MAX:
        event: dict[str, Any] = {"what": "console_warning", "text": text}
        if match["s"]:
            event["since_boot_ns"] = int(match["s"]) * 10**9 + int(match["us"]) * 1000
        report.events.append(event)


def _read_fact(name: str, value: str, report: ConsoleReport) -> None:
    if name == HEALTH_BEFORE:  # a continued rally: its end is no longer one
        report.facts.pop(OVER, None)
        report.facts.pop(HEALTH_AFTER, None)
    report.facts[name] = value


def _add_pings(processor: int, times: int, report: ConsoleReport) -> None:
    """Add one processor's pings: a continued rally reports them for each of its parts."""
    if processor in report.pings or len(report.pings) < PROCESSORS_MAX:
        report.pings[processor] = report.pings.get(processor, 0) + times


def _read_health(rest: str, report: ConsoleReport) -> None:
    """Take a figure of the load's health: of the end, if the target was informed of the end."""
    match = HEALTH.fullmatch(rest)
    if not match or len(report.health) >= HEALTH_MAX:
        return
    name, value, unit = match[1], float(match[2]), match[3]
    over = OVER in report.facts
    earlier = report.health.get(name)
    start = earlier.start if earlier else None if over else value
    report.health[name] = Health(name=name, unit=unit, start=start, end=value if over else None)
    at_s = report.facts.get(OVER if over else "health_s", "")
    event: dict[str, Any] = {"what": "load_health", "name": name, "value": value, "unit": unit}
    if re.fullmatch(r"\d{1,9}\.\d{2}", at_s):
        event["since_boot_ns"] = int(at_s.replace(".", "")) * 10**7
    report.events.append(event)
