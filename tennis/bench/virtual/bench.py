# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""The virtual bench: a real arm64 kernel in QEMU, in deterministic virtual time."""

import hashlib
import os
from collections.abc import Collection, Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any, ClassVar, cast

import pyarrow as pa

from tennis import entries
from tennis.bench import configuration, flavours, isolation, witnesses
from tennis.bench import loads as load_folder
from tennis.bench.fitting import Capabilities
from tennis.bench.kernels import catalogue, loading, modules, own_module, own_program
from tennis.bench.kernels.requirements import requirements
from tennis.bench.protocol import Access, RunRecord, Session
from tennis.bench.qemu import plugins as instrument
from tennis.bench.qemu.session import PipedSession, shared
from tennis.bench.targets.console import Console, ConsoleReport
from tennis.bench.virtual import drivers, initramfs, memory, program, program_packages
from tennis.bench.virtual.machine import (
    PEER_TARGET,
    TARGET,
    Extras,
    Machine,
    Parts,
    QemuPlugin,
    beneath,
    line_names,
    packages_of,
)
from tennis.bench.virtual.shots import held_open, parameters
from tennis.digests import sha256_of
from tennis.edition import EDITION, KEY, PUBLIC_VERSION
from tennis.errors import BenchError, UsageError
from tennis.rally.folder import CONSOLE
from tennis.rally.journal import Frame
from tennis.rally.manifest import (
    CORES,
    NO_MODULE,
    OWN,
    BenchKind,
    Instrument,
    LoadRecord,
    Priority,
    Target,
)
from tennis.rally.memory import stalls_in
from tennis.rally.plan import Plan
from tennis.rally.program import read as read_program
from tennis.rally.settings import of_target, taken_by
from tennis.rally.shots import are_shots, instants

BOARD = "QEMU virt, {processors} Cortex-A57, PL061"
# how long the target may take for the load's health behind the last ball, of virtual time
OVER_NS = 60_000_000_000
DRILL_OVER_NS = 3_600_000_000_000  # of a drill: it tells all of its times


class VirtualBench:
    """Plays plans with Linux on the virtual bench."""

    kind: BenchKind = "virtual"
    repeats = True
    kernels: ClassVar[Collection[str]] = ()
    can: ClassVar[Capabilities] = Capabilities(
        name="virtual, Linux",
        where="--bench virtual",
        takes=taken_by("virtual"),
        instruments=("builtin", "pico"),
    )

    def __init__(self, extras: Extras | None = None) -> None:
        self.extras = extras or Extras()
        self._parts: Parts | None = None

    @staticmethod
    def plays(plan: Plan) -> bool:
        """Tell whether a plan is for this bench."""
        return plan.bench == "virtual"  # but for kernels that are another bench's own

    @staticmethod
    def defaults(plan: Plan, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return instrument, load, halves and priorities if nobody asked for them."""
        defaults: dict[str, Any] = {"instrument": "builtin", "load": "idle", "top_half": "hard"}
        if plan.processors > plan.instruction_ns:  # what is left of it while all of them run
            defaults["instruction_ns"] = plan.processors
        if options.get("bottom_half") and options.get("priorities"):
            return defaults  # without reading a configuration, which is long
        player = flavours.player_on(catalogue.flavour_of(plan.kernel), plan.stage)
        return defaults | flavours.defaults("sloth" if plan.beneath != "none" else player)

    @classmethod
    def of(cls, plan: Plan, access: Access) -> "VirtualBench":
        """Return the bench."""
        del plan, access
        return cls()

    @staticmethod
    def time_note(plan: Plan) -> str:
        """Return what a nanosecond of a rally means."""
        time = f"virtual time, {plan.instruction_ns} ns per instruction"
        return time + stalls_in(plan.memory)

    def parts(self, plan: Plan) -> Parts:
        """Return what a plan with Linux needs, once: found, checked, built.

        Raises UsageError or BenchError.
        """
        plan = plan.model_copy(update={"versions": {}})
        if self._parts is None or self._parts.plan != plan:
            _check(plan)
            load = load_folder.find(plan.load, plan.load_options)
            _check_load(plan, load)
            kernel = catalogue.find(plan.kernel)
            _check_kernel(plan, kernel)
            self._parts = _built(plan, kernel, load, self.extras)
        return self._parts

    def versions(self, plan: Plan) -> dict[str, str]:
        """Return the versions on which the bytes of a rally depend."""
        parts = self.parts(plan)
        return {
            "tennis": PUBLIC_VERSION,
            KEY: str(EDITION),
            "qemu": parts.qemu.version,
            "kernel": parts.kernel.origin,
            "kernel_image_sha256": sha256_of(parts.kernel.image),
            "kernel_config_sha256": sha256_of(parts.kernel.config),
            "kernel_name": parts.kernel.name,
            "load": parts.load.command,
            "load_sha256": sha256_of(*_load_files(parts)),
            **_load_tasks(parts),
            **load_folder.cycle_version(parts.load, plan.instruction_ns, plan.memory),
            "bench_sha256": sha256_of(*sorted(Path(__file__).parent.glob("*.py")), *shared()),
            **_instrument_versions(plan),
            "line_names": " ".join(line_names()),
            "racquet": _module(parts),
            **_answering_versions(parts),
            "programs_sha256": sha256_of(
                parts.racquet_user, parts.racquet_ready, TARGET / "virtual" / "init"
            ),
            **_network_versions(parts),
            **_beneath_versions(parts),
            **_memory_versions(plan),
            "compiler": modules.compiler_version(),
            "pyarrow": pa.__version__,
            **witnesses.versions(plan.witness),
            **initramfs.versions(packages_of(parts.load, plan.witness)),
        }

    def start(self, plan: Plan, folder: Path) -> Session:
        """Boot the target and let the instrument wait for it."""
        parts = self.parts(plan)
        if plan.instrument == "builtin":
            return BuiltInSession(parts, self.extras, folder)
        return cast(Session, _instrument(plan).session(parts, self.extras, folder))

    def circumstances(self, plan: Plan, folder: Path) -> RunRecord:
        """Return what took part, and what the console told.

        What took part was recorded when the rally began; the checkout may have changed since.
        """
        recorded = plan.versions
        report = Console(folder / CONSOLE).report()
        facts = report.facts
        target = Target(
            board=BOARD.format(processors=plan.processors),
            release=facts.get("release", "unknown: the target did not come up"),
            version=facts.get("version", "unknown: the target did not come up"),
            config_sha256=recorded["kernel_config_sha256"],
            command_line=facts.get("command_line", "unknown: the target did not come up"),
            added=plan.command_line,
            processors=plan.processors if plan.processors > 1 else None,
            instruction_ns=plan.instruction_ns,
            module=recorded["racquet"],
            module_sha256=recorded.get("racquet_sha256"),
            program=program.record(recorded, facts),
            governor=None,  # the virtual machine has no frequency to govern
            **of_target(plan),
            tasks=[Priority(task=t, policy=p, priority=n) for t, p, n in report.tasks],
        )
        try:
            # the guest's clock and the instrument's both begin when the machine does
            started_ns = int(Decimal(facts["load_started_s"]) * 10**9)
        except (KeyError, ArithmeticError):
            started_ns = None
        return RunRecord(
            instrument=_describe(plan),
            target=target,
            load=LoadRecord(
                name=plan.load,
                command=recorded["load"],
                options=plan.load_options,
                cpus=plan.load_cpus,
                started_ns=started_ns,
                cycle_ns=load_folder.cycle_of(recorded),
                tasks=recorded.get("load_tasks"),
                health=list(report.health.values()),
            ),
            faults=report.faults,
            events=report.events,
            # with a Brickwall the target is not told that the rally is over
            unchecked="" if plan.instrument == "pico" else _unchecked(plan, report),
            advice=program.advice(facts) if plan.program else {},
        )


def _unchecked(plan: Plan, report: ConsoleReport) -> str:
    missing = [report.unchecked(plan.witness)]
    if plan.program and program.OVER not in report.facts:
        missing.append("what the program did")
    return " and ".join(filter(None, missing))


def _check(plan: Plan) -> None:
    protocol = plan.protocol
    memory.find(plan.memory)
    if plan.processors > plan.instruction_ns:
        raise UsageError(
            f"--processors {plan.processors}: while all of them run, an instruction takes an equal "
            f"part of {plan.instruction_ns} ns, which must be a whole nanosecond",
            next_step=f"use --instruction-ns {plan.processors}",
        )
    for option, asked in (
        ("--interrupt-cpu", plan.interrupt_cpu),
        ("--bottom-half-cpu", plan.bottom_half_cpu),
        ("--load-cpus", plan.load_cpus),
    ):
        cpus = isolation.cpus_of("" if asked is None else str(asked), plan.processors)
        if missing := sorted(cpus - set(range(plan.processors))):
            raise UsageError(
                f"{option}: the target has no processor {missing[0]}",
                next_step=f"use 0 to {plan.processors - 1}, or more --processors",
            )
    isolation.check(plan.command_line, plan.processors)
    loading.check_command_line(plan.command_line)
    if plan.instrument != "pico" and protocol.timeout_ns > instrument.TIMEOUT_MAX_NS:
        raise UsageError("a timeout of the built-in instrument is at most 4 s (4000 ms)")


def _check_kernel(plan: Plan, kernel: catalogue.Kernel) -> None:
    """Raise UsageError for what this kernel does not have, or cannot be used with."""
    _check_witness(plan, kernel)
    loading.check_known(plan.command_line, kernel.name, kernel.image)
    if plan.processors > 1 and kernel.flavour in CORES:
        raise UsageError(
            f"--processors {plan.processors}: a kernel of flavour {kernel.flavour} plays with one "
            "processor: nobody tried its second core (EVL, Cobalt) on several",
            next_step="leave it out",
        )
    if plan.beneath != "none":
        _check_beneath(plan, kernel)
    elif plan.program:
        flavours.check(kernel.flavour, plan.top_half, plan.bottom_half, plan.priorities)
    elif plan.racquet:
        _check_own_racquet(plan, kernel)
    elif plan.drill is None:
        player = flavours.player_on(kernel.flavour, plan.stage)
        flavours.check(player, plan.top_half, plan.bottom_half, plan.priorities)


def _built(plan: Plan, kernel: catalogue.Kernel, load: load_folder.Load, extras: Extras) -> Parts:
    """Build all that is played with. Raises BenchError, and UsageError for a drill's kernel."""
    qemu = instrument.find_qemu()
    needs_network = bool(load.host_command(PEER_TARGET))
    initramfs.versions(packages_of(load, plan.witness))  # they are here
    load_source = load.folder / f"{load.file.module}.c"
    profile = memory.find(plan.memory)
    return Parts(
        plan=plan,
        qemu=qemu,
        kernel=kernel,
        load=load,
        plugin=instrument.build(qemu, "link" if plan.instrument == "pico" else "instrument"),
        racquet=_racquet(plan, kernel),
        load_module=modules.kernel_module(load_source, kernel) if load.file.module else None,
        racquet_user=modules.program(TARGET / "racquet" / "racquet-user.c"),
        racquet_ready=modules.program(TARGET / "virtual" / "racquet-ready.c"),
        load_programs={
            source.stem: part.prebuilt(source.stem, kernel.flavour)
            or modules.program(source, libraries=part.file.libraries)
            for part in load.parts
            for source in part.sources
        },
        drivers=drivers.network(kernel) if needs_network else {},
        drill=_drill(plan, kernel),
        beneath=beneath().image(kernel, extras.beneath) if plan.beneath != "none" else None,
        program=_program(Path(plan.program)) if plan.program else None,
        program_start=modules.program(program.START) if plan.program else None,
        memory=_memory(qemu, profile, plan.instruction_ns) if profile else None,
    )


def _program(path: Path) -> own_program.OwnProgram:
    """Build a program of somebody's own. Raises UsageError, NotBuiltError and BenchError."""
    brought = read_program(path)
    return own_program.built(brought, program_packages.root_of(brought.about.build_packages))


def _memory(qemu: instrument.Qemu, found: memory.Memory, instruction_ns: int) -> QemuPlugin:
    """Build the plugin of a memory, with its figures. Raises BenchError for a QEMU without them."""
    instrument.check_exports(qemu, "memory", "--memory")
    return QemuPlugin(instrument.build(qemu, "memory"), found.parameters(instruction_ns))


def _check_load(plan: Plan, load: load_folder.Load) -> None:
    """Raise UsageError for a load that needs processors which the target does not have."""
    if plan.processors < load.file.processors:
        raise UsageError(
            f"--load {plan.load} needs {load.file.processors} processors",
            # drills and sweeps have no such option
            next_step=f"use tennis rally --processors {load.file.processors}, or another load",
        )
    named = [load.values[name] for name in load.values if name.endswith("_cpu")]
    if missing := [cpu for cpu in named if cpu >= plan.processors]:
        raise UsageError(
            f"--load-option: the target has no processor {missing[0]}",
            next_step=f"use 0 to {plan.processors - 1}, or more --processors",
        )
    if len(set(named)) < len(named):
        raise UsageError(
            f"--load {plan.load} takes two processors, not processor {named[0]} twice",
            next_step="name another one with --load-option",
        )


def _check_witness(plan: Plan, kernel: catalogue.Kernel) -> None:
    """Raise UsageError where this kernel was built without what is to look on."""
    option = witnesses.OPTIONS.get(plan.witness)
    options = configuration.read_config(kernel.config.read_text(errors="replace"))
    if not option or options.get(option) == "y":
        return
    forbidden = requirements(kernel.flavour).forbidden.get(option)
    why = f", as flavour {kernel.flavour} must be ({forbidden.reason})" if forbidden else ""
    others = [name for name, needed in witnesses.OPTIONS.items() if options.get(needed) == "y"]
    use = f"use --witness {' or '.join(others)}" if others else "leave it out"
    raise UsageError(
        f"--witness {plan.witness}: {kernel.name} was built without {option}{why}",
        next_step=f"{use}, or another kernel (of Debian's, those with RT have all witnesses)",
    )


def _check_own_racquet(plan: Plan, kernel: catalogue.Kernel) -> None:
    """Raise UsageError where a Racquet of one's own cannot play."""
    if kernel.flavour not in {"mainline", "rt"}:
        raise UsageError(f"--racquet is for Linux: on {kernel.flavour} its core's own API answers")
    if plan.priorities != "default":
        raise UsageError(
            f"--priorities {plan.priorities}: only you know the threads of your own Racquet",
            next_step="leave it out, and let the Racquet set them",
        )


def _check_beneath(plan: Plan, kernel: catalogue.Kernel) -> None:
    """Raise UsageError where SLOTH cannot answer beneath Linux."""
    if kernel.flavour not in {"mainline", "rt"}:
        raise UsageError(
            f"--beneath sloth: a kernel of flavour {kernel.flavour} cannot be used with it"
        )
    flavours.check("sloth", plan.top_half, plan.bottom_half, plan.priorities)


def _beneath_versions(parts: Parts) -> dict[str, str]:
    if parts.beneath is None:
        return {}
    monitor = parts.beneath.with_name("monitor.elf")
    return {"beneath_sha256": sha256_of(monitor, *beneath().sources())}


def _memory_versions(plan: Plan) -> dict[str, str]:
    found = memory.find(plan.memory)
    if found is None:
        return {}
    return {"memory_sha256": sha256_of(found.file, *instrument.sources("memory"))}


def _racquet(plan: Plan, kernel: catalogue.Kernel) -> Path | None:
    """Build the Racquet: the kit's, or one's own; beneath Linux, Linux' end of the pipes.

    None: a program answers.
    """
    if plan.program:
        return None
    if plan.beneath != "none":
        return cast(Path, beneath().module(kernel))
    if plan.racquet:
        return own_module.built(Path(plan.racquet), kernel)
    name = flavours.racquet_of(flavours.player_on(kernel.flavour, plan.stage)).module
    return modules.kernel_module(TARGET / "racquet" / f"{name}.c", kernel)


def _drill(plan: Plan, kernel: catalogue.Kernel) -> Path | None:
    """Build a drill: a module of the kernel's, or a program."""
    if plan.drill is None:
        return None
    if kernel.flavour not in {"mainline", "rt"}:
        raise UsageError(
            f"drills are for Linux so far: {kernel.name} is {kernel.flavour}",
            next_step="use a kernel of Debian's (tennis kernels)",
        )
    source = TARGET / "drills" / f"{plan.drill.name}.c"
    if plan.drill.context in {"kernel", "hrtimer"}:
        return modules.kernel_module(source, kernel)
    return modules.program(source)


def _module(parts: Parts) -> str:
    """Return what answered: the kit's Racquet, one's own, or a drill in its place."""
    if parts.plan.drill:
        return f"drill {parts.plan.drill.name}"
    if parts.racquet is None:
        return NO_MODULE
    return OWN if parts.plan.racquet else parts.racquet.stem


def _answering_versions(parts: Parts) -> dict[str, str]:
    """Return what the bytes of an answer depend on: of a module, or of a program."""
    if parts.program and parts.program_start:
        return program.versions(parts.program, parts.program_start)
    return {"racquet_sha256": sha256_of(*filter(None, [parts.drill or parts.racquet]))}


def _load_tasks(parts: Parts) -> dict[str, str]:
    """Return what the load's real-time tasks are, where the kernel decides about that."""
    programs = [p for part in parts.load.parts if part.file.flavours for p in part.file.programs]
    tasks = {load_folder.tasks_of(parts.load_programs[name].read_bytes()) for name in programs}
    kinds = " ".join(sorted(filter(None, tasks)))
    return {"load_tasks": kinds} if kinds else {}


def _instrument(plan: Plan) -> Any:
    """Return an instrument that is not QEMU's own: a module with versions, describe, session.

    Raises EntryError where no room brings it.
    """
    return entries.need("tennis.instruments", plan.instrument, f"--instrument {plan.instrument}")


def _instrument_versions(plan: Plan) -> dict[str, str]:
    if plan.instrument == "pico":
        return {
            **_instrument(plan).versions(),
            "instrument_sha256": sha256_of(*instrument.sources("link")),
        }
    return {"instrument_sha256": sha256_of(*instrument.sources("instrument"))}


def _describe(plan: Plan) -> Instrument:
    """Return the instrument's entry in the manifest, as it was when the rally began."""
    if plan.instrument == "pico":
        described = _instrument(plan).describe(plan.versions["firmware_sha256"])
        return cast(Instrument, described)
    return instrument.describe(plan.versions["instrument_sha256"])


def _load_files(parts: Parts) -> list[Path]:
    own = [path for part in parts.load.parts for path in part.own_files]
    return [*own, *parts.load_programs.values(), *filter(None, [parts.load_module])]


def _network_versions(parts: Parts) -> dict[str, str]:
    """Return what the guest's network depends on; nothing for a load without one."""
    if not parts.load.host_command(PEER_TARGET):
        return {}
    sha = hashlib.sha256((TARGET / "virtual" / "network").read_bytes())
    for name, content in parts.drivers.items():
        sha.update(name.encode() + content)
    return {"network_sha256": sha.hexdigest()}


class BuiltInSession(PipedSession):
    """A rally with the instrument that is a plugin of QEMU's."""

    def __init__(self, parts: Parts, extras: Extras, folder: Path) -> None:
        super().__init__()
        plan = parts.plan
        protocol = extras.protocol or plan.protocol
        settings = instrument.parameters(protocol, plan.instruction_ns, self.writer)
        if parts.load.checked or plan.witness != "none" or plan.program:
            settings["over"] = OVER_NS
        if plan.drill:  # it has to tell what it measured
            settings["over"] = DRILL_OVER_NS
            settings["loop_back"] = int(plan.drill.name == "response")
        descriptors = [self.writer]
        at_ns, absolute = extras.instants_ns, extras.instants_ns is not None
        if at_ns is None and are_shots(protocol):
            at_ns = instants(protocol, plan.instruction_ns)
        if at_ns is not None:
            descriptors.append(held_open(at_ns))
            settings |= parameters(descriptors[-1], extras.children, absolute=absolute)
        try:
            self._machine = Machine(parts, extras, folder, settings, descriptors)
        finally:
            for descriptor in descriptors[1:]:
                os.close(descriptor)
        self._shoots = at_ns is not None
        self.started()

    def frames(self) -> Iterator[Frame | None]:
        """Yield the instrument's frames. Raises BenchError where shots end before their time."""
        yield from super().frames()
        why = self._machine.gave_up() if self._shoots else ""
        if why:
            raise BenchError(why, next_step="docs/shots.md says what shots need")

    def look_after(self) -> None:
        """Raise BenchError if the target says nothing at all."""
        self._machine.refuse_silence()

    def stop(self) -> None:
        """Ask QEMU to end; the instrument sends what it holds."""
        self._machine.stop()

    def close(self) -> None:
        """End QEMU."""
        self._machine.close()
        super().close()
