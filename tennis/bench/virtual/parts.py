"""The parts that a plan needs on the virtual bench, found and built."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tennis.bench import loads as load_folder
from tennis.bench import witnesses
from tennis.bench.kernels import catalogue, modules
from tennis.bench.kernels.kernel import Kernel
from tennis.bench.loads import Load
from tennis.bench.qemu import plugins
from tennis.bench.qemu.plugins import Qemu, QemuPlugin
from tennis.bench.virtual import answering, drivers, memory
from tennis.bench.virtual.answering import TARGET, Answerer
from tennis.kit import entries
from tennis.kit.entries import Entry, EntryError, load
from tennis.rally.manifest import Witness
from tennis.rally.plan import Plan

INSTRUMENTS = "tennis.instruments"  # those of packages
OWN_INSTRUMENTS = {
    "builtin": "tennis.bench.virtual.built_in_session",
    "pico": "tennis.bench.virtual.pico_session",
}
PEER_TARGET = "10.77.0.1"  # the target's address, as the script network sets it


@dataclass(frozen=True)
class Parts:
    """Everything that a plan needs, found and built."""

    plan: Plan
    instrument: Any  # as ``instrument_of`` returns it
    qemu: Qemu
    kernel: Kernel
    load: Load
    plugin: Path
    answerer: Answerer
    load_module: Path | None
    racquet_user: Path
    racquet_ready: Path
    load_programs: Mapping[str, Path]
    drivers: Mapping[str, bytes]  # modules of the kernel's own for the network, in their order
    memory: QemuPlugin | None  # caches and the like, as a plugin beside the instrument

    @classmethod
    def of(cls, plan: Plan, application: Path | None) -> "Parts":
        """Find and build what a plan needs. Raises UsageError and BenchError.

        ``application``: another one of SLOTH's beneath Linux than the Racquet's, for tests.
        """
        instrument = instrument_of(plan.instrument)
        qemu = plugins.find_qemu()
        profile = memory.find(plan.memory)
        load = load_folder.find(plan.load, plan.load_options)
        kernel = catalogue.find(plan.kernel)
        load_programs = load.built_programs(kernel.flavour, modules.program)
        needs_network = bool(load.host_command(PEER_TARGET))
        return cls(
            plan=plan,
            instrument=instrument,
            qemu=qemu,
            kernel=kernel,
            load=load,
            plugin=instrument.plugin(qemu),
            answerer=answering.built(plan, kernel, application),
            load_module=modules.kernel_module(load.module_source, kernel)
            if load.file.module
            else None,
            racquet_user=modules.program(TARGET / "racquet" / "racquet-user.c"),
            racquet_ready=modules.program(TARGET / "virtual" / "racquet-ready.c"),
            load_programs=load_programs,
            drivers=drivers.network(kernel) if needs_network else {},
            memory=profile.plugin(qemu, plan.instruction_ns) if profile else None,
        )


def instrument_of(name: str) -> Any:
    """Return an instrument by name: a module with plugin, versions, describe and session.

    Raises EntryError if nobody has it, or if it is broken.
    """
    try:
        if name in OWN_INSTRUMENTS:
            return load(OWN_INSTRUMENTS[name])
        entry = entries.find(INSTRUMENTS, name)
        if entry is None:
            raise EntryError("no package here has it", next_step="install the one that has it")
        return _read_instrument(entry)
    except EntryError as error:
        why = f"--instrument {name}: {error.message}"
        raise EntryError(why, next_step=error.next_step) from error


def instruments() -> list[str]:
    """Return the names of all instruments, the kit's own first; none of them is imported."""
    return [*OWN_INSTRUMENTS, *(entry.name for entry in entries.entries(INSTRUMENTS))]


def _read_instrument(entry: Entry) -> Any:
    """Return the instrument that an entry names. Raises EntryError if it is incomplete."""
    found = entry.load()
    entry.check_has(found, ("plugin", "versions", "describe", "session"))
    return found


def packages_of(load: Load, witness: Witness) -> list[str]:
    """Return the Debian packages of a load and a witness: here target and peer are one machine."""
    return sorted({*load.packages, *load.host_packages, *witnesses.packages(witness)})
