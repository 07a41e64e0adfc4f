# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""The virtual bench: a real arm64 kernel in QEMU, in deterministic virtual time.

``-icount shift=1,sleep=off`` makes one instruction 2 ns and idle time free. ``rr=record`` makes
QEMU's threads take turns, so that a run does not depend on the host's scheduler
(docs/decisions/0002).
"""

import hashlib
import os
import select
import signal
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path

import pyarrow as pa

from tennis import __version__
from tennis.bench import Circumstances
from tennis.bench import loads as load_folder
from tennis.bench.instruments import virtual as instrument
from tennis.bench.instruments.virtual import Qemu
from tennis.bench.loads import Load
from tennis.bench.targets.virtual import initramfs, kernels, modules
from tennis.bench.targets.virtual.console import LIMIT_BYTES, Console
from tennis.bench.targets.virtual.kernels import Kernel
from tennis.checkout import ROOT
from tennis.errors import UsageError
from tennis.rally.folder import CONSOLE
from tennis.rally.manifest import BenchKind, LoadRecord, Priority, Target
from tennis.rally.plan import Plan

TARGET = ROOT / "target"
NS_PER_INSTRUCTION_SHIFT = 1
TIME_NOTE = f"virtual time, {1 << NS_PER_INSTRUCTION_SHIFT} ns per instruction"
BOARD = "QEMU virt, 1 Cortex-A57, PL061"
COMMAND_LINE = "console=ttyAMA0 nokaslr panic=-1 oops=panic"
MEMORY_MB = 1024  # the root is in memory, and stress fills it
TICK_S = 0.2  # how often an empty chunk comes while nothing happens


@dataclass(frozen=True)
class Extras:
    """What tests and benchmarks add to a target.

    ``files``: path in the target -> content; ``/tennis/before`` and ``/tennis/after`` are run
    before the load and after the ready line. ``device_tree``: a blob in place of QEMU's own.
    """

    files: Mapping[str, bytes | Path] = field(default_factory=dict)
    parameters: str = ""  # more kernel parameters
    device_tree: Path | None = None
    instrument: bool = True


@dataclass(frozen=True)
class Parts:
    """Everything that a plan needs, found and built."""

    plan: Plan
    qemu: Qemu
    kernel: Kernel
    load: Load
    plugin: Path
    racquet: Path
    load_module: Path | None
    racquet_user: Path
    racquet_ready: Path


class VirtualBench:
    """Plays plans on the virtual bench."""

    kind: BenchKind = "virtual"
    time_note = TIME_NOTE
    repeats = True

    def __init__(self, extras: Extras | None = None) -> None:
        self.extras = extras or Extras()
        self._parts: Parts | None = None

    def parts(self, plan: Plan) -> Parts:
        """Find and build what the plan needs. Raises UsageError or BenchError."""
        plan = plan.model_copy(update={"versions": {}})
        if self._parts is None or self._parts.plan != plan:
            _check(plan)
            load = load_folder.find(plan.load, plan.load_options)
            kernel = kernels.find(plan.kernel)
            qemu = instrument.find_qemu()
            load_source = load.folder / f"{load.file.module}.c"
            self._parts = Parts(
                plan,
                qemu,
                kernel,
                load,
                instrument.build(qemu),
                modules.kernel_module(TARGET / "racquet" / "racquet.c", kernel),
                modules.kernel_module(load_source, kernel) if load.file.module else None,
                modules.program(TARGET / "racquet" / "racquet-user.c"),
                modules.program(TARGET / "virtual" / "racquet-ready.c"),
            )
        return self._parts

    def versions(self, plan: Plan) -> dict[str, str]:
        """Return the versions on which the bytes of a rally depend."""
        parts = self.parts(plan)
        return {
            "tennis": __version__,
            "qemu": parts.qemu.version,
            "kernel": parts.kernel.origin,
            "kernel_image_sha256": _sha256(parts.kernel.image),
            "kernel_config_sha256": _sha256(parts.kernel.config),
            "kernel_name": parts.kernel.name,
            "load": parts.load.command,
            "load_sha256": _sha256(*_load_files(parts)),
            "bench_sha256": _sha256(Path(__file__)),
            "instrument_sha256": _sha256(*instrument.sources("instrument")),
            "racquet_sha256": _sha256(parts.racquet),
            "programs_sha256": _sha256(
                parts.racquet_user, parts.racquet_ready, TARGET / "virtual" / "init"
            ),
            "compiler": modules.compiler_version(),
            "pyarrow": pa.__version__,
            **initramfs.versions(),
        }

    def start(self, plan: Plan, folder: Path) -> "VirtualSession":
        """Boot the target and let the instrument wait for it."""
        return VirtualSession(self.parts(plan), self.extras, folder)

    def circumstances(self, plan: Plan, folder: Path) -> Circumstances:
        """Return what took part, and what the console told.

        What took part was recorded when the rally began; the checkout may have changed since.
        """
        recorded = plan.versions
        report = Console(folder / CONSOLE).report()
        facts = report.facts
        target = Target(
            board=BOARD,
            kernel=recorded["kernel_name"],
            release=facts.get("release", "unknown: the target did not come up"),
            version=facts.get("version", "unknown: the target did not come up"),
            config_sha256=recorded["kernel_config_sha256"],
            command_line=facts.get("command_line", _command_line(plan, self.extras)),
            module="racquet",
            module_sha256=recorded["racquet_sha256"],
            bottom_half=plan.bottom_half,
            governor=None,  # the virtual machine has no frequency to govern
            priorities=plan.priorities,
            tasks=[Priority(task=t, policy=p, priority=n) for t, p, n in report.tasks],
        )
        try:
            # the guest's clock and the instrument's both begin when the machine does
            started_ns = int(Decimal(facts["load_started_s"]) * 10**9)
        except (KeyError, ArithmeticError):
            started_ns = None
        return Circumstances(
            instrument=instrument.describe(recorded["instrument_sha256"]),
            target=target,
            load=LoadRecord(name=plan.load, command=recorded["load"], started_ns=started_ns),
            faults=report.faults,
            events=report.events,
        )


def _check(plan: Plan) -> None:
    protocol = plan.protocol
    if protocol.timeout_ns > instrument.TIMEOUT_MAX_NS:
        raise UsageError("a timeout on the virtual bench is at most 4 s (4000 ms)")


def _load_files(parts: Parts) -> list[Path]:
    return [parts.load.folder / "load.toml", *filter(None, [parts.load_module])]


def _sha256(*paths: Path) -> str:
    """Return the SHA-256 of files, one behind the other."""
    return hashlib.sha256(b"".join(path.read_bytes() for path in paths)).hexdigest()


class VirtualSession:
    """QEMU with the instrument inside, for one rally."""

    def __init__(self, parts: Parts, extras: Extras, folder: Path) -> None:
        self.parts = parts
        self.console = Console(folder / CONSOLE)
        self._stderr = folder / "qemu.log"
        image = initramfs.pack({**_target_files(parts), **extras.files})
        reader, writer = os.pipe()
        self._reader = reader
        command = qemu_command(parts, Path(f"/proc/self/fd/{image}"), folder / CONSOLE, extras)
        if extras.instrument:
            settings = instrument.parameters(parts.plan.protocol, writer)
            words = [f"{name}={value}" for name, value in settings.items()]
            command += ["-plugin", ",".join([_escape(parts.plugin), *words])]
        with self._stderr.open("wb") as errors:
            # a session of its own: Ctrl-C is for the host, which then asks QEMU to end
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=errors,
                stderr=errors,
                pass_fds=[writer, image],
                start_new_session=True,
            )
        os.close(writer)
        os.close(image)

    def chunks(self) -> Iterator[bytes]:
        """Yield the instrument's bytes; empty every now and then while there are none."""
        while True:
            ready, _, _ = select.select([self._reader], [], [], TICK_S)
            data = os.read(self._reader, 1 << 16) if ready else b""
            if ready and not data:
                return
            yield data

    def stop(self) -> None:
        """Ask QEMU to end; the instrument sends what it holds."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)

    def close(self) -> None:
        """End QEMU."""
        try:
            self._process.wait(timeout=2)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._reader >= 0:
            os.close(self._reader)
            self._reader = -1
        if self._stderr.exists():
            with self._stderr.open(errors="replace") as said:
                self.console.add_emulator_output(said.read(LIMIT_BYTES))
            self._stderr.unlink()


def _command_line(plan: Plan, extras: Extras) -> str:
    own = f"tennis.bottom_half={plan.bottom_half} tennis.priorities={plan.priorities}"
    return " ".join(filter(None, (COMMAND_LINE, own, extras.parameters)))


def _target_files(parts: Parts) -> dict[str, bytes | Path]:
    load = parts.load
    nothing = "sh -c 'while :; do sleep 1000000; done'"
    start = f"#!/bin/sh\nexec {load.file.command or nothing}\n"
    files: dict[str, bytes | Path] = {
        "/init": TARGET / "virtual" / "init",
        "/tennis/racquet.ko": parts.racquet,
        "/tennis/racquet-user": parts.racquet_user,
        "/tennis/racquet-ready": parts.racquet_ready,
        "/tennis/load/start": start.encode(),
    }
    if load.file.health:
        files["/tennis/load/health"] = (
            f"{load.file.health.task} {load.file.health.count}\n".encode()
        )
    if parts.load_module:
        files["/tennis/load.ko"] = parts.load_module
        files["/tennis/load.parameters"] = f"{load.module_parameters}\n".encode()
    return files


def qemu_command(parts: Parts, image: Path, console: Path, extras: Extras) -> list[str]:
    """Return QEMU's command line, without the instrument."""
    shift = NS_PER_INSTRUCTION_SHIFT
    return [
        str(parts.qemu.path),
        *("-M", "virt,gic-version=2,dtb-randomness=off", "-cpu", "cortex-a57", "-smp", "1"),
        *("-m", str(MEMORY_MB), "-seed", "1", "-rtc", "base=2026-01-01,clock=vm"),
        *("-icount", f"shift={shift},sleep=off,rr=record,rrfile={os.devnull}"),
        *("-nodefaults", "-display", "none", "-monitor", "none", "-no-reboot"),
        *("-chardev", f"file,id=console,path={_escape(console)}", "-serial", "chardev:console"),
        *(
            "-kernel",
            str(parts.kernel.image),
            "-initrd",
            str(image),
            "-append",
            _command_line(parts.plan, extras),
        ),
        *(("-dtb", str(extras.device_tree)) if extras.device_tree else ()),
    ]


def _escape(path: Path) -> str:
    """Return a path as QEMU's comma-separated options take it."""
    return str(path).replace(",", ",,")
