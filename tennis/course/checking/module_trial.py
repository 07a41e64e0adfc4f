"""Try a user's Racquet on the virtual bench: it answers, is removed, and is loaded again.

It runs as a part of the target's kernel, and may do anything there: hang it, crash it, or forge the
target's console. So the console is only quoted, or names the place; nothing else in it counts for
the module. The verdict uses what is visible from outside:

- the instrument's edges: whole answers while it is loaded, none while it is not;
- the kernel's lists of modules and of tasks, read from the guest's memory every millisecond;
- who made each edge: the functions on the stack of the processor at that moment;
- the kernel's own complaints, seen as calls of the functions that utter them, and QEMU's reason for
  the end of the machine: a reset, for one.

A limit remains: code in the kernel can write to the kernel's memory. A module that takes itself off
the list of modules while it falls silent, or that hides a thread from the list of tasks, forges the
lists; one that moves its stack elsewhere hides who made an edge; one that switches off the checks
of the kernel that watches is not watched. A thread that waits under the name of a kworker counts as
one if there are few. A timer that fires after the end of the trial is not seen.
"""

import contextlib
import json
import random
import re
import socket
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tennis.bench import box
from tennis.bench.cache import digest, once
from tennis.bench.kernels import own_module
from tennis.bench.kernels.kernel import Kernel
from tennis.bench.kernels.own_module import OwnModule
from tennis.bench.qemu import plugins
from tennis.bench.targets.console import LIMIT_BYTES
from tennis.bench.virtual import symbols
from tennis.bench.virtual.bench import VirtualBench
from tennis.bench.virtual.guest import SAMPLE_NS, Guest, GuestTrace, MemorySample, Occurrence
from tennis.bench.virtual.machine import Extras
from tennis.kit.errors import BenchError
from tennis.kit.units import format_ns
from tennis.play.planning import plan_for
from tennis.play.progress import Progress
from tennis.play.rally import Watch, play
from tennis.play.repeat import NONE, balls_of
from tennis.rally import Rally
from tennis.rally.disk import writing
from tennis.rally.folder import CONSOLE
from tennis.rally.plan import Plan
from tennis.rally.request import RallyRequest
from tennis.rally.serving import Serving
from tennis.rally.text import plain

RELOADS = 20
ANSWERS_MIN = 100  # before the first reload
ANSWERS_AGAIN_MIN = 5  # after each
PINGS_UNANSWERED_MIN = 5  # while it is not loaded
OVER_US = 500_000
SILENCE = 400  # pings without an answer, 0.8 s: no reload takes that long
UNSEEN_NS = 100_000_000  # between two samples
KWORKERS_MAX = 8  # that the kernel itself starts meanwhile
OWN_TASKS = ("after", "usleep")  # what runs in the script at its end
# they call the handlers of hard interrupts, and nothing else; a compiler may merge them
HANDLERS = {"handle_irq_event", "handle_irq_event_percpu", "__handle_irq_event_percpu"}
# the interrupt controller's: all of a hard interrupt runs in it, also what a module puts around the
# handler; timers and calls of other processors run in the second one, and may be a bottom half
CONTROLLER, PER_PROCESSOR = "gic_handle_irq", "handle_percpu_devid_irq"
PINGS_S = 30  # several times as long as a trial takes
LIMIT_S = 900.0  # of this machine's time: it says nothing about the Racquet
REGISTER_READS, REGISTERS_S = 5, 0.2
QUOTED = 60  # lines of the console
MODULE = "racquet"
LOADED = f"] {MODULE}: loading out-of-tree module"
# the kernel's complaints about broken rules
COMPLAINT = re.compile(
    r"\[ *\d+\.\d+\] (?P<text>(?:BUG: |WARNING: |INFO: (?!lockdep is turned off)|\[ BUG: |ODEBUG: |"
    r"Unable to handle kernel |Internal error: |Kernel panic|list_(?:add|del) corruption|"
    r"refcount_t: |irq \d+: nobody cared|.*scheduling while atomic|.*Unbalanced enable|"
    r"Trying to (?:vfree|free)).*)"
)
# a place in the module: the program counter itself, or a return address
PLACE = re.compile(rf"(?P<function>\w+)\+0x(?P<offset>[0-9a-f]+)/0x[0-9a-f]+ \[{MODULE}\]")
INSTRUCTION_BYTES = 4
PLACES_WITHIN = 80  # lines behind the complaint
SCRIPT = """#!/bin/sh
# pings come in an open loop meanwhile; nobody believes what is told here
usleep {settle_us}
usleep {loaded_us}
i=0
while [ $i -lt {reloads} ]; do
  rmmod {module} || break
  usleep {gone_us}
  insmod /tennis/{module}.ko gpiochip=9030000.pl061 reply_line=1 || break
  echo "tennis: trial at $(cat /sys/module/{module}/sections/.text)"
  usleep {again_us}
  i=$((i + 1))
done
rmmod {module}
usleep {over_us}
poweroff -f
"""


@dataclass(frozen=True)
class Pace:
    """When a trial loads and unloads, and how fast pings come: drawn for each hand-in."""

    reloads: int = RELOADS
    rate_hz: float = 500.0  # an open loop: pings come also while nobody is there to answer
    loaded_us: int = 400_000
    again_us: int = 30_000
    gone_us: int = 20_000
    seed: int = 1

    @property
    def said(self) -> str:
        """Return it in words."""
        return f"{self.reloads} reloads, {self.rate_hz:g} pings a second, seed {self.seed}"


def pace_of(drawn: int) -> Pace:
    """Return the pace of a trial that is drawn with a number."""
    draw = random.Random(drawn)  # noqa: S311 (to be repeated)
    return Pace(
        reloads=draw.randint(12, 24),
        rate_hz=float(draw.randint(450, 650)),
        loaded_us=draw.randint(350_000, 500_000),
        again_us=draw.randint(28_000, 40_000),
        gone_us=draw.randint(20_000, 30_000),
        seed=draw.getrandbits(31),
    )


@dataclass
class Trial:
    """The result of a trial: ``complaint`` is its first error in words; empty: none."""

    answers: int  # whole ones, counted outside
    complaint: str = ""
    where: str = ""  # racquet.c:57
    console: list[str] = field(default_factory=list)  # the lines around it


def trial(source: Path, kernel: Kernel, bench_kernel: str, pace: Pace = Pace()) -> Trial:
    """Load a Racquet, let it answer, and reload it while pings come; once for the same parts.

    ``bench_kernel``: how the bench finds ``kernel``. Raises BenchError if it is not built, or
    nothing can be tried here.
    """
    own = own_module.build(source, kernel)
    own_module.built(source, kernel)
    request = RallyRequest(kernel=bench_kernel, racquet=source)
    balls = round(PINGS_S * pace.rate_hz)
    serving = Serving(loop="open", rate_hz=pace.rate_hz, balls=balls, seed=pace.seed)
    plan = plan_for(request, serving)
    versions = VirtualBench().versions(plan)
    code = [Path(__file__), Path(own_module.__file__), *plugins.sources("guest")]

    def fill(folder: Path) -> None:
        (folder / "trial.json").write_text(json.dumps(asdict(_tried(own, plan, pace))))

    key = digest(json.dumps(versions, sort_keys=True), repr(pace), *code)
    folder = once("trials", key, fill)
    return Trial(**json.loads((folder / "trial.json").read_text()))


def _tried(own: OwnModule, plan: Plan, pace: Pace) -> Trial:
    parts = VirtualBench().parts(plan)
    with tempfile.TemporaryDirectory(prefix="tennis-trial-") as scratch, Guest(parts) as guest:
        hang_watch = _HangWatch(Path(scratch) / "monitor")
        extras = Extras(
            files={"/tennis/after": _script(plan, pace).encode()},
            parameters=f"tennis.rest=no {symbols.in_place(parts.kernel)}".strip(),
            monitor=hang_watch.path,
            plugin=guest.plugin(),
        )
        watch = Watch(hang_watch.observe, hang_watch.stop)
        killed_before = box.oom_kills()
        rally = play(VirtualBench(extras), plan, Path(scratch) / "trial", watch)
        if hang_watch.late:
            raise BenchError(
                f"the trial was not over within {LIMIT_S:g} s of this machine's time",
                next_step="try again when the machine has less to do",
            )
        if box.oom_kills() > killed_before:  # QEMU may have been one of them
            raise BenchError(
                "this machine ran out of memory meanwhile, and its kernel ended processes",
                next_step="try again when the machine has less to do",
            )
        lines = _lines(rally.path / CONSOLE)
        faults = [fault.message for fault in rally.manifest.faults if fault.code != "target_ended"]
        balls = balls_of(rally)
        seen = guest.trace()
        return _judge(own, lines, balls, faults, hang_watch=hang_watch, trace=seen, pace=pace)


def _script(plan: Plan, pace: Pace) -> str:
    return SCRIPT.format(
        module=MODULE,
        reloads=pace.reloads,
        settle_us=plan.protocol.settle_ns // 1000,
        loaded_us=pace.loaded_us,
        again_us=pace.again_us,
        gone_us=pace.gone_us,
        over_us=OVER_US,
    )


def _judge(  # noqa: PLR0913 (all that is known of a trial)
    own: OwnModule,
    lines: Sequence[str],
    balls: NDArray[np.int64],
    faults: Sequence[str],
    *,
    hang_watch: "_HangWatch",
    trace: GuestTrace,
    pace: Pace = Pace(),
) -> Trial:
    """Describe the first failure: the kernel's own complaint, a hang, or a visible fault.

    ``lines`` are the console's, ``balls`` as ``balls_of`` returns them: served_ns, rise, fall.
    """
    answers = int((balls[:, 2] != NONE).sum())
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
    if hang_watch.silent:
        place = _hangs_at(own, lines, hang_watch)
        words = "the target hangs" if place else "does anything lower the line?"
        return Trial(answers, f"{answers} whole answers, then none: {words}", place, tail)
    stays = _stays(trace.samples)
    if not any(stay.there for stay in stays):
        return Trial(answers, plain(next(iter(faults), "it was not loaded"), 200), "", tail)
    wrong = (
        _silenced(trace, stays)
        or _reloaded(trace, stays, balls, pace.reloads)
        or _left(trace, stays[-1])
        or _by_whom(trace, balls)
    )
    return Trial(answers, wrong, "", tail if wrong else [])


@dataclass
class _Stay:
    """A time in which a module was loaded, or absent: from one sample to another, in ns."""

    there: bool
    began_ns: int
    ended_ns: int

    def of(self, balls: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the balls that were served meanwhile."""
        served = balls[:, 0]
        return balls[(served >= self.began_ns) & (served <= self.ended_ns)]


def _stays(samples: Sequence[MemorySample]) -> list[_Stay]:
    """Return when a module was there and when none was; the target has no other module."""
    stays: list[_Stay] = []
    for sample in samples:
        there = sample.modules is None or bool(sample.modules)
        if not stays or stays[-1].there != there:
            stays.append(_Stay(there, sample.at_ns, sample.at_ns))
        stays[-1].ended_ns = sample.at_ns
    return stays


def _silenced(trace: GuestTrace, stays: Sequence[_Stay]) -> str:
    """Return a sign that the module hides something; empty: none."""
    if trace.complaints:
        what = trace.complaints[0].what
        return f"the kernel complained ({what}), and the console does not say about what"
    began = next(stay.began_ns for stay in stays if stay.there)
    times = [sample.at_ns for sample in trace.samples if sample.at_ns >= began]
    unseen = max(np.diff([*times, trace.ended_ns or times[-1]]), default=0)
    if unseen > UNSEEN_NS:
        return f"for {format_ns(int(unseen))} the target could not be checked"
    if any(sample.modules is None or sample.tasks is None for sample in trace.samples):
        return "the kernel's list of modules, or of tasks, leads nowhere"
    return ""


def _reloaded(  # noqa: PLR0911
    trace: GuestTrace, stays: Sequence[_Stay], balls: NDArray[np.int64], wanted: int
) -> str:
    """Describe the first failure of the reloads; empty: none."""
    loads = [stay for stay in stays if stay.there]
    reloads = len(loads) - 1
    after = f"after {reloads} of {wanted} reloads"
    for number, load in enumerate(loads):
        whole, least = int((load.of(balls)[:, 2] != NONE).sum()), ANSWERS_AGAIN_MIN
        if number == 0 and whole < ANSWERS_MIN:
            return f"{whole} whole answers to more than {ANSWERS_MIN} pings"
        if whole < least and load is not stays[-1]:
            return f"after {number} reloads it answered {whole} pings, not {least}"
    gaps = [stay for stay in stays[1:] if not stay.there]
    for number, gap in enumerate(gaps):
        moved = sum(gap.began_ns < edge.at_ns < gap.ended_ns for edge in trace.edges)
        if moved:
            return f"unloaded {number + 1} times, it moved the reply line all the same"
        if len(gap.of(balls)) < PINGS_UNANSWERED_MIN and gap is not stays[-1]:
            return f"unloaded {number + 1} times, it was back before {PINGS_UNANSWERED_MIN} pings"
    if trace.ending in {"reset", "panicked"}:
        return f"the target {trace.ending} {after}"
    if trace.ending == "stopped":
        return f"the target did not end by itself {after}"
    if stays[-1].there:
        return f"{after} it was still there at the end: refused, or it switched the target off"
    if reloads != wanted:
        return f"the trial ended {after}"
    over_ns = stays[-1].ended_ns - stays[-1].began_ns
    if over_ns < OVER_US * 1000 - SAMPLE_NS:
        return f"the target ended {format_ns(over_ns)} after the last reload, too early"
    return ""


def _left(trace: GuestTrace, over: _Stay) -> str:
    """Return which threads there are that were not there before it was loaded; empty: none.

    ``over`` is when it was gone for good; in the middle the script does nothing but wait.
    """
    first = next(n for n, sample in enumerate(trace.samples) if sample.modules)
    before = trace.samples[max(0, first - 1)]
    middle_ns = (over.began_ns + over.ended_ns) // 2
    after = next(sample for sample in trace.samples if sample.at_ns >= middle_ns)
    names = sorted(name for _, name in (after.tasks or set()) - (before.tasks or set()))
    for own in OWN_TASKS:
        if own in names:
            names.remove(own)
    kworkers = [name for name in names if name.startswith("kworker/")]
    others = [name for name in names if not name.startswith("kworker/")]
    if others or len(kworkers) > KWORKERS_MAX:
        name = (others or kworkers)[0]
        return f"it left a thread behind: {name} ({len(others or kworkers)} in all)"
    return ""


def _by_whom(
    trace: GuestTrace, balls: NDArray[np.int64], raisers: AbstractSet[str] = HANDLERS
) -> str:
    """Describe wrong code that raised or lowered the line; empty: none.

    The stages of an answer: its interrupt's handler raises the line, and something that runs after
    the handler lowers it. ``raisers``: functions of the kernel, one of which called the handler.
    """
    edges = {edge.at_ns: edge for edge in trace.edges}
    whole = balls[balls[:, 2] != NONE]
    rises, falls = ([edges.get(at) for at in whole[:, 0] + whole[:, n]] for n in (1, 2))
    if None in rises or None in falls:
        return "an answer was not seen"
    lowered = sum(_in_the_interrupt(edge) for edge in falls if edge)
    if lowered:
        return (
            f"its top half lowers the line, in {lowered} of {len(whole)} answers: "
            "that is for its bottom half"
        )
    elsewhere = [edge for edge in rises if edge and raisers.isdisjoint(edge.within)]
    if elsewhere:
        return (
            f"{len(elsewhere)} of {len(whole)} answers were not raised by its top half, "
            f"but in {_caller(elsewhere[0])}"
        )
    return ""


def _in_the_interrupt(edge: Occurrence) -> bool:
    """Tell whether an edge was made before the hard interrupt of the ping was over."""
    if not HANDLERS.isdisjoint(edge.within):
        return True
    return CONTROLLER in edge.within and PER_PROCESSOR not in edge.within


def _caller(edge: Occurrence) -> str:
    """Return the kernel's function that called the module."""
    inside = edge.within.index("") if "" in edge.within else 0
    return next(filter(None, edge.within[inside:]), "?")


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
            if place := own.line_of(match["function"], offset):
                return place
    return ""


def _hangs_at(own: OwnModule, lines: Sequence[str], hang_watch: "_HangWatch") -> str:
    """Return the line of the module at which the processor was seen most often."""
    bases = [
        int(match[1], 16)
        for line in lines
        if (match := re.search(r"tennis: (?:fact at_racquet|trial at) 0x([0-9a-f]{1,16})", line))
    ]
    if not bases:
        return ""
    for addresses in (hang_watch.at, hang_watch.back_to):
        seen = [own.line_at(address - bases[-1]) for address in addresses]
        if found := Counter(place for place in seen if place):
            return found.most_common(1)[0][0]
    return ""


class _HangWatch:
    """Ends a trial that hangs, once it has seen the processor's place."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.silent = self.late = False
        self.at: list[int] = []  # the processor's place
        self.back_to: list[int] = []  # and the return address of its function
        self._began = time.monotonic()
        self._answers = self._balls = 0

    def observe(self, progress: Progress) -> None:
        """See whether answers still come."""
        answers = progress.balls - progress.misses
        if answers > self._answers:
            self._answers, self._balls = answers, progress.balls
        self.late = self.late or time.monotonic() - self._began > LIMIT_S
        if not self.silent and progress.balls - self._balls > SILENCE:
            self.silent = True
            self._sample_registers()

    def stop(self) -> bool:
        """Say whether the trial is over."""
        return self.silent or self.late

    def _sample_registers(self) -> None:
        with (
            contextlib.suppress(OSError),
            socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as monitor,
        ):
            monitor.settimeout(10)
            monitor.connect(str(self.path))
            for _ in range(REGISTER_READS):
                monitor.sendall(b"info registers\n")
                time.sleep(REGISTERS_S)
                said = monitor.recv(1 << 16).decode(errors="replace")
                for name, addresses in (("PC", self.at), ("X30", self.back_to)):
                    found = re.findall(rf"\b{name}=([0-9a-f]{{16}})", said)
                    addresses += [int(address, 16) for address in found]


# --- the same Racquet in the rally that is marked: it may tell a trial from a rally ---


SUFFIX = ".makers"  # beside a play: wrong code that made its edges; empty: none
# of PREEMPT_RT: they call the handlers of interrupts that nobody kept from becoming threads
THREADS = {"irq_thread_fn", "irq_forced_thread_fn"}
# a module can forge it, which hides no edge: all of them are looked for in the wrong functions
BEGINS = re.compile(rb"(?m)^tennis: fact at_kernel (?:0x)?([0-9a-f]{16})\r?$")


def play_watched(plan: Plan, place: Path, watch: Watch) -> Rally:
    """Play a rally of a user's own Racquet, and keep the faults of its answers beside it.

    Raises TennisError.
    """
    makers_of(place).unlink(missing_ok=True)
    with Guest(VirtualBench().parts(plan)) as guest:
        rally = play(VirtualBench(Extras(plugin=guest.plugin())), plan, place, watch)
        found = BEGINS.search((rally.path / CONSOLE).read_bytes())
        if found is None:  # of a target that came to nothing there are no edges
            complete = rally.manifest.ended == "complete"
            wrong = "the target does not say where its kernel is" if complete else ""
        else:
            seen = guest.trace(guest.moved_by(int(found[1], 16)))
            wrong = _by_whom(seen, balls_of(rally), raisers=HANDLERS | THREADS)
    with writing(place):
        makers_of(place).write_text(wrong)
    return rally


def makers_of(place: Path) -> Path:
    """Return the file beside a play that describes the faults of its answers."""
    return place.with_name(f"{place.name}{SUFFIX}")
