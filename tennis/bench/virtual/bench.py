"""The virtual bench: a real arm64 kernel in QEMU, in deterministic virtual time."""

import hashlib
from collections.abc import Collection, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any, ClassVar, cast

import cramjam

from tennis.bench import flavours, witnesses
from tennis.bench import loads as load_folder
from tennis.bench.fitting import Capabilities
from tennis.bench.kernels import catalogue, modules, program_record
from tennis.bench.protocol import Access, RunRecord, Session
from tennis.bench.qemu import plugins
from tennis.bench.qemu.session import shared
from tennis.bench.targets.console import Console, ConsoleReport
from tennis.bench.virtual import initramfs, memory
from tennis.bench.virtual.answering import TARGET
from tennis.bench.virtual.machine import Extras, line_names
from tennis.bench.virtual.parts import PEER_TARGET, Parts, instrument_of, instruments, packages_of
from tennis.bench.virtual.refusals import refuse
from tennis.kit.digests import sha256_of
from tennis.kit.edition import EDITION, KEY, PUBLIC_VERSION
from tennis.rally.folder import CONSOLE
from tennis.rally.manifest import BenchKind, LoadRecord, OnProcessor, Priority, Target
from tennis.rally.memory import stalls_in
from tennis.rally.plan import Plan
from tennis.rally.settings import taken_by

BOARD = "QEMU virt, {processors} Cortex-A57, PL061"


class VirtualBench:
    """Plays plans with Linux on the virtual bench."""

    kind: BenchKind = "virtual"
    repeats = True
    kernels: ClassVar[Collection[str]] = ()
    can: ClassVar[Capabilities] = Capabilities(
        name="virtual, Linux",
        where="--bench virtual",
        takes=taken_by("virtual"),
        instruments=tuple(instruments()),
    )

    def __init__(self, extras: Extras | None = None) -> None:
        self.extras = extras or Extras()
        self._parts: Parts | None = None

    @staticmethod
    def plays(plan: Plan) -> bool:
        """Tell whether a plan is for this bench."""
        return plan.bench == "virtual"  # except kernels that are another bench's own

    @staticmethod
    def defaults(plan: Plan, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return instrument, load, halves and priorities if nobody asked for them."""
        defaults: dict[str, Any] = {"instrument": "builtin", "load": "idle", "top_half": "hard"}
        if plan.processors > plan.instruction_ns:  # the share of one while all of them run
            defaults["instruction_ns"] = plan.processors
        elif memory.has_clock(plan.memory):
            defaults["instruction_ns"] = memory.CLOCKED_INSTRUCTION_NS
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
        """Return the meaning of a nanosecond of a rally."""
        time = f"virtual time, {plan.instruction_ns} ns per instruction"
        return time + stalls_in(plan.memory)

    def parts(self, plan: Plan) -> Parts:
        """Return the parts of a plan with Linux, found and built. Raises UsageError or BenchError.

        It is what can be played.
        """
        refuse(plan)
        return self._built(plan)

    def _built(self, plan: Plan) -> Parts:
        """Return the parts of a plan that was not refused, built once."""
        plan = plan.model_copy(update={"versions": {}})
        if self._parts is None or self._parts.plan != plan:
            self._parts = Parts.of(plan, self.extras.beneath)
        return self._parts

    def versions(self, plan: Plan) -> dict[str, str]:
        """Return the versions on which the bytes of a rally depend."""
        parts = self.parts(plan)
        packages = packages_of(parts.load, plan.witness)
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
            **parts.instrument.versions(),
            "line_names": " ".join(line_names()),
            "racquet": parts.answerer.name,
            **parts.answerer.versions,
            "programs_sha256": sha256_of(
                parts.racquet_user, parts.racquet_ready, TARGET / "virtual" / "init"
            ),
            **_network_versions(parts),
            **_memory_versions(plan),
            "compiler": modules.compiler_version(),
            "cramjam": cramjam.__version__,
            **witnesses.versions(plan.witness),
            "userland_sha256": initramfs.sha256_of_places(initramfs.programs(packages)),
            **initramfs.package_versions(packages),
        }

    def start(self, plan: Plan, folder: Path) -> Session:
        """Boot the target and let the instrument wait for it; the plan was not refused before."""
        parts = self._built(plan)
        return cast(Session, parts.instrument.session(parts, self.extras, folder))

    def circumstances(self, plan: Plan, folder: Path) -> RunRecord:
        """Return the record of the run: who took part, and the console's report.

        The parts were recorded when the rally began; the checkout may have changed since.
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
            program=program_record.record(recorded, facts),
            governor=None,  # the virtual machine has no frequency to govern
            **plan.of_target(),
            tasks=[Priority(task=t, policy=p, priority=n) for t, p, n in report.tasks],
        )
        try:
            # the guest's clock and the instrument's both begin when the machine does
            started_ns = int(Decimal(facts["load_started_s"]) * 10**9)
        except (KeyError, ArithmeticError):
            started_ns = None
        return RunRecord(
            instrument=instrument_of(plan.instrument).describe(recorded),
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
            faults=program_record.faults(report.faults, report.events)
            if plan.program
            else report.faults,
            events=report.events,
            where=[
                OnProcessor(processor=cpu, pings=pings, replies=None, busy=None)
                for cpu, pings in sorted(report.pings.items())
                if plan.program
            ],
            # with a Brickwall the target does not learn that the rally is over
            unchecked="" if plan.instrument == "pico" else _unchecked(plan, report),
            advice=program_record.advice(facts, report.tasks) if plan.program else {},
        )


def _unchecked(plan: Plan, report: ConsoleReport) -> str:
    missing = [report.unchecked(plan.witness)]
    if plan.program and program_record.OVER not in report.facts:
        missing.append("what the program did")
    return " and ".join(filter(None, missing))


def _memory_versions(plan: Plan) -> dict[str, str]:
    found = memory.find(plan.memory)
    if found is None:
        return {}
    return {"memory_sha256": sha256_of(found.file, *plugins.sources("memory"))}


def _load_tasks(parts: Parts) -> dict[str, str]:
    """Return the kinds of the load's real-time tasks, if they depend on the kernel."""
    programs = [p for part in parts.load.parts if part.file.flavours for p in part.file.programs]
    tasks = {load_folder.tasks_of(parts.load_programs[name].read_bytes()) for name in programs}
    kinds = " ".join(sorted(filter(None, tasks)))
    return {"load_tasks": kinds} if kinds else {}


def _load_files(parts: Parts) -> list[Path]:
    own = [path for part in parts.load.parts for path in part.own_files]
    return [*own, *parts.load_programs.values(), *filter(None, [parts.load_module])]


def _network_versions(parts: Parts) -> dict[str, str]:
    """Return the versions on which the guest's network depends; empty for a load without one."""
    if not parts.load.host_command(PEER_TARGET):
        return {}
    sha = hashlib.sha256((TARGET / "virtual" / "network").read_bytes())
    for name, content in parts.drivers.items():
        sha.update(name.encode() + content)
    return {"network_sha256": sha.hexdigest()}
