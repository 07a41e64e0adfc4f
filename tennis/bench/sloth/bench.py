# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""SLOTH as the target of a rally: ``--kernel sloth``, on a Cortex-M of QEMU's or an emulated Pico.

Instruments, protocol and folder are those of the virtual bench; what answers is an application of
``target/sloth``, or one's own.
"""

import hashlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pyarrow as pa

from tennis import __version__
from tennis.bench import RunRecord, Session
from tennis.bench import loads as load_folder
from tennis.bench.commands import run
from tennis.bench.instruments import emulated
from tennis.bench.kernels import flavours
from tennis.bench.sloth import KERNELS, PICO
from tennis.bench.sloth.image import (
    CORES,
    LM3S6965,
    RP2040,
    SLOTH,
    Core,
    compiler_version,
    image,
    own_image,
)
from tennis.bench.sloth.pico import PicoTargetSession
from tennis.bench.sloth.session import MACHINE, SlothSession
from tennis.bench.targets.console import Console
from tennis.bench.virtual import plugins
from tennis.errors import BenchError, UsageError
from tennis.rally.folder import CONSOLE
from tennis.rally.manifest import OWN, Ceiling, Instrument, LoadRecord, Priority, Target
from tennis.rally.plan import Plan

# what a load is to the application: the kit's Racquet takes it, and one's own may
DEFINES = {"hold_us": "HOLD_US", "period_us": "PERIOD_US", "ceiling": "CEILING"}
STORM = "storm"  # this load is an application of its own


@dataclass(frozen=True)
class _Parts:
    core: Core
    elf: Path
    header: Path  # the configuration
    application: str  # what answers
    load: str  # what it does besides


class SlothBench:
    """Plays plans whose kernel is SLOTH; ``VirtualBench`` hands them over."""

    def versions(self, plan: Plan) -> dict[str, str]:
        """Return the versions on which the bytes of a rally depend.

        Raises UsageError or BenchError where the plan cannot be played.
        """
        parts = self._parts(plan)
        own = sorted(Path(__file__).parent.glob("*.py"))
        return {
            "tennis": __version__,
            **_emulators(plan),
            "kernel": f"SLOTH on a {_called(plan)}",
            "kernel_name": plan.kernel,
            "kernel_image_sha256": _sha256(parts.elf),
            "kernel_config_sha256": _sha256(parts.header),
            "load": parts.load,
            "bench_sha256": _sha256(*own),
            "racquet": parts.application,
            "racquet_sha256": _sha256(parts.elf),
            "compiler": compiler_version(),
            "pyarrow": pa.__version__,
        }

    def start(self, plan: Plan, folder: Path) -> Session:
        """Start the processor, and let the instrument wait for it."""
        parts = self._parts(plan)
        if plan.kernel == PICO:
            return PicoTargetSession(parts.elf, plan, folder)
        return SlothSession(parts.elf, parts.core, plan.protocol, folder, plan.instruction_ns)

    def circumstances(self, plan: Plan, folder: Path) -> RunRecord:
        """Return what took part, as it was when the rally began, and what the console told."""
        recorded = plan.versions
        report = Console(folder / CONSOLE).report()
        target = Target(
            board=_board(plan),
            kernel=plan.kernel,
            release="SLOTH" if "sloth" in report.facts else "unknown: it did not come up",
            version=recorded["compiler"],
            config_sha256=recorded["kernel_config_sha256"],
            command_line="",  # all of it is configured when it is built
            module=recorded["racquet"],
            module_sha256=recorded["racquet_sha256"],
            top_half=plan.top_half,
            bottom_half=plan.bottom_half,
            priorities=plan.priorities,
            tasks=[Priority(task=t, policy=p, priority=n) for t, p, n in report.tasks],
            ceilings=[Ceiling(resource=name, ceiling=n) for name, n in report.ceilings],
        )
        load = LoadRecord(name=plan.load, command=recorded["load"], options=plan.load_options)
        return RunRecord(
            instrument=_instrument(plan),
            target=target,
            load=load,
            faults=report.faults,
            events=report.events,
        )

    @staticmethod
    def _parts(plan: Plan) -> _Parts:
        _check(plan)
        load = load_folder.find(plan.load, plan.load_options, "sloth")
        core = CORES[KERNELS[plan.kernel]]
        defines = {DEFINES[name]: value for name, value in load.values.items()}
        told = " ".join(f"{name}={value}" for name, value in defines.items())
        board = RP2040 if plan.kernel == PICO else LM3S6965
        if plan.kernel != PICO:
            defines["NS_PER_INSTRUCTION"] = plan.instruction_ns
        if plan.racquet:
            source = Path(plan.racquet)
            elf = own_image(source, core, board, defines=defines)
            return _Parts(core, elf, source.with_suffix(".h"), OWN, told)
        name = STORM if plan.load == STORM else "racquet"
        source = SLOTH / f"{name}.c"
        elf = image(source, core, board, defines=defines)
        return _Parts(core, elf, source.with_suffix(".h"), f"SLOTH {name}", told)


def _check(plan: Plan) -> None:
    """Raise UsageError for what SLOTH has not, BenchError where QEMU has not its board."""
    refused = {
        "--command-line": bool(plan.command_line),
        f"--witness {plan.witness}": plan.witness != "none",
    }
    if plan.drill:
        raise UsageError("drills are for Linux so far", next_step="use another --kernel")
    for option, asked in refused.items():
        if asked:
            raise UsageError(
                f"{option} is not for SLOTH, which is no Linux", next_step="leave it out"
            )
    if plan.kernel == PICO:
        _check_pico(plan)
    elif plan.instrument == "pico":
        raise UsageError(
            f"--instrument pico is not for --kernel {plan.kernel}, which QEMU plays",
            next_step=f"use --kernel {PICO}",
        )
    elif plan.protocol.timeout_ns > plugins.TIMEOUT_MAX_NS:
        raise UsageError("a timeout of the built-in instrument is at most 4 s (4000 ms)")
    if not plan.racquet:
        flavours.check("sloth", plan.top_half, plan.bottom_half, plan.priorities)
    elif plan.load == STORM:
        raise UsageError(
            f"--load {STORM} is an application of its own: --racquet has no place in it",
            next_step="use --load idle or hog",
        )
    if plan.kernel != PICO and MACHINE not in _machines(path := plugins.find_qemu().path):
        raise BenchError(
            f"{path} has no board {MACHINE}", next_step="use the QEMU of Debian, Ubuntu or Fedora"
        )


def _check_pico(plan: Plan) -> None:
    """Raise UsageError for what two emulated Picos have not, BenchError where they cannot be."""
    if plan.instrument != "pico":
        raise UsageError(
            f"the built-in instrument is in QEMU, and --kernel {PICO} plays on an emulated Pico",
            next_step="use --instrument pico",
        )
    if plan.instruction_ns != Plan.model_fields["instruction_ns"].default:
        raise UsageError(
            f"--instruction-ns is QEMU's: --kernel {PICO} counts cycles of its processor",
            next_step="leave it out",
        )
    emulated.check()


@cache  # asked for each rally of a match
def _machines(qemu: Path) -> frozenset[str]:
    """Return the boards that QEMU has."""
    text = run([qemu, "-M", "help"], what="asking QEMU for its boards")
    return frozenset(line.split()[0] for line in text.splitlines() if line.strip())


def _called(plan: Plan) -> str:
    """Return a processor's name as people write it: Cortex-M3."""
    core = CORES[KERNELS[plan.kernel]]
    if plan.kernel == PICO:
        return f"{core.gcc.removesuffix('plus').title()}+"
    name, _, number = core.qemu.partition("-")
    return f"{name.capitalize()}-{number.upper()}"


def _board(plan: Plan) -> str:
    where = "emulated Raspberry Pi Pico" if plan.kernel == PICO else f"QEMU {MACHINE}"
    return f"{where}, {_called(plan)}"


def _emulators(plan: Plan) -> dict[str, str]:
    """Return the versions of what plays target and instrument."""
    if plan.kernel == PICO:
        return emulated.versions()
    qemu = plugins.find_qemu()
    plugins.build(qemu)
    return {
        "qemu": qemu.version,
        "instrument_sha256": _sha256(*plugins.sources("instrument")),
    }


def _instrument(plan: Plan) -> Instrument:
    """Return the instrument's entry in the manifest, as it was when the rally began."""
    if plan.kernel == PICO:
        return emulated.describe(plan.versions["firmware_sha256"])
    return plugins.describe(plan.versions["instrument_sha256"])


def _sha256(*paths: Path) -> str:
    """Return the SHA-256 of files, one behind the other."""
    return hashlib.sha256(b"".join(path.read_bytes() for path in paths)).hexdigest()
