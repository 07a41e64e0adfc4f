"""Answerers of the virtual bench: a Racquet, SLOTH beneath Linux, a program, or a drill."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tennis.bench import flavours
from tennis.bench.kernels import modules, own_module, own_program, program_packages
from tennis.bench.kernels.kernel import Kernel
from tennis.bench.sloth import beneath
from tennis.bench.virtual import program
from tennis.bench.virtual.initramfs import Link
from tennis.bench.virtual.program import Places
from tennis.kit.checkout import ROOT
from tennis.kit.digests import sha256_of
from tennis.kit.errors import UsageError
from tennis.rally import drills
from tennis.rally.manifest import NO_MODULE, OWN, OWN_FILE, PROGRAM
from tennis.rally.plan import UNKNOWN, Plan
from tennis.rally.program import read as read_program
from tennis.rally.text import plain

TARGET = ROOT / "target"
MEMORY_MB = 1024  # the root is in memory, and stress fills it
LINUX = {"mainline", "rt"}  # flavours without a second core


@dataclass(frozen=True)
class Answerer:
    """A Racquet, drill or program that answers, found and built for a kernel."""

    name: str  # in a manifest
    bottom_half: str  # as the target's agent gets it
    parameters: str  # more of the kernel's command line, with a space before each
    racquet: Path | None  # None: a program answers, alone
    racquet_file: str = ""  # of a user's own Racquet
    drill: Path | None = None  # a module or a program, in place of the Racquet
    beneath: Path | None = None  # the image of SLOTH's monitor and the kernel
    program: own_program.OwnProgram | None = None  # in the Racquet's place
    program_start: Path | None = None  # what starts it as an ordinary user's
    places: Places = field(default_factory=Places)

    @property
    def files(self) -> Mapping[str, bytes | Path | Link]:
        """Return its files on the target, by place."""
        files: dict[str, bytes | Path | Link] = {}
        if self.racquet:
            files["/tennis/racquet.ko"] = self.racquet
        if self.drill:
            files[f"/tennis/drill{self.drill.suffix}"] = self.drill
        return files | program.files(self.program, self.program_start, self.places)

    @property
    def versions(self) -> dict[str, str]:
        """Return the versions on which an answer's bytes depend: a module's, or a program's."""
        answer = {"racquet_sha256": sha256_of(*filter(None, [self.drill or self.racquet]))}
        if self.racquet_file:
            answer[OWN_FILE] = self.racquet_file
        if self.program and self.program_start:
            behind = answer if self.racquet else {}
            return behind | program.versions(self.program, self.program_start, self.places)
        if self.beneath is None:
            return answer
        monitor = self.beneath.with_name("monitor.elf")
        return answer | {"beneath_sha256": sha256_of(monitor, *beneath.sources())}


def built(plan: Plan, kernel: Kernel, application: Path | None) -> Answerer:
    """Build what answers. Raises UsageError, NotBuiltError and BenchError.

    ``application``: another one of SLOTH's beneath Linux than the Racquet's, for tests.
    """
    player = flavours.player_on(kernel.flavour, plan.stage)
    name = flavours.racquet_of(player).module
    priorities, its_own, brought, start = flavours.priorities_on(player, plan), "", None, None
    if plan.program:
        code = read_program(Path(plan.program))
        brought = own_program.built(code, program_packages.root_of(code.about.build_packages))
        taken_mb = max(map(own_program.memory_of, brought.files.values()), default=0) >> 20
        if taken_mb >= MEMORY_MB // 2:  # the root is in it, too
            raise UsageError(
                f"{plan.program} takes {taken_mb:,} MB before it begins, as large arrays do; "
                f"the target has {MEMORY_MB:,} MB for all that is there"
            )
        start = modules.program(program.START)
        priorities, its_own = program.parameters(brought, priorities)
    # beneath Linux: Linux' end of the pipes
    if plan.program and plan.bottom_half == PROGRAM:
        racquet, name = None, NO_MODULE
    elif plan.beneath != "none":
        racquet = beneath.module(kernel)
        name = racquet.stem
    elif plan.racquet:
        racquet, name = own_module.built(Path(plan.racquet), kernel), OWN
    else:
        racquet = modules.kernel_module(TARGET / "racquet" / f"{name}.c", kernel)
    if brought and racquet:  # it is behind the Racquet
        its_own += " tennis.program_way=racquet"
    drill = mover = None
    if brought and not racquet and plan.processors > 1 and plan.interrupt_cpu is not None:
        mover = modules.kernel_module(program.MOVER, kernel)
    if plan.drill and not brought:  # else the program does it
        source = drills.find(plan.drill.name).code
        in_kernel = plan.drill.in_kernel
        drill = modules.kernel_module(source, kernel) if in_kernel else modules.program(source)
    is_beneath = plan.beneath != "none"
    return Answerer(
        name=f"drill {drill.stem}" if drill else name,
        bottom_half=UNKNOWN if is_beneath else plan.bottom_half,  # that of Linux' own Racquet
        parameters=its_own + (f" tennis.priorities={priorities}" if priorities else ""),
        racquet=racquet,
        racquet_file=plain(Path(plan.racquet).name, 60) if name == OWN and plan.racquet else "",
        drill=drill,
        beneath=beneath.image(kernel, application) if is_beneath else None,
        program=brought,
        program_start=start,
        places=Places(plan.processors, plan.bottom_half_cpu, mover),
    )
