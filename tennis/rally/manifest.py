"""``manifest.json``: a rally's parts, its conditions, and its faults."""

import json
import re
from typing import Annotated, Any, Literal

from pydantic import (
    AliasChoices,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationInfo,
    field_validator,
)
from pydantic_core import PydanticCustomError

from tennis.kit.edition import KEY, UNRECORDED
from tennis.kit.units import NS_PER_S, format_count
from tennis.rally import command_line as parameters
from tennis.rally import memory
from tennis.rally import priorities as priority_map
from tennis.rally.record_file import seal_of

SCHEMA_VERSION = 2  # 1: no task and no ceiling of SLOTH; such folders are read as they are

SETTINGS_MAX = 100  # of a running kernel
Text = Annotated[str, StringConstraints(max_length=4096)]
Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Count = Annotated[int, Field(ge=0, le=2**40)]
# Durations of up to eleven days.
Ns = Annotated[int, Field(ge=0, le=10**15)]
PositiveNs = Annotated[int, Field(gt=0, le=10**15)]
# "task": SLOTH's. "program": there are no halves, a user's own program answers alone. "unknown": on
# a target that tennis does not manage, if the operator gave none
BottomHalf = Literal["tasklet", "thread", "workqueue", "user", "task", "program", "unknown"]


def _top_half(value: Any) -> Any:
    return "forced" if value == "threaded" else value  # what forced was called first


# "forced": the kernel runs the handler in a thread, as PREEMPT_RT does by itself; "explicit": the
# driver asked for that thread
TopHalf = Annotated[
    Literal["hard", "forced", "explicit", "program", "unknown"], BeforeValidator(_top_half)
]
THREADED = ("forced", "explicit")  # top halves that run in a thread, and are named in every title
# by which instruments may give a ball up before its time: to even ticks, and one from edge to edge
ROUNDED_TICKS = 4
# Dovetail's: Linux and its modules are in-band, what a second core (EVL, Cobalt) runs out-of-band
Stage = Literal["in-band", "out-of-band"]
IN_BAND: Stage = "in-band"
CORES = ("evl", "cobalt")  # flavours with two stages; a kernel's name begins with its flavour
OWN = "racquet, one's own"  # the target's module, if the user wrote it
OWN_FILE = "racquet_file"  # among the versions: what its file is called
NO_MODULE = "none"  # of the kit's was in the target's kernel: a program answered
PROGRAM: Literal["program"] = "program"  # both halves, if a program answered
# a system beneath Linux on the same processor
Beneath = Literal["none", "sloth"]
Witness = Literal["none", "cyclictest", "timerlat", "osnoise"]
# A preset, or a map. "native": the answering task runs on EVL or Cobalt with that core's highest
# priority; or on SLOTH with the one of its configuration
Priorities = Annotated[Text, BeforeValidator(priority_map.canonical)]
# as taskset and the kernel write it: 0, 2-3, 0,2-3
CpuList = Annotated[
    str, StringConstraints(pattern=r"^\d{1,4}(-\d{1,4})?(,\d{1,4}(-\d{1,4})?)*$", max_length=256)
]
BEHIND_PCIE = re.compile(r"Raspberry Pi (5|Compute Module 5)")  # also a Pi 500
Cpu = Annotated[int, Field(ge=0, lt=4096)]
Processors = Literal[1, 2, 4]  # of the virtual bench's target
# nanoseconds of its time that an instruction takes
InstructionNs = Literal[1, 2, 4]
# a profile of caches, TLBs and slow registers, with its digest
MemoryKept = Annotated[str, StringConstraints(pattern=memory.KEPT)]
MemoryProfile = Annotated[MemoryKept, BeforeValidator(memory.canonical)]
CommandLine = Annotated[Text, BeforeValidator(parameters.canonical)]
# the kit's are virtual, pi and replay; a package may bring others, and readers take any word
BenchKind = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_-]{0,39}$")]
# benches on which a boot is the same at any time. A reader cannot know that about a package's
# bench, and takes it for a board
TIMELESS = frozenset({"virtual", "replay"})


def _contradiction(message: str) -> PydanticCustomError:
    return PydanticCustomError("contradiction", "{words}", {"words": message})


# a module is called so, too; which drills there are: ``drills.py``, and readers take any word
DrillName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,39}$")]
# "program": a user's own, which does it by itself and reports nothing
DrillContext = Literal["user", "user-rt", "kernel", "hrtimer", "program"]


class StrictModel(BaseModel):
    """A part of the manifest: unknown keys are refused, values keep their JSON types."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    def sealed_text(self) -> bytes:
        """Return the text of its file, with a seal: the same model gives the same bytes."""
        content = self.model_dump(mode="json")
        content["seal"] = seal_of(content)
        return (json.dumps(content, indent=2, sort_keys=True, ensure_ascii=False) + "\n").encode()


# a figure of a health check
Measure = Annotated[float, Field(ge=-(10**15), le=10**15, allow_inf_nan=False)]

Verdict = Literal["pass", "fail", "inconclusive", "not run"]


class VerificationRecord(StrictModel):
    """The result of ``tennis brickwall verify`` for an instrument, with known delays."""

    serial: Text
    firmware_sha256: Sha256
    tick_hz: Annotated[int, Field(gt=0, le=10**12)]
    date: Text  # ISO 8601, wall clock
    verdict: Verdict
    reason: Text
    balls: Count  # measured
    largest_error_ticks: Annotated[int, Field(ge=0)] | None  # None: no ball was measured
    kind: Literal["physical", "emulated"]
    source: Literal["jumpers", "internal", "second Pico"]  # of the known delays

    @property
    def independent(self) -> bool:
        """Say whether the delays came from a clock of their own: graded work needs that.

        A Pico that verifies itself is synchronous: every delay is a whole number of its own ticks,
        at one phase, and a crystal that is off is off on both sides.
        """
        return self.source == "second Pico"


class Instrument(StrictModel):
    """The instrument that timed the balls."""

    kind: Text  # "virtual", "brickwall"
    serial: Text | None = None
    firmware: Text  # version
    firmware_sha256: Sha256
    tick_hz: Annotated[int, Field(gt=0, le=10**12)]
    calibration: VerificationRecord | None = (
        None  # of `tennis brickwall verify`; the built-in one is exact
    )


class SerialLine(StrictModel):
    """Errors between instrument and host, all of them repaired."""

    broken: Count = 0  # times that something else than a frame came
    garbage_bytes: Count = 0
    gaps: Count = 0
    duplicates: Count = 0
    resends: Count = 0  # asked for
    repeated_commands: Count = 0
    reconnects: Count = 0
    restarts: Count = 0  # of the instrument: each is a fault, too


class Priority(StrictModel):
    """The scheduling policy of a task that takes part in the answer."""

    task: Text  # "irq/23-racquet", "ksoftirqd/0", of SLOTH "Raise"
    policy: Text  # "SCHED_FIFO", "SCHED_OTHER", of SLOTH "NVIC": the interrupt controller
    priority: Annotated[int, Field(ge=0, le=99)]


class Ceiling(StrictModel):
    """A resource of SLOTH's: who holds it is not preempted by tasks up to its ceiling."""

    resource: Text
    ceiling: Annotated[int, Field(ge=0, le=99)]


DEVICE: Literal["/dev/racquet"] = "/dev/racquet"  # of the Racquet, for a process behind it


class Program(StrictModel):
    """A user's own program that answered: reply and fall are both its own.

    Behind the Racquet, on /dev/racquet, the fall is its own, and the reply is the handler's.
    """

    name: Text  # of its file, or of its folder
    kind: Literal["C", "C++", "executable", "folder"]
    sha256: Sha256  # of the user's file; of a folder: of all its files
    built_sha256: Sha256  # of all its files on the target, without Debian's packages
    command: Text
    way: Literal["GPIO character device", "/dev/racquet"]
    priority: Annotated[int, Field(ge=1, le=99)] | None  # that it was started with; None: ordinary
    packages: Annotated[dict[Text, Text], Field(max_length=512)] = {}  # Debian's, with versions
    # what the kernel counted of it from the ready line to the last ball; None: nobody counted
    page_faults: Count | None = None
    locked_kb: Count | None = None  # of its memory
    said: Text = ""  # the last line that it printed

    @property
    def deeds(self) -> str:
        """Describe its counts during the rally, and its last words, for people."""
        parts = [f"was started as {self.command}"]
        if self.locked_kb is not None:
            parts.append(f"locked {self.locked_kb:,} kB of its memory")
        if self.page_faults is not None:
            parts.append(f"had {format_count(self.page_faults, 'page fault')} during the rally")
        return ", ".join([*parts, f"printed last: {self.said or 'nothing'}"])


class Target(StrictModel):
    """The target that answered."""

    board: Text
    kernel: Text  # its name: mainline, rt; of a tree flavour and release, once the folder's name
    release: Text  # uname -r
    version: Text  # uname -v
    config_sha256: Sha256 | None
    command_line: Text
    added: CommandLine = ""  # words that the user added to the bench's own
    module: Text  # "racquet"; "none": a program answered
    module_sha256: Sha256 | None
    program: Program | None = None  # a user's own, that answered
    # of the virtual bench's target; None: those that the board has
    processors: Processors | None = None
    # of a target of the virtual bench that counts instructions; None: edition 0 did not say it
    instruction_ns: InstructionNs | None = None
    memory: MemoryKept = memory.NONE  # whose stalls were on the virtual clock
    interrupt_cpu: Cpu | None = None  # the processor of the Racquet's interrupt; None: not pinned
    top_half: TopHalf = "hard"  # Tennis 0.1 had no other
    bottom_half: BottomHalf
    bottom_half_cpu: Cpu | None = None  # its process's processor; None: not pinned
    governor: Text | None = None
    # the PCIe link that a Pi 5's GPIO controller is behind; None: no such link, or unknown
    gpio_link: Literal["awake", "may sleep"] | None = None
    # what moves latency on a kernel that runs (docs/physical-bench.md); None: nobody looked
    kernel_settings: Annotated[dict[Text, Text], Field(max_length=SETTINGS_MAX)] | None = None
    witness: Witness = "none"  # what looked on from inside
    beneath: Beneath = "none"  # and answered, if there was something
    priorities: Priorities
    tasks: Annotated[list[Priority], Field(max_length=256)]
    ceilings: Annotated[list[Ceiling], Field(max_length=64)] = []  # of SLOTH's resources
    managed: Text = "by tennis"  # or not: then the operator described it

    @property
    def reply_path(self) -> str:
        """Name the code that answered, and its halves, for people."""
        if self.program:
            words = f"program {self.program.name} (SHA-256 {self.program.sha256[:12]})"
            if self.module != NO_MODULE:
                return f"{words}, behind {self.module}'s hard handler, by {self.program.way}"
            return f"{words}, alone, by the {self.program.way}"
        return f"{self.module}, top half: {self.top_half}, bottom half: {self.bottom_half}"

    @property
    def is_link_unknown(self) -> bool:
        """Tell whether a link is on the ping's way, and may have slept between balls."""
        return self.gpio_link is None and bool(BEHIND_PCIE.search(self.board))

    @property
    def stage(self) -> Stage | None:
        """Return the stage that answered; None if there is one only."""
        if self.module in {f"racquet_{core}" for core in CORES}:
            return "out-of-band"
        two = self.kernel.partition("-")[0] in CORES and self.module == "racquet"
        return IN_BAND if two else None

    @property
    def system(self) -> str:
        """Return the kernel, and what answers beneath it, as people read it."""
        return self.kernel if self.beneath == "none" else f"{self.kernel} above {self.beneath}"


class Health(StrictModel):
    """A figure of a load's health check: before the rally, and behind its last ball."""

    name: Text  # "received", "activations"
    unit: Text  # "bytes/s", "1/s"
    start: Measure | None  # None: not checked
    end: Measure | None


class LoadRecord(StrictModel):
    """The load, which kept the target busy."""

    name: Text
    command: Text  # exactly as started; empty for idle
    options: dict[Text, int] = Field(default_factory=dict, max_length=64)  # as given
    cpus: CpuList | None = None  # its processors; None: not pinned
    started_ns: Ns | None = None  # on the instrument's clock; None: before the rally
    cycle_ns: Annotated[int, Field(ge=0, lt=2**63)] | None = None  # 0: it has none; None: not known
    # what its real-time tasks are; None: it has none, or the program did not say
    tasks: Annotated[str, Field(pattern="^(posix|evl|alchemy)$")] | None = None
    health: Annotated[list[Health], Field(max_length=64)] = []


class Protocol(StrictModel):
    """The protocol by which balls were served."""

    # listen: a drill's pulses, which nobody served; shots: instants that do not follow each other
    loop: Literal["closed", "open", "listen", "shots"]
    balls: Annotated[int, Field(gt=0, le=2**32)]  # planned
    seed: Annotated[int, Field(ge=0, lt=2**32)]
    gap_min_ns: Ns
    gap_max_ns: Ns
    rate_hz: Annotated[float, Field(ge=1e-3, le=1e9, allow_inf_nan=False)] | None = Field(
        default=None, validate_default=True
    )  # open loop only
    pulse_ns: PositiveNs
    timeout_ns: PositiveNs
    settle_ns: Ns

    @field_validator("gap_max_ns")
    @classmethod
    def _gaps(cls, value: int, info: ValidationInfo) -> int:
        if value < info.data.get("gap_min_ns", 0):
            raise _contradiction("is below gap_min_ns")
        return value

    @field_validator("rate_hz")
    @classmethod
    def _rate(cls, value: float | None, info: ValidationInfo) -> float | None:
        if "loop" in info.data and (value is not None) != (info.data["loop"] == "open"):
            raise _contradiction("is needed with an open loop, and only there")
        return value

    @property
    def period_ns(self) -> int:
        """Return the time from serve to serve in an open loop; 0 in a closed one."""
        return round(1e9 / self.rate_hz) if self.rate_hz else 0

    @property
    def give_up_ns(self) -> int:
        """Return after how long without an answer an instrument ends the rally.

        Long enough for a single late answer, short enough for people who wait.
        """
        return max(10_000_000_000, 20 * self.timeout_ns)

    @property
    def length_ns(self) -> float:
        """Return about how long a rally takes, from being ready to the last serve."""
        between_ns = self.period_ns or (self.gap_min_ns + self.gap_max_ns) / 2
        return self.settle_ns + self.balls * between_ns


class Drill(StrictModel):
    """A drill: the target's own work, timed by itself, in place of answering."""

    name: DrillName
    context: DrillContext
    period_ns: Annotated[int, Field(ge=1000, lt=2**32)]  # from one repetition to the next

    @property
    def in_kernel(self) -> bool:
        """Tell whether a module does it."""
        return self.context in {"kernel", "hrtimer"}


class OnProcessor(StrictModel):
    """Counts of one processor of the target; None: not counted."""

    processor: Cpu
    pings: Count | None  # that the top half took there; of a program: whose interrupt came there
    replies: Count | None  # that the bottom half, or a program, gave there
    busy: Count | None  # balls that found it at work when they were served, with anything


class Counts(StrictModel):
    """The instrument's counts of balls, misses and stray edges."""

    balls: Count  # served and decided: replies and misses
    misses: Count
    strays: Count
    doubles: Count
    late_serves: Count = 0
    runts: Count = 0  # pulses of one tick, dropped and counted as strays, too
    # of a whole rally; empty: the target has one processor, or nobody counted
    where: Annotated[list[OnProcessor], Field(max_length=4096)] = []

    @field_validator("misses")
    @classmethod
    def _misses(cls, value: int, info: ValidationInfo) -> int:
        if value > info.data.get("balls", value):
            raise _contradiction("are more than the balls")
        return value


class Fault(StrictModel):
    """Something that went wrong with the bench; any fault makes the rally suspect."""

    code: Text  # "guest_panic", "module_did_not_load", "no_answer", ...
    message: Text


class Tool(StrictModel):
    """The versions that must agree for two virtual rallies to give the same bytes."""

    tennis: Text
    versions: Annotated[dict[Text, Text], Field(max_length=64)]

    @property
    def edition(self) -> int:
        """Return the edition of the bench that played; ``UNRECORDED`` if it does not say one.

        A folder may come from anybody: anything but a small number counts as unsaid.
        """
        said = self.versions.get(KEY, "")
        return int(said) if said.isascii() and said.isdigit() and len(said) < 7 else UNRECORDED

    @property
    def names_a_folder(self) -> bool:
        """Tell whether the kernel is named by a folder, as those of a tree once were."""
        return self.versions.get("kernel", "").startswith("/")


class Manifest(StrictModel):
    """All of ``manifest.json``."""

    schema_version: Literal[1, 2]
    bench: BenchKind
    time_note: Text  # what a nanosecond means here; printed on every table and plot
    created: Text  # ISO 8601, wall clock
    operator: Text | None = None
    instrument: Instrument
    target: Target
    load: LoadRecord
    protocol: Protocol
    drill: Drill | None = Field(default=None, validate_default=True)  # None: it is a rally
    counts: Counts
    line: SerialLine | None = None  # None: no line that could break
    ended: Literal["complete", "interrupted", "fault"]
    faults: Annotated[list[Fault], Field(max_length=1024)]
    # folders of Tennis 0.1 say "tainted", which is a kernel's own word for something else
    suspect: bool = Field(validation_alias=AliasChoices("suspect", "tainted"))
    tool: Tool
    files: Annotated[dict[Text, Sha256], Field(max_length=64)]
    seal: Sha256 | None = None  # of all of this but itself; None: written by Tennis 0.1

    @property
    def own_racquet(self) -> str:
        """Return the name of a user's own Racquet; empty: another one answered, or none."""
        if self.target.module != OWN:
            return ""
        return self.tool.versions.get(OWN_FILE, "own Racquet")

    @property
    def instruction_ns(self) -> InstructionNs | None:
        """Return how long an instruction took; None: not counted, or unknown.

        Rallies of edition 0 have it in the words of their time note only.
        """
        if self.target.instruction_ns or self.bench != "virtual" or self.tool.edition:
            return self.target.instruction_ns
        taken: tuple[InstructionNs, ...] = (1, 2, 4)
        return next((ns for ns in taken if f" {ns} ns per instruction" in self.time_note), None)

    @property
    def given_up_ns(self) -> int | None:
        """Return how long each missed ball was waited for, at least; ns; None: unknown.

        That is until the timeout, in an open loop until the next ball. Instruments round both
        down to even ticks. After a ball that was served late the next one comes sooner.
        """
        protocol, tick_hz = self.protocol, self.instrument.tick_hz
        limit_ns = protocol.timeout_ns
        if protocol.loop == "open":
            if self.counts.late_serves:
                return None
            limit_ns = min(limit_ns, protocol.period_ns)
        ticks = limit_ns * tick_hz // NS_PER_S - ROUNDED_TICKS
        return max(0, ticks * NS_PER_S // tick_hz)

    @field_validator("drill")
    @classmethod
    def _drill(cls, value: Drill | None, info: ValidationInfo) -> Drill | None:
        protocol = info.data.get("protocol")
        if protocol is not None and (protocol.loop == "listen") != (value is not None):
            raise _contradiction("is needed with a loop that listens, and only there")
        return value

    @field_validator("suspect")
    @classmethod
    def _suspect(cls, value: bool, info: ValidationInfo) -> bool:
        if not value and (info.data.get("faults") or info.data.get("ended") == "fault"):
            raise _contradiction("is false, but there was a fault")
        return value
