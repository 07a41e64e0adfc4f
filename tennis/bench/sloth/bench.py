"""SLOTH as the target of a rally: ``--kernel sloth``, on a Cortex-M of QEMU's or an emulated Pico.

Instruments, protocol and folder are those of the virtual bench; an application of ``target/sloth``,
or a user's own, answers.
"""

from collections.abc import Collection, Mapping
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import cramjam

from tennis.bench import flavours
from tennis.bench.commands import run
from tennis.bench.fitting import Capabilities
from tennis.bench.instruments import emulated
from tennis.bench.instruments.linked_session import EMULATOR_LOG, LinkedSession
from tennis.bench.loads import cycle_of, cycle_version, find
from tennis.bench.protocol import Access, RunRecord, Session
from tennis.bench.qemu import plugins
from tennis.bench.qemu.session import shared
from tennis.bench.sloth import KERNELS, PICO, PICO2, is_sloth
from tennis.bench.sloth.application import Application, application
from tennis.bench.sloth.image import CORES, compiler_version
from tennis.bench.sloth.session import MACHINE, SlothSession
from tennis.bench.targets.console import Console
from tennis.kit.digests import sha256_of
from tennis.kit.edition import EDITION, KEY, PUBLIC_VERSION
from tennis.kit.errors import BenchError, UsageError
from tennis.rally.folder import CONSOLE
from tennis.rally.manifest import BenchKind, Ceiling, Instrument, LoadRecord, Priority, Target
from tennis.rally.plan import Plan
from tennis.rally.settings import taken_by


class _PicoTargetSession(LinkedSession):
    """Two emulated Picos in one program; the target's console goes to ``folder``."""

    def __init__(self, image: Path, plan: Plan, folder: Path) -> None:
        log, console = folder / EMULATOR_LOG, folder / CONSOLE
        words = ["--target", str(image), "--console", str(console)]
        link = emulated.start(words, log=log)
        super().__init__(link, plan, Console(console), log)


class SlothBench:
    """Plays plans whose kernel is SLOTH."""

    kind: BenchKind = "virtual"
    repeats = True
    kernels: ClassVar[Collection[str]] = tuple(KERNELS)
    can: ClassVar[Capabilities] = Capabilities(
        name="virtual, SLOTH",
        where="--bench virtual",
        takes=taken_by("sloth"),
        instruments=("builtin", "pico"),
        system="sloth",
    )

    @staticmethod
    def plays(plan: Plan) -> bool:
        """Tell whether a plan is for this bench."""
        return plan.bench == "virtual" and is_sloth(plan.kernel)

    @staticmethod
    def defaults(plan: Plan, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return instrument, load, halves and priorities if nobody asked for them."""
        del options
        instrument = "pico" if plan.kernel == PICO else "builtin"
        return {"instrument": instrument, "load": "idle", **flavours.defaults("sloth")}

    @classmethod
    def of(cls, plan: Plan, access: Access) -> "SlothBench":
        """Return the bench."""
        del plan, access
        return cls()

    @staticmethod
    def time_note(plan: Plan) -> str:
        """Return the meaning of a nanosecond of a rally."""
        if plan.kernel == PICO:
            return "virtual time, cycles of 8 ns"
        return f"virtual time, {plan.instruction_ns} ns per instruction"

    def versions(self, plan: Plan) -> dict[str, str]:
        """Return the versions on which the bytes of a rally depend.

        Raises UsageError or BenchError if the plan cannot be played.
        """
        built = self._application(plan)
        own = [*sorted(Path(__file__).parent.glob("*.py")), *shared()]
        return {
            "tennis": PUBLIC_VERSION,
            KEY: str(EDITION),
            **_emulators(plan),
            "kernel": f"SLOTH on a {_called(plan)}",
            "kernel_name": plan.kernel,
            "kernel_image_sha256": sha256_of(built.elf),
            "kernel_config_sha256": sha256_of(built.header),
            "load": built.load,
            **cycle_version(find(plan.load, plan.load_options, "sloth"), None),
            "bench_sha256": sha256_of(*own),
            "racquet": built.name,
            "racquet_sha256": sha256_of(built.elf),
            "compiler": compiler_version(),
            "cramjam": cramjam.__version__,
        }

    def start(self, plan: Plan, folder: Path) -> Session:
        """Start the processor, and let the instrument wait for it."""
        built = self._application(plan)
        if plan.kernel == PICO:
            return _PicoTargetSession(built.elf, plan, folder)
        return SlothSession(built.elf, built.core, plan.protocol, folder, plan.instruction_ns)

    def circumstances(self, plan: Plan, folder: Path) -> RunRecord:
        """Return the record of the run: its parts at the beginning, and the console's report."""
        recorded = plan.versions
        report = Console(folder / CONSOLE).report()
        target = Target(
            board=_board(plan),
            release="SLOTH" if "sloth" in report.facts else "unknown: it did not come up",
            version=recorded["compiler"],
            config_sha256=recorded["kernel_config_sha256"],
            instruction_ns=None if plan.kernel == PICO else plan.instruction_ns,
            command_line="",  # all of it is configured when it is built
            module=recorded["racquet"],
            module_sha256=recorded["racquet_sha256"],
            **plan.of_target(),
            tasks=[Priority(task=t, policy=p, priority=n) for t, p, n in report.tasks],
            ceilings=[Ceiling(resource=name, ceiling=n) for name, n in report.ceilings],
        )
        load = LoadRecord(
            name=plan.load,
            command=recorded["load"],
            options=plan.load_options,
            cycle_ns=cycle_of(recorded),
        )
        return RunRecord(
            instrument=_instrument(plan),
            target=target,
            load=load,
            faults=report.faults,
            events=report.events,
        )

    @staticmethod
    def _application(plan: Plan) -> Application:
        _check(plan)
        own = Path(plan.racquet) if plan.racquet else None
        return application(plan.kernel, plan.load, plan.load_options, own, plan.instruction_ns)


def _check(plan: Plan) -> None:
    """Raise UsageError for settings that SLOTH lacks, BenchError if QEMU lacks its board."""
    if plan.kernel == PICO2:
        raise UsageError(
            f"there is no emulator of a Pico 2 here: --kernel {PICO2} plays on a board",
            next_step=f"use --kernel {PICO}, or --bench pi (docs/sloth.md)",
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
        flavours.check("sloth", plan)
    if plan.kernel != PICO and MACHINE not in _machines(path := plugins.find_qemu().path):
        raise BenchError(
            f"{path} has no board {MACHINE}", next_step="use the QEMU of Debian, Ubuntu or Fedora"
        )


def _check_pico(plan: Plan) -> None:
    """Raise UsageError for settings that two emulated Picos lack, BenchError if they cannot run."""
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
    return {"qemu": qemu.version, "instrument_sha256": sha256_of(*plugins.sources("instrument"))}


def _instrument(plan: Plan) -> Instrument:
    """Return the instrument's entry in the manifest, as it was when the rally began."""
    if plan.kernel == PICO:
        return emulated.describe(plan.versions["firmware_sha256"])
    return plugins.describe(plan.versions["instrument_sha256"])
