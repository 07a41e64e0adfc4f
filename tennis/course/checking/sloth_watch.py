"""A user's own application on SLOTH, seen from outside: who took the resource, and when.

It is built with OSEK's extended status, whose services are functions of the kit's. QEMU logs each
time that the processor begins one of them, or a task, with the registers: the resource is in r0,
and XPSR has the exception that is active, which tells the task. Nothing that the application prints
or counts decides. The same rally's edges say which balls waited.
"""

import re
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tennis.bench.commands import run
from tennis.bench.protocol import Session
from tennis.bench.sloth import KERNELS
from tennis.bench.sloth.application import DEFINES, Application
from tennis.bench.sloth.bench import SlothBench
from tennis.bench.sloth.image import CORES, own_image
from tennis.bench.sloth.session import SlothSession
from tennis.course.checks import Wrong
from tennis.kit.errors import UsageError
from tennis.play.rally import Watch, play
from tennis.play.repeat import balls_of
from tennis.rally import Rally
from tennis.rally.manifest import OWN
from tennis.rally.plan import Plan
from tennis.rally.text import plain

_SYMBOLS = "arm-none-eabi-nm"
_SYMBOLS_MAX = 5000  # lines
_TASKS_MAX = 16
_LOG_MAX = 1 << 26  # bytes: a task that takes resources without an end is no answer
_SERVICES = {"sloth_get": "takes", "sloth_release": "gives back", "ErrorHook": "is refused"}
_TASK, _RESOURCE = "_vector", "_resource"
RAISE, LOWER, AUDIT, BOOKS = "Raise", "Lower", "Audit", "Books"
WAITED_NS = 1000  # the lab's `limit_us`: a falling edge that comes later waited for somebody
_ASIDE = 3  # balls that came while the mask went up or down
_WAITS_MIN = 3
_LOGGED = re.compile(
    r"^Trace \d+: \S+ \[\w+/(?P<at>\w+)/.*?^R00=(?P<r0>\w+).*?^XPSR=(?P<xpsr>\w+)",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Step:
    """The beginning of a task (``runs``), or a service that a task called."""

    what: str  # runs, takes, gives back, is refused
    task: str
    resource: str = ""


class _LoggedBench(SlothBench):
    """SLOTH with a checked application, whose steps QEMU logs."""

    def __init__(self, log: Path) -> None:
        self.log = log

    def _application(self, plan: Plan) -> Application:  # type: ignore[override]
        values = {DEFINES[name]: value for name, value in plan.load_options.items()}
        values["NS_PER_INSTRUCTION"] = plan.instruction_ns
        if plan.racquet is None:
            raise UsageError("only an application of somebody's own is watched")
        core, source = CORES[KERNELS[plan.kernel]], Path(plan.racquet)
        elf = own_image(source, core, defines=values, checked=True)
        return Application(core, elf, source.with_suffix(".h"), OWN, "")

    def start(self, plan: Plan, folder: Path) -> Session:
        """Start the processor, and let QEMU log what begins at the places that count."""
        built = self._application(plan)
        at = ",".join(f"{address:#x}+2" for address in _places(_symbols(built.elf)))
        words = ["-d", "exec,nochain,cpu", "-dfilter", at, "-D", str(self.log)]
        return SlothSession(
            built.elf, built.core, plan.protocol, folder, plan.instruction_ns, log_options=words
        )

    def steps(self, plan: Plan) -> list[Step]:
        """Return what was logged. Raises Wrong for more than anybody needs."""
        names = _symbols(self._application(plan).elf)
        if not self.log.exists():
            return []
        if self.log.stat().st_size > _LOG_MAX:
            raise Wrong(f"its tasks call services without an end: {_LOG_MAX >> 20} MB of a log")
        return _steps_in(self.log.read_text(errors="replace"), names)


def _symbols(elf: Path) -> dict[int, str]:
    """Return address -> name of an image's functions and data."""
    text = run([_SYMBOLS, elf], what="reading the application's symbols")
    rows = (line.split() for line in text.splitlines()[:_SYMBOLS_MAX])
    return {
        int(row[0], 16) & ~1: row[2]
        for row in rows
        if len(row) == 3 and row[1] in "TtWBb" and not row[2].startswith("$")
    }


def _places(names: dict[int, str]) -> list[int]:
    tasks = [at for at, name in names.items() if name.endswith(_TASK)][:_TASKS_MAX]
    return [*tasks, *(at for at, name in names.items() if name in _SERVICES)]


def _steps_in(log: str, names: dict[int, str]) -> list[Step]:
    """Return the steps of a log; ``names``: address -> name of the image's symbols."""
    steps: list[Step] = []
    tasks: dict[int, str] = {}  # exception -> task
    for match in _LOGGED.finditer(log):
        name = names.get(int(match["at"], 16), "")
        exception = int(match["xpsr"], 16) & 0x1FF
        if name.endswith(_TASK):
            tasks[exception] = name.removesuffix(_TASK)
            steps.append(Step("runs", tasks[exception]))
        elif name in _SERVICES:
            resource = names.get(int(match["r0"], 16), "").removesuffix(_RESOURCE)
            steps.append(Step(_SERVICES[name], tasks.get(exception, "no task"), resource))
    return steps


def watched(plan: Plan) -> tuple[Rally, list[Step], NDArray[np.int64]]:
    """Play a user's own application; return its rally, whose folder is removed, and its steps.

    With them come its balls, as ``balls_of`` returns them: served_ns, rise, fall.

    Raises TennisError, Wrong.
    """
    with tempfile.TemporaryDirectory(prefix="tennis-lab-") as scratch:
        bench = _LoggedBench(Path(scratch) / "log")
        rally = play(bench, plan, Path(scratch) / "own", Watch())
        return rally, bench.steps(plan), balls_of(rally)


def complaint(steps: Sequence[Step], waited: Sequence[bool], audits: float) -> str:
    """Describe errors in taking the resource; empty: none.

    ``waited``: of each ball, whether its falling edge did. ``audits``: so many were due.
    """
    refused = next((step for step in steps if step.what == "is refused"), None)
    if refused is not None:
        return f"a service is refused that {refused.task} calls (OSEK's extended status)"
    runs = Counter(step.task for step in steps if step.what == "runs")
    takes = Counter(step.task for step in steps if (step.what, step.resource) == ("takes", BOOKS))
    if abs(runs[AUDIT] - audits) > 2 + audits / 10:
        return f"{AUDIT} ran {runs[AUDIT]} times, and {audits:.0f} times were due"
    for task in (LOWER, AUDIT):
        if takes[task] < runs[task] - 1 or not takes[task]:  # the last one is cut off
            return f"{task} ran {runs[task]} times, and took {BOOKS} {takes[task]} times"
    if strangers := set(takes) - {LOWER, AUDIT}:
        return f"{min(strangers)} takes {BOOKS}, too"
    return _held(steps) or _waits(steps, waited)


def _held(steps: Sequence[Step]) -> str:
    """Say who ran, or took the books, while another task held them; empty: nobody."""
    holder = ""
    for step in steps:
        other = holder not in {"", step.task}
        if step.what == "takes" and step.resource == BOOKS:
            if holder:
                return f"{step.task} takes {BOOKS} while {holder} holds it"
            holder = step.task
        elif step.what == "gives back" and step.resource == BOOKS:
            holder = ""
        elif step.what == "runs" and step.task != RAISE and other:
            return f"{plain(step.task, 40)} runs while {holder} holds {BOOKS}"
    return ""


def _waits(steps: Sequence[Step], waited: Sequence[bool]) -> str:
    """Say if other balls waited than those that came while the audit held the books."""
    holder, came = "", []
    for step in steps:
        if step.resource == BOOKS and step.what != "is refused":
            holder = step.task if step.what == "takes" else ""
        elif step.what == "runs" and step.task == RAISE:
            came.append(holder == AUDIT)
    if len(came) != len(waited):
        return f"{RAISE} ran {len(came)} times for {len(waited)} balls"
    late = sum(came)
    aside = sum(one != other for one, other in zip(came, waited, strict=True))
    if aside > _ASIDE:
        return (
            f"{late} balls came while {AUDIT} held {BOOKS}, and {sum(waited)} waited: "
            f"{aside} of them are others"
        )
    if late < _WAITS_MIN:
        return f"{late} balls came while {AUDIT} held {BOOKS}: it is hardly ever held"
    return ""
